"""The board in Markdown on the questions, the ranking and the tracks."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.boards.board_values import Board, GateStatus, Standing, TrackRow, TrackSection
from benchkit.boards.board_words import (
    GATES,
    asked_as,
    capability_of,
    counts_of,
    dropped_of,
    gate_lines,
    gate_title,
    in_short,
    interval_of,
    kind_of,
    market_of,
    of_tracks,
    share_of,
    short_name,
    source_of,
    tokens_words,
    words_on_headline,
)
from benchkit.pages.markdown import Markdown, bullets, code, heading, paragraph, strong, table, warning, words
from benchkit.reports.figures import NOT_AVAILABLE, spread
from benchkit.reports.markdown_parts import LONGEST_NAME, LONGEST_TEXT, left, listed, own, right

MOST_DROPPED = 200


def making_part(board: Board) -> Iterator[Markdown]:
    """Where the questions come from, and what both gates said."""
    making = board.making
    synthetic = [own("**SYNTHETIC**")] if board.synthetic is not None else []
    market = [words(own("**To spend:**"), market_of(making))] if making.market is not None else []
    yield bullets([
        words(own("**Questions:**"), source_of(making), *synthetic),
        words(own("**Made:**"), f"{making.how}, {making.made_at}"),
        words(own("**Asked:**"), asked_as(making)), *market,
        words(own("**Emission gate:**"), dropped_of(making)),
        words(own("**Right answers:**"), counts_of(making.answers)),
        words(own("**Tokens for making:**"), tokens_words(making.gen_usage)),
        words(own("**Fingerprints:** world"), code(making.world_sha256[:12]), own("scoring"),
              code(making.scoring_sha256[:12]))])
    if making.checks:
        yield table([left("batch gate"), left("found"), left("allowed"), left("held")], (
            [words(check.rule), words(check.found), words(check.allowed),
             own("held") if check.held else own("**BROKEN**")] for check in making.checks))
    if making.dropped:
        yield listed("dropped question", [left("dropped"), left("reason"), left("why")], (
            [code(one.case, LONGEST_NAME), code(one.reason), code(one.detail, LONGEST_TEXT)]
            for one in making.dropped), MOST_DROPPED)


def ranking_part(board: Board) -> Iterator[Markdown]:
    """The gates, what it amounts to, the table."""
    title, lines = gate_title(board.ranking), gate_lines(board.ranking)
    if lines:
        yield warning([strong(title), *lines])
    elif title:
        yield paragraph(strong(title))
    yield bullets(in_short(board))
    yield table([right("place"), left("gates"), left("system"), right("headline %"), left("rank"), right("95 %"),
                 left("hard gates"), right("gate failures % (95 %)"), right("capability %"), left("judged")],
                map(_row, board.ranking))
    if any(one.gate is not None for one in board.ranking):
        yield paragraph(own(GATES))
    yield paragraph(*(own(words.replace("x (1 - the", "× (1 − the")) for words in words_on_headline(board)))


def _row(one: Standing) -> list[str]:
    return [str(one.place), _gate_mark(one.gate), system_cell(one), strong(own(share_of(one.headline))),
            own(str(one.rank) if one.rank else NOT_AVAILABLE), own(interval_of(one.headline)),
            own(one.gate.words if one.gate is not None else "no hard gate"), _gate_interval(one.gate),
            own(capability_of(one)), own(f"{one.judged} of {one.planned}")]


def system_cell(one: Standing) -> Markdown:
    """A system, and what it is where it is no model."""
    kind = kind_of(one)
    return words(code(one.system, LONGEST_NAME), *([own(f"({kind})")] if kind else []))


def _gate_mark(gate: GateStatus | None) -> Markdown:
    if gate is None:
        return own("none")
    sign = "✗" if gate.failures else "✓" if gate.is_clean else "?"
    return strong(own(f"{sign} {gate.mark}"))


def _gate_interval(gate: GateStatus | None) -> Markdown:
    known = gate is not None and gate.trials > 0
    return own(spread(gate.interval.low, gate.interval.high) if gate is not None and known else NOT_AVAILABLE)


def tracks_part(board: Board) -> Iterator[Markdown]:
    """Every track at a glance, then what each measures and what not."""
    if not board.tracks:
        return
    by_track = [{row.system: row for row in track.rows} for track in board.tracks]
    yield table([left("system"), *(right(code(short_name(track.name))) for track in board.tracks)], (
        [code(one.system, LONGEST_NAME),
         *(_cell(track, rows.get(one.system)) for track, rows in zip(board.tracks, by_track, strict=True))]
        for one in board.ranking))
    yield paragraph(own(of_tracks(board)))
    for track in board.tracks:
        yield from _track(track)


def _cell(track: TrackSection, row: TrackRow | None) -> Markdown:
    if row is None or not row.judged:
        return own(NOT_AVAILABLE)
    if track.kind == "gate":
        sign = "✗" if row.failures else "?" if row.incomplete else "✓"
        return own(f"{sign} {share_of(row.share)}")
    return own(share_of(row.share))


def _track(track: TrackSection) -> Iterator[Markdown]:
    is_gate = track.kind == "gate"
    yield heading(3, code(short_name(track.name)), own("hard gate" if is_gate else "capability"))
    yield bullets([words(own("**Measures**"), track.measures), words(own("**Does not measure**"), track.measures_not)])
    yield table([left("system"), right("held %" if is_gate else "mean %"), right("95 %"),
                 right("held" if is_gate else "full marks"), right("incomplete")], (
        [code(row.system, LONGEST_NAME), own(share_of(row.share)), own(interval_of(row.share)),
         own(f"{row.judged - row.failures} of {row.judged}"), own(str(row.incomplete))] for row in track.rows))
