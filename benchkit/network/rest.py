"""How long a server wants to be left alone: what it says in Retry-After, kept for all that ask it at once."""
from __future__ import annotations

import re

MOST_ASKED_S = 1e6
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class Rest:
    """Until when nothing is sent: one moment, on the monotonic clock, whoever heard of it first."""

    def __init__(self) -> None:
        self._until: float | None = None

    def ask_for(self, until: float) -> None:
        """Nothing before that moment; a later one that is known already stays."""
        self._until = until if self._until is None else max(self._until, until)

    def left(self, now: float) -> float:
        """Seconds until something may be sent; 0 if now."""
        return 0.0 if self._until is None else max(0.0, self._until - now)


def asked_wait(retry_after: str | None, wall: float) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or as a date (`wall`: seconds since 1970 now).

    None where it asks for nothing, or is neither. RFC 9110, section 10.2.3.
    """
    text = (retry_after or "").strip()
    seconds = float(text) if _SECONDS.fullmatch(text) else _until_date(text, wall)
    return min(seconds, MOST_ASKED_S) if seconds is not None and seconds > 0 else None


def _until_date(text: str, wall: float) -> float | None:
    from email.utils import parsedate_to_datetime
    try:
        return parsedate_to_datetime(text).timestamp() - wall
    except (ValueError, OverflowError, OSError):
        return None
