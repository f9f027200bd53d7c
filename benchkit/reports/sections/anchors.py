"""Where the cases and trials of a run stand on a page, and how much of them it shows.

A page must stay small whatever a run holds, so cases and texts have limits; what is left out is always said.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchkit.reports.outputs import AnswerGroup, answer_groups, value_text
from benchkit.reports.run_report import RunReport
from benchkit.reports.tally import CaseRow
from benchkit.statistics.estimators import State

MOST_MARKED = 10_000
"""Of a run with more trials the cases have counts in place of marks."""
MOST_WHOLE = 10_000
"""On a page with more trials, in all its runs, only cases that fail or are open have details, and not all."""
MOST_ROWS = 2_000
MOST_DETAILED = 1_000
"""Cases with details on such a page, in all its runs."""
TROUBLED = {"fail": 3, "incomplete": 1, "pass": 1}
"""Outcomes that are kept of such a case."""
MOST_TRIALS, MOST_RANGES = 5, 20
"""Single trials, and ranges of their numbers, that are kept of such an outcome where they have no marks."""
TEXT_BYTES = 3_500_000
"""All texts of models and cases on a page, as they are written; markup needs as much again."""
SHORTEST_TEXT, LONGEST_TEXT = 200, 400_000
_ORDER = (State.FLAKY, State.POSSIBLY_FLAKY, State.STABLE_FAIL, State.ONE_TRIAL, State.NO_DATA, State.STABLE_PASS)


@dataclass(frozen=True, slots=True)
class DetailedCase:
    """A case with details: the outcomes that are shown, which trial stands for which, how many others ran."""

    groups: tuple[AnswerGroup, ...]
    trials: Mapping[int, int]
    hidden: int


@dataclass(frozen=True, slots=True)
class Anchors:
    """What the anchors of a run begin with, and its cases with details, by their place in the run.

    Without any, nothing is linked. Texts are cut behind `most_characters`.
    """

    prefix: str = ""
    detailed: Mapping[int, DetailedCase] = field(default_factory=dict)
    most_characters: int = LONGEST_TEXT

    def case(self, place: int) -> str:
        """Where the details of a case stand; empty for a case without."""
        return f"{self.prefix}case-{place + 1}" if place in self.detailed else ""

    def trial(self, place: int, trial: int) -> str:
        """Where a trial, or the first one with the same outcome, stands; empty for a trial without details."""
        case = self.detailed.get(place)
        return f"{self.prefix}case-{place + 1}-trial-{case.trials[trial]}" if case and trial in case.trials else ""


def by_trouble(rows: Sequence[CaseRow]) -> list[int]:
    """The places of all cases: flaky ones first, the most even first among equals, stable passes last."""
    return sorted(range(len(rows)), key=lambda place: (_ORDER.index(rows[place].state), rows[place].unevenness))


def has_marks(run: RunReport) -> bool:
    """Whether every trial has a mark of its own."""
    return len(run.record.results) <= MOST_MARKED


def anchors_of(runs: Sequence[RunReport]) -> tuple[Anchors, ...]:
    """Those of all runs of a page, their texts cut to what the page can hold."""
    is_whole = sum(len(run.record.results) for run in runs) <= MOST_WHOLE
    detailed = [_detailed_cases(run, None if is_whole else MOST_DETAILED // len(runs)) for run in runs]
    most = most_characters([text for run, cases in zip(runs, detailed, strict=True) for text in _texts(run, cases)])
    return tuple(Anchors(f"run-{number}-" if len(runs) > 1 else "", cases, most)
                 for number, cases in enumerate(detailed, 1))


def _detailed_cases(run: RunReport, most_troubled: int | None) -> dict[int, DetailedCase]:
    """All cases as far as they have a row; with a limit, those in trouble, and only some of their outcomes."""
    places, groups_of = by_trouble(run.cases)[:MOST_ROWS], partial(answer_groups)
    if most_troubled is not None:
        rows = run.cases
        places = [place for place in by_trouble(rows)
                  if rows[place].passed < rows[place].n or rows[place].state is State.POSSIBLY_FLAKY][:most_troubled]
        groups_of = partial(answer_groups, most=TROUBLED)
        if not has_marks(run):
            groups_of = partial(groups_of, most_trials=MOST_TRIALS, most_ranges=MOST_RANGES)
    detailed = {}
    for place in sorted(places):
        groups = groups_of(run.record.results_of(place))
        trials = {trial: group.first.trial for group in groups for trial in group.trials}
        detailed[place] = DetailedCase(groups, trials, run.record.trials - sum(group.size for group in groups))
    return detailed


def _texts(run: RunReport, cases: Mapping[int, DetailedCase]) -> Iterator[str]:
    for place, case in cases.items():
        yield value_text(run.record.cases[place].input)
        yield value_text(run.record.cases[place].expected)
        for group in case.groups:
            error = group.first.error
            yield from filter(None, (group.first.output, group.first.reasoning, error.partial if error else None))


def most_characters(texts: Iterable[str], most_bytes: int = TEXT_BYTES) -> int:
    """How many characters of each text fit into so many bytes of a page, from LONGEST_TEXT halved until they do."""
    from benchkit.pages.html import html_text
    most, kept = LONGEST_TEXT, list(texts)
    while most > SHORTEST_TEXT:
        kept = [text[:most] for text in kept]
        if sum(map(len, kept)) <= most_bytes and sum(len(html_text(text).encode()) for text in kept) <= most_bytes:
            return most
        most = max(most // 2, SHORTEST_TEXT)
    return most
