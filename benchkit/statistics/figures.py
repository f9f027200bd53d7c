"""How a figure leaves the statistics: rounded half-even to 6 digits, from the exact value.

What lives here is the one rounding rule of all records and reports; text formatting does not.
"""

from __future__ import annotations

from fractions import Fraction

DIGITS = 6


def figure(value: Fraction | float | None) -> float | None:
    """The value as it stands in JSON: a float of at most 6 digits after the point, ties to even; None stays.

    A float is taken at its exact binary value. Raises ValueError or OverflowError for NaN and infinities,
    which are never figures.
    """
    if value is None:
        return None
    return float(round(Fraction(value), DIGITS))
