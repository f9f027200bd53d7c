"""The report page as it is seen: in headless Chromium, on a phone and a desk, light and dark, read by keyboard."""
from __future__ import annotations

import re
import tempfile
import time
import unittest
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from benchkit.basics.texts import shown
from benchkit.recordings.run_record import RunRecord
from tests.chromium import MISSING, Chromium, OpenedPage
from tests.hostile_run import HOSTILE
from tests.page_runs import LONG, hostile, other, page_of, tagged
from tests.reports_samples import record

PHONE, DESK = 360, 1280
ACTIVE = "document.querySelectorAll('script, img, iframe, object, form, [onerror], [onload], [onmouseover]').length"
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
LINES = "(box => new Set([...box.getClientRects()].map(one => Math.round(one.top))).size)"
PAGES: Mapping[str, Callable[[], str]] = {
    "one": lambda: page_of(tagged()), "pair": lambda: page_of(tagged(), other()),
    "far": lambda: page_of(*far_apart()),
    "hostile": lambda: page_of(hostile(), names=HOSTILE[0].replace(" ", ""))}


def far_apart() -> tuple[RunRecord, RunRecord]:
    """Two runs that differ in all of eight cases, by systems with long names; a trial is missing."""
    worse, better = (record({f"case-{number}": marks for number in range(8)} | {"open": "+n+n+"}, {"temperature": 1.0})
                     for marks in ("-----", "+++++"))
    return replace(worse, system="model_triage:smollm2:135m"), replace(better, system="baselines:most-common")


@unittest.skipIf(MISSING, MISSING or "")
class InChromium(unittest.TestCase):
    browser: ClassVar[Chromium]
    folder: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for name, page in PAGES.items():
            (cls.folder / name).with_suffix(".html").write_text(page(), encoding="utf-8")
        cls.browser = cls.enterClassContext(Chromium())

    def opened(self, name: str, width: int = DESK, *, dark: bool = False) -> OpenedPage:
        page = self.browser.open(self.folder / f"{name}.html", width, dark=dark)
        self.addCleanup(page.close)
        return page

    def test_no_message_no_request_and_nothing_too_wide_folded_or_unfolded(self) -> None:
        for name in PAGES:
            for dark in (False, True):
                page = self.opened(name, DESK, dark=dark)
                for width in (DESK, PHONE):
                    with self.subTest(page=name, width=width, dark=dark):
                        page.resize(width, 800)
                        self.assertEqual([*page.problems(), *page.requests(), *page.overflowing()], [])
                with self.subTest(page=name, dark=dark, unfolded=True):
                    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
                    self.assertEqual([*page.overflowing(), *page.broken_anchors()], [])

    def test_no_number_is_parted_from_its_unit_or_broken(self) -> None:
        for name in ("one", "pair", "far"):
            page = self.opened(name)
            for width in (PHONE, 390, DESK):
                with self.subTest(page=name, width=width):
                    page.resize(width, 800)
                    self.assertEqual(page.evaluate(SPLIT), [])

    def test_names_of_systems_break_behind_their_punctuation(self) -> None:
        page = self.opened("far", 390)
        pieces = page.evaluate(f"""[...document.querySelectorAll('#overview tbody td code')].flatMap(name =>
          [...name.childNodes].filter(one => one.data).map(one => {{
            const range = new Range(); range.selectNode(one); return [one.data, {LINES}(range)];
          }}))""")
        self.assertIn(["smollm2:", 1], pieces)
        self.assertIn(["135m", 1], pieces)

    def test_ranges_among_the_headline_figures_stay_on_a_line(self) -> None:
        page = self.opened("one", 390)
        told = page.evaluate(f"""[...document.querySelectorAll('.figure .together')].map(value => {{
          const range = new Range(); range.selectNodeContents(value); return [value.textContent, {LINES}(range)];
        }})""")
        self.assertTrue([text for text, _ in told if " to " in text])
        self.assertEqual([text for text, lines in told if lines > 1], [])

    def test_every_row_has_its_line_where_the_first_column_sticks(self) -> None:
        page = self.opened("one", 390)
        rows = "#grid tbody tr + tr"
        self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('#grid table')).borderCollapse"),
                         "separate")
        self.assertEqual(page.evaluate(f"""[...document.querySelectorAll('{rows} > *')].filter(cell =>
          getComputedStyle(cell).borderTopStyle !== 'solid').length"""), 0)
        self.assertEqual(page.evaluate(f"getComputedStyle(document.querySelector('{rows} th')).position"), "sticky")

    def test_every_place_is_there_once(self) -> None:
        page = self.opened("pair")
        self.assertEqual(page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"),
                         page.evaluate("document.querySelectorAll('[id]').length"))

    def test_the_mark_of_a_trial_opens_its_details_and_brings_them_into_view(self) -> None:
        page = self.opened("one", PHONE)
        place = "document.getElementById('case-3-trial-4')"
        self.assertFalse(page.evaluate(f"{place}.checkVisibility()"))
        page.evaluate("document.querySelector('a.mark[href=\"#case-3-trial-4\"]').click()")
        self.assertTrue(page.evaluate(f"{place}.checkVisibility()"))
        self.assertIn("answer 4", page.evaluate(f"{place}.textContent"))
        self.wait_for(page, f"Math.abs({place}.getBoundingClientRect().top) < 200")

    def test_a_trial_that_shares_its_block_is_reached_by_key(self) -> None:
        page = self.opened("one")
        page.evaluate("document.querySelector('a.mark[title^=\"unrun, trial 3:\"]').focus()")
        page.press("Enter")
        self.wait_for(page, "document.querySelector(':target')?.id === 'case-6-trial-1'")
        self.assertTrue(page.evaluate("document.querySelector(':target').checkVisibility()"))
        self.assertIn("trial 3, seed 1003", page.evaluate("document.querySelector(':target').textContent"))

    def wait_for(self, page: OpenedPage, condition: str) -> None:
        """Scrolling takes a moment."""
        deadline = time.monotonic() + 600
        while not page.evaluate(condition) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(page.evaluate(condition), condition)

    def test_hostile_outputs_are_shown_as_text_and_do_nothing(self) -> None:
        page = self.opened("hostile")
        self.assertEqual(page.evaluate(ACTIVE), 0)
        self.assertTrue(page.evaluate("document.title").startswith(shown(HOSTILE[0].replace(" ", ""))))
        texts = page.evaluate("[...document.querySelectorAll('pre')].map(box => box.textContent)")
        for text in filter(None, HOSTILE):
            with self.subTest(text=text[:30]):
                visible = re.sub("[\ufffe\uffff]", lambda one: f"\\u{ord(one.group()):04x}", shown(text))
                self.assertIn(visible, texts)
        self.assertIn(LONG, texts)

    def test_a_screen_reader_is_told_landmarks_headings_marks_and_pictures(self) -> None:
        told = self.opened("one").accessible()
        for expected in (("main", ""), ("navigation", "Contents"), ("heading", "Every trial"), ("note", "3 warnings"),
                         ("region", "Every trial of 6 cases"), ("link", "flaky, trial 2: fail"),
                         ("rowheader", "cut-short"), ("columnheader", "passed")):
            with self.subTest(expected=expected):
                self.assertIn(expected, told)
        pictures = [name for role, name in told if role in ("image", "img")]
        self.assertTrue([name for name in pictures if name.startswith("pass@k and pass^k. At k = 5")])
        self.assertIn("60.0 %, interval 23.1 % to 88.2 %", pictures)
        self.assertTrue(all(pictures))

    def test_the_keyboard_walks_from_the_skip_link_into_the_contents(self) -> None:
        page = self.opened("one")
        for expected in ("#content", "#coverage", "#rates"):
            page.press("Tab")
            self.assertEqual(page.evaluate("document.activeElement.getAttribute('href')"), expected)
        page.press("Enter")
        self.wait_for(page, "document.querySelector(':target')?.id === 'rates'")

    def test_on_paper_nothing_is_too_wide_and_the_colours_are_light(self) -> None:
        page = self.opened("pair", 720, dark=True)
        page.as_printed()
        self.assertEqual(page.overflowing(), [])
        self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")


if __name__ == "__main__":
    unittest.main()
