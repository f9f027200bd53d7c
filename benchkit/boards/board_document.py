"""A board as a document, and the screen that a terminal shows of it."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchkit import VERSION
from benchkit.basics.texts import shown_line
from benchkit.boards.batch import BLOCKED, COMPLETE, OPEN, PUBLISHED
from benchkit.boards.board import Board, trace_banners
from benchkit.boards.sections import took
from benchkit.boards.sections.ranking import ranking_blocks, track_blocks
from benchkit.boards.sections.sampled import sample_blocks
from benchkit.boards.trace_check import Verification
from benchkit.pages.tones import Tone
from benchkit.render import document as doc

STATUS = {
    OPEN: (Tone.FLAKY, "cells are left, the figures will change"),
    COMPLETE: (Tone.PLAIN, "every planned cell was asked"),
    BLOCKED: (Tone.FAIL, "the batch gate blocked it: it must not be asked"),
    PUBLISHED: (Tone.PASS, "verified, and judged under one scoring"),
}
NOT_ASKED_YET = "systems of the job have not run yet, the figures will change"
"""Of an open batch of which no planned cell is left."""
LONGEST_VIOLATION = 2000


def board_document(board: Board) -> doc.Document:
    """The whole board: what must be seen first, then its sections."""
    stamp, batch = board.found.folder.name, board.batch
    title = (doc.Code(batch.job.name), ", batch ", doc.Code(stamp), f": {batch.status}")
    footer = ("Made by board.py report, kit ", VERSION, ", from the files of batch ", doc.Code(stamp),
              " alone: the same files give the same board.")
    parts: list[tuple[str, str, Callable[[Board], Iterator[doc.Block]]]] = [
        ("samples", "Sampled cases", sample_blocks),
        ("questions", "How the questions were made", took.making_blocks),
        ("tokens", "Tokens", took.token_blocks),
        ("latency", "Latency", took.latency_blocks),
        ("incomplete", "Incomplete cells", took.incomplete_blocks),
        ("agreement", "Agreement with the baselines", took.agreement_blocks),
        ("systems", "What answered", took.system_blocks)]
    sections = [doc.Section(anchor, name, partial(make, board), detail=doc.MORE) for anchor, name, make in parts]
    # a list, so that a page has contents of the tracks
    tracks = [doc.Section("tracks", "Track by track", list(track_blocks(board)), detail=doc.MORE)] * bool(board.tracks)
    return doc.Document(title, partial(_lead, board), [_ranking(board), *tracks, *sections], footer)


def screen_of(board: Board) -> doc.Document:
    """What a terminal shows behind how the trace stands: the status, what must be seen first, and the ranking."""
    def lead() -> Iterator[doc.Block]:
        yield _status(board)
        yield from board.banners
        if board.pack.synthetic is not None:
            yield doc.words(board.pack.synthetic)

    return doc.Document("", lead, [_ranking(board)])


def _ranking(board: Board) -> doc.Section:
    return doc.Section("ranking", "Ranking", partial(ranking_blocks, board))


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
    if board.batch.status == OPEN and not any("NotRun" in one.incomplete for one in board.facts):
        meaning = NOT_ASKED_YET
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
        yield doc.Bullets([*(shown_line(str(one), LONGEST_VIOLATION) for one in verification.violations),
                           *([f"and {more} more"] if more else [])])
    if not verification.is_consistent:
        yield doc.command(verification.mend, "")
    if verification.exposed_count:
        yield doc.words(verification.exposed_line)
        yield doc.Bullets([shown_line(str(one), LONGEST_VIOLATION) for one in verification.exposed])
    yield from map(doc.words, filter(None, [verification.abandoned_line]))
