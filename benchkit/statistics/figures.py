"""How a figure leaves the statistics: rounded half-even to 6 digits, from the exact value or a short one near it.

Nothing is rounded to -1, 0 or 1 that is not: it keeps 6 digits of what lies between, as every p does.

What lives here is the one rounding rule of all records and reports; text formatting does not.
"""

from __future__ import annotations

import math
from fractions import Fraction

DIGITS = 6
KEPT_DIGITS = 60
"""Behind so many digits a value with a longer denominator is cut."""
_CUT = 10**KEPT_DIGITS


def figure(value: Fraction | float | None) -> float | None:
    """The value as it stands in JSON: a float of at most 6 digits after the point, ties to even; None stays.

    What would become -1, 0 or 1 and is not keeps 6 digits of its distance from there: 0.99999950025, 2.5e-07.
    A float is taken at its exact binary value. Raises ValueError or OverflowError for NaN and infinities,
    which are never figures.
    """
    if value is None:
        return None
    exact = Fraction(value)
    rounded = round(exact, DIGITS)
    return float(rounded) if rounded not in (-1, 0, 1) else _beside(int(rounded), exact - rounded)


def probability_figure(value: Fraction | None) -> float | None:
    """A p as it stands in JSON: 6 digits that count, so that a small one is told from none; None stays."""
    if value is None or value > Fraction(1, 10):
        return figure(value)
    return _beside(0, value)


def _beside(whole: int, rest: Fraction) -> float:
    """The sum, with 6 digits of the rest; where a float cannot tell it from the whole number, the float next to it."""
    if not rest:
        return float(whole)
    found = float(whole + Fraction(f"{float(rest):.{DIGITS - 1}e}"))
    return found if found != whole else math.nextafter(whole, math.copysign(math.inf, rest))


def shortened(numerator: int, denominator: int) -> Fraction:
    """The quotient; one with a long denominator as a short fraction that every rounding takes to the same place.

    It is cut behind KEPT_DIGITS digits, and half a unit of the last one is added where anything was cut off: then no
    number of so many digits, and so no tie of a rounding to fewer, lies between the quotient and what stands for it.
    A share of the ways to draw 500 of 1,000 trials has 300 digits above and below the line.
    """
    if denominator <= _CUT:
        return Fraction(numerator, denominator)
    whole, rest = divmod(numerator * _CUT, denominator)
    return Fraction(2 * whole + (rest > 0), 2 * _CUT)
