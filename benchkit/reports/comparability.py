"""Whether two runs may be compared at all: the reasons why not, a line each.

Runs are compared over the cases both have, if these were the same questions with the same right answers, judged by
the same judge. Settings of the systems may differ: they are what is compared.
What does not live here: the comparison (comparison.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from benchkit.basics.canonical import canonical
from benchkit.basics.command import Command
from benchkit.basics.names import count_of, names_of, shown_line
from benchkit.recordings.run_record import Judge, JudgedCase, RunRecord


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why two runs are not compared: a code that stays the same, and a line."""

    code: str
    text: str


def obstacles_between(base: RunRecord, candidate: RunRecord) -> tuple[Obstacle, ...]:
    """All that stands in the way, the last with the way on; nothing if the two can be compared."""
    found = (*_judges(base, candidate), *_cases(base, candidate))
    codes = {obstacle.code for obstacle in found}
    if not codes or "no-common-case" in codes:
        return found
    way = ("record both again, asked the same" if "ask-differs" in codes
           else f"judge both again: {_again(base, candidate)}")
    return (*found[:-1], replace(found[-1], text=f"{found[-1].text}; {way}"))


def _judges(base: RunRecord, candidate: RunRecord) -> Iterator[Obstacle]:
    if base.judge != candidate.judge:
        yield Obstacle("another-judge", f"they were judged by {_judge(base.judge)} and by {_judge(candidate.judge)}")


def _again(base: RunRecord, candidate: RunRecord) -> str:
    """The command that judges a recording of either side; the record does not say in which file it is."""
    module = base.task.module if base.task.module == candidate.task.module else "MODULE"
    return str(Command("harness.py", ("run", "--task", module, "--split", base.split, "--system", "replay:RECORDING",
                                      "--out", "RUN")))


def _judge(judge: Judge) -> str:
    return f"{shown_line(judge.name, 60)} {shown_line(judge.version, 30)} (source {judge.task_sha256[:12]})"


def _cases(base: RunRecord, candidate: RunRecord) -> Iterator[Obstacle]:
    others = {case.id: case for case in candidate.cases}
    common = [(case, others[case.id]) for case in base.cases if case.id in others]
    if not common:
        yield Obstacle("no-common-case", (
            f"they have no case in common ({count_of(len(base.cases), 'case')} and {len(candidate.cases)})"))
    for code, words, part_of in _PARTS:
        differing = [case.id for case, other in common if part_of(case) != part_of(other)]
        if differing:
            yield Obstacle(code, (
                f"{words} differs in {len(differing):,} of {count_of(len(common), 'common case')} "
                f"({names_of(differing)})"))


_PARTS: tuple[tuple[str, str, Callable[[JudgedCase], str]], ...] = (
    ("input-differs", "the input", lambda case: canonical(case.input)),
    ("expected-differs", "what is expected", lambda case: canonical(case.expected)),
    ("ask-differs", "what is asked (messages or schema)", lambda case: case.ask))
