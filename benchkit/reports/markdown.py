"""The Markdown report, made for a pull request or a job summary: the headline and all warnings first, then tables.

A renderer: values in, text out. No text of models or files can leave its cell. Long lists are folded, and end with
how much was left out. The whole report fits a comment on GitHub, whatever it is about: rows are left out first, then
what runs and pairs are told in full, then runs and pairs, and what is left out is told.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchkit.pages.markdown import Markdown, bullets, code, folded, heading, warning, words
from benchkit.reports.comparison import SideBySide
from benchkit.reports.markdown_about import circumstances_part, footer, speed_part
from benchkit.reports.markdown_cases import all_cases_part, failure_part, flaky_part, never_part, unjudged_part
from benchkit.reports.markdown_pairs import overview, pairs_part
from benchkit.reports.markdown_parts import (
    FEW_ROWS,
    LONGEST_NAME,
    MOST_CHARACTERS,
    MOST_ROWS,
    Room,
    left_out,
    own,
)
from benchkit.reports.markdown_rates import coverage_part, pass_part, tag_part
from benchkit.reports.run_report import RunReport, headline_of

FEWEST_ROWS = 3
"""Before a list has fewer rows, details of whole runs and pairs are left out."""
MOST_TOLD, MOST_NAMED = 64, 640
"""More pairs in full, or more rows of pairs, do not fit in any case: one takes more than 1,000 and 100 characters."""
CUT = "\nThe rest is left out: the report is longer than a comment may be. The text and the page have everything.\n"


def markdown_report(beside: SideBySide) -> Iterator[str]:
    """The file, part by part; runs are compared where there are several."""
    for room in _rooms(len(beside.runs), len(beside.pairs)):
        parts, is_whole = _fitting(_report(beside, room))
        if is_whole:
            break
    yield from parts
    if not is_whole:
        yield CUT


def _rooms(runs: int, pairs: int) -> Iterator[Room]:
    """From much to little."""
    rows = max(MOST_ROWS // max(runs, 1), FEW_ROWS)
    told, named = min(max(runs, pairs), MOST_TOLD), min(max(runs, pairs), MOST_NAMED)
    while True:
        yield Room(rows, max(rows // max(runs, 1), min(rows, FEW_ROWS)), told, named)
        if rows > FEWEST_ROWS:
            rows = max(rows // 2, FEWEST_ROWS)
        elif told:
            told //= 2
        elif named > 1:
            named //= 2
        else:
            return


def _fitting(parts: Iterable[str]) -> tuple[list[str], bool]:
    """The parts that there is room for, in order, and whether that is all of them."""
    fitting: list[str] = []
    room = MOST_CHARACTERS
    for part in parts:
        room -= len(part)
        if room < len(CUT):
            return fitting, False
        fitting.append(part)
    return fitting, True


def _report(beside: SideBySide, room: Room) -> Iterator[Markdown]:
    runs = beside.runs
    if len(runs) > 1:
        yield from overview(beside, room.named)
        yield from pairs_part(beside, room)
    for place, run in enumerate(runs[:room.named]):
        yield from _run(beside.labels[place], run, room if place < room.told else None, len(runs) == 1)
    yield from left_out(min(len(runs), room.named) - room.told, "detailed run")
    yield from left_out(len(runs) - room.named, "run")
    yield footer(beside.labels)


def _run(label: str, run: RunReport, room: Room | None, is_alone: bool) -> Iterator[Markdown]:
    """The headline and the warnings of a run, and all else where there is room."""
    yield heading(2, code(label, LONGEST_NAME), own("by"), code(run.record.system, LONGEST_NAME))
    headline = headline_of(run)
    yield bullets([words(own("**Does:**"), own(headline.does)), words(own("**Unknown:**"), own(headline.unknown)),
                   words(own("**Trust:**"), own(headline.trust))])
    yield warning(words(code(caution.code), caution.text) for caution in run.warnings)
    if room is not None and is_alone:
        yield from _details(run, room.rows)
    elif room is not None:
        yield folded(f"All of {label}", *_details(run, room.rows))


def _details(run: RunReport, most: int) -> Iterator[Markdown]:
    for title, parts in _sections(run, most):
        yield heading(3, own(title))
        yield from parts


def _sections(run: RunReport, most: int) -> Iterator[tuple[str, Iterator[Markdown]]]:
    yield "How much is known", coverage_part(run)
    yield "How often it passes", pass_part(run)
    yield "Why trials failed", failure_part(run)
    yield "Flaky cases", flaky_part(run, most // 2)
    yield "Cases without a pass", never_part(run, most // 2)
    if run.unjudged:
        yield "Incomplete trials", unjudged_part(run)
    yield "In detail", _asides(run, most)
    yield "What was run", circumstances_part(run)


def _asides(run: RunReport, most: int) -> Iterator[Markdown]:
    for title, parts in (("By tag", tag_part(run, most // 2)), ("Case by case", all_cases_part(run, most)),
                         ("Latency, tokens, attempts", speed_part(run))):
        body = list(parts)
        if body:
            yield folded(own(title), *body)
