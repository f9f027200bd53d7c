"""The board's page on the ranking and the tracks: gates first, then headlines with intervals and ranks."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.boards.board_page_parts import gate_badge, gate_mark, line, name, system_name
from benchkit.boards.board_values import Board, Standing, TrackRow, TrackSection
from benchkit.boards.board_words import (
    GATES,
    capability_of,
    gate_lines,
    gate_title,
    in_short,
    interval_of,
    of_tracks,
    share_of,
    short_name,
    words_on_headline,
)
from benchkit.pages.html import Child, Html, element, joined, whole
from benchkit.pages.marks import Tone, badge
from benchkit.pages.parts import article, bullets, callout, link, paragraph
from benchkit.pages.row_chart import Bar, RowTitles, bar_chart
from benchkit.pages.tables import Column, number_column, table
from benchkit.reports.figures import NOT_AVAILABLE, spread


def gates_callout(ranking: Sequence[Standing]) -> Html:
    """The hard gates over all systems, so that nobody reads a headline without them; nothing without gates."""
    title = gate_title(ranking)
    if not title:
        return Html()
    lines = gate_lines(ranking)
    is_clean = all(one.gate.is_clean for one in ranking if one.gate is not None)
    return callout(Tone.FAIL if lines else Tone.PASS if is_clean else Tone.INCOMPLETE, title, bullets(lines))


def ranking_part(board: Board) -> Iterator[Html]:
    """The gates, what it amounts to, the table, the picture."""
    yield gates_callout(board.ranking)
    yield bullets(in_short(board))
    columns = [Column("system"), number_column("headline %"), number_column("rank"), number_column("95 %"),
               Column("hard gates"), number_column("capability %"), number_column("judged")]
    yield from table("Ranking, by headline", columns, map(_row, board.ranking), "systems ranking")
    titles = RowTitles("Headlines with 95 % intervals", "system", "headline", "%, rank")
    yield from bar_chart(titles, map(_bar, board.ranking))
    if any(one.gate is not None for one in board.ranking):
        yield element("p", GATES, class_="quiet")
    yield element("p", " ".join(words_on_headline(board)), class_="quiet")


def _row(one: Standing) -> list[Child]:
    above = element("span", f"stands above {', '.join(map(short_name, one.overtaken))}, which broke none",
                    class_="quiet") if one.overtaken else None
    ends = one.gate.interval if one.gate is not None and one.gate.trials else None
    share = f"{spread(ends.low, ends.high)} % fail (95 %)" if ends else None
    gates = joined(gate_badge(one.gate), " ", element("span", share, class_="quiet") if share else None, " ", above)
    judged = f"{one.judged} of {one.planned}"
    return [joined(f"{one.place}. ", gate_mark(one.gate), " ", system_name(one)),
            element("strong", share_of(one.headline)), str(one.rank) if one.rank else NOT_AVAILABLE,
            interval_of(one.headline), gates, capability_of(one), judged]


def _bar(one: Standing) -> Bar:
    if one.gate is not None and one.gate.failures:
        tone = Tone.FAIL
    else:
        tone = Tone.INCOMPLETE if one.is_baseline else Tone.PLAIN
    sign = joined(" ", badge(Tone.FAIL, "gate broken")) if tone is Tone.FAIL else None
    note = f"{share_of(one.headline)}, rank {one.rank or NOT_AVAILABLE}"
    value = one.headline.worst if one.judged else None
    return Bar(joined(name(one.system), sign), value, one.headline.low, one.headline.high, note, tone)


def tracks_part(board: Board) -> Iterator[Html]:
    """Every track at a glance, then one after the other."""
    if board.tracks:
        columns = [Column("system"), *map(_track_column, board.tracks)]
        yield from table("Every track, in percent", columns, _glance(board), "systems")
        yield element("p", of_tracks(board), class_="quiet")
        yield paragraph("One by one: ", *_track_links(board.tracks))
    for place, track in enumerate(board.tracks, 1):
        yield _track(place, track)


def _glance(board: Board) -> Iterator[list[Child]]:
    by_track = [{row.system: row for row in track.rows} for track in board.tracks]
    for one in board.ranking:
        rows = [rows.get(one.system) for rows in by_track]
        yield [name(one.system), *(_cell(track, row) for track, row in zip(board.tracks, rows, strict=True))]


def _track_column(track: TrackSection) -> Column:
    return number_column(short_name(track.name), "hard gate" if track.kind == "gate" else "capability")


def _track_links(tracks: Sequence[TrackSection]) -> Iterator[Child]:
    for place, track in enumerate(tracks, 1):
        yield ", " if place > 1 else None
        yield link(f"track-{place}", short_name(track.name))


def _cell(track: TrackSection, row: TrackRow | None) -> Child:
    if row is None or not row.judged:
        return NOT_AVAILABLE
    if track.kind == "gate":
        return badge(_gate_tone(row), share_of(row.share))
    return share_of(row.share)


def _gate_tone(row: TrackRow) -> Tone:
    if row.failures:
        return Tone.FAIL
    return Tone.INCOMPLETE if row.incomplete else Tone.PASS


def _track(place: int, track: TrackSection) -> Html:
    words, whole_ones = ("answers that held it", "held") if track.kind == "gate" else ("mean score", "full marks")
    caption = f"{short_name(track.name)}: {words}, with 95 % intervals"
    titles = RowTitles(caption, "system", words, f"%; {whole_ones}")
    kind = badge(Tone.FLAKY, "hard gate") if track.kind == "gate" else badge(Tone.PLAIN, "capability")
    return article(
        f"track-{place}", joined(short_name(track.name), " ", kind),
        paragraph(element("strong", "Measures"), " ", line(track.measures), "."),
        paragraph(element("strong", "Does not measure"), " ", line(track.measures_not), "."),
        whole(bar_chart(titles, (_track_bar(track, row) for row in track.rows))))


def _track_bar(track: TrackSection, row: TrackRow) -> Bar:
    note = f"{share_of(row.share)}; {row.judged - row.failures}/{row.judged}" if row.judged else "none judged"
    note += f", {row.incomplete} incomplete" if row.judged and row.incomplete else ""
    tone = Tone.PLAIN if track.kind == "capability" else _gate_tone(row)
    return Bar(name(row.system), row.share.worst if row.judged else None, row.share.low, row.share.high, note, tone)
