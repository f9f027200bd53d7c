"""The report page: one self-contained HTML file of one run, or of several that are compared.

A renderer: values in, text out. Warnings stand on top; every trial of a run of up to 10,000 can be followed to its
output.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import shown_line
from benchkit.pages.document import Page, PageSection, document
from benchkit.pages.html import Html, element, joined
from benchkit.pages.parts import bullets, link
from benchkit.reports.comparison import SideBySide
from benchkit.reports.page_about import about_part, footer
from benchkit.reports.page_cases import bars_part, grid_part
from benchkit.reports.page_details import details_part
from benchkit.reports.page_failures import failure_part
from benchkit.reports.page_flaky import flaky_part
from benchkit.reports.page_lead import figures_part, headline_part, run_lead
from benchkit.reports.page_pair import pairs_part
from benchkit.reports.page_pairs import overview_part, pairs_lead
from benchkit.reports.page_parts import LONGEST_NAME
from benchkit.reports.page_rates import coverage_part, pass_part, tag_part
from benchkit.reports.page_run import RunOnPage, runs_on_page
from benchkit.reports.page_speed import speed_part

MOST_IN_TITLE = 3


@dataclass(frozen=True, slots=True)
class Topic:
    """A part of what is said of a run; its body is read once."""

    name: str
    title: str
    body: Iterable[Html]


def page_report(side: SideBySide) -> Iterator[str]:
    """The file, in pieces; runs are compared where there are several."""
    runs = runs_on_page(side.runs, side.labels)
    return document(_of_one(runs[0]) if len(runs) == 1 else _of_several(side, runs))


def _of_one(run: RunOnPage) -> Page:
    sections = [PageSection(run.anchor(topic.name), topic.title, topic.body) for topic in _topics(run)]
    return Page(_title_of(run), run_lead(run.report), sections, footer([run.label]))


def _of_several(side: SideBySide, runs: Sequence[RunOnPage]) -> Page:
    named = ", ".join(shown_line(run.label, LONGEST_NAME) for run in runs[:MOST_IN_TITLE])
    more = f" and {len(runs) - MOST_IN_TITLE} more" if len(runs) > MOST_IN_TITLE else ""
    sections = [PageSection("runs", "Side by side", overview_part(side, runs)),
                PageSection("pairs", "Pair by pair", pairs_part(side, runs)),
                *(PageSection(run.anchor("all"), _title_of(run), _whole_run(run)) for run in runs)]
    return Page(f"{len(runs)} runs: {named}{more}", pairs_lead(side), sections, footer(side.labels))


def _title_of(run: RunOnPage) -> str:
    return f"{shown_line(run.label, LONGEST_NAME)}: {shown_line(run.report.record.system, LONGEST_NAME)}"


def _whole_run(run: RunOnPage) -> Iterator[Html]:
    topics = _topics(run)
    yield headline_part(run.report)
    yield figures_part(run.report)
    links = bullets(link(run.anchor(topic.name), topic.title) for topic in topics)
    yield element("nav", links, aria_label=f"Contents of {shown_line(run.label, LONGEST_NAME)}")
    for topic in topics:
        yield joined(element("h3", topic.title, id=run.anchor(topic.name)), "\n")
        yield from topic.body


def _topics(run: RunOnPage) -> tuple[Topic, ...]:
    report = run.report
    return (
        Topic("coverage", "How much is known", coverage_part(report)),
        Topic("rates", "How often it passes", pass_part(report)),
        Topic("grid", "Every trial", grid_part(run)),
        Topic("cases", "Case by case", bars_part(run)),
        Topic("flaky", "Flaky cases", flaky_part(run)),
        Topic("failures", "Why trials failed", failure_part(report)),
        Topic("tags", "By tag", tag_part(report)),
        Topic("speed", "Latency, tokens, attempts", speed_part(report)),
        Topic("about", "What was run", about_part(report)),
        Topic("details", "Input, output and checks", details_part(run)),
    )
