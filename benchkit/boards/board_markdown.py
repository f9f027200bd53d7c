"""The board in Markdown: the same sections in the same order as on its page.

A renderer: values in, text out. No text of packs, models or jobs can leave its cell or its fence.
"""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.boards.board_markdown_facts import (
    agreement_part,
    incomplete_part,
    latency_part,
    systems_part,
    tokens_part,
)
from benchkit.boards.board_markdown_ranking import making_part, ranking_part, tracks_part
from benchkit.boards.board_markdown_samples import samples_part
from benchkit.boards.board_values import SYNTHETIC, Banner, Board
from benchkit.boards.board_words import LONGEST_LINE, banner_text, footer_of, short_name, status_of
from benchkit.pages.markdown import Markdown, bullets, code, heading, paragraph, strong, warning, words
from benchkit.reports.markdown_parts import own

MOST_DETAILS = 50


def board_markdown(board: Board) -> Iterator[str]:
    """The file, part by part. Its first line is job, batch and status."""
    first = board.title
    yield heading(1, code(short_name(first.job)), own("batch"), code(short_name(first.batch)), own("is"),
                  code(short_name(first.status)))
    yield paragraph(strong(status_of(board)), own("\u00b7"), strong(code(board.trace_line)),
                    *([own("\u00b7"), own(board.abandoned)] if board.abandoned else []))
    for banner in board.banners:
        yield from _banner(banner)
    for title, parts in _sections(board):
        yield heading(2, own(title))
        yield from parts
    yield Markdown("---\n\n" + paragraph(footer_of(board)))


def _sections(board: Board) -> Iterator[tuple[str, Iterator[Markdown]]]:
    yield "How the questions were made", making_part(board)
    yield "Ranking", ranking_part(board)
    yield "Track by track", tracks_part(board)
    yield "Sampled cases", samples_part(board)
    yield "Tokens", tokens_part(board)
    yield "Latency", latency_part(board)
    yield "Incomplete cells", incomplete_part(board)
    yield "Agreement with the baselines", agreement_part(board)
    yield "What answered", systems_part(board)


def _banner(banner: Banner) -> Iterator[Markdown]:
    if banner.code == SYNTHETIC:
        yield paragraph(strong(banner.text))
        return
    command = [words(own("Run"), code(banner.command, LONGEST_LINE))] if banner.command else []
    yield warning([strong(banner_text(banner)), *command])
    yield bullets(code(detail, LONGEST_LINE) for detail in banner.details[:MOST_DETAILS])
    more = len(banner.details) - MOST_DETAILS
    if more > 0:
        yield paragraph(own(f"and {more} more"))
