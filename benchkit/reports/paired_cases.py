"""Two runs, case by case: whether they may be compared, and who won, lost, tied.

Runs are compared over the cases both have, if these were the same questions with the same right answers, judged by
the same judge. Settings of the systems may differ: they are what is compared.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from benchkit.basics.command import Command
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of, names_of, shown_line
from benchkit.recordings.run_record import Judge, JudgedCase, RunRecord
from benchkit.reports.tally import CaseRow
from benchkit.statistics.permutation import PairedCounts


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One reason why two runs are not compared: a code that stays the same, and a line."""

    code: str
    text: str


def incompatibilities_between(base: RunRecord, candidate: RunRecord) -> tuple[Incompatibility, ...]:
    """All that stands in the way, the last with the way on; nothing if the two can be compared."""
    found = (*_judges(base, candidate), *_cases(base, candidate))
    codes = {incompatibility.code for incompatibility in found}
    if not codes or "no-common-case" in codes:
        return found
    way = ("record both again, asked the same" if "ask-differs" in codes
           else f"judge both again: {_again(base, candidate)}")
    return (*found[:-1], replace(found[-1], text=f"{found[-1].text}; {way}"))


def _judges(base: RunRecord, candidate: RunRecord) -> Iterator[Incompatibility]:
    if base.judge != candidate.judge:
        yield Incompatibility(
            "another-judge", f"they were judged by {_judge(base.judge)} and by {_judge(candidate.judge)}"
        )


def _again(base: RunRecord, candidate: RunRecord) -> str:
    """The command that judges a recording of either side; the record does not say in which file it is."""
    module = base.task.module if base.task.module == candidate.task.module else "MODULE"
    return str(Command("harness.py", ("run", "--task", module, "--split", base.split, "--system", "replay:RECORDING",
                                      "--out", "RUN")))


def _judge(judge: Judge) -> str:
    return f"{shown_line(judge.name, 60)} {shown_line(judge.version, 30)} (source {judge.task_sha256[:12]})"


def _cases(base: RunRecord, candidate: RunRecord) -> Iterator[Incompatibility]:
    others = {case.id: case for case in candidate.cases}
    common = [(case, others[case.id]) for case in base.cases if case.id in others]
    if not common:
        yield Incompatibility("no-common-case", (
            f"they have no case in common ({count_of(len(base.cases), 'case')} and {len(candidate.cases)})"))
    for code, words, part_of in _PARTS:
        differing = [case.id for case, other in common if part_of(case) != part_of(other)]
        if differing:
            yield Incompatibility(code, (
                f"{words} differs in {len(differing):,} of {count_of(len(common), 'common case')} "
                f"({names_of(differing)})"))


_PARTS: tuple[tuple[str, str, Callable[[JudgedCase], str]], ...] = (
    ("input-differs", "the input", lambda case: canonical(case.input)),
    ("expected-differs", "what is expected", lambda case: canonical(case.expected)),
    ("ask-differs", "what is asked (messages or schema)", lambda case: case.ask))


class Outcome(StrEnum):
    """Who passes a case more often; UNKNOWN where one side judged no trial of it."""

    WON = "won"
    LOST = "lost"
    TIED = "tied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CaseDifference:
    """One case that both runs have."""

    base: CaseRow
    candidate: CaseRow

    @property
    def id(self) -> str:
        """The case."""
        return self.base.id

    @property
    def counts(self) -> PairedCounts:
        """The trials of both sides; the candidate is the first, so that above 0 means better."""
        return PairedCounts(self.candidate.counts, self.base.counts)

    @property
    def difference(self) -> Fraction | None:
        """Pass rate of the candidate minus that of the base over judged trials; None where a side has none."""
        return self.counts.difference if self.counts.both_completed else None

    @property
    def outcome(self) -> Outcome:
        """What became of the case on the candidate's side."""
        difference = self.difference
        if difference is None:
            return Outcome.UNKNOWN
        if not difference:
            return Outcome.TIED
        return Outcome.WON if difference > 0 else Outcome.LOST

    @property
    def is_regression(self) -> bool:
        """The base passed every time, and the candidate failed a trial."""
        return self.base.passed_every_time and self.candidate.passed < self.candidate.n

    @property
    def may_be_regression(self) -> bool:
        """The base passed every time, and the candidate failed no trial, but not all of its trials were judged."""
        return self.base.passed_every_time and self.candidate.passed == self.candidate.n and (
            self.candidate.incomplete > 0)

    @property
    def is_progress(self) -> bool:
        """The reverse of a regression: the candidate passes every time, and the base failed a trial."""
        return self.candidate.passed_every_time and self.base.passed < self.base.n


def case_differences(base: Sequence[CaseRow], candidate: Iterable[CaseRow]) -> tuple[CaseDifference, ...]:
    """The common cases, in the order of the base."""
    others = {row.id: row for row in candidate}
    return tuple(CaseDifference(row, others[row.id]) for row in base if row.id in others)


def only_in(rows: Iterable[CaseRow], others: Iterable[CaseRow]) -> tuple[str, ...]:
    """The ids of cases that the other side does not have, in order."""
    known = {row.id for row in others}
    return tuple(row.id for row in rows if row.id not in known)
