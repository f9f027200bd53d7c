"""Under which circumstances a run was recorded, in words: its hardware and its sessions.

What does not live here: what sessions differ in (cautions.py), and how long loading took (speed.py).
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchkit.recordings.pieces import SessionFacts
from benchkit.reports.figures_as_text import seconds

NOT_SAID = "not said"
COLD = "cold: the first of its case in a session, or one that waited for the model to load"


def measured_on(sessions: Sequence[SessionFacts]) -> str:
    """The hardware that gave the latencies, for what else ran there is part of them; empty if nobody said."""
    return hardware_of(sessions) if any(session.hardware for session in sessions) else ""


def hardware_of(sessions: Iterable[SessionFacts]) -> str:
    """The hardware of all sessions, each kind once; NOT_SAID stands for those that do not name theirs."""
    return ", ".join(dict.fromkeys(session.hardware or NOT_SAID for session in sessions)) or NOT_SAID


def limits_of(session: SessionFacts) -> tuple[str, ...]:
    """The limits a session was given: `budget 30.00 s`, `timeout 120 s`."""
    limits = (("budget", session.budget_s), ("timeout", session.timeout_s))
    return tuple(f"{name} {seconds(value)} s" for name, value in limits if value is not None)


def ending_of(session: SessionFacts) -> str:
    """How a session ended, in one word, or that it does not say."""
    return session.stop or "no word of it"
