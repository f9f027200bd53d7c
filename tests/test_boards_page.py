"""The board's page as it is seen: in headless Chromium on a phone and a desk, light and dark, on paper, by keyboard."""
from __future__ import annotations

import re
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchkit.basics.texts import shown
from benchkit.boards.board_page import board_page
from benchkit.boards.board_page_timeline import MOST_LANES, timeline_of
from benchkit.boards.board_values import Board, FailedCells, Making, Standing
from benchkit.statistics.intervals import Interval
from benchkit.statistics.ranking import RankSet
from tests.chromium import MISSING, Chromium, OpenedPage
from tests.sample_board import MODEL, sample_board
from tests.sample_page import HOSTILE

PHONE, DESK = 360, 1280
VIEWS = [(PHONE, False), (PHONE, True), (DESK, False), (DESK, True)]
SECTIONS = ["How the questions were made", "Ranking", "Track by track", "Sampled cases", "Tokens", "Latency",
            "Incomplete cells", "Agreement with the baselines", "What answered"]


def page_of(board: Board) -> str:
    """The file."""
    return "".join(board_page(board))


def without_failures(one: Standing) -> Standing:
    """The same system, its gates held."""
    assert one.gate is not None
    return replace(one, gate=replace(one.gate, failures=0, interval=Interval(0.0, 0.1)), overtaken=())


class TheText(unittest.TestCase):
    def setUp(self) -> None:
        self.board = sample_board(hostile=False)
        self.text = page_of(self.board)

    def test_the_first_line_is_job_batch_and_status(self) -> None:
        self.assertIn("<h1>small_<wbr>gated, batch 20261130T120000Z: complete</h1>", self.text)
        self.assertIn("<title>small_gated, batch 20261130T120000Z: complete</title>", self.text)

    def test_the_sections_come_in_this_order(self) -> None:
        self.assertEqual(re.findall(r"<h2[^>]*>(.*?)</h2>", self.text), SECTIONS)

    def test_banners_and_the_word_on_the_trace_stand_before_any_section(self) -> None:
        head = page_of(sample_board()).split("<main")[0]
        for told in ("trace invariant violations: 2", "SYNTHETIC: made by a seeded generator",
                     "Do not trust a figure of this board.", "2 questions are not as this batch was made with.",
                     "recompute small_gated/20261130T120000Z --apply", "12 of 216 cells are left."):
            with self.subTest(told=told):
                self.assertIn(told, head)

    def test_a_broken_gate_is_said_before_any_headline_and_at_every_figure_of_its_system(self) -> None:
        ranking = self.text.split('id="ranking"')[1].split('id="tracks"')[0]
        callout, rest = ranking.split("</div>", 1)
        self.assertIn("1 of 6 systems broke a hard gate", callout)
        self.assertIn(f"{MODEL}: 9 failures of 36; stands above baselines:coin", callout)
        self.assertNotIn("62.0", callout)
        self.assertEqual(rest.count("9 failures of 36"), 1)
        self.assertEqual(rest.count("gate broken"), 1)

    def test_gates_that_all_held_are_said_too(self) -> None:
        clean = tuple(without_failures(one) for one in self.board.ranking)
        for ranking, told in ((clean, "No system broke a hard gate so far; answers of 1 of 6 systems are missing"),
                              (clean[:-1], "Every hard gate held, in every answer of every system"),
                              (tuple(replace(one, gate=None) for one in clean), "no hard gate")):
            with self.subTest(told=told):
                self.assertIn(told, page_of(replace(self.board, ranking=ranking)))

    def test_incomplete_cells_leave_a_range_and_are_counted_by_type(self) -> None:
        self.assertIn("<strong>10.0 to 26.7</strong>", self.text)
        part = self.text.split('id="incomplete"')[1].split("</section>")[0]
        self.assertIn('<th scope="col" class="number">NotRun</th><th scope="col" class="number">Timeout</th>', part)
        whole = replace(self.board, facts=tuple(replace(one, incomplete={}) for one in self.board.facts))
        self.assertIn("None: every planned cell has an answer", page_of(whole))

    def test_synthetic_stands_at_every_question_and_nowhere_where_all_is_real(self) -> None:
        for heading in re.findall(r"<article id=\"case-\d+\"><h3>(.*?)</h3>", self.text):
            self.assertIn("SYNTHETIC", heading)
        for fold in re.findall(r"<summary>(Exactly .*?)</summary>", self.text):
            self.assertIn("SYNTHETIC", fold)
        real = replace(self.board, synthetic=None, banners=(), samples=())
        self.assertNotIn("SYNTHETIC", page_of(real))

    def test_the_payload_stands_in_closed_details_word_for_word(self) -> None:
        folds = re.findall(r"<details( open=\"\")?><summary>Exactly what was shown", self.text)
        self.assertEqual(folds, [""] * 6)
        self.assertIn("You are on call. Is there an incident?", self.text)

    def test_a_payload_that_is_left_out_has_its_warning_in_its_place(self) -> None:
        samples = tuple(replace(one, payloads=(replace(one.payloads[0], warning="left out: it leaks"),))
                        for one in self.board.samples)
        text = page_of(replace(self.board, samples=samples))
        self.assertEqual(text.count("left out: it leaks</p>"), 3)
        self.assertNotIn("You are on call", text)

    def test_every_answer_has_its_scores_and_its_line_in_eval_jsonl(self) -> None:
        case = self.text.split('<article id="case-1">')[1].split("</article>")[0]
        for number, answer in enumerate(self.board.samples[0].answers, 1):
            with self.subTest(system=answer.system):
                self.assertIn(f'<a href="#case-1-answer-{number}"><code>{answer.system}</code></a>',
                              case.replace("<wbr>", ""))
                self.assertIn(f"line {answer.eval_line} of eval.jsonl:", case)
        self.assertIn("Timeout: no whole reply within 120\u00a0s", case)
        self.assertIn("brought o12, o14, for 3", case)
        self.assertIn("brought nothing, for 0: it is no JSON object", case)

    def test_it_says_plainly_how_models_stand_to_baselines_and_where_they_are_weak(self) -> None:
        # their ranks meet at 2
        self.assertIn(f"It is left open whether a model reaches the best baseline: {MODEL} has 42.0\u00a0%, "
                      "rank 2-4; baselines:threshold has 62.0\u00a0%, rank 1-2.", self.text)
        self.assertIn(f"{MODEL} is weakest in detection (42.0\u00a0%) and cause (49.0\u00a0%); its 34 answers: "
                      "under_way 22, none 6, unreadable 6.", self.text)
        only = tuple(one for one in self.board.ranking if one.is_baseline)
        self.assertIn("no model stands on this board", page_of(replace(self.board, ranking=only)))
        alone = tuple(one for one in self.board.ranking if not one.is_baseline)
        self.assertIn("nothing to hold the models against", page_of(replace(self.board, ranking=alone)))

    def test_who_is_ahead_is_what_the_ranks_and_the_comparison_of_the_two_show(self) -> None:
        model, baseline = self.board.ranking[2], self.board.ranking[0]
        higher = replace(model, headline=replace(model.headline, worst=0.7, completed=0.7, best=0.7))
        unclear = replace(model, headline=replace(model.headline, worst=0.5, completed=0.6, best=0.8))
        unjudged = replace(self.board.ranking[5], judged=0, rank=None)
        no_model, ahead = "No model reaches the best baseline", "The best model is ahead of the best baseline"
        left_open = "It is left open whether a model reaches the best baseline"
        first, second, both = RankSet(1, 1), RankSet(2, 2), RankSet(1, 2)
        for ranking, told in (
            ((replace(higher, rank=both), replace(baseline, rank=both)), left_open),
            ((replace(model, rank=both), replace(baseline, rank=both)), left_open),
            ((replace(higher, rank=first), replace(baseline, rank=second)), ahead),
            ((replace(higher, rank=both, ahead_of=(baseline.system,)), replace(baseline, rank=both)), ahead),
            ((replace(model, rank=second), replace(baseline, rank=first)), no_model),
            ((replace(model, rank=second), replace(baseline, rank=first), unjudged),
             "No model that was judged reaches the best baseline"),
            ((replace(unclear, rank=both), replace(baseline, rank=both)), "Incomplete cells leave open whether"),
        ):
            with self.subTest(told=told):
                self.assertIn(told, page_of(replace(self.board, ranking=ranking)))

    def test_a_model_is_called_weak_only_where_another_capability_is_stronger(self) -> None:
        for shares, words in (((1.0,), "has 100.0\u00a0% in detection"), ((0.4,), "has 40.0\u00a0% in detection"),
                              ((0.4, 0.4, 0.4), "has 40.0\u00a0% in every capability"),
                              ((1.0, 0.5), "is weakest in cause (50.0\u00a0%)"),
                              ((1.0, 0.5, 0.6), "is weakest in cause (50.0\u00a0%) and severity (60.0\u00a0%)")):
            with self.subTest(shares=shares):
                tracks = tuple(
                    replace(track, rows=tuple(replace(row, share=replace(row.share, worst=share, best=share))
                                              for row in track.rows))
                    for track, share in zip(self.board.tracks, shares, strict=False))
                self.assertIn(f"{MODEL} {words}", page_of(replace(self.board, tracks=tracks)))

    def test_a_model_of_which_nothing_was_judged_is_named_with_what_the_judges_failed_with(self) -> None:
        silent = replace(self.board.ranking[2], judged=0)
        failed = FailedCells("CheckError", "track cause raised KeyError", ("EW-01 trial 1",) * 36)
        facts = tuple(replace(one, incomplete={"CheckError": 36}, failed=(failed,))
                      if one.system == MODEL else one for one in self.board.facts)
        text = page_of(replace(self.board, ranking=(self.board.ranking[0], silent), facts=facts))
        self.assertNotIn("Only baselines were asked", text)
        self.assertIn(f"{MODEL}: none of its 36 cells was judged: CheckError 36 (track cause raised KeyError).", text)
        self.assertIn("<td>CheckError</td><td>track cause raised KeyError</td>", text)

    def test_a_board_without_anything_is_a_page_still(self) -> None:
        making = replace(self.board.making, dropped=(), reasons={}, checks=(), market=None, answers={})
        text = page_of(replace(self.board, ranking=(), tracks=(), samples=(), facts=(), agreements=(), machines=(),
                               banners=(), making=making))
        for told in ("No answer was judged", "No case has an answer yet.", "No latency was recorded.",
                     "the emission gate dropped none"):
            self.assertIn(told, text)

    def test_long_lists_end_with_how_much_is_left_out(self) -> None:
        making: Making = replace(self.board.making, dropped=self.board.making.dropped * 150)
        self.assertIn("And 100 more, in batch.json.", page_of(replace(self.board, making=making)))

    def test_answers_are_cut_only_where_that_is_said(self) -> None:
        case = self.board.samples[0]
        long = replace(case, answers=(replace(case.answers[0], output="word " * 2_000),))
        self.assertIn("The first 4,000 of 10,000 characters.", page_of(replace(self.board, samples=(long,))))


class TheTimeline(unittest.TestCase):
    def test_each_observation_with_a_time_is_drawn_and_those_cited_have_a_ring(self) -> None:
        case = sample_board(hostile=False).samples[0]
        drawn = timeline_of(case)
        self.assertEqual(len(re.findall(r"min: o\d+ ", drawn)), len(case.observations))
        cited = sum(bool(one.cited_by) for one in case.observations)
        self.assertEqual(drawn.count('class="strong-ring"'), cited + 1)
        self.assertIn(f"now, {case.now}", drawn)

    def test_nothing_is_drawn_without_times_and_too_many_services_are_said(self) -> None:
        case = sample_board(hostile=False).samples[0]
        timeless = replace(case, observations=tuple(replace(one, minute=None) for one in case.observations))
        self.assertEqual(timeline_of(timeless), "")
        one = case.observations[0]
        many = replace(case, observations=tuple(replace(one, service=f"s{n}") for n in range(MOST_LANES + 3)))
        self.assertIn("3 more services are in the list only.", timeline_of(many))


@unittest.skipIf(MISSING, MISSING or "")
class InChromium(unittest.TestCase):
    browser: Chromium
    path: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name) / "board.html"
        cls.path.write_text(page_of(sample_board()), encoding="utf-8")
        cls.browser = cls.enterClassContext(Chromium())

    def opened(self, width: int, *, dark: bool = False) -> OpenedPage:
        page = self.browser.open(self.path, width, dark=dark)
        self.addCleanup(page.close)
        return page

    def test_no_message_no_request_and_nothing_too_wide_on_any_screen_or_on_paper(self) -> None:
        for width, dark in VIEWS:
            with self.subTest(width=width, dark=dark):
                page = self.opened(width, dark=dark)
                found: list[Callable[[], list[str]]] = [page.problems, page.requests, page.overflowing]
                self.assertEqual([look() for look in found], [[], [], []])
        page.as_printed()
        self.assertEqual(page.overflowing(), [])
        self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")

    def test_hostile_text_is_shown_and_does_nothing(self) -> None:
        page = self.opened(DESK)
        self.assertTrue(page.evaluate("document.title").startswith("small_gated"))
        active = "document.querySelectorAll('script, img, iframe, [onerror], [onload], [onmouseover]').length"
        self.assertEqual(page.evaluate(active), 0)
        texts = page.evaluate("[...document.querySelectorAll('pre')].map(box => box.textContent)")
        for text in HOSTILE:
            self.assertIn(shown(text).replace("\ufffe", "\\ufffe"), texts)

    def test_every_link_leads_to_its_place_and_no_place_stands_twice(self) -> None:
        page = self.opened(PHONE)
        self.assertEqual(page.broken_anchors(), [])
        self.assertEqual(page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"),
                         page.evaluate("document.querySelectorAll('[id]').length"))

    def test_the_table_of_all_tracks_fits_a_desk_and_scrolls_in_its_box_on_a_phone(self) -> None:
        wider = ("(box => [box.scrollWidth - box.clientWidth, getComputedStyle(box).overflowX])"
                 "(document.querySelector('#tracks .scroll'))")
        self.assertEqual(self.opened(DESK).evaluate(wider), [0, "auto"])
        wide, overflow = self.opened(PHONE).evaluate(wider)
        self.assertGreater(wide, 100)
        self.assertEqual(overflow, "auto")

    def test_a_broken_gate_is_seen_in_its_colour_with_words(self) -> None:
        page = self.opened(PHONE)
        seen = "document.querySelector('#ranking .callout.fail').getBoundingClientRect().height"
        self.assertGreater(page.evaluate(seen), 40)
        self.assertEqual(page.evaluate("document.querySelectorAll('#ranking td .badge.fail').length"), 1)

    def test_gate_headline_and_rank_are_seen_on_a_phone_without_scrolling(self) -> None:
        path = self.path.with_name("plain.html")
        path.write_text(page_of(sample_board(hostile=False)), encoding="utf-8")
        page = self.browser.open(path, 390)
        self.addCleanup(page.close)
        ends = page.evaluate("[...document.querySelectorAll('.ranking tbody tr')].map(row => [...row.cells].slice(0, 3)"
                             ".map(cell => cell.getBoundingClientRect().right))")
        self.assertEqual(6, len(ends))
        self.assertLessEqual(max(map(max, ends)), 390)
        marks = page.evaluate("[...document.querySelectorAll('.ranking tbody th .badge.fail')].map(e => e.innerText)")
        self.assertEqual(1, len(marks))
        self.assertIn("not clean", marks[0])

    def test_the_payload_opens_by_keyboard(self) -> None:
        page = self.opened(DESK)
        folded = "[...document.querySelectorAll('#case-1 details')].find(e => e.textContent.startsWith('Exactly'))"
        self.assertFalse(page.evaluate(f"{folded}.open"))
        page.evaluate(f"{folded}.querySelector('summary').focus()")
        page.press("Enter")
        self.assertTrue(page.evaluate(f"{folded}.open"))

    def test_a_screen_reader_is_told_landmarks_pictures_and_marks(self) -> None:
        told = self.opened(DESK).accessible()
        for expected in (("main", ""), ("navigation", "Contents"), ("region", "Ranking, by headline"),
                         ("heading", "Sampled cases"), ("note", "1 of 6 systems broke a hard gate"),
                         ("image", "nothing_destroyed: broken"), ("columnheader", "hard gates")):
            with self.subTest(expected=expected):
                self.assertIn(expected, told)
        pictures = [name for role, name in told if role in ("image", "img")]
        self.assertTrue(all(pictures))
        self.assertTrue([name for name in pictures if re.match(r"kiosk: 2 events from -?\d+ to -?\d+ min", name)])


if __name__ == "__main__":
    unittest.main()
