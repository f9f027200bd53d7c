"""A report as a document: of one run, of several that are compared; its first screen; one case; and its formats."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchkit import VERSION
from benchkit.basics.texts import count_of
from benchkit.render import document as doc
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import COMMENT, as_markdown
from benchkit.render.as_text import as_text
from benchkit.render.columns import NO_PAINT, Paint
from benchkit.reports.comparison import SideBySide
from benchkit.reports.run_report import RunReport
from benchkit.reports.sections import about, cases, rates
from benchkit.reports.sections.anchors import Anchors, anchors_of
from benchkit.reports.sections.lead import first_blocks, lead_blocks
from benchkit.reports.sections.overview import comparison_lead, comparison_sections

MOST_IN_TITLE, MOST_IN_FOOTER = 3, 10


def document_of(side: SideBySide, anchors: Sequence[Anchors] = ()) -> doc.Document:
    """The report of one run, or of several that are compared; with anchors also the details of its trials."""
    places = anchors or [Anchors()] * len(side.runs)
    titles = [(doc.Code(label), ": ", doc.Code(run.record.system))
              for label, run in zip(side.labels, side.runs, strict=True)]
    if len(side.runs) == 1:
        run = side.runs[0]
        return doc.Document(titles[0], partial(lead_blocks, run), run_sections(run, places[0]), _footer(side.labels))
    indices = [{case.id: place for place, case in enumerate(run.cases)} for run in side.runs]
    sections = [
        *comparison_sections(side, [f"run-{number}-all" for number in range(1, len(side.runs) + 1)],
                             lambda run, case: places[run].case(indices[run][case])),
        *(doc.Section(f"run-{number}-all", title, partial(_whole_run, run, place), is_part=True)
          for number, (title, run, place) in enumerate(zip(titles, side.runs, places, strict=True), 1))]
    title = (f"{count_of(len(side.runs), 'run')}: ", *_names(side.labels, MOST_IN_TITLE))
    return doc.Document(title, partial(comparison_lead, side), sections, _footer(side.labels))


def _names(labels: Sequence[str], most: int) -> Sequence[doc.Span]:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return *doc.listed(map(doc.Code, labels[:most])), more


def _footer(labels: Sequence[str]) -> doc.Spans:
    """How a report was made, by which kit, from what."""
    records, give = ("record", "gives") if len(labels) == 1 else ("records", "give")
    return (f"Made by report.py, kit {VERSION}, from the run {records} ", *_names(labels, MOST_IN_FOOTER),
            f" alone: the same {records} {give} the same bytes. ", doc.Code("python3 report.py RUN --case ID"),
            " shows every output.")


def _whole_run(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    yield from lead_blocks(run)
    yield from run_sections(run, anchors)


def run_sections(run: RunReport, anchors: Anchors) -> list[doc.Section]:
    """What is said of one run, in the order in which a person asks; details of trials only where they have anchors."""
    sections = [
        ("coverage", "How much is known", partial(rates.coverage_blocks, run), doc.LEAD),
        ("rates", "How often it passes", partial(rates.rate_blocks, run), doc.LEAD),
        ("failures", "Why trials failed", partial(rates.failure_blocks, run), doc.LEAD),
        ("flaky", "Flaky cases", partial(cases.flaky_blocks, run, anchors), doc.LEAD),
        ("never", "Cases without a pass", partial(cases.never_blocks, run, anchors), doc.LEAD),
        ("incomplete", "Incomplete trials", partial(rates.unjudged_blocks, run), doc.LEAD),
        ("tags", "By tag", partial(rates.tag_blocks, run), doc.MORE),
        ("grid", "Every trial", partial(cases.all_blocks, run, anchors), doc.MORE),
        ("cases", "Case by case", partial(cases.bar_blocks, run, anchors), doc.ALL),
        ("speed", "Latency, tokens, attempts", partial(about.speed_blocks, run), doc.LEAD),
        ("about", "What was run", partial(about.about_blocks, run), doc.MORE),
        ("details", "Input, output and checks", partial(cases.detail_blocks, run, anchors), doc.ALL)]
    return [doc.Section(anchors.prefix + name, title, blocks, detail=detail) for name, title, blocks, detail in sections
            if name != "details" or anchors.detailed]


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
    return "".join(as_text(doc.Document("", partial(first_blocks, run), ()), paint))


def case_report(runs: Sequence[RunReport], case_id: str, paint: Paint = NO_PAINT) -> Iterator[str]:
    """A case with all its trials in each of the runs, line by line. Raises KeyError where a run has no such case."""
    return as_text(doc.Document("", (), [cases.case_section(run, case_id) for run in runs]), paint, is_full=True)
