"""A board in all formats: whole as text and Markdown, and what changes where a figure does.

    python3 -m tests.test_boards_page          write tests/goldens/sample_board.* anew; read the difference line by line
"""
from __future__ import annotations

import html
import re
import unittest
from collections.abc import Sequence
from dataclasses import replace

from benchkit.boards.board import Board
from benchkit.boards.board_document import board_document, screen_of, verification_blocks
from benchkit.boards.findings import FailedCells, SystemFacts
from benchkit.boards.samples import SampledAnswer
from benchkit.boards.sections.sampled import MOST_LANES
from benchkit.boards.standings import GateStatus, Standing, TrackSection
from benchkit.render import document as doc
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import as_markdown
from benchkit.render.as_text import as_text
from benchkit.statistics.intervals import Interval
from benchkit.statistics.ranking import RankSet
from tests.goldens import GOLDENS
from tests.sample_board import HOSTILE, MODEL, sample_board

FRIENDLY = sample_board(hostile=False)
MAKING, RANKING, TRACKS = FRIENDLY.batch, FRIENDLY.ranking, FRIENDLY.tracks
FIRST, THIRD, LAST = RANKING[0], RANKING[2], RANKING[5]


def page_of(board: Board) -> str:
    """The file."""
    return "".join(as_html(board_document(board)))


def markdown_of(board: Board) -> str:
    """The same as Markdown."""
    return "".join(as_markdown(board_document(board), level=1))


def screen(board: Board) -> str:
    """What a terminal shows."""
    trace = doc.Document("", list(verification_blocks(board.verification)), ())
    return "".join([*as_text(trace), *as_text(screen_of(board))])


def said(board: Board) -> tuple[str, str]:
    """The words of page and Markdown, without markup."""
    page = html.unescape(re.sub("<wbr>|</?(?:code|strong|span|a|mark)[^>]*>", "", page_of(board)))
    return page, re.sub(r"[`*\\]", "", markdown_of(board))


def gated(one: Standing, failures: int, trials: int, incomplete: int) -> Standing:
    """The same system, its gates standing otherwise."""
    return replace(one, gate=GateStatus(failures, trials, incomplete, Interval(0.0, 0.1)), overtaken=())


def of_making(**changes: object) -> Board:
    """The board, other figures of its gates."""
    batch = replace(FRIENDLY.batch, figures=replace(FRIENDLY.batch.figures, **changes))  # type: ignore[arg-type]
    return replace(FRIENDLY, found=replace(FRIENDLY.found, batch=batch))


def of_capabilities(*shares: float) -> Board:
    """The board, every system having these shares in its first capabilities, and no other tracks."""
    def changed(track: TrackSection, share: float) -> TrackSection:
        return replace(track, rows=tuple(replace(row, share=replace(row.share, worst=share, best=share))
                                         for row in track.rows))
    return replace(FRIENDLY, tracks=tuple(changed(*pair) for pair in zip(TRACKS, shares, strict=False)))


def answered(answer: SampledAnswer) -> Board:
    """The board, with one case and one answer."""
    return replace(FRIENDLY, samples=(replace(FRIENDLY.samples[0], answers=(answer,)),))


def unjudged() -> Board:
    """The board where no answer of a model was judged."""
    failed = FailedCells("CheckError", "track cause raised KeyError", ("EW-01 trial 1",) * 36)

    def changed(one: SystemFacts) -> SystemFacts:
        return replace(one, incomplete={"CheckError": 36}, failed=(failed,)) if one.system == MODEL else one
    return replace(FRIENDLY, ranking=(FIRST, replace(THIRD, judged=0)), facts=tuple(map(changed, FRIENDLY.facts)))


def versus(model: Standing, baseline: Standing, *others: Standing) -> Board:
    """The board, with these systems in its ranking."""
    return replace(FRIENDLY, ranking=(model, baseline, *others))


HIGHER = replace(THIRD, headline=replace(THIRD.headline, worst=0.7, completed=0.7, best=0.7))
UNCLEAR = replace(THIRD, headline=replace(THIRD.headline, worst=0.5, completed=0.6, best=0.8))
UNJUDGED = replace(LAST, judged=0, rank=None)
ONE, TWO, BOTH = RankSet(1, 1), RankSet(2, 2), RankSet(1, 2)
LEFT_OPEN = "It is left open whether a model reaches the best baseline"
AHEAD, NO_MODEL = "The best model is ahead of the best baseline", "No model reaches the best baseline"
REAL = replace(FRIENDLY, pack=replace(FRIENDLY.pack, synthetic=None))
WITHHELD = replace(FRIENDLY, samples=tuple(
    replace(one, payloads=(replace(one.payloads[0], messages=(), warning="left out: it leaks"),))
    for one in FRIENDLY.samples))
CROWDED = replace(FRIENDLY.samples[0], observations=tuple(
    replace(FRIENDLY.samples[0].observations[0], service=f"s{number}") for number in range(MOST_LANES + 3)))
EMPTY = replace(of_making(dropped=(), answers={}, blind={}), ranking=(), tracks=(), samples=(), facts=(), agreements=(),
                machines=(), banners=())
ANSWER = FRIENDLY.samples[0].answers[0]
VARIANTS: Sequence[tuple[Board, tuple[str, ...], tuple[str, ...]]] = (
    # a board, what page and Markdown say of it, and what neither says
    (versus(replace(HIGHER, rank=BOTH), replace(FIRST, rank=BOTH)), (LEFT_OPEN,), (AHEAD, NO_MODEL)),
    (versus(replace(THIRD, rank=BOTH), replace(FIRST, rank=BOTH)), (LEFT_OPEN,), (AHEAD, NO_MODEL)),
    (versus(replace(HIGHER, rank=ONE), replace(FIRST, rank=TWO)), (AHEAD,), (LEFT_OPEN,)),
    (versus(replace(HIGHER, rank=BOTH, ahead_of=(FIRST.system,)), replace(FIRST, rank=BOTH)), (AHEAD,), (LEFT_OPEN,)),
    (versus(replace(THIRD, rank=TWO), replace(FIRST, rank=ONE)), (NO_MODEL,), (LEFT_OPEN,)),
    (versus(replace(THIRD, rank=TWO), replace(FIRST, rank=ONE), UNJUDGED),
     ("No model that was judged reaches the best baseline",), (LEFT_OPEN,)),
    (versus(replace(UNCLEAR, rank=BOTH), replace(FIRST, rank=BOTH)), ("Incomplete cells leave open whether",), ()),
    (replace(FRIENDLY, ranking=tuple(one for one in RANKING if one.is_baseline)),
     ("no model stands on this board",), ()),
    (replace(FRIENDLY, ranking=tuple(one for one in RANKING if not one.is_baseline)),
     ("nothing to hold the models against",), ()),
    (replace(FRIENDLY, is_mixed=True), ("who is ahead of whom is left open",), (LEFT_OPEN,)),
    (of_capabilities(1.0), (f"{MODEL} has 100.0\u00a0% in detection",), ("weakest",)),
    (of_capabilities(0.4), (f"{MODEL} has 40.0\u00a0% in detection",), ("weakest",)),
    (of_capabilities(0.4, 0.4, 0.4), (f"{MODEL} has 40.0\u00a0% in every capability",), ("weakest",)),
    (of_capabilities(1.0, 0.5), (f"{MODEL} is weakest in cause (50.0\u00a0%)",), (" and severity (",)),
    (of_capabilities(1.0, 0.5, 0.6),
     (f"{MODEL} is weakest in cause (50.0\u00a0%) and severity (60.0\u00a0%)",), ()),
    (unjudged(), (f"{MODEL}: none of its 36 cells was judged: CheckError 36 (track cause raised KeyError).",
                  "No answer of a model was judged"), ("Only baselines were asked",)),
    (versus(gated(THIRD, 0, 30, 6), gated(FIRST, 0, 36, 0)),
     ("No system broke a hard gate so far; answers of 1 of 2 systems are missing", "open", "clean"), ()),
    (versus(gated(THIRD, 0, 36, 0), gated(FIRST, 0, 36, 0)),
     ("Every hard gate held, in every answer of every system",), ("systems broke a hard gate",)),
    (versus(gated(THIRD, 3, 34, 2), gated(FIRST, 1, 36, 0), gated(LAST, 0, 0, 36)),
     ("2 of 3 systems broke a hard gate", "3 failures of 34, 2 incomplete", "1 failure of 36", "not judged"), ()),
    (replace(FRIENDLY, ranking=tuple(replace(one, gate=None) for one in RANKING)), ("no hard gate",), ("Clopper",)),
    (replace(FRIENDLY, ranking=(replace(FIRST, sees_truth=True),)), ("sees the truth: for testing only",), ()),
    (replace(FRIENDLY, facts=tuple(replace(one, incomplete={}) for one in FRIENDLY.facts)),
     ("None: every planned cell has an answer",), ("Why, and which",)),
    (replace(REAL, samples=()), ("No case has an answer yet.",), ("SYNTHETIC",)),
    (WITHHELD, ("left out: it leaks",), ("You are on call",)),
    (of_making(dropped=FRIENDLY.batch.figures.dropped * 150),
     ("300 questions dropped, and why", "100 more dropped"), ()),
    (answered(replace(ANSWER, output="word " * 2_000)), ("The first 4,000 of 10,000 characters.",), ()),
    (answered(replace(ANSWER, output="word\n" * 100)), ("The first 40 of 101 lines.",), ()),
    (EMPTY, ("No answer was judged", "No case has an answer yet.", "No latency was recorded.",
             "No cell was answered by", "the emission gate dropped none"), ("Track by track",)),
)


class TheText(unittest.TestCase):
    def test_the_whole_of_it_is_as_a_person_last_read_it(self) -> None:
        for name, text in goldens().items():
            self.assertEqual((GOLDENS / name).read_text(encoding="utf-8"), text, name)

    def test_what_differs_is_said_in_every_format(self) -> None:
        for board, told, untold in VARIANTS:
            for words in said(board):
                with self.subTest(told=told or untold):
                    self.assertEqual([], [one for one in told if one not in words])
                    self.assertEqual([], [one for one in untold if one in words])

    def test_an_empty_board_is_a_screen_too(self) -> None:
        self.assertIn("No answer was judged: there is no ranking yet.", screen(EMPTY))

    def test_a_broken_gate_is_said_before_any_headline(self) -> None:
        ranking = page_of(FRIENDLY).split('id="ranking"')[1].split('id="tracks"')[0]
        callout, rest = ranking.split("</div>", 1)
        self.assertIn("1 of 6 systems broke a hard gate", callout)
        self.assertNotIn("62.0", callout)
        self.assertEqual(rest.count("gate broken"), 1)

    def test_banners_and_the_word_on_the_trace_stand_before_any_section(self) -> None:
        board = sample_board()
        for head in (page_of(board).split("<main")[0], markdown_of(board).split("\n## ")[0]):
            for told in (f"trace invariant violations: {len(HOSTILE)}", "SYNTHETIC: made by a seeded generator",
                         "2 questions are not as this batch was made with.", "--fresh",
                         "recompute small_gated/20261130T120000Z --apply", "12 of 216 cells are left"):
                self.assertIn(told, head)

    def test_synthetic_stands_at_every_question(self) -> None:
        page = page_of(FRIENDLY)
        for heading in re.findall(r"<article id=\"case-\d+\"><h3>(.*?)</h3>", page):
            self.assertIn("SYNTHETIC", heading)
        folds = re.findall(r"<details( open=\"\")?><summary>(Exactly what was shown.*?)</summary>", page)
        self.assertEqual([""] * 6, [is_open for is_open, _ in folds])
        self.assertTrue(all("SYNTHETIC" in title for _, title in folds))

    def test_every_score_leads_to_its_answer(self) -> None:
        case = page_of(FRIENDLY).split('<article id="case-1">')[1].replace("<wbr>", "")
        for number, answer in enumerate(FRIENDLY.samples[0].answers, 1):
            self.assertIn(f'<a href="#case-1-answer-{number}"><code>{answer.system}</code></a>', case)
            self.assertIn(f'<article id="case-1-answer-{number}">', case)

    def test_without_a_market_nobody_buys(self) -> None:
        batch = replace(FRIENDLY.batch, dataset=replace(FRIENDLY.batch.dataset, parts={}))
        for words in said(replace(FRIENDLY, found=replace(FRIENDLY.found, batch=batch))):
            self.assertNotIn("bought by", words)
            self.assertNotIn("To spend", words)


class TheTimeline(unittest.TestCase):
    def test_each_observation_with_a_time_is_drawn_and_those_cited_have_a_ring(self) -> None:
        case = FRIENDLY.samples[0]
        drawn = page_of(replace(FRIENDLY, samples=(case,)))
        self.assertEqual(len(re.findall(r"min: o\d+ ", drawn)), len(case.observations))
        cited = sum(bool(one.cited_by) for one in case.observations)
        self.assertEqual(drawn.count('class="strong-ring"'), cited + 1)
        self.assertIn(f"now, {case.now}", drawn)

    def test_nothing_is_drawn_without_times_and_too_many_services_are_said(self) -> None:
        case = FRIENDLY.samples[0]
        timeless = replace(case, observations=tuple(replace(one, minute=None) for one in case.observations))
        self.assertNotIn("along its time", page_of(replace(FRIENDLY, samples=(timeless,))))
        self.assertIn("3 more services are in the list only.", page_of(replace(FRIENDLY, samples=(CROWDED,))))


def goldens() -> dict[str, str]:
    """The texts that are kept, by the name of their file."""
    return {"sample_board.md": markdown_of(FRIENDLY), "sample_board.txt": screen(sample_board())}


if __name__ == "__main__":
    for name, text in goldens().items():
        (GOLDENS / name).write_text(text, encoding="utf-8")
