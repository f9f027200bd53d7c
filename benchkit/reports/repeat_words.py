"""The words on two recordings of one system: the within-case test, equal outputs and verdicts, where they part.

What does not live here: what it is about (repeats.py).
"""
from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

from benchkit.basics.names import shown_line
from benchkit.reports.cautions import count_of
from benchkit.reports.figures_as_text import NOT_AVAILABLE, percent, probability, share
from benchkit.reports.repeats import Parting, Repeat

AROUND = 30
"""Letters shown of each text from where they part."""


def repeat_facts(repeat: Repeat | None) -> Iterator[tuple[str, str]]:
    """What two recordings of one system have in common, as labels and texts; nothing for two systems."""
    if repeat is None:
        return
    yield "same system", (
        f"two recordings; did anything change in these same cases? p {probability(repeat.p)}, permuting the labels "
        "within each case")
    for one in repeat.repetitions:
        yield "outputs", (
            f"{one.warmth}: {share(one.outputs.equal, one.outputs.compared)} equal, and "
            f"{share(one.verdicts.equal, one.verdicts.compared)} verdicts")
    if repeat.only_base or repeat.only_candidate:
        yield "", (
            f"{count_of(repeat.only_base, 'trial')} ran in the base only, {repeat.only_candidate} in the candidate "
            "only")
    yield "by itself", (
        f"two warm outputs of one case are equal in {_percent(repeat.self_base)} of pairs inside the base, "
        f"{_percent(repeat.self_candidate)} inside the candidate")
    yield "parting", ("no output differs: an observation, not a promise" if repeat.parting is None
                      else _parting(repeat.parting))


def _percent(value: Fraction | None) -> str:
    return NOT_AVAILABLE if value is None else f"{percent(value)} %"


def _parting(parting: Parting) -> str:
    where = f"first in trial {parting.trial.trial} of {shown_line(parting.trial.case, 60)} ({parting.warmth})"
    verdicts = f"verdicts {parting.base.verdict} and {parting.candidate.verdict}"
    at = parting.character
    if at is None or parting.base.output is None or parting.candidate.output is None:
        return f"{where}, where one has no output; {verdicts}"
    return (f"{where}, at character {at + 1}: {_piece(parting.base.output, at)} in the base, "
            f"{_piece(parting.candidate.output, at)} in the candidate; {verdicts}")


def _piece(text: str, at: int) -> str:
    if at >= len(text):
        return "the end"
    return json.dumps(text[at:at + AROUND], ensure_ascii=False) + ("..." if at + AROUND < len(text) else "")
