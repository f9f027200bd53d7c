"""A board on a terminal: the ranking in short, and the line that says how the trace stands.

Pure: values in, text out.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import shown_line
from benchkit.boards.board_values import EXPOSED, FAILED, SYNTHETIC, TRACE, Board, Standing
from benchkit.boards.board_words import interval_of, is_of_task, share_of
from benchkit.boards.trace_check import Verification
from benchkit.reports.figures import NOT_AVAILABLE

_MOST_NAME = 40
_MOST_LETTERS = 2000


def _plain(line: str) -> str:
    # names of packs, questions and models are in it
    return shown_line(line, _MOST_LETTERS)


def verification_lines(verification: Verification) -> Iterator[str]:
    """`trace self-consistent`, or how many invariants are violated and each violation by name."""
    return map(_plain, _verification(verification))


def _verification(verification: Verification) -> Iterator[str]:
    yield verification.headline
    for violation in verification.violations:
        yield f"  {violation}"
    more = verification.count - len(verification.violations)
    if more:
        yield f"  and {more} more"
    if not verification.is_consistent:
        yield f"  {verification.mend}"
    yield from ([verification.exposed_line] if verification.exposed_count else [])
    yield from (f"  {one}" for one in verification.exposed)
    if verification.abandoned_line:
        yield f"  {verification.abandoned_line}"


def ranking_lines(board: Board) -> Iterator[str]:
    """A line for each system, best first, and what must be known to read them."""
    return map(_plain, _ranking(board))


def _ranking(board: Board) -> Iterator[str]:
    rows = [("rank", "system", "headline %", "95 %", "hard gates", "judged")]
    rows += [_row(one) for one in board.ranking]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
    yield ("headline: the mean of the capability tracks x (1 - the share of answers that broke a hard gate)"
           + ("; its tracks are the checks of the task, and how often all of them hold, pass^1 in bench.py, is another "
              "figure" if is_of_task(board) else ""))
    yield from _notes(board.ranking)
    for banner in board.banners:
        if banner.code not in (EXPOSED, FAILED, SYNTHETIC, TRACE):
            yield banner.text + (f" {'; '.join(banner.details)}" if banner.details else "")
            if banner.command is not None:
                yield f"  {banner.command}"
    if board.synthetic is not None:
        yield board.synthetic


def _row(one: Standing) -> tuple[str, str, str, str, str, str]:
    mark = " !" if one.overtaken else ""
    return (str(one.rank or NOT_AVAILABLE), shown_line(one.system, _MOST_NAME) + mark, share_of(one.headline),
            interval_of(one.headline), "none" if one.gate is None else one.gate.words, f"{one.judged}/{one.planned}")


def _notes(ranking: Sequence[Standing]) -> Iterator[str]:
    for one in ranking:
        if one.overtaken:
            others = ", ".join(shown_line(name, _MOST_NAME) for name in one.overtaken)
            yield f"! {shown_line(one.system, _MOST_NAME)} failed a hard gate, and stands above {others}"
