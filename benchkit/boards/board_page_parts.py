"""What all parts of the board's page share: names of strangers with what they are, badges of gates and statuses."""
from __future__ import annotations

from benchkit.basics.texts import shown_line
from benchkit.boards.batch import BLOCKED, COMPLETE, OPEN, PUBLISHED
from benchkit.boards.board_values import GateStatus, Standing, SystemFacts
from benchkit.boards.board_words import LONGEST_LINE, kind_of, short_name
from benchkit.pages.html import Html, element, joined
from benchkit.pages.marks import Tone, badge
from benchkit.pages.parts import name_code

STATUS_TONES = {OPEN: Tone.FLAKY, COMPLETE: Tone.PLAIN, BLOCKED: Tone.FAIL, PUBLISHED: Tone.PASS}


def name(text: str) -> Html:
    """A name of strangers on one line."""
    return name_code(short_name(text))


def line(text: str) -> str:
    """A sentence of strangers on one line, cut where it is very long."""
    return shown_line(text, LONGEST_LINE)


def system_name(system: Standing | SystemFacts) -> Html:
    """A system, and what it is where it is no model."""
    kind = kind_of(system)
    what = element("span", kind, class_=f"badge {Tone.FLAKY if system.sees_truth else Tone.ABSENT}")
    return joined(name(system.system), " ", what) if kind else name(system.system)


def gate_mark(gate: GateStatus | None) -> Html:
    """How the hard gates of a system stand, in a word that has room beside its name; nothing without a gate."""
    if gate is None:
        return Html()
    return badge(Tone.FAIL if gate.failures else Tone.PASS if gate.is_clean else Tone.INCOMPLETE, gate.mark)


def gate_badge(gate: GateStatus | None) -> Html:
    """How the hard gates of a system stand, in a colour, a sign and words."""
    if gate is None:
        return badge(Tone.ABSENT, "no hard gate")
    if gate.failures:
        return badge(Tone.FAIL, gate.words)
    return badge(Tone.PASS if gate.is_clean else Tone.INCOMPLETE, gate.words)


def synthetic_badge(synthetic: str | None) -> Html:
    """What says at every question that nothing of it is real; nothing where all is."""
    return badge(Tone.PLAIN, "SYNTHETIC") if synthetic is not None else Html()
