"""A report as a document: of one run, of several that are compared; its first screen; one case; and its formats."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchkit.render import document as doc
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import COMMENT, as_markdown
from benchkit.render.as_text import as_text
from benchkit.render.columns import NO_PAINT, Paint
from benchkit.reports.comparison import SideBySide
from benchkit.reports.run_report import RunReport
from benchkit.reports.sections import cases, rates
from benchkit.reports.sections.about import about_blocks, footer
from benchkit.reports.sections.anchors import Anchors, anchors_of
from benchkit.reports.sections.failures import failure_blocks, unjudged_blocks
from benchkit.reports.sections.lead import first_blocks, flake_unseen, lead_blocks
from benchkit.reports.sections.overview import comparison_sections
from benchkit.reports.sections.overview import lead_blocks as lead_of_several
from benchkit.reports.sections.speed import speed_blocks
from benchkit.reports.sections.trials import case_section, detail_blocks

MOST_IN_TITLE = 3


def document_of(side: SideBySide, anchors: Sequence[Anchors] = ()) -> doc.Document:
    """The report of one run, or of several that are compared; with anchors also the details of its trials."""
    places = anchors or [Anchors()] * len(side.runs)
    if len(side.runs) == 1:
        run = side.runs[0]
        return doc.Document(_title(side, 0), lambda: lead_blocks(run), run_sections(run, places[0]),
                            footer(side.labels))
    prefix = [one.prefix for one in places]
    named = doc.listed(doc.Code(label) for label in side.labels[:MOST_IN_TITLE])
    more = f" and {len(side.labels) - MOST_IN_TITLE} more" if len(side.labels) > MOST_IN_TITLE else ""
    indices = [{case.id: place for place, case in enumerate(run.cases)} for run in side.runs]
    sections = [*comparison_sections(side, [f"run-{number}-all" for number in range(1, len(side.runs) + 1)],
                                     lambda run, case: places[run].case(indices[run][case]))]
    sections += [doc.Section(f"run-{number + 1}-all", _title(side, number), partial(_whole_run, run, places[number]),
                             is_part=True) for number, run in enumerate(side.runs)]
    title = f"{len(prefix)} runs: ", *named, more
    return doc.Document(title, lambda: lead_of_several(side), sections, footer(side.labels))


def _title(side: SideBySide, place: int) -> doc.Spans:
    return doc.Code(side.labels[place]), ": ", doc.Code(side.runs[place].record.system)


def _whole_run(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    yield from lead_blocks(run)
    yield from run_sections(run, anchors)


def run_sections(run: RunReport, anchors: Anchors) -> list[doc.Section]:
    """What is said of one run, in the order in which a person asks; details of trials only where they have anchors."""
    sections = [
        ("coverage", "How much is known", partial(rates.coverage_blocks, run), doc.LEAD),
        ("rates", "How often it passes", partial(_rates, run), doc.LEAD),
        ("failures", "Why trials failed", partial(failure_blocks, run), doc.LEAD),
        ("flaky", "Flaky cases", partial(cases.flaky_blocks, run, anchors), doc.LEAD),
        ("never", "Cases without a pass", partial(cases.never_blocks, run, anchors), doc.LEAD),
        ("incomplete", "Incomplete trials", partial(unjudged_blocks, run), doc.LEAD),
        ("tags", "By tag", partial(rates.tag_blocks, run), doc.MORE),
        ("grid", "Every trial", partial(cases.all_blocks, run, anchors), doc.MORE),
        ("cases", "Case by case", partial(cases.rate_blocks, run, anchors), doc.ALL),
        ("speed", "Latency, tokens, attempts", partial(speed_blocks, run), doc.LEAD),
        ("about", "What was run", partial(about_blocks, run), doc.MORE),
        ("details", "Input, output and checks", partial(detail_blocks, run, anchors), doc.ALL)]
    return [doc.Section(anchors.prefix + name, title, blocks, detail=detail) for name, title, blocks, detail in sections
            if name != "details" or anchors.detailed]


def _rates(run: RunReport) -> Iterator[doc.Block]:
    yield from rates.rate_blocks(run)
    if run.suite:
        yield doc.Paragraph(flake_unseen(run), True)


def text_report(side: SideBySide, paint: Paint = NO_PAINT, is_full: bool = False) -> Iterator[str]:
    """The report for a terminal, line by line: what a person wants to know first, or all of it."""
    yield from as_text(document_of(side), paint, is_full)
    if not is_full:
        yield from ("\n", "This is what comes first; --full prints all, --case ID all trials of a case.\n")


def markdown_report(side: SideBySide) -> Iterator[str]:
    """The report for a pull request: all of it fits a comment, whatever it is about."""
    return as_markdown(document_of(side), COMMENT)


def page_report(side: SideBySide) -> Iterator[str]:
    """The report as one self-contained page, with every trial of a run of up to 10,000."""
    return as_html(document_of(side, anchors_of(side.runs)))


def first_screen(run: RunReport, paint: Paint = NO_PAINT) -> str:
    """About twenty lines after a run."""
    return "".join(as_text(doc.Document("", lambda: first_blocks(run), ()), paint))


def case_report(runs: Sequence[RunReport], case_id: str, paint: Paint = NO_PAINT) -> Iterator[str]:
    """A case with all its trials in each of the runs, line by line. Raises KeyError where a run has no such case."""
    return as_text(doc.Document("", (), [case_section(run, case_id) for run in runs]), paint, is_full=True)
