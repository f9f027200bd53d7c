"""Reports and boards in headless Chromium: on a phone, a desk and paper, light and dark, read by keyboard and told to a
screen reader; and 260 texts that break pages, in every place of a report and of a board.

The driver is tested first, on a page that does everything wrong: a check that finds nothing there proves nothing.
"""
from __future__ import annotations

import re
import tempfile
import time
import unittest
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest import mock

from benchkit.basics.texts import shown
from benchkit.boards.board_document import board_document
from benchkit.pages.curve_charts import DistributionChart, Group, PercentileMark
from benchkit.recordings.run_record import RunRecord
from benchkit.render import document as doc
from benchkit.render.as_html import as_html
from tests.chromium import MISSING, BrowserFailed, Chromium, OpenedPage
from tests.corpus import CORPUS
from tests.hostile_run import HOSTILE, hostile_record
from tests.page_runs import LONG, hostile, other, page_of, tagged
from tests.render_samples import every_block
from tests.reports_samples import record
from tests.sample_board import HOSTILE as HOSTILE_ON_BOARDS
from tests.sample_board import sample_board

BAD = """<!doctype html><title>bad</title><body><p style="width: 3000px">wide</p><a href="#nowhere">broken</a>
<a href="http://example.invalid/">out</a><img src="http://example.invalid/picture.png">
<script>console.log("said"); throw new Error("thrown");</script>
<main><table><tr><td>1<td>2<tr><td>1</table><img src=x onerror='ran=1'>"""
ACTIVE = """[...document.querySelectorAll(`script, img, iframe, object, embed, form, input, button, video, audio,
  link:not([href="data:,"]), base, svg a, foreignObject, [src], [srcset], [onload], [onerror], [onclick], [onfocus],
  [onmouseover], [ontoggle], [popover]`)].map(e => e.outerHTML)"""
UNEVEN = """[...document.querySelectorAll('table')].filter(table => {
  const widths = [...table.rows].map(row => [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0));
  const strangers = [...table.querySelectorAll('td, th')].filter(cell => cell.closest('table') !== table);
  return new Set(widths).size > 1 || strangers.length;
}).map(table => table.outerHTML.slice(0, 300))"""
TWICE = "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, at, ids) => ids.indexOf(id) !== at)"
UNFOLD = "document.querySelectorAll('details').forEach(fold => { fold.open = true; })"
CROSSED = """[...document.querySelectorAll('.distribution')].flatMap(chart => {
  const boxes = [...chart.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
  const lines = [...chart.querySelectorAll('line.percentile, line.interval')].map(one => one.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top < a.bottom - 2;
  return boxes.filter(([words, box]) => lines.some(one => meet(box, new DOMRect(one.x, one.y, one.width + .1,
    one.height + .1))) || boxes.some(([other, there]) => other !== words && meet(box, there))).map(([words]) => words);
})"""
"""Texts of distributions that a line or another text runs through."""
SPLIT = """(() => {
  const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = new Range();
  while (texts.nextNode()) {
    const node = texts.currentNode, parent = node.parentElement;
    if (parent.closest('pre, code, svg')) continue;
    const number = parent.closest('.number, .figure')
      ? /[-+]?\\d[\\d.]*(e-\\d+)?(\\s%)?/g
      : /[\\d.]+\\s(%|points|m?s\\b)/g;
    for (const one of node.data.matchAll(number)) {
      range.setStart(node, one.index);
      range.setEnd(node, one.index + one[0].length);
      if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) found.push(one[0]);
    }
  }
  return found;
})()"""
"""Numbers, and numbers with their units, that stand on two lines."""
LINES = """(node => {
  const range = new Range(); range.selectNodeContents(node);
  return [node.textContent, new Set([...range.getClientRects()].map(one => Math.round(one.bottom / 4))).size];
})"""
PHONE, DESK = 360, 1280
CORPUS_BOARDS = range(0, len(CORPUS), len(CORPUS) // 3)


def percentiles() -> doc.Document:
    """Labels of percentiles in every place."""
    groups = [Group("high", [1.0, 10.0], [PercentileMark(f"p{at}", at / 10, at / 10 - 0.5, at / 10 + 0.5)
                                          for at in places]) for places in ((20, 45, 60, 78), (50, 70, 85, 99))]
    return doc.Document("Latency", (), [doc.Section("latency", "Latency", [
        doc.Chart(DistributionChart("Latency", groups))])])


def far_apart() -> tuple[RunRecord, RunRecord]:
    """Two runs that differ in all of eight cases, by systems with long names; a trial is missing."""
    worse, better = (record({f"case-{number}": marks for number in range(8)} | {"open": "+n+n+"}, {"temperature": 1.0})
                     for marks in ("-----", "+++++"))
    return replace(worse, system="model_triage:smollm2:135m"), replace(better, system="baselines:most-common")


def board(is_hostile: bool = True, turned: int | None = None) -> str:
    """The page of a board; of one with hostile texts, in places turned by so many."""
    texts = HOSTILE_ON_BOARDS if turned is None else (*CORPUS[turned:], *CORPUS[:turned])
    with mock.patch("tests.sample_board.HOSTILE", texts):
        return "".join(as_html(board_document(sample_board(hostile=is_hostile))))


PAGES: Mapping[str, Callable[[], str]] = {
    "bad": lambda: BAD, "blocks": lambda: "".join(as_html(every_block('"><b>'))),
    "percentiles": lambda: "".join(as_html(percentiles())),
    "one": lambda: page_of(tagged()), "pair": lambda: page_of(tagged(), other()), "far": lambda: page_of(*far_apart()),
    "hostile": lambda: page_of(hostile(), names=HOSTILE[0].replace(" ", "")),
    "corpus": lambda: page_of(hostile_record(CORPUS), names=CORPUS[0].replace(" ", "")),
    "board": board, "friendly": lambda: board(False),
    **{f"corpus-{by}": lambda by=by: board(True, by) for by in CORPUS_BOARDS}}  # type: ignore[misc]


def setUpModule() -> None:
    if MISSING:
        raise unittest.SkipTest(MISSING)


@cache
def browser() -> Chromium:
    """One for all tests here."""
    found = unittest.enterModuleContext(Chromium())
    unittest.addModuleCleanup(browser.cache_clear)
    return found


@cache
def file_of(name: str) -> Path:
    """The file of a page."""
    folder = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    unittest.addModuleCleanup(file_of.cache_clear)
    path = Path(folder) / "page.html"
    path.write_text(PAGES[name](), encoding="utf-8")
    return path


@cache
def kept(name: str) -> OpenedPage:
    """A page in a tab, for tests that only look at it."""
    unittest.addModuleCleanup(kept.cache_clear)
    return browser().open(file_of(name), DESK)


def visible(text: str) -> str:
    """A text as a page shows it."""
    return re.sub("[\ufffe\uffff]", lambda one: f"\\u{ord(one.group()):04x}", shown(text))


class InChromium(unittest.TestCase):
    def seen(self, name: str, width: int = DESK) -> OpenedPage:
        page = kept(name)
        page.resize(width)
        return page

    def opened(self, name: str, width: int = DESK) -> OpenedPage:
        page = browser().open(file_of(name), width)
        self.addCleanup(page.close)
        return page

    def wait_for(self, page: OpenedPage, condition: str) -> None:
        """Scrolling takes a moment."""
        deadline = time.monotonic() + 600
        while not page.evaluate(condition) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(page.evaluate(condition), condition)


class TheDriver(InChromium):
    def test_it_finds_every_fault_of_a_bad_page(self) -> None:
        page = self.seen("bad", PHONE)
        problems = page.problems()
        self.assertTrue([problem for problem in problems if problem.startswith("console") and "said" in problem])
        self.assertTrue([problem for problem in problems if problem.startswith("exception") and "thrown" in problem])
        self.assertIn("http://example.invalid/picture.png", page.requests())
        self.assertEqual(page.broken_anchors(), ["#nowhere", "http://example.invalid/"])
        self.assertIn("wide", page.overflowing()[0])
        self.assertEqual((3, 1), (len(page.evaluate(ACTIVE)), len(page.evaluate(UNEVEN))))
        self.wait_for(page, "window.ran === 1")

    def test_what_the_policy_refuses_is_a_problem(self) -> None:
        path = file_of("blocks").with_name("refused.html")
        policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">"
        path.write_text(f"<!doctype html><title>x</title>{policy}<p style='color: red'>red", encoding="utf-8")
        self.assertIn("Content Security Policy", browser().open(path, PHONE).problems()[0])

    def test_a_command_that_is_refused_and_a_file_that_is_missing_are_failures_in_words(self) -> None:
        with self.assertRaisesRegex(BrowserFailed, "no_such_thing"):
            self.seen("blocks").evaluate("no_such_thing()")
        with self.assertRaisesRegex(BrowserFailed, "ERR_FILE_NOT_FOUND"):
            browser().open(Path("missing.html"), PHONE)


class EveryPage(InChromium):
    def test_it_says_asks_and_runs_nothing_is_never_too_wide_and_its_links_and_tables_are_whole(self) -> None:
        for name in PAGES.keys() - {"bad"}:
            page, is_large = self.opened(name), name.startswith("corpus")
            for dark in (False,) if is_large else (False, True):
                page.look("screen", dark)
                for width in (DESK,) if is_large else (DESK, PHONE):
                    page.resize(width)
                    with self.subTest(page=name, width=width, dark=dark):
                        self.assertEqual(page.evaluate("innerWidth"), width)
                        self.assertEqual([*page.problems(), *page.requests(), *page.overflowing()], [])
            page.evaluate(UNFOLD)
            with self.subTest(page=name, unfolded=True):
                self.assertEqual([*page.problems(), *page.requests(), *page.broken_anchors()], [])
                self.assertEqual([], [] if is_large else page.overflowing())
                self.assertEqual([[], [], [], None, 1], [page.evaluate(one) for one in (
                    ACTIVE, UNEVEN, TWICE, "window.ran", "document.querySelectorAll('main').length")])
            if name in ("pair", "board"):
                page.look("print", dark=True)
                page.resize(720)
                with self.subTest(page=name, printed=True):
                    self.assertEqual(page.overflowing(), [])

    def test_hostile_texts_are_shown_as_they_are(self) -> None:
        for name, texts in (("hostile", (*HOSTILE, LONG)), ("corpus", CORPUS), ("board", HOSTILE_ON_BOARDS)):
            found = set(self.seen(name).evaluate("[...document.querySelectorAll('pre')].map(box => box.textContent)"))
            with self.subTest(page=name):
                self.assertEqual([], [text for text in map(visible, filter(None, texts)) if text not in found])
        title = self.seen("hostile").evaluate("document.title")
        self.assertTrue(title.startswith(shown(HOSTILE[0].replace(" ", ""))))
        for by in CORPUS_BOARDS:
            body = self.seen(f"corpus-{by}").evaluate("document.body.innerText + document.body.textContent")
            self.assertIn(visible(CORPUS[0]), body)

    def test_it_follows_the_colour_scheme_and_paper_is_white(self) -> None:
        page, pixels = self.seen("pair"), []
        for media, dark in (("screen", False), ("screen", True), ("print", True)):
            page.look(media, dark)
            pixels.append(page.pixel(0, 0))
        page.look("screen")
        self.assertGreater(min(pixels[0]), 240)
        self.assertLess(max(pixels[1]), 40)
        self.assertEqual((255, 255, 255), pixels[2])

    def test_a_screen_reader_is_told_landmarks_headings_marks_and_pictures(self) -> None:
        for name, expected, told_of_pictures in (
            ("one", (("main", ""), ("navigation", "Contents"), ("heading", "Every trial"), ("note", "3 warnings"),
                     ("region", "Every trial of 6 cases"), ("link", "flaky, trial 2: fail"),
                     ("rowheader", "cut-short"), ("columnheader", "passed"),
                     ("image", "60.0 %, interval 23.1 % to 88.2 %")), r"pass@k and pass\^k\. At k = 5"),
            ("board", (("main", ""), ("navigation", "Contents"), ("region", "Ranking, by headline"),
                       ("heading", "Sampled cases"), ("note", "1 of 6 systems broke a hard gate"),
                       ("image", "nothing_destroyed: broken"), ("columnheader", "gate failures")),
             r"kiosk: 2 events from -?\d+ to -?\d+ min"),
        ):
            told = self.seen(name).accessible()
            pictures = [words for role, words in told if role in ("image", "img")]
            with self.subTest(page=name):
                self.assertEqual([], [one for one in expected if one not in told])
                self.assertTrue(all(pictures))
                self.assertTrue([words for words in pictures if re.match(told_of_pictures, words)])

    def test_the_keyboard_walks_past_the_contents_or_into_them_and_the_focus_is_seen(self) -> None:
        page = self.opened("one")
        for expected in ("#content", "#coverage", "#rates"):
            page.press("Tab")
            self.assertEqual(page.evaluate("document.activeElement.getAttribute('href')"), expected)
            self.assertEqual(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
            self.assertGreaterEqual(page.evaluate("document.activeElement.getBoundingClientRect().left"), 0)
        page.press("Enter")
        self.wait_for(page, "document.querySelector(':target')?.id === 'rates'")
        page.evaluate("document.querySelector('.skip').focus()")
        page.press("Enter")
        self.assertEqual(page.evaluate("document.activeElement.id"), "content")


class Narrow(InChromium):
    def test_no_label_of_a_percentile_is_crossed_by_a_line(self) -> None:
        for width in (PHONE, 390, DESK):
            with self.subTest(width=width):
                page = self.seen("percentiles", width)
                self.assertTrue(page.evaluate("document.querySelectorAll('.distribution text').length > 8"))
                self.assertEqual(page.evaluate(CROSSED), [])

    def test_no_number_is_parted_from_its_unit_or_broken(self) -> None:
        for name in ("one", "pair", "far"):
            for width in (PHONE, 390, DESK):
                with self.subTest(page=name, width=width):
                    self.assertEqual(self.seen(name, width).evaluate(SPLIT), [])

    def test_names_break_behind_their_punctuation_ranges_stay_whole_and_what_passed_needs_two_lines(self) -> None:
        for name, places, expected, most in (
            ("far", "[...document.querySelectorAll('#overview tbody td code')].flatMap(name => "
                    "[...name.childNodes].filter(one => one.data))", {"smollm2:", "135m"}, 1),
            ("one", "[...document.querySelectorAll('.figure .together')]", {"40.0 to 73.3\u00a0%"}, 1),
            ("far", "[...document.querySelectorAll('.around-zero tbody .number')]", {"5 of 5, was 0 of 5"}, 2),
        ):
            told = self.seen(name, 390).evaluate(f"{places}.map({LINES})")
            with self.subTest(page=name, expected=expected):
                self.assertLessEqual(expected, {text for text, _ in told})
                self.assertEqual([], [text for text, lines in told if lines > most])

    def test_a_wide_table_scrolls_in_its_own_box_which_a_shade_at_its_edge_tells_until_its_end(self) -> None:
        box = "document.querySelector('#tracks .scroll')"
        wider = f"[{box}.scrollWidth - {box}.clientWidth, getComputedStyle({box}).overflowX]"
        self.assertEqual(self.seen("board").evaluate(wider), [0, "auto"])
        page = self.opened("board", 390)
        wide, overflow = page.evaluate(wider)
        self.assertGreater(wide, 100)
        self.assertEqual(overflow, "auto")
        shades = []
        for left in (0, wide):
            page.evaluate(f"{box}.scrollLeft = {left}")
            place = page.evaluate(f"(one => [one.right - 2, one.bottom - 2])({box}.getBoundingClientRect())")
            shades.append(page.pixel(*place))
        self.assertLess(max(shades[0]), 230)
        self.assertGreater(min(shades[1]), 245)

    def test_every_row_has_its_line_where_the_first_column_sticks(self) -> None:
        page, rows = self.seen("one", 390), "#grid tbody tr + tr"
        for element, field, expected in (("#grid table", "borderCollapse", "separate"),
                                         (f"{rows} th", "position", "sticky")):
            self.assertEqual(page.evaluate(f"getComputedStyle(document.querySelector('{element}')).{field}"), expected)
        self.assertEqual(page.evaluate(f"""[...document.querySelectorAll('{rows} > *')].filter(cell =>
          getComputedStyle(cell).borderTopStyle !== 'solid').length"""), 0)

    def test_gate_headline_and_rank_are_seen_on_a_phone_without_scrolling(self) -> None:
        page = self.seen("friendly", 390)
        ends = page.evaluate("[...document.querySelectorAll('.ranking tbody tr')].map(row => [...row.cells].slice(0, 4)"
                             ".map(cell => cell.getBoundingClientRect().right))")
        self.assertEqual(6, len(ends))
        self.assertLessEqual(max(map(max, ends)), 390)
        marks = page.evaluate("[...document.querySelectorAll('.ranking tbody td .badge.fail')].map(e => e.innerText)")
        self.assertEqual(1, len(marks))
        self.assertIn("9 of 36", marks[0])
        callout = self.seen("board", PHONE).evaluate(
            "document.querySelector('#ranking .callout.fail').getBoundingClientRect().height")
        self.assertGreater(callout, 40)


class Details(InChromium):
    def test_the_mark_of_a_trial_opens_its_details_alone_and_brings_them_into_view(self) -> None:
        page, place = self.opened("one", PHONE), "document.getElementById('case-3-trial-4')"
        self.assertFalse(page.evaluate(f"{place}.checkVisibility()"))
        before = page.evaluate("document.querySelectorAll('details[open]').length")
        page.evaluate("document.querySelector('a.mark[href=\"#case-3-trial-4\"]').click()")
        self.assertTrue(page.evaluate(f"{place}.checkVisibility()"))
        self.assertEqual(page.evaluate("document.querySelectorAll('details[open]').length"), before + 2)
        self.assertIn("answer 4", page.evaluate(f"{place}.textContent"))
        self.wait_for(page, f"Math.abs({place}.getBoundingClientRect().top) < 200")

    def test_a_trial_that_shares_its_block_and_a_payload_are_opened_by_key(self) -> None:
        page = self.opened("one")
        page.evaluate("document.querySelector('a.mark[title^=\"unrun, trial 3:\"]').focus()")
        page.press("Enter")
        self.wait_for(page, "document.querySelector(':target')?.id === 'case-6-trial-1'")
        self.assertTrue(page.evaluate("document.querySelector(':target').checkVisibility()"))
        self.assertIn("trial 3, seed 1003", page.evaluate("document.querySelector(':target').textContent"))
        page = self.opened("board")
        folded = "[...document.querySelectorAll('#case-1 details')].find(e => e.textContent.startsWith('Exactly'))"
        self.assertFalse(page.evaluate(f"{folded}.open"))
        page.evaluate(f"{folded}.querySelector('summary').focus()")
        page.press("Enter")
        self.assertTrue(page.evaluate(f"{folded}.open"))
