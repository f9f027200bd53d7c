"""A board as a document, and the screen that a terminal shows of it."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit import VERSION
from benchkit.basics.texts import shown_line
from benchkit.boards.banners import trace_banners
from benchkit.boards.batch import BLOCKED, COMPLETE, OPEN, PUBLISHED
from benchkit.boards.board import Board
from benchkit.boards.sections.making import making_blocks
from benchkit.boards.sections.ranking import ranking_blocks
from benchkit.boards.sections.sampled import sample_blocks
from benchkit.boards.sections.took import (
    agreement_blocks,
    incomplete_blocks,
    latency_blocks,
    system_blocks,
    token_blocks,
)
from benchkit.boards.sections.tracks import track_blocks
from benchkit.boards.trace_check import Verification
from benchkit.pages.parts import Tone
from benchkit.render import document as doc

STATUS = {
    OPEN: (Tone.FLAKY, "cells are left, the figures will change"),
    COMPLETE: (Tone.PLAIN, "every planned cell was asked"),
    BLOCKED: (Tone.FAIL, "the batch gate blocked it: it must not be asked"),
    PUBLISHED: (Tone.PASS, "verified, and judged under one scoring"),
}
LONGEST_LINE = 2000


def board_document(board: Board) -> doc.Document:
    """The whole board: what must be seen first, then its sections."""
    stamp, batch = board.found.folder.name, board.batch
    title = (doc.Code(batch.job.name), ", batch ", doc.Code(stamp), f": {batch.status}")
    footer = ("Made by board.py report, kit ", VERSION, ", from the files of batch ", doc.Code(stamp),
              " alone: the same files give the same board.")
    return doc.Document(title, lambda: _lead(board), _sections(board), footer)


def screen_of(board: Board) -> doc.Document:
    """What a terminal shows behind how the trace stands: the status, what must be seen first, and the ranking."""
    def lead() -> Iterator[doc.Block]:
        yield _status(board)
        yield from board.banners
        if board.pack.synthetic is not None:
            yield doc.words(board.pack.synthetic)

    return doc.Document("", lead, [_ranking(board)])


def _sections(board: Board) -> list[doc.Section]:
    return [
        _ranking(board),
        *([doc.Section("tracks", "Track by track", track_blocks(board))] if board.tracks else []),
        doc.Section("samples", "Sampled cases", lambda: sample_blocks(board)),
        doc.Section("questions", "How the questions were made", lambda: making_blocks(board)),
        doc.Section("tokens", "Tokens", lambda: token_blocks(board)),
        doc.Section("latency", "Latency", lambda: latency_blocks(board)),
        doc.Section("incomplete", "Incomplete cells", lambda: incomplete_blocks(board)),
        doc.Section("agreement", "Agreement with the baselines", lambda: agreement_blocks(board)),
        doc.Section("systems", "What answered", lambda: system_blocks(board)),
    ]


def _ranking(board: Board) -> doc.Section:
    return doc.Section("ranking", "Ranking", lambda: ranking_blocks(board))


def _lead(board: Board) -> Iterator[doc.Block]:
    yield _status(board)
    yield _trace_line(board.verification)
    yield from map(doc.words, filter(None, [board.verification.abandoned_line]))
    if board.pack.synthetic is not None:
        yield doc.Callout(Tone.PLAIN, board.pack.synthetic)
    yield from trace_banners(board.batch.job.name, board.verification)
    yield from board.banners


def _status(board: Board) -> doc.Paragraph:
    tone, meaning = STATUS[board.batch.status]
    is_whole = not any(one.incomplete for one in board.facts)
    return doc.words(doc.Mark(f"{board.batch.status}: {meaning}",
                              tone if is_whole or tone is not Tone.PASS else Tone.FLAKY))


def _trace_line(verification: Verification) -> doc.Paragraph:
    tone = Tone.PASS if verification.is_consistent else Tone.FAIL
    return doc.words(doc.Mark(verification.headline, tone))


def verification_blocks(verification: Verification) -> Iterator[doc.Block]:
    """`trace self-consistent`, or how many invariants are violated, each violation by name, and what can be done."""
    yield _trace_line(verification)
    more = verification.count - len(verification.violations)
    if verification.violations:
        yield doc.Bullets([*(shown_line(str(one), LONGEST_LINE) for one in verification.violations),
                           *([f"and {more} more"] if more else [])])
    if not verification.is_consistent:
        yield doc.command(verification.mend, "")
    if verification.exposed_count:
        yield doc.words(verification.exposed_line)
        yield doc.Bullets([shown_line(str(one), LONGEST_LINE) for one in verification.exposed])
    yield from map(doc.words, filter(None, [verification.abandoned_line]))
