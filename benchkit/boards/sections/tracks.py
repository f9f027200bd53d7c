"""Track by track: every system under every track at a glance, then what each measures and what not."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import shown_line
from benchkit.boards.board import Board
from benchkit.boards.sections.wording import LONGEST_LINE, SYSTEMS, interval_of, remark, share_of
from benchkit.boards.standings import TrackRow, TrackSection
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE, each_by_itself, of

OF_TRACKS = ("Mean scores in percent; of a hard gate, behind a sign, the share of answers that held it: all did, some "
             "did not, or answers are missing.")
_STANDS = {Tone.FAIL: "broken", Tone.INCOMPLETE: "open", Tone.PASS: "held"}


def track_blocks(board: Board) -> Sequence[doc.Block]:
    """Every track at a glance, then one after the other."""
    note = each_by_itself(sum(len(track.rows) for track in board.tracks))
    return [
        doc.Table("Every track, in percent", [doc.Column("system"), *map(_column, board.tracks)], list(_glance(board)),
                  SYSTEMS, look="systems", detail=doc.MORE),
        remark(OF_TRACKS + (f" {note[0].upper()}{note[1:]}." if note else "")),
        *(_track(place, track) for place, track in enumerate(board.tracks, 1))]


def _column(track: TrackSection) -> doc.Column:
    return doc.number(doc.Code(track.name), hint="hard gate" if track.kind == "gate" else "capability")


def _glance(board: Board) -> Iterator[list[doc.Cell]]:
    by_track = [{row.system: row for row in track.rows} for track in board.tracks]
    for one in board.ranking:
        rows = [rows.get(one.system) for rows in by_track]
        yield [doc.Code(one.system), *(_cell(track, row) for track, row in zip(board.tracks, rows, strict=True))]


def _cell(track: TrackSection, row: TrackRow | None) -> doc.Cell:
    if row is None or not row.judged:
        return NOT_AVAILABLE
    if track.kind != "gate":
        return share_of(row.share)
    stands = doc.Mark(f"{doc.Code(track.name).line}: {_STANDS[_tone(row)]}", _tone(row), small=True)
    return stands, " ", share_of(row.share)


def _tone(row: TrackRow) -> Tone:
    if row.failures:
        return Tone.FAIL
    return Tone.INCOMPLETE if row.incomplete else Tone.PASS


def _track(place: int, track: TrackSection) -> doc.Section:
    is_gate = track.kind == "gate"
    kind = doc.Mark("hard gate", Tone.FLAKY) if is_gate else doc.Mark("capability", Tone.PLAIN)
    share, whole = ("answers that held it", "held") if is_gate else ("mean score", "full marks")
    columns = [doc.Column("system"), doc.number("held %" if is_gate else "mean %"), doc.number("95 %"),
               doc.number(whole), doc.number("incomplete")]
    bars = doc.Bars(f"{doc.Code(track.name).line}: {share}, with 95 % intervals", "system", share, f"%; {whole}",
                    [_bar(track, row) for row in track.rows], SYSTEMS)
    return doc.Section(f"track-{place}", (doc.Code(track.name), " ", kind), [
        doc.Facts([("Measures", f"{shown_line(track.measures, LONGEST_LINE)}."),
                   ("Does not measure", f"{shown_line(track.measures_not, LONGEST_LINE)}.")]),
        doc.Chart(bars, instead=[doc.Table(bars.caption, columns, list(map(_row, track.rows)), SYSTEMS)])],
        detail=doc.MORE)


def _row(row: TrackRow) -> list[doc.Cell]:
    return [doc.Code(row.system), share_of(row.share), interval_of(row.share),
            of(row.judged - row.failures, row.judged), row.incomplete]


def _bar(track: TrackSection, row: TrackRow) -> doc.Bar:
    note = f"{share_of(row.share)}; {row.judged - row.failures}/{row.judged}" if row.judged else "none judged"
    note += f", {row.incomplete} incomplete" if row.judged and row.incomplete else ""
    tone = _tone(row) if track.kind == "gate" else Tone.PLAIN
    return doc.Bar(doc.Code(row.system), row.share.worst if row.judged else None, row.share.low, row.share.high, note,
                   tone)
