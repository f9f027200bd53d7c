"""Shares as a person reads them, in percent, and differences of shares, in percentage points: one rule for all of them.

Only none reads 0.0, and only all reads 100.0; what is held against a limit stands on its own side of it.
What does not live here: other figures (reports/figures_as_text.py), and shares in JSON (statistics/figures.py).
"""
from __future__ import annotations

from fractions import Fraction

NOT_AVAILABLE = "n/a"
MOST_DIGITS = 9
"""Behind the point, where a limit is so near."""


def percent(value: Fraction | float | None, limit: Fraction | float | None = None) -> str:
    """A share as percent with one digit, ties to even: `68.3`. Only a share of 1 reads 100.0, only 0 reads 0.0.

    What would be rounded to them reads `<0.1` and `>99.9`. Beside a `limit` it has as many digits as it takes to stand
    on the same side of it.
    """
    if value is None:
        return NOT_AVAILABLE
    text = _rounded(value, limit)
    if value > 0 and not Fraction(text):
        return "<0.1"
    return ">99.9" if value < 1 and Fraction(text) == 100 else text


def percent_in_words(value: Fraction | float) -> str:
    """A share in a sentence: `68.3 %`, `less than 0.1 %`, `more than 99.9 %`."""
    return f"{percent(value)} %".replace("<", "less than ").replace(">", "more than ")


def points(value: Fraction | float | None, limit: Fraction | float | None = None) -> str:
    """A difference of shares in percentage points, with its sign: `+3.3`, `-0.1`; beside a `limit` as distance().

    Only a difference of 0 reads 0.0, and only one of 1 reads 100.0: all others have some, but not all, of the tenths.
    """
    if value is None:
        return NOT_AVAILABLE
    sign = "-" if value < 0 else "+" if value > 0 else ""
    return sign + distance(-value if value < 0 else value, limit)


def distance(value: Fraction | float, limit: Fraction | float | None = None) -> str:
    """A difference of shares in percentage points, without a sign: `3.3`; beside a `limit` as percent() has it."""
    text = _rounded(value, limit)
    if 0 < value < 1 and Fraction(text) in (0, 100):
        return "0.1" if value < Fraction(1, 2) else "99.9"
    return text


def as_given(value: Fraction | float) -> str:
    """A limit that somebody set, in percent with all its digits: `5.0`, `0.04`."""
    text = f"{float(_exact(value) * 100):.12g}"
    return text if set(".e") & set(text) else f"{text}.0"


def _rounded(value: Fraction | float, limit: Fraction | float | None) -> str:
    share, digits = Fraction(value) if limit is None else _exact(value), 1
    while limit is not None and digits < MOST_DIGITS and (
            _side(round(share * 100, digits) / 100, limit) != _side(share, limit)):
        digits += 1
    whole, rest = divmod(round(share * 100 * 10**digits), 10**digits)
    return f"{whole}.{rest:0{digits}}"


def _exact(value: Fraction | float) -> Fraction:
    # a limit is a number that somebody typed: 0.7, and not the binary fraction next to it
    return Fraction(repr(value)) if isinstance(value, float) else value


def _side(value: Fraction, limit: Fraction | float) -> int:
    return (value > _exact(limit)) - (value < _exact(limit))
