"""The board's page on the questions: how they were made, what the gates dropped, and what they cost."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of
from benchkit.boards.board_page_parts import line, name, synthetic_badge
from benchkit.boards.board_values import Board, Making
from benchkit.boards.board_words import (
    asked_as,
    counts_of,
    dropped_of,
    market_of,
    short_name,
    source_of,
    tokens_words,
)
from benchkit.pages.html import Child, Html, joined
from benchkit.pages.marks import Tone, badge
from benchkit.pages.parts import code, facts, fold
from benchkit.pages.tables import Column, table

MOST_DROPPED = 200


def making_part(board: Board) -> Iterator[Html]:
    """Where the questions come from, and what both gates said."""
    making = board.making
    yield facts(_facts(board))
    if making.checks:
        yield from table("The batch gate", [Column("rule"), Column("found"), Column("allowed"), Column("held")], (
            [line(check.rule), line(check.found), line(check.allowed),
             badge(Tone.PASS, "held") if check.held else badge(Tone.FAIL, "broken")] for check in making.checks))
    if making.dropped:
        yield _dropped(making)


def _facts(board: Board) -> Iterator[tuple[str, Child]]:
    making = board.making
    yield "Questions", joined(line(source_of(making)), " ", synthetic_badge(board.synthetic))
    yield "Made", f"{line(making.how)} ({making.made_at[:10]} {making.made_at[11:19]} UTC)"
    yield "Asked", line(asked_as(making))
    if making.market is not None:
        yield "To spend", line(market_of(making))
    yield "Emission gate", dropped_of(making)
    yield "Right answers", counts_of(making.answers)
    yield "Tokens for making", tokens_words(making.gen_usage)
    yield "Fingerprints", joined("world ", code(making.world_sha256[:12]), ", scoring ",
                                 code(making.scoring_sha256[:12]))


def _dropped(making: Making) -> Html:
    more = len(making.dropped) - MOST_DROPPED
    rows = ([name(one.case), short_name(one.reason), line(one.detail)] for one in making.dropped[:MOST_DROPPED])
    return fold(f"{count_of(len(making.dropped), 'question')} dropped, and why",
                *table("Dropped questions", [Column("case"), Column("reason"), Column("why")], rows),
                f"And {more} more, in batch.json." if more > 0 else None)
