"""The board in Markdown on what answers took: tokens, latency, incomplete cells, agreement, systems as served."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import names_of
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
from benchkit.pages.markdown import Markdown, bullets, code, folded, paragraph, table
from benchkit.reports.figures import NOT_AVAILABLE, latency, number, per_second, percent
from benchkit.reports.latency_ratio import COLD
from benchkit.reports.markdown_parts import LONGEST_NAME, LONGEST_TEXT, left, listed, own, right
from benchkit.statistics.percentiles import PERCENTS

MOST_SETTINGS = 60


def tokens_part(board: Board) -> Iterator[Markdown]:
    """Tokens of each system, never money."""
    yield table([left("system"), right("calls"), right("with figures"), right("prompt tokens"), right("output tokens"),
                 right("output tokens per s"), right("cells repeated")], map(_token_row, board.facts))
    told = "".join(f"; `{absent}`: {why}" for absent, why in absences(board.facts).items())
    yield paragraph(own(f"Tokens as the servers counted them, never money{told}. Calls are requests, those that failed "
                        "or were given up included. Cells repeated took more than one attempt."))


def _token_row(one: SystemFacts) -> list[Markdown]:
    tokens, wire = one.tokens, one.tokens.to_wire()
    rate = per_second(one.output_per_second)
    figures = ([own(number(tokens.calls)), own(number(tokens.reported)), own(number(tokens.prompt_tokens)),
                own(number(tokens.output_tokens))] if not isinstance(wire, str) else
               [own(NOT_AVAILABLE if tokens.calls else "0"), own("0"), code(wire), code(wire)])
    return [code(one.system, LONGEST_NAME), *figures, own(rate), own(str(one.attempts))]


def latency_part(board: Board) -> Iterator[Markdown]:
    """Latencies of warm and cold trials by nearest rank."""
    rows = [[code(one.system, LONGEST_NAME), own(word), own(str(column.n)), own(str(column.timeouts)),
             *(own(latency(found.value) if found else NOT_AVAILABLE) for found in column.percentiles)]
            for one in board.facts for word, column in (("warm", one.warm), ("cold", one.cold)) if column.n]
    if not rows:
        yield paragraph(own("No latency was recorded."))
        return
    yield table([left("seconds"), left("trials are"), right("trials"), right("timeouts"),
                 *(right(f"p{percent}") for percent in PERCENTS)], rows)
    yield paragraph(own(f"Judged trials and timeouts, nearest rank; {COLD}."))


def incomplete_part(board: Board) -> Iterator[Markdown]:
    """Cells without a verdict, by type of error."""
    kinds = error_types(board.facts)
    if not kinds:
        yield paragraph(own("None: every planned cell has an answer, and every answer was judged."))
        return
    yield table([left("system"), *(right(code(kind)) for kind in kinds)], (
        [code(one.system, LONGEST_NAME), *(own(str(one.incomplete.get(kind, 0))) for kind in kinds)]
        for one in board.facts))
    columns = [left("system"), left("error"), left("message"), right("cells"), left("which")]
    yield listed("reason", columns, (
        [code(one.system, LONGEST_NAME), code(failed.type), code(failed.message, LONGEST_TEXT),
         own(str(len(failed.cells))), names_of(failed.cells)]
        for one, failed in failed_cells(board.facts)), MOST_FAILURES)
    yield paragraph(own("An incomplete cell is neither right nor wrong, and is never dropped. `NotRun`: never asked."))


def agreement_part(board: Board) -> Iterator[Markdown]:
    """What systems said, and how often that is what a baseline says."""
    if any(one.said for one in board.facts):
        yield table([left("system"), left("said, how often")], (
            [code(one.system, LONGEST_NAME), counts_of(one.said)] for one in board.facts))
        yield paragraph(right_words(board.making))
    if board.agreements:
        yield table([left("system"), left("baseline"), right("same word %"), right("cells")], (
            [code(one.system, LONGEST_NAME), code(one.baseline, LONGEST_NAME),
             own(percent(one.equal / one.cells) if one.cells else NOT_AVAILABLE), own(str(one.cells))]
            for one in board.agreements))
        yield paragraph(own(AGREEMENT))
    else:
        yield paragraph(own("No cell was answered by a model and by a baseline to hold it against."))


def systems_part(board: Board) -> Iterator[Markdown]:
    """The machines, and the settings of every system as served."""
    yield bullets(code(machine, 2 * LONGEST_TEXT) for machine in board.machines)
    for one in board.facts:
        if one.settings:
            yield folded(f"{one.system}, as served", _settings(one))


def _settings(one: SystemFacts) -> Markdown:
    return table([left("setting"), left("value")], (
        [code(key, LONGEST_TEXT), code(canonical(one.settings[key]), LONGEST_TEXT)]
        for key in sorted(one.settings)[:MOST_SETTINGS]))
