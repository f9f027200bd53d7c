"""Pages as they are seen: opened in headless Chromium on a phone and a desk, light and dark, and read by keyboard.

The driver is tested first, on a page that does everything wrong: a check that finds nothing there proves nothing.
"""
from __future__ import annotations

import struct
import tempfile
import unittest
import zlib
from pathlib import Path

from benchkit.pages.curve_charts import DistributionChart, Group, PercentileMark
from benchkit.render.as_html import as_html
from benchkit.render.document import Chart, Document, Section
from tests.chromium import MISSING, BrowserFailed, Chromium, OpenedPage
from tests.render_samples import every_block

BAD = """<!doctype html><title>bad</title><body><p style="width: 3000px">wide</p><a href="#nowhere">broken</a>
<a href="http://example.invalid/">out</a><img src="http://example.invalid/picture.png">
<script>console.log("said"); throw new Error("thrown");</script>"""
CROSSED = """[...document.querySelectorAll('.distribution')].flatMap(chart => {
  const boxes = [...chart.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
  const lines = [...chart.querySelectorAll('line.percentile, line.interval')].map(one => one.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top < a.bottom - 2;
  return boxes.filter(([words, box]) => lines.some(one => meet(box, new DOMRect(one.x, one.y, one.width + .1,
    one.height + .1))) || boxes.some(([other, there]) => other !== words && meet(box, there))).map(([words]) => words);
})"""
"""Texts of distributions that a line or another text runs through."""
PHONE, DESK = 360, 1280
VIEWS = [(width, dark) for width in (PHONE, DESK) for dark in (False, True)]


def first_pixel(png: bytes) -> tuple[int, int, int]:
    """Red, green and blue at the upper left of an 8-bit RGB or RGBA PNG."""
    data, place = b"", 8
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        data += png[place + 8:place + 8 + length] if kind == b"IDAT" else b""
        place += length + 12
    red, green, blue = zlib.decompress(data)[1:4]
    return red, green, blue


@unittest.skipIf(MISSING, MISSING or "")
class InChromium(unittest.TestCase):
    browser: Chromium
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = cls.enterClassContext(Chromium())

    def opened(self, text: str, width: int, *, dark: bool = False) -> OpenedPage:
        path = Path(self.folder.name) / "page.html"
        path.write_text(text, encoding="utf-8")
        page = self.browser.open(path, width, dark=dark)
        self.addCleanup(page.close)
        return page


class TheDriver(InChromium):
    def test_it_finds_every_fault_of_a_bad_page(self) -> None:
        page = self.opened(BAD, PHONE)
        problems = page.problems()
        self.assertTrue([problem for problem in problems if problem.startswith("console") and "said" in problem])
        self.assertTrue([problem for problem in problems if problem.startswith("exception") and "thrown" in problem])
        self.assertEqual(page.requests(), ["http://example.invalid/picture.png"])
        self.assertEqual(page.broken_anchors(), ["#nowhere", "http://example.invalid/"])
        self.assertIn("wide", page.overflowing()[0])

    def test_it_finds_nothing_on_a_good_page(self) -> None:
        page = self.opened('<!doctype html><title>good</title><p id="a"><a href="#a">here</a>', PHONE)
        found = [*page.problems(), *page.requests(), *page.broken_anchors(), *page.overflowing()]
        self.assertEqual(found, [])

    def test_what_the_policy_refuses_is_a_problem(self) -> None:
        policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">"
        page = self.opened(f"<!doctype html><title>x</title>{policy}<p style='color: red'>red", PHONE)
        self.assertIn("Content Security Policy", page.problems()[0])

    def test_a_command_that_is_refused_and_a_file_that_is_missing_are_failures_in_words(self) -> None:
        page = self.opened("<!doctype html>", PHONE)
        with self.assertRaisesRegex(BrowserFailed, "no_such_thing"):
            page.evaluate("no_such_thing()")
        with self.assertRaisesRegex(BrowserFailed, "ERR_FILE_NOT_FOUND"):
            self.browser.open(Path(self.folder.name) / "missing.html", PHONE)


class TheSamplePage(InChromium):
    text: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.text = "".join(as_html(every_block('"><b>')))

    def test_no_message_no_request_and_nothing_too_wide(self) -> None:
        for width, dark in VIEWS:
            with self.subTest(width=width, dark=dark):
                page = self.opened(self.text, width, dark=dark)
                self.assertEqual(page.evaluate("innerWidth"), width)
                self.assertEqual(page.problems(), [])
                self.assertEqual(page.requests(), [])
                self.assertEqual(page.overflowing(), [])

    def test_a_key_leads_past_the_contents_and_the_focus_is_seen(self) -> None:
        page = self.opened(self.text, DESK)
        page.press("Tab")
        self.assertEqual(page.evaluate("document.activeElement.textContent"), "Skip to the content")
        self.assertGreaterEqual(page.evaluate("document.activeElement.getBoundingClientRect().left"), 0)
        self.assertEqual(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "solid")
        page.press("Enter")
        self.assertEqual(page.evaluate("document.activeElement.id"), "content")

    def test_the_page_follows_the_colour_scheme_and_paper_is_white(self) -> None:
        path = Path(self.folder.name) / "shot.png"
        pixels = []
        for dark in (False, True):
            page = self.opened(self.text, DESK, dark=dark)
            page.screenshot(path, whole=False)
            pixels.append(first_pixel(path.read_bytes()))
        page.as_printed()
        page.screenshot(path, whole=False)
        self.assertGreater(min(pixels[0]), 240)
        self.assertLess(max(pixels[1]), 40)
        self.assertEqual(first_pixel(path.read_bytes()), (255, 255, 255))

    def test_no_label_of_a_percentile_is_crossed_by_a_line(self) -> None:
        groups = [Group("high", [1.0, 10.0], [PercentileMark(f"p{at}", at / 10, at / 10 - 0.5, at / 10 + 0.5)
                                              for at in places]) for places in ((20, 45, 60, 78), (50, 70, 85, 99))]
        chart = Chart(DistributionChart("Latency", groups))
        text = "".join(as_html(Document("Latency", (), [Section("latency", "Latency", [chart])])))
        for width in (PHONE, 390, DESK):
            with self.subTest(width=width):
                page = self.opened(text, width)
                self.assertEqual(page.evaluate("document.querySelectorAll('.distribution text').length > 8"), True)
                self.assertEqual(page.evaluate(CROSSED), [])

    def test_wide_tables_scroll_in_their_own_box(self) -> None:
        page = self.opened(self.text, PHONE)
        wide = "[...document.querySelectorAll('.scroll')].some(box => box.scrollWidth > box.clientWidth)"
        self.assertTrue(page.evaluate(wide))
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), PHONE)


if __name__ == "__main__":
    unittest.main()
