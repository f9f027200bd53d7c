"""A run as it stands on the page: where its parts are, and how much of it is shown.

A page must stay small whatever a run holds, so cases and texts have limits; what is left out is always said.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.values import ErrorFacts
from benchkit.pages.escaping import html_text
from benchkit.recordings.run_record import Result
from benchkit.reports.outputs import EVERYTHING, AnswerGroup, OutputSpace, answer_groups
from benchkit.reports.page_parts import value_text
from benchkit.reports.run_report import RunReport
from benchkit.reports.tally import CaseRow
from benchkit.statistics.estimators import State

MOST_GRID_TRIALS = 10_000
"""In larger runs the grid shows counts per case."""
MOST_WHOLE_TRIALS = 10_000
"""On a page with more trials, in all its runs, only cases that fail or may be flaky have details, and not all."""
MOST_ROWS = 2_000
MOST_DETAILED = 1_000
"""Cases with details on such a page, in all its runs."""
MOST_GROUPS = {"fail": 3, "incomplete": 1, "pass": 1}
"""Different outcomes of such a case, by verdict."""
MOST_LINES, MOST_RANGES = 5, 20
"""Trials of one outcome that are told one by one, and ranges of their numbers, where the grid shows counts."""
TEXT_BYTES = 3_500_000
"""All texts of models and cases on a page, as they are written; markup needs as much again."""
SHORTEST_TEXT, LONGEST_TEXT = 200, 400_000
_ORDER = (State.FLAKY, State.POSSIBLY_FLAKY, State.STABLE_FAIL, State.ONE_TRIAL, State.NO_DATA, State.STABLE_PASS)


@dataclass(frozen=True, slots=True)
class DetailedCase:
    """A case with details: its place in the run, the outcomes that are shown, and how many others ran.

    `trials` are those that have a place of their own on the page.
    """

    place: int
    groups: tuple[AnswerGroup, ...]
    trials: frozenset[int]
    hidden: int


@dataclass(frozen=True, slots=True)
class RunOnPage:
    """A run, its label, what its anchors begin with, and its cases with details by their place.

    Texts are cut behind `most_characters`.
    """

    label: str
    report: RunReport
    prefix: str
    detailed: dict[int, DetailedCase]
    most_characters: int = LONGEST_TEXT

    @property
    def has_grid(self) -> bool:
        """Whether every trial has a mark of its own."""
        return _has_grid(self.report)

    def anchor(self, name: str) -> str:
        """The anchor of a part of this run."""
        return self.prefix + name

    def case_anchor(self, place: int) -> str:
        """Where the details of a case stand; empty for a case without."""
        return f"{self.prefix}case-{place + 1}" if place in self.detailed else ""

    def trial_anchor(self, place: int, trial: int) -> str:
        """Where a trial stands; empty for a trial without details."""
        case = self.detailed.get(place)
        return f"{self.prefix}case-{place + 1}-trial-{trial}" if case and trial in case.trials else ""

    def results_of(self, place: int) -> Sequence[Result]:
        """The trials of a case."""
        return self.report.record.results_of(place)


def _has_grid(run: RunReport) -> bool:
    return len(run.record.results) <= MOST_GRID_TRIALS


def places_by_trouble(rows: Sequence[CaseRow]) -> list[int]:
    """The places of all cases: flaky ones first, the most even first among equals, stable passes last."""
    return sorted(range(len(rows)), key=lambda place: (_ORDER.index(rows[place].state), rows[place].unevenness))


def runs_on_page(runs: Sequence[RunReport], labels: Sequence[str]) -> tuple[RunOnPage, ...]:
    """All runs of a page, their texts cut to what the page has room for."""
    is_whole = sum(len(run.record.results) for run in runs) <= MOST_WHOLE_TRIALS
    detailed = [_all_cases(run) if is_whole else _troubled_cases(run, MOST_DETAILED // len(runs)) for run in runs]
    most = most_characters([text for run, cases in zip(runs, detailed, strict=True) for text in _texts(run, cases)])
    return tuple(
        RunOnPage(label, run, f"run-{number}-" if len(runs) > 1 else "", cases, most)
        for number, (run, label, cases) in enumerate(zip(runs, labels, detailed, strict=True), 1))


def _all_cases(run: RunReport) -> dict[int, DetailedCase]:
    places = places_by_trouble(run.cases)[:MOST_ROWS]
    return {place: _detailed(run, place, EVERYTHING) for place in sorted(places)}


def _troubled_cases(run: RunReport, most: int) -> dict[int, DetailedCase]:
    places = [place for place in places_by_trouble(run.cases) if _is_troubled(run.cases[place])]
    room = OutputSpace(MOST_GROUPS) if _has_grid(run) else OutputSpace(MOST_GROUPS, MOST_LINES, MOST_RANGES)
    return {place: _detailed(run, place, room) for place in sorted(places[:most])}


def _is_troubled(row: CaseRow) -> bool:
    return row.passed < row.n or row.state is State.POSSIBLY_FLAKY


def _detailed(run: RunReport, place: int, room: OutputSpace) -> DetailedCase:
    groups = answer_groups(run.record.results_of(place), room)
    trials = frozenset(line.trial for group in groups for line in group.lines)
    return DetailedCase(place, groups, trials, run.record.trials - sum(group.size for group in groups))


def _texts(run: RunReport, cases: dict[int, DetailedCase]) -> Iterator[str]:
    for place, case in cases.items():
        yield value_text(run.record.cases[place].input)
        yield value_text(run.record.cases[place].expected)
        for group in case.groups:
            yield from texts_of(group.first)


def texts_of(result: Result) -> Iterator[str]:
    """The texts of a model in a trial."""
    error: ErrorFacts | None = result.error
    for text in (result.output, result.reasoning, error.partial if error else None):
        if text:
            yield text


def most_characters(texts: Iterable[str], room: int = TEXT_BYTES) -> int:
    """How many characters of each text fit into `room` bytes of a page, from LONGEST_TEXT halved until they do."""
    most, kept = LONGEST_TEXT, list(texts)
    while most > SHORTEST_TEXT:
        kept = [text[:most] for text in kept]
        if sum(map(len, kept)) <= room and sum(len(html_text(text).encode()) for text in kept) <= room:
            return most
        most = max(most // 2, SHORTEST_TEXT)
    return most
