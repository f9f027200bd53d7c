"""Every pair of runs that is compared: its verdict, its numbers, and the cases won and lost by name."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from benchkit.basics.texts import count_of
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import points
from benchkit.reports.paired_cases import CaseDifference, Outcome
from benchkit.reports.sections.lead import warning_blocks
from benchkit.reports.sections.pair_numbers import MOST_NAMED, cut_short, number_blocks
from benchkit.reports.tally import passed_cell, state_words
from benchkit.reports.verdicts import LONGEST_LABEL, Finding, verdict_of

CaseAnchor: TypeAlias = Callable[[int, str], str]
"""Where a case of a run stands, by the place of the run and the id of the case; empty for nowhere."""

CASES = doc.Cut(12, 500, "case")
MOST_IN_FULL, MOST_IN_WORDS = 3, 24
"""Of more pairs only the verdicts stand where space is short, and of more than these not even they."""
_TONES = {Finding.BETTER: Tone.PASS, Finding.WORSE: Tone.FAIL, Finding.NOT_COMPARED: Tone.INCOMPLETE,
          Finding.NOTHING_KNOWN: Tone.INCOMPLETE}


def nowhere(run: int, case: str) -> str:
    """The anchor of a case in a document of pairs alone."""
    return ""


def pair_anchor(side: SideBySide, number: int) -> str:
    """Where a pair that is compared stands, by its place among the pairs; empty for others."""
    return "" if side.pairs[number].comparison is None else f"pair-{number + 1}"


def pair_title(side: SideBySide, pair: Pair, to: str = "") -> tuple[doc.Span, ...]:
    """`candidate against base`, which leads to an anchor."""
    candidate, base = (doc.Link(to, doc.Code(side.labels[one], LONGEST_LABEL)) for one in (pair.candidate, pair.base))
    return candidate, " against ", base


def tone_of(finding: Finding) -> Tone:
    """Better, worse, unknown, or none of these."""
    return _TONES.get(finding, Tone.PLAIN)


def compared_blocks(side: SideBySide, case_anchor: CaseAnchor = nowhere) -> Iterator[doc.Block]:
    """Every pair that is compared, in a section of its own."""
    numbers = [number for number, pair in enumerate(side.pairs) if pair.comparison is not None]
    for place, number in enumerate(numbers):
        pair = side.pairs[number]
        yield doc.Section(pair_anchor(side, number), pair_title(side, pair),
                          partial(pair_blocks, side, pair, case_anchor), is_part=True,
                          detail=doc.LEAD if place < MOST_IN_WORDS else doc.MORE)
    if len(numbers) > MOST_IN_WORDS:
        yield doc.quiet(f"{count_of(len(numbers), 'pair')} in all.")


def pair_blocks(side: SideBySide, pair: Pair, case_anchor: CaseAnchor = nowhere, most_tied: int = MOST_NAMED,
                ) -> Iterator[doc.Block]:
    """The verdict, the numbers, what to trust less, the cases; of many pairs the verdict alone is for every reader."""
    verdict, found = verdict_of(side, pair), pair.comparison
    yield doc.Callout(tone_of(verdict.finding), str(verdict.finding).capitalize(), [doc.Paragraph(f"{verdict.text}.")])
    if found is None:
        return
    least = doc.LEAD if side.tests <= MOST_IN_FULL else doc.MORE
    for block in (*number_blocks(side, pair, found), *warning_blocks(found.warnings),
                  *_changed(pair, found, case_anchor), *_unchanged(pair, found, case_anchor, most_tied)):
        yield replace(block, detail=max(block.detail, least))


def _changed(pair: Pair, found: Comparison, case_anchor: CaseAnchor) -> Iterator[doc.Block]:
    lost = [case for case in found.with_outcome(Outcome.LOST) if not case.is_regression]
    for title, cases in (("Regressions: passed every time, and do not any more", found.regressions),
                         ("Lost otherwise" if found.regressions else "Lost", lost),
                         ("Won", found.with_outcome(Outcome.WON))):
        if cases:
            caption = f"{title} ({count_of(len(cases), 'case')})"
            yield _case_chart(caption, sorted(cases, key=lambda case: -abs(case.difference or 0)), pair, case_anchor)


def _case_chart(caption: str, cases: Sequence[CaseDifference], pair: Pair, case_anchor: CaseAnchor) -> doc.Chart:
    columns = [doc.flexible("case"), doc.Column("base"), doc.Column("candidate"), doc.number("points"),
               doc.flexible("state")]
    sides = [_sides(case, pair, case_anchor) for case in cases]
    rows = [(doc.Code(case.id), *both, points(case.difference), _states(case))
            for case, both in zip(cases, sides, strict=True)]
    bars = [doc.Bar(doc.Code(case.id), float(case.difference or 0), None, None, (now, ", was ", was),
                    Tone.PASS if (case.difference or 0) > 0 else Tone.FAIL)
            for case, (was, now) in zip(cases, sides, strict=True)]
    return doc.Chart(doc.Bars(caption, "case", "difference in pass rate", "passed", bars, CASES, is_signed=True),
                     instead=[doc.Table(caption, columns, rows, CASES, is_titled=True)])


def _sides(case: CaseDifference, pair: Pair, case_anchor: CaseAnchor) -> tuple[doc.Link, doc.Link]:
    return (doc.Link(case_anchor(pair.base, case.id), passed_cell(case.base)),
            doc.Link(case_anchor(pair.candidate, case.id), passed_cell(case.candidate)))


def _states(case: CaseDifference) -> doc.Cell:
    was, now = state_words(case.base.state), state_words(case.candidate.state)
    return now if was == now else f"{was} -> {now}"


def _unchanged(pair: Pair, found: Comparison, case_anchor: CaseAnchor, most_tied: int) -> Iterator[doc.Block]:
    for title, outcome, most in (("tied", Outcome.TIED, most_tied),
                                 ("not judged on both sides", Outcome.UNKNOWN, MOST_NAMED)):
        cases = found.with_outcome(outcome)
        names = [doc.Link(case_anchor(pair.candidate, case.id), doc.Code(case.id, 60)) for case in cases]
        if names:
            yield doc.Fold(f"{count_of(len(names), 'case')} {title}", [doc.Paragraph(cut_short(names, most))],
                           detail=doc.ALL)
