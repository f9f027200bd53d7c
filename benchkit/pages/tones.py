"""What a mark, a badge or a bar says, for every format."""
from __future__ import annotations

from enum import StrEnum


class Tone(StrEnum):
    """What a mark, a badge or a bar says; the value is its class in the style sheet."""

    PASS = "pass"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    FLAKY = "flaky"
    ABSENT = "absent"
    PLAIN = "plain"
