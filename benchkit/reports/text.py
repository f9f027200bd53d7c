"""The text report: at most 100 columns, what a person wants to know first, then the tables.

A renderer: values in, text out. Text of models and files is shown with its control characters visible.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.texts import count_of, shown_line
from benchkit.reports.columns import INDENT, LEAST_FLEXIBLE, WIDTH, clipped, left, right, table, width_of, wrapped
from benchkit.reports.comparison import SideBySide
from benchkit.reports.failures import check_error
from benchkit.reports.figures import number, of, rate, spread
from benchkit.reports.paint import NO_PAINT, Paint
from benchkit.reports.run_report import RunReport, headline_of
from benchkit.reports.tally import CaseRow, in_state, never_passed
from benchkit.reports.text_cases import case_lines, flaky_lines, main_failure, never_lines, passed_cell
from benchkit.reports.text_failures import confusion_lines, failure_lines, unjudged_lines
from benchkit.reports.text_flaky import flaky_output_lines
from benchkit.reports.text_pairs import side_by_side_text
from benchkit.reports.text_rates import about_lines, coverage_lines, pass_lines, tag_lines
from benchkit.reports.text_speed import attempt_lines, latency_lines, token_lines
from benchkit.statistics.estimators import State

LABEL_WIDTH = 9
FEW = 3
"""So many reasons and cases stand on the first screen."""


@dataclass(frozen=True, slots=True)
class Section:
    """A title, and the lines under it."""

    title: str
    lines: Callable[[RunReport], Iterable[str]]


def text_report(runs: Sequence[RunReport], paint: Paint = NO_PAINT, side: SideBySide | None = None) -> str:
    """The whole report; ends in a newline unless there is no run.

    First all runs side by side, where `side` compares them, then one run after the other.
    """
    texts = [] if side is None else [side_by_side_text(side, paint)]
    for run in runs:
        head = [] if len(runs) == 1 else [paint.strong(_rule(f"{run.name}: {run.record.system}"))]
        texts.append("\n".join([*head, *_run_lines(run, paint)]) + "\n")
    return "\n\n".join(texts)


def first_screen(run: RunReport, paint: Paint = NO_PAINT) -> str:
    """About twenty lines after a run: the headline, k = 1 and the last k, what fails most; ends in a newline."""
    lines = [*headline_lines(run, paint), *_first_error(run), *_first_rates(run), *_first_reasons(run)]
    lines += [*_first_cases(run), *_first_warnings(run)]
    return "\n".join(lines) + "\n"


def headline_lines(run: RunReport, paint: Paint = NO_PAINT) -> list[str]:
    """What it does, what is unknown, and what to trust: a line each, and one more where an interval needs it."""
    headline = headline_of(run)
    room = WIDTH - LABEL_WIDTH - width_of(f"{headline.does} ()")
    name = f" ({clipped(run.record.system, room)})" if room >= LEAST_FLEXIBLE else ""
    warnings = f"; {count_of(len(run.warnings), 'warning')}" if run.warnings else ""
    has_space = width_of(headline.trust + warnings) <= WIDTH - LABEL_WIDTH
    sentences = {"Does": headline.does + name, "Unknown": headline.unknown,
                 "Trust": headline.trust + (warnings if has_space else "")}
    return [line.replace(label, paint.strong(label), 1) if number == 0 else line
            for label, sentence in sentences.items()
            for number, line in enumerate(wrapped(sentence, f"{label:<{LABEL_WIDTH}}"))]


def _run_lines(run: RunReport, paint: Paint) -> Iterator[str]:
    yield from headline_lines(run, paint)
    for section in _sections(paint):
        yield ""
        yield paint.strong(section.title)
        yield from section.lines(run)


def _sections(paint: Paint) -> tuple[Section, ...]:
    return (
        Section("How much is known", coverage_lines),
        Section("How often it passes", pass_lines),
        Section("Why trials failed", lambda run: (*failure_lines(run), *confusion_lines(run))),
        Section("By tag", tag_lines),
        Section("Case by case", lambda run: case_lines(run, paint)),
        Section("Flaky cases", lambda run: (*flaky_lines(run), *flaky_output_lines(run))),
        Section("Cases without a pass", never_lines),
        Section("Incomplete trials", unjudged_lines),
        Section("Latency", latency_lines),
        Section("Tokens", token_lines),
        Section("Attempts", attempt_lines),
        Section("What was run", about_lines),
        Section("Warnings", lambda run: _warning_lines(run, paint)),
    )


def _warning_lines(run: RunReport, paint: Paint) -> Iterator[str]:
    if not run.warnings:
        yield INDENT + "none"
    for caution in run.warnings:
        yield from _lines_of_warning(caution.code, caution.text, paint)


def _lines_of_warning(code: str, text: str, paint: Paint) -> list[str]:
    first, *rest = wrapped(f"{code}: {text}", INDENT, INDENT * 2)
    return [first.replace(code, paint.unsure(code), 1), *rest]


def _rule(title: str) -> str:
    line = f"== {clipped(title, WIDTH - 7)} "
    return line + "=" * (WIDTH - width_of(line))


def _first_error(run: RunReport) -> list[str]:
    """What a check of the task raised, whole; else the most frequent error, in one line."""
    found = check_error(run.unjudged)
    if found is not None:
        return wrapped(f"not judged: {shown_line(found.message, 400)}", INDENT, INDENT * 2)
    most = max((error for error in run.unjudged if error.type != "NotRun"), key=lambda error: error.with_message,
               default=None)
    if most is None:
        return []
    count = of(most.with_message, run.coverage.planned)
    return [INDENT + clipped(f"most frequent error: {most.type} in {count}: {most.message}", WIDTH - len(INDENT))]


def _first_rates(run: RunReport) -> list[str]:
    if not run.suite:
        return []
    ends = run.suite if len(run.suite) < 2 else (run.suite[0], run.suite[-1])
    columns = [right("k"), right("pass@k %"), right("95 %"), right("pass^k %"), right("95 %"), left("cases done")]
    rows = ([number(one.k), rate(one.at), spread(one.at.low, one.at.high), rate(one.hat),
             spread(one.hat.low, one.hat.high), of(one.hat.completed_cases, run.coverage.cases)] for one in ends)
    return ["", *table(columns, rows)]


def _first_reasons(run: RunReport) -> list[str]:
    reasons = run.failures.reasons[:FEW]
    if not reasons:
        return []
    columns = [right("trials"), left(f"why, of {count_of(run.failures.failed, 'failed trial')}", flexible=True)]
    return ["", *table(columns, ([number(one.count), f"{one.check}: {one.text}"] for one in reasons))]


def _first_cases(run: RunReport) -> list[str]:
    flaky, never = in_state(run.cases, State.FLAKY), never_passed(run.cases)
    rows = sorted(flaky, key=lambda row: row.unevenness)[:FEW] + list(never[:FEW])
    if not rows:
        return []
    columns = [left("for example", flexible=True), left("passed"), left("fails most often by", flexible=True)]
    return ["", *table(columns, map(_example, rows))]


def _first_warnings(run: RunReport) -> list[str]:
    codes = ", ".join(dict.fromkeys(caution.code for caution in run.warnings))
    return ["", *wrapped(f"warnings: {codes}", INDENT, INDENT * 2)] if codes else []


def _example(row: CaseRow) -> list[str]:
    return [row.id, passed_cell(row), main_failure(row)]
