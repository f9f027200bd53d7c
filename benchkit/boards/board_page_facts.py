"""The board's page on what answers took: tokens, latency, incomplete cells, agreement, and systems as served."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import names_of
from benchkit.boards.board_page_parts import line, name, system_name
from benchkit.boards.board_values import Board, SystemFacts
from benchkit.boards.board_words import (
    AGREEMENT,
    MOST_FAILURES,
    absences,
    counts_of,
    error_types,
    failed_cells,
    right_words,
)
from benchkit.boards.usage import TokenUse
from benchkit.pages.html import Child, Html, element
from benchkit.pages.parts import bullets, code, fold, paragraph
from benchkit.pages.row_chart import Bar, RowTitles, bar_chart
from benchkit.pages.tables import Column, number_column, table
from benchkit.reports.figures import NOT_AVAILABLE, latency, number, per_second, percent
from benchkit.reports.latency_ratio import COLD
from benchkit.reports.speed import LatencyColumn
from benchkit.statistics.intervals import wilson
from benchkit.statistics.percentiles import PERCENTS

MOST_SETTINGS = 60


def tokens_part(board: Board) -> Iterator[Html]:
    """Tokens of each system, never money."""
    columns = [Column("system"), number_column("calls"), number_column("with figures"), number_column("prompt tokens"),
               number_column("output tokens"), number_column("output tokens per s"), number_column("cells repeated")]
    yield from table("Tokens and attempts", columns, map(_token_row, board.facts))
    told = "".join(f"; {code} means that {why}" for code, why in absences(board.facts).items())
    yield element("p", f"Tokens as the servers counted them, never money{told}. Calls are requests, those that failed "
                       "or were given up included. Cells repeated took more than one attempt.", class_="quiet")


def _token_row(one: SystemFacts) -> list[Child]:
    rate = per_second(one.output_per_second)
    return [system_name(one), *_token_cells(one.tokens), rate, one.attempts]


def _token_cells(tokens: TokenUse) -> list[Child]:
    wire = tokens.to_wire()
    if isinstance(wire, str):
        return ["0" if not tokens.calls else NOT_AVAILABLE, "0", code(wire), code(wire)]
    return [number(tokens.calls), number(tokens.reported), number(tokens.prompt_tokens),
            number(tokens.output_tokens)]


def latency_part(board: Board) -> Iterator[Html]:
    """Latencies of warm and cold trials by nearest rank."""
    columns = [Column("system"), Column("trials are"), number_column("trials"), number_column("timeouts"),
               *(number_column(f"p{one}") for one in PERCENTS)]
    rows = [[system_name(one), word, str(column.n), str(column.timeouts), *_percentiles(column)]
            for one in board.facts for word, column in (("warm", one.warm), ("cold", one.cold)) if column.n]
    if not rows:
        yield paragraph("No latency was recorded.")
        return
    yield from table("Latency of one trial, in seconds", columns, rows)
    yield element("p", f"Judged trials and timeouts, by nearest rank; n/a: too few for that percentile; {COLD}."
                       + (" A trial is the sum of its requests." if board.making.geometry == "gated" else ""),
                  class_="quiet")


def _percentiles(column: LatencyColumn) -> list[str]:
    return [latency(found.value) if found else NOT_AVAILABLE for found in column.percentiles]


def incomplete_part(board: Board) -> Iterator[Html]:
    """Cells without a verdict, by type of error."""
    kinds = error_types(board.facts)
    if not kinds:
        yield paragraph("None: every planned cell has an answer, and every answer was judged.")
        return
    columns = [Column("system"), *(number_column(line(kind)) for kind in kinds), number_column("planned")]
    planned = {one.system: one.planned for one in board.ranking}
    yield from table("Incomplete cells, by type of error", columns, (
        [system_name(one), *(str(one.incomplete.get(kind, 0)) for kind in kinds), planned.get(one.system)]
        for one in board.facts))
    failed = list(failed_cells(board.facts))
    columns = [Column("system"), Column("error"), Column("message"), number_column("cells"), Column("which")]
    yield from table("Why, and which", columns, (
        [system_name(one), line(some.type), line(some.message), str(len(some.cells)), names_of(some.cells)]
        for one, some in failed[:MOST_FAILURES]))
    if len(failed) > MOST_FAILURES:
        yield paragraph(f"And {len(failed) - MOST_FAILURES} more, in eval.jsonl.")
    yield element("p", "An incomplete cell has no answer that could be judged: it is neither right nor wrong, and is "
                       "never dropped. NotRun: it was never asked.", class_="quiet")


def agreement_part(board: Board) -> Iterator[Html]:
    """What systems said, and how often that is what a baseline says."""
    if any(one.said for one in board.facts):
        yield from table("What was said, in the words of the pack", [Column("system"), Column("said, how often")], (
            [system_name(one), counts_of(one.said)] for one in board.facts))
        yield element("p", right_words(board.making), class_="quiet")
    if board.agreements:
        titles = RowTitles("Agreement with baselines, 95 % Wilson intervals", "system and baseline", "same word",
                           "% of cells")
        yield from bar_chart(titles, map(_agreement_bar, range(len(board.agreements)), [board] * len(board.agreements)))
        yield element("p", AGREEMENT, class_="quiet")
    else:
        yield paragraph("No cell was answered by a model and by a baseline to hold it against.")


def _agreement_bar(place: int, board: Board) -> Bar:
    one = board.agreements[place]
    label = element("span", name(one.system), " and ", name(one.baseline))
    if not one.cells:
        return Bar(label, None, None, None, "no cell")
    ends = wilson(one.equal, one.cells)
    share = one.equal / one.cells
    return Bar(label, share, ends.low, ends.high, f"{percent(share)} of {one.cells}")


def systems_part(board: Board) -> Iterator[Html]:
    """The machines, and the settings of every system as served."""
    yield bullets(line(machine) for machine in board.machines)
    for one in board.facts:
        if one.settings:
            yield fold(element("span", system_name(one), ", as served"), *_settings(one))


def _settings(one: SystemFacts) -> Iterator[Html]:
    names = sorted(one.settings)[:MOST_SETTINGS]
    rows: Sequence[list[Child]] = [[line(key), code(line(canonical(one.settings[key])))] for key in names]
    yield from table(f"Settings of {line(one.system)}", [Column("setting"), Column("value")], rows)
