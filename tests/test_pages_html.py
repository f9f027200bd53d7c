"""The builder of HTML, the parts made with it, whole pages, and the style sheet's colours."""
from __future__ import annotations

import base64
import hashlib
import re
import unittest
from collections.abc import Iterator

from benchkit.pages import page
from benchkit.pages.html import Html, breakable, element, joined, stream, whole
from benchkit.pages.page import PageSection, document
from benchkit.pages.parts import SIGNS, badge, mark, stacked_bar
from benchkit.pages.tones import Tone
from benchkit.render.as_html import block_html
from benchkit.render.document import Column, Table, Verbatim
from tests.test_pages_escaping import read_html

HOSTILE = "\"><script>alert('x')</script>"
SAFE = "&quot;&gt;&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"


class TheBuilder(unittest.TestCase):
    def test_a_text_is_escaped_and_html_is_not(self) -> None:
        self.assertEqual(element("p", HOSTILE), f"<p>{SAFE}</p>")
        self.assertEqual(element("p", element("b", "x"), 3, None), "<p><b>x</b>3</p>")

    def test_html_that_is_changed_is_a_text_again(self) -> None:
        inner = element("b", "x")
        for changed in (inner + "", f"{inner}", inner[:3], inner.upper(), "".join([inner])):
            with self.subTest(changed=changed):
                self.assertNotIn("<b", element("p", changed).lower().removeprefix("<p>"))

    def test_an_attribute_is_always_quoted_and_escaped(self) -> None:
        table = (
            ({"title": HOSTILE}, f'<p title="{SAFE}"></p>'),
            ({"class_": "a b-1"}, '<p class="a b-1"></p>'),
            ({"aria_label": "x"}, '<p aria-label="x"></p>'),
            ({"open": True}, '<p open=""></p>'),
            ({"open": False, "title": None}, "<p></p>"),
            ({"tabindex": 0, "r": 1.5}, '<p tabindex="0" r="1.5"></p>'),
            ({"viewBox": "0 0 1 1"}, '<p viewBox="0 0 1 1"></p>'),
            ({"href": "#case-1"}, '<p href="#case-1"></p>'),
        )
        for attributes, expected in table:
            with self.subTest(attributes=attributes):
                self.assertEqual(element("p", **attributes), expected)

    def test_what_the_policy_would_refuse_cannot_be_built(self) -> None:
        for name in ("script", "style", "img", "iframe", "form", "base", "object", "link", "meta", "b on", "", "a>"):
            with self.subTest(name=name), self.assertRaisesRegex(ValueError, "no page may have"):
                element(name)
        for attribute in ("style", "src", "onclick", "onLoad", "action", "xlink_href", "a b", "x="):
            with self.subTest(attribute=attribute), self.assertRaisesRegex(ValueError, "no element may have"):
                element("p", **{attribute: "x"})

    def test_a_link_leads_to_a_place_on_the_page_only(self) -> None:
        for target in ("javascript:alert(1)", "http://example.org", "//example.org", "x.html", "#", "#a b", "#\"", ""):
            with self.subTest(target=target), self.assertRaisesRegex(ValueError, "must lead to a place"):
                element("a", "x", href=target)

    def test_ids_and_classes_are_plain_names(self) -> None:
        for attribute in ("id", "class_", "for_", "aria_labelledby"):
            for value in ("", HOSTILE, "a\nb", "1a", "é", "a.b"):
                with self.subTest(attribute=attribute, value=value), self.assertRaisesRegex(ValueError, "plain"):
                    element("p", **{attribute: value})

    def test_a_number_and_its_unit_stay_on_one_line_but_not_in_texts_of_strangers(self) -> None:
        for text, written in (("95 % of 3 cases", "95\u00a0% of 3 cases"), ("0.5 points, 3 s, 7 ms",
                              "0.5\u00a0points, 3\u00a0s, 7\u00a0ms"), ("3 steps % s", "3 steps % s")):
            with self.subTest(text=text):
                self.assertEqual(element("p", text), f"<p>{written}</p>")
                self.assertEqual(element("pre", text), f"<pre>{text}</pre>")

    def test_a_name_may_break_behind_its_punctuation(self) -> None:
        self.assertEqual(breakable("a_b:c/<1>."), "a_<wbr>b:<wbr>c/&lt;1&gt;.")

    def test_a_void_element_has_no_end(self) -> None:
        self.assertEqual(element("br"), "<br>")

    def test_a_stream_is_the_same_text_and_never_held_whole(self) -> None:
        asked: list[int] = []

        def children() -> Iterator[Html]:
            for number in range(5_000):
                asked.append(number)
                yield element("li", number)

        pieces = stream("ul", children(), class_="x")
        first = next(pieces)
        self.assertLess(len(asked), 1_500)
        self.assertEqual(first + whole(pieces), element("ul", *children(), class_="x"))
        self.assertEqual(whole(stream("p", [HOSTILE])), element("p", HOSTILE))

    def test_joined_children_are_one_piece(self) -> None:
        self.assertEqual(joined("<", element("b"), None, 1), "&lt;<b></b>1")


class TheParts(unittest.TestCase):
    def test_a_mark_has_words_and_leads_to_its_details_and_a_badge_shows_its_sign_to_the_eye_only(self) -> None:
        for made, expected in (
            (mark(Tone.FAIL, "mail 1, trial 2: fail", "trial-1-2"),
             '<a class="mark fail" href="#trial-1-2" title="mail 1, trial 2: fail" '
             'aria-label="mail 1, trial 2: fail">\u00d7</a>'),
            (mark(Tone.PASS, HOSTILE), f'<span class="mark pass" role="img" title="{SAFE}" aria-label="{SAFE}">\u2713'
                                       "</span>"),
            (badge(Tone.FLAKY, HOSTILE),
             f'<span class="badge flaky"><span aria-hidden="true" class="sign">~</span>{SAFE}</span>'),
            (badge(Tone.PLAIN, "2"), '<span class="badge plain">2</span>'),
        ):
            self.assertEqual(made, expected)

    def test_every_verdict_has_a_sign_of_its_own(self) -> None:
        self.assertEqual(len(set(SIGNS.values()) - {""}), len(Tone) - 1)

    def test_a_stacked_bar_is_told_in_words_and_cut_by_counts(self) -> None:
        drawn = stacked_bar("mail-1", [(Tone.PASS, 3), (Tone.FAIL, 1), (Tone.INCOMPLETE, 0)])
        self.assertIn('aria-label="mail-1: 3 pass, 1 fail"', drawn)
        self.assertEqual(re.findall(r'<rect x="([^"]+)" width="([^"]+)"', drawn), [("0%", "75%"), ("75%", "25%")])
        self.assertIn("mail-1: nothing", stacked_bar("mail-1", []))

    def test_a_text_can_be_cut_and_says_so_keeps_its_first_empty_line_and_is_scrolled_by_keyboard(self) -> None:
        lines = "\n".join("abcde")
        for text, most_characters, most_lines, expected in (
            (lines, None, 2, '<pre>a\nb</pre><p class="quiet">The first 2 of 5 lines.</p>'),
            (lines, None, 5, f"<pre>{lines}</pre></div>"), (lines, None, 9, f"<pre>{lines}</pre></div>"),
            ("y" * 5000, 100, 3, f'<pre>{"y" * 100}</pre><p class="quiet">The first 100 of 5,000 characters.</p>'),
            # a parser of HTML drops the first line end behind <pre>
            ("\nx", None, None, "<pre>\n\nx</pre>"), ("x" * 3000, None, None, '<pre tabindex="0">x'),
        ):
            with self.subTest(text=text[:9], most_lines=most_lines):
                self.assertIn(expected, whole(block_html(Verbatim(text, "Output", most_characters, most_lines), 3)))

    def test_a_row_of_another_length_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            whole(block_html(Table("Cases", [Column("a"), Column("b")], [["x"]]), 3))


class Pages(unittest.TestCase):
    def page(self) -> str:
        sections = (PageSection("one", HOSTILE, iter([element("p", "first")])), PageSection("two", "Second", ()))
        return "".join(document(HOSTILE, element("p", "lead"), sections, element("p", "end")))

    def test_the_policy_is_first_in_the_head_and_names_the_style_by_its_digest(self) -> None:
        text = self.page()
        head = text[text.index("<head>") + len("<head>"):].lstrip()
        self.assertTrue(head.startswith('<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'))
        written = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        self.assertEqual(len(written), 1)
        digest = base64.b64encode(hashlib.sha256(written[0].encode()).digest()).decode()
        self.assertIn(f"style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'\"", head)

    def test_a_page_has_landmarks_a_way_past_them_and_contents_made_of_its_sections(self) -> None:
        reader = read_html(self.page())
        names = [name for name, _ in reader.tags]
        for prescanned in ("header", "nav", "main", "footer"):
            self.assertEqual(names.count(prescanned), 1, prescanned)
        links = [dict(attributes)["href"] for name, attributes in reader.tags if name == "a"]
        ids = {dict(attributes).get("id") for _, attributes in reader.tags}
        self.assertEqual(links, ["#content", "#one", "#two"])
        self.assertLessEqual({link[1:] for link in links if link}, ids)
        self.assertEqual(names.count("h1"), 1)
        self.assertEqual(dict(reader.tags[0][1]), {"lang": "en"})

    def test_a_page_has_no_script_and_no_address(self) -> None:
        text = self.page()
        self.assertNotIn("<script", text)
        self.assertNotRegex(text, r"https?:|url\(|@import|\bsrc=|javascript:")
        self.assertEqual([name for name, _ in read_html(text).tags if name == "link"], ["link"])

    def test_a_page_without_sections_has_no_contents(self) -> None:
        self.assertNotIn("<nav", "".join(document("t", Html(), (), Html())))

    def test_a_page_is_the_same_twice(self) -> None:
        self.assertEqual(self.page(), self.page())


def palette(text: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", text))


def brightness(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of #rrggbb."""
    parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2.2), 1 to 21."""
    light, dark = sorted((brightness(one), brightness(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def without_red_cones(colour: str) -> tuple[float, float, float]:
    """What is left of a colour for a reader without red cones (Viénot, Brettel, Mollon 1999), linear RGB."""
    red, green, blue = ((int(colour[place:place + 2], 16) / 255) ** 2.2 for place in (1, 3, 5))
    return (0.11238 * red + 0.88762 * green, 0.11238 * red + 0.88762 * green, 0.00401 * red - 0.00401 * green + blue)


class Colours(unittest.TestCase):
    def schemes(self) -> Iterator[tuple[str, dict[str, str]]]:
        light = palette(page.LIGHT)
        yield "light", light
        yield "dark", palette(page.DARK)
        printed = page.STYLE[page.STYLE.index("@media print"):]
        shorthand = re.findall(r"--([a-z]+): #([0-9a-f])([0-9a-f])([0-9a-f]);", printed)
        yield "paper", light | {name: f"#{r}{r}{g}{g}{b}{b}" for name, r, g, b in shorthand}

    def test_text_has_enough_contrast_in_every_scheme(self) -> None:
        tones = ("pass", "fail", "flaky", "incomplete", "plain")
        pairs = [(text, ground) for text in ("ink", "quiet", "link") for ground in ("paper", "panel")]
        pairs += [(tone, ground) for tone in tones for ground in ("paper", f"{tone}-tint")]
        pairs += [("ink", f"{tone}-tint") for tone in tones] + [("on-tone", tone) for tone in ("fail", "flaky")]
        for scheme, colours in self.schemes():
            for text, ground in pairs:
                with self.subTest(scheme=scheme, text=text, ground=ground):
                    self.assertGreaterEqual(contrast(colours[text], colours[ground]), 4.5)

    def test_lines_and_shapes_stand_out_from_the_page(self) -> None:
        for scheme, colours in self.schemes():
            for name in ("focus", *(f"series-{number}" for number in range(1, 7))):
                with self.subTest(scheme=scheme, name=name):
                    self.assertGreaterEqual(contrast(colours[name], colours["paper"]), 3)

    def test_pass_and_fail_keep_apart_without_red_cones(self) -> None:
        for scheme, colours in self.schemes():
            one, other = without_red_cones(colours["pass"]), without_red_cones(colours["fail"])
            with self.subTest(scheme=scheme):
                self.assertGreater(sum(abs(a - b) for a, b in zip(one, other, strict=True)), 0.15)

    def test_both_schemes_have_the_same_names(self) -> None:
        names = [set(re.findall(r"--([a-z0-9-]+):", text)) for text in (page.LIGHT, page.DARK)]
        self.assertEqual(*names)

    def test_every_colour_that_is_used_is_set(self) -> None:
        used = set(re.findall(r"var\(--([a-z0-9-]+)\)", page.STYLE))
        given = set(re.findall(r"--([a-z0-9-]+):", page.STYLE))
        self.assertEqual(used - given, set())

    def test_the_braces_of_the_sheet_match(self) -> None:
        self.assertEqual(page.STYLE.count("{"), page.STYLE.count("}"))
        self.assertNotIn("<", page.STYLE)
