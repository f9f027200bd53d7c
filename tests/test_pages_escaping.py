"""What strangers write stays text: in HTML, XML, Markdown and CSV, by tables and by many random strings."""
from __future__ import annotations

import csv
import io
import random
import re
import unittest
from html.parser import HTMLParser
from xml.etree import ElementTree

from benchkit.basics.texts import shown, shown_line
from benchkit.pages.html import (
    csv_field,
    html_text,
    markdown_block,
    markdown_cell,
    markdown_summary,
    xml_attribute,
    xml_text,
)
from benchkit.render import document as doc
from benchkit.render.as_markdown import as_markdown
from benchkit.reports.trials_csv import csv_line

PIECES = ("`", "``", "```", "|", "\\", "\n", "\r", "<b>", "</td>", "<script>", "&amp;", "*", "_", "[x](y)", "![a](b)",
          "http://a.b/c", "www.a.com", "a@b.com", "#1", " ", "  ", "\t", "- ", "1. ", "# ", "---", "~~~", "\x1b[31m",
          "\u202e", "a", "word", "<!--", "-->", "$x$", "\u2028", ":--", "\x00", "'", '"', "=", "+", ",", ";")


def random_texts(count: int) -> list[str]:
    source = random.Random(20260105)
    return ["".join(source.choice(PIECES) for _ in range(source.randint(1, 9))) for _ in range(count)]


class Reader(HTMLParser):
    """Collects the text and the tags that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def read_html(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


def gfm_cells(row: str) -> list[str]:
    """The cells of a table row, as GitHub Flavored Markdown cuts them: a pipe behind a backslash is no border."""
    cells = re.split(r"(?<!\\)\|", row)
    assert cells[0] + cells[-1] == "", row
    return [cell.strip(" ").replace("\\|", "|") for cell in cells[1:-1]]


def code_span(cell: str) -> str:
    """The text of a cell that is one code span and nothing else, by the rules of CommonMark 6.1."""
    runs = [(found.start(), found.end()) for found in re.finditer("`+", cell)]
    fence = runs[0][1]
    assert runs[0][0] == 0, cell
    closing = next((start, end) for start, end in runs[1:] if end - start == fence)
    assert closing[1] == len(cell), f"the span ends before the cell does: {cell}"
    inner = cell[fence:closing[0]]
    if inner[:1] == inner[-1:] == " " and inner.strip(" "):
        inner = inner[1:-1]
    return inner


class InHtml(unittest.TestCase):
    def test_what_is_written_is_what_is_read(self) -> None:
        table = (
            ("plain", "plain"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\"><img onerror='x'>", "&quot;&gt;&lt;img onerror=&#x27;x&#x27;&gt;"),
            ("&lt; stays", "&amp;lt; stays"),
            ("\x1b[31m", "\\x1b[31m"),
            ("a\u202eb\u2066", "a\\u202eb\\u2066"),
            ("over\rwritten", "over\\x0dwritten"),
            ("line\n\ttab", "line\n\ttab"),
            ("\ud800 \ufffe", "\\ud800 \\ufffe"),
            ("Größe \U0001f600", "Größe \U0001f600"),
        )
        for text, expected in table:
            with self.subTest(text=ascii(text)):
                self.assertEqual(html_text(text), expected)

    def test_no_text_becomes_a_tag_or_leaves_its_attribute(self) -> None:
        for text in random_texts(600):
            reader = read_html(f'<p title="{html_text(text)}">{html_text(text)}</p>')
            self.assertEqual(reader.tags, [("p", [("title", shown(text))])], ascii(text))
            self.assertEqual(reader.text, shown(text))


class InXml(unittest.TestCase):
    def test_any_text_survives_a_parser_in_content_and_in_an_attribute(self) -> None:
        everything = "".join(map(chr, [*range(0x100), 0x2028, 0xd800, 0xfffe, 0xffff, 0x10ffff]))
        for text in [*random_texts(500), everything]:
            found = ElementTree.fromstring(f'<a b="{xml_attribute(text)}">{xml_text(text)}</a>')
            expected = shown(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")
            self.assertEqual(found.text, expected, ascii(text))
            self.assertEqual(found.get("b"), expected, ascii(text))


class InMarkdown(unittest.TestCase):
    def test_a_cell_is_a_code_span_with_a_longer_fence(self) -> None:
        table = (
            ("plain", "`plain`"),
            ("", ""),
            ("a|b", "`a\\|b`"),
            ("a `b` c", "``a `b` c``"),
            ("`", "`` ` ``"),
            ("``", "``` `` ```"),
            (" padded ", "`  padded  `"),
            ("  ", "`  `"),
            ("two\nlines", "`two\\nlines`"),
            ("\x1b[31m", "`\\x1b[31m`"),
        )
        for text, expected in table:
            with self.subTest(text=text):
                self.assertEqual(markdown_cell(text), expected)

    def test_a_long_text_is_cut_in_its_cell(self) -> None:
        self.assertEqual(markdown_cell("x" * 300, 20), "`" + "x" * 17 + "...`")

    def test_no_text_breaks_its_row_or_leaves_its_span(self) -> None:
        columns = [doc.Column("a"), doc.number("b")]
        for text in random_texts(800):
            table = doc.Table("", columns, [("x", doc.Code(text, 200)), (text, "y")])
            document = doc.Document("", (), [doc.Section("one", "one", [table])])
            lines = ("| a" + "".join(as_markdown(document)).partition("| a")[2]).split("\n")
            self.assertEqual(len(lines), 6, ascii(text))
            cells = gfm_cells(lines[2])
            self.assertEqual(len(cells), 2, ascii(text))
            self.assertEqual(code_span(cells[1]), shown_line(text), ascii(text))
            self.assertEqual(len(gfm_cells(lines[3])), 2, ascii(text))

    def test_a_block_ends_at_its_own_fence_only(self) -> None:
        for text in ["```\n# out\n```", "~~~", "", *random_texts(500)]:
            first, *body, last = markdown_block(text).split("\n")
            fence = first.removesuffix("text")
            self.assertEqual(set(fence), {"`"})
            self.assertEqual(last, fence)
            self.assertEqual("\n".join(body), shown(text))
            self.assertFalse([line for line in body if line.strip().startswith(fence)], ascii(text))

    def test_a_summary_is_html_on_one_line_since_markdown_has_no_say_in_it(self) -> None:
        table = (("needs_reply", "needs_reply"), ("</summary>\n\n<script>", "&lt;/summary&gt;  &lt;script&gt;"),
                 ("@team", "@<!-- -->team"), ("\x1b[0m", "\\x1b[0m"), ("it's #12", "it&#x27;s #<!-- -->12"),
                 ("a/b#56 GH-7", "a/b#<!-- -->56 GH-<!-- -->7"))
        for text, expected in table:
            with self.subTest(text=text):
                self.assertEqual(expected, markdown_summary(text))



class InCsv(unittest.TestCase):
    def test_a_field_runs_nothing_and_keeps_its_text(self) -> None:
        table = (
            ("plain", "plain"),
            ("a,b", '"a,b"'),
            ('say "hi"', '"say ""hi"""'),
            ("two\nlines", '"two\nlines"'),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@sum", "'@sum"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("\0x", "'\0x"),
            ("\n\nhello", '"\n\nhello"'),
            (" a=1", " a=1"),
            ('=cmd|"/c"', "\"'=cmd|\"\"/c\"\"\""),
            ("1=1", "1=1"),
            ("", ""),
            ("\ud800", "\\ud800"),
        )
        for text, expected in table:
            with self.subTest(text=ascii(text)):
                self.assertEqual(csv_field(text), expected)

    def test_a_sign_of_a_formula_is_found_wide_and_small_and_behind_what_is_not_seen(self) -> None:
        for before in ("", "\n", "\r\n", " ", "\u3000", "\t", "\u200b", "\ufeff", " \x0b"):
            for sign in "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b":
                text = f"{before}{sign}1"
                with self.subTest(text=ascii(text)):
                    self.assertEqual(next(csv.reader([csv_field(text)])), ["'" + text])

    def test_a_line_has_texts_numbers_and_empty_fields(self) -> None:
        self.assertEqual(csv_line(["a", -1, -0.5, None, True, False, "-1"]), "a,-1,-0.5,,true,false,'-1\r\n")

    def test_rows_come_back_from_a_reader_as_they_were(self) -> None:
        texts = [text.replace("\0", "") for text in random_texts(500)]
        lines = "".join(csv_line([text, 7]) for text in texts)
        rows = list(csv.reader(io.StringIO(lines, newline=""), strict=True))
        self.assertEqual(len(rows), len(texts))
        for text, (field, count) in zip(texts, rows, strict=True):
            is_formula = text.startswith(("\t", "\r")) or re.match("[\\s\x00-\x1f\u2028\u202e]*[=+@-]", text)
            self.assertEqual(field, "'" + text if is_formula else text)
            self.assertEqual(count, "7")
