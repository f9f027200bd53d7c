"""The Markdown report, made for a pull request or a job summary: the headline and all warnings first, then tables.

A renderer: values in, text out. No text of models or files can leave its cell. Long lists are folded, and end with
how much was left out, because a comment on GitHub holds 65,536 characters.
What does not live here: the parts (markdown_rates.py, markdown_cases.py, markdown_about.py, markdown_pairs.py), and
the escaping (pages/).
"""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.pages.markdown import Markdown, bullets, code, folded, heading, warning, words
from benchkit.reports.comparison import SideBySide
from benchkit.reports.headline import headline_of
from benchkit.reports.markdown_about import circumstances_part, footer, speed_part
from benchkit.reports.markdown_cases import all_cases_part, failure_part, flaky_part, never_part, unjudged_part
from benchkit.reports.markdown_pairs import overview, pairs_part
from benchkit.reports.markdown_parts import FEW_ROWS, LONGEST_NAME, MOST_ROWS, own
from benchkit.reports.markdown_rates import coverage_part, pass_part, tag_part
from benchkit.reports.run_report import RunReport


def markdown_report(beside: SideBySide) -> Iterator[str]:
    """The file, part by part; runs are compared where there are several."""
    runs = beside.runs
    most = max(MOST_ROWS // max(len(runs), 1), FEW_ROWS)
    if len(runs) > 1:
        yield from overview(beside)
        yield from pairs_part(beside, most // len(runs))
    for label, run in zip(beside.labels, runs, strict=True):
        yield from _run(label, run, most, len(runs) == 1)
    yield footer(beside.labels)


def _run(label: str, run: RunReport, most: int, is_alone: bool) -> Iterator[Markdown]:
    yield heading(2, code(label, LONGEST_NAME), own("by"), code(run.record.system, LONGEST_NAME))
    headline = headline_of(run)
    yield bullets([words(own("**Does:**"), own(headline.does)), words(own("**Unknown:**"), own(headline.unknown)),
                   words(own("**Trust:**"), own(headline.trust))])
    yield warning(words(code(caution.code), caution.text) for caution in run.cautions)
    if is_alone:
        yield from _details(run, most)
    else:
        yield folded(f"All of {label}", *_details(run, most))


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
