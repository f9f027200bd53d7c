"""What is asked of a server, and how it ended: the values of one request."""
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from benchkit.basics.texts import shown_line

QUOTED_BYTES = 200


class Ending(Enum):
    """How a request ended."""

    WHOLE = "the body came to its announced end"
    ENOUGH = "the reader had all it wanted"
    CLOSED = "the connection was closed at no announced end"
    CUT = "the connection ended in the middle"
    REFUSED = "nothing listens there"
    UNREACHABLE = "no connection could be made"
    FOREIGN = "what came is not HTTP"
    TOO_LARGE = "more came than a reply may have"
    TIMEOUT = "the deadline came first"


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: `path` is behind the address's prefix, `body` is JSON."""

    method: str
    path: str
    body: bytes | None = None


def quoted(data: bytes) -> str:
    """What a foreign program said, for a message: its first 200 bytes on one line, control characters shown."""
    return shown_line(data[:QUOTED_BYTES].decode("utf-8", "backslashreplace").strip(), 4 * QUOTED_BYTES)
