"""The board's page: one self-contained HTML file, without scripts and without anything from outside.

A renderer: values in, text out. Banners and gates stand where nobody reads past them.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.boards.board_page_facts import (
    agreement_part,
    incomplete_part,
    latency_part,
    systems_part,
    tokens_part,
)
from benchkit.boards.board_page_making import making_part
from benchkit.boards.board_page_parts import STATUS_TONES, line
from benchkit.boards.board_page_ranking import ranking_part, tracks_part
from benchkit.boards.board_page_samples import samples_part
from benchkit.boards.board_values import EXPOSED, OPEN, SYNTHETIC, TRACE, Banner, Board
from benchkit.boards.board_words import banner_text, footer_of, status_of, title_of
from benchkit.pages.document import Page, PageSection, document
from benchkit.pages.html import Html, joined
from benchkit.pages.marks import Tone, badge
from benchkit.pages.parts import bullets, callout, code, paragraph

MOST_DETAILS = 50
_TONES = {TRACE: Tone.FAIL, EXPOSED: Tone.FAIL, SYNTHETIC: Tone.PLAIN, OPEN: Tone.INCOMPLETE}


def board_page(board: Board) -> Iterator[str]:
    """The file, in pieces."""
    return document(Page(title_of(board), _lead(board), _sections(board), paragraph(footer_of(board))))


def _sections(board: Board) -> Sequence[PageSection]:
    return (
        PageSection("questions", "How the questions were made", making_part(board)),
        PageSection("ranking", "Ranking", ranking_part(board)),
        PageSection("tracks", "Track by track", tracks_part(board)),
        PageSection("samples", "Sampled cases", samples_part(board)),
        PageSection("tokens", "Tokens", tokens_part(board)),
        PageSection("latency", "Latency", latency_part(board)),
        PageSection("incomplete", "Incomplete cells", incomplete_part(board)),
        PageSection("agreement", "Agreement with the baselines", agreement_part(board)),
        PageSection("systems", "What answered", systems_part(board)),
    )


def _lead(board: Board) -> Html:
    tone = STATUS_TONES.get(board.title.status, Tone.INCOMPLETE)
    if tone is Tone.PASS and any(one.incomplete for one in board.facts):
        tone = Tone.FLAKY  # verified, and not whole
    is_consistent = "violation" not in board.trace_line
    trace = badge(Tone.PASS if is_consistent else Tone.FAIL, line(board.trace_line))
    abandoned = f" {board.abandoned}" if board.abandoned else None
    return joined(paragraph(badge(tone, status_of(board)), " ", trace, abandoned), *map(_banner, board.banners))


def _banner(banner: Banner) -> Html:
    more = len(banner.details) - MOST_DETAILS
    details = [line(detail) for detail in banner.details[:MOST_DETAILS]]
    if more > 0:
        details.append(f"and {more} more")
    command = paragraph("Run ", code(line(banner.command))) if banner.command else None
    return callout(_TONES.get(banner.code, Tone.FLAKY), banner_text(banner), bullets(details), command)
