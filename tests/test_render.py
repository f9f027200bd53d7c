"""A document in all formats: what each block becomes, how much is shown, and that no text breaks any of it."""
from __future__ import annotations

import re
import tracemalloc
import unittest
from collections.abc import Sequence

from benchkit.basics.texts import width_of
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.render.as_html import as_html
from benchkit.render.as_markdown import COMMENT, as_markdown, markdown_line, markdown_words
from benchkit.render.as_text import as_text
from benchkit.render.columns import WIDTH, Paint
from benchkit.render.reading import plain
from tests.corpus import CORPUS
from tests.hostile_run import HOSTILE
from tests.markdown_tables import tables
from tests.page_runs import Outline
from tests.render_samples import every_block

CASES = doc.Table("Cases", [doc.flexible("case"), doc.number("passed %"), doc.Column("trials")], [
    (doc.Code("a"), "16.7", (doc.Mark("pass", Tone.PASS, True), doc.Mark("fail", Tone.FAIL, True))),
    (doc.Code("b|c"), 1234, None), (doc.Code("d"), "n/a", "")], doc.Cut(1, 2, "case"))
RATES = doc.Table("Rates", [doc.number("k"), doc.number("worst", "any of k"), doc.number("best", "any of k"),
                            doc.number("worst", "all of k"), doc.number("best", "all of k")],
                  [("1", "41.7", "83.3", "41.7", "83.3")])
BARS = doc.Bars("By tag", "tag", "pass^1", "passed", [doc.Bar(doc.Code("x"), 0.5, 0.25, 0.75, "5 of 10")])
SEVERAL = ("7 of 9 ", doc.Strong("passed"), ", ", doc.Link("why", doc.Code("a`b")), " ", doc.Mark("fail", Tone.FAIL),
           " ", doc.Mark("pass", Tone.PASS, small=True), " ", doc.Tally("c", ((Tone.PASS, 7), (Tone.FAIL, 2))))


def text(*blocks: doc.Block, full: bool = False, paint: bool = False) -> str:
    """Blocks as text."""
    return "".join(as_text(doc.Document("", blocks, ()), Paint(paint), full))


def markdown(*blocks: doc.Block) -> str:
    """Blocks as Markdown, without the title."""
    return "".join(as_markdown(doc.Document("", blocks, ()))).removeprefix("## \n\n")


def html(*blocks: doc.Block) -> str:
    """The part of a page that blocks become."""
    page = "".join(as_html(doc.Document("", blocks, ())))
    return page[page.index("<h1></h1>") + 9:page.index("</header>")]


FENCED = re.compile(r"^(`{3,})text\n.*?\n\1$", re.DOTALL | re.MULTILINE)
ESCAPE_OR_CODE = re.compile(r"\\.|(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
GOLDENS: Sequence[tuple[doc.Block, str, str, str]] = (
    (doc.words("Complete: every cell, e.g. pass^1, k_max (9-2) was asked. p < 0.05; a -> b."),
     "Complete: every cell, e.g. pass^1, k_max (9-2) was asked. p < 0.05; a -> b.\n",
     "Complete: every cell, e.g. pass^1, k_max (9-2) was asked. p < 0.05; a -> b.\n\n",
     "<p>Complete: every cell, e.g. pass^1, k_max (9-2) was asked. p &lt; 0.05; a -&gt; b.</p>\n"),
    (doc.Paragraph(SEVERAL),
     "7 of 9 passed, a`b fail + 7 pass, 2 fail\n",
     "7 of 9 **passed**, ``a`b`` **fail** `+` 7 pass, 2 fail\n\n",
     '<p>7 of 9 <strong>passed</strong>, <a href="#why"><code>a`b</code></a> <span class="badge fail">'
     '<span aria-hidden="true" class="sign">×</span>fail</span> '
     '<span class="mark pass" role="img" title="pass" aria-label="pass">✓</span> <svg class="chart stacked"'),
    (doc.quiet("A remark."), "A remark.\n", "A remark.\n\n", '<p class="quiet">A remark.</p>\n'),
    (doc.Facts([("Result", "7 of 9"), ("Incomplete", ("none of ", doc.Code("x")))]),
     "Result      7 of 9\nIncomplete  none of x\n",
     "- **Result:** 7 of 9\n- **Incomplete:** none of `x`\n\n",
     '<dl class="facts"><dt>Result</dt><dd>7 of 9</dd><dt>Incomplete</dt><dd>none of <code>x</code></dd></dl>\n'),
    (doc.Figures([doc.Figure("41.7 %", "pass^1", "95 %: 9 to 83")]),
     "pass^1  41.7 %; 95 %: 9 to 83\n", "- **41.7 %** pass^1 (95 %: 9 to 83)\n\n",
     '<dl class="figures"><div class="figure plain"><dt>pass^1</dt>'),
    (CASES,
     "case  passed %  trials\na         16.7  +-\nand 2 more cases\n",
     "| case | passed % | trials |\n| --- | ---: | --- |\n| `a` | 16.7 | `+-` |\n\n"
     "<details><summary>1 more case</summary>\n\n"
     "| case | passed % | trials |\n| --- | ---: | --- |\n| `b\\|c` | 1,234 |  |\n\n</details>\n\nand 1 more case\n\n",
     '<div class="scroll" role="region" aria-label="Cases" tabindex="0"><table><caption>Cases</caption>'),
    (RATES,
     "   any of k     all of k\nk  worst  best  worst  best\n1   41.7  83.3   41.7  83.3\n",
     "| k | any of k worst | any of k best | all of k worst | all of k best |\n| ---: | ---: | ---: | ---: | ---: |\n"
     "| 1 | 41.7 | 83.3 | 41.7 | 83.3 |\n\n",
     '<div class="scroll" role="region" aria-label="Rates" tabindex="0"><table><caption>Rates</caption><thead><tr>'
     '<th scope="col" class="number">k</th><th scope="col" class="number">any of k worst</th>'),
    (doc.Chart(BARS, "A sentence.", [doc.words("In place of it.")]),
     "In place of it.\nA sentence.\n", "In place of it.\n\nA sentence.\n\n",
     '<table class="rows"><caption>By tag</caption>'),
    (doc.Callout(Tone.FLAKY, "2 warnings", [doc.Bullets([(doc.Code("few"), " Few."), "Other."])]),
     "2 warnings\n  - few Few.\n  - Other.\n",
     "> [!WARNING]\n> **2 warnings**\n>\n> - `few` Few.\n> - Other.\n\n",
     '<div class="callout flaky" role="note" aria-label="2 warnings">'),
    (doc.Callout(Tone.FAIL, "Long", [doc.words("x")], folded=True),
     "Long\n  x\n", "> [!CAUTION]\n> **Long**\n>\n> x\n\n", '<details class="callout fail">'),
    (doc.Bullets(["one", "- two"], is_numbered=True),
     "1. one\n2. - two\n", "1. one\n2. \\- two\n\n", "<ol><li>one</li><li>- two</li></ol>\n"),
    (doc.Bullets([]), "", "", "\n"),
    (doc.Fold(("All of ", doc.Code("x")), [doc.words("y")], "x"),
     "All of x\n  y\n", "<details><summary>All of x</summary>\n\ny\n\n</details>\n\n",
     '<details><summary>All of <code>x</code></summary><div class="folded" id="x"><p>y</p>\n</div></details>\n'),
    (doc.Verbatim("one\ntwo", "Output", most_lines=1, strong=(0, 1)),
     "Output\n| one\nThe first 1 of 2 lines.\n",
     "Output\n\n```text\none\n```\n\nThe first 1 of 2 lines.\n\n",
     '<div class="text"><p class="text-title">Output</p><pre><mark>o</mark>ne</pre>'
     '<p class="quiet">The first 1 of 2 lines.</p></div>\n'),
    (doc.Verbatim("", "Output"), "Output (empty)\n", "Output\n\n(empty)\n\n",
     '<div class="text"><p class="text-title">Output</p><p class="quiet">(empty)</p></div>\n'),
    (doc.command("python3 board.py run " + "x" * 90), "Run python3 board.py run " + "x" * 90 + "\n",
     "Run `python3 board.py run " + "x" * 90 + "`\n\n",
     "<p>Run <code>python3 board.py run " + "x" * 90 + "</code></p>\n"),
    (doc.Beside([doc.Verbatim("a", "passed"), doc.Verbatim("b", "failed")]),
     f"{'passed':<48} | failed\n{'a':<48} | b\n",
     "passed\n\n```text\na\n```\n\nfailed\n\n```text\nb\n```\n\n", '<div class="side-by-side"><div><div class="text">'),
    (doc.Section("why", "Why", [doc.words("So."), doc.Section("how", "How", [doc.words("Thus.")])]),
     "Why\n  So.\n\n  How\n    Thus.\n", "### Why\n\nSo.\n\n#### How\n\nThus.\n\n",
     '<article id="why"><h2>Why</h2><p>So.</p>\n<article id="how"><h3>How</h3><p>Thus.</p>\n</article>\n</article>\n'),
    (doc.Section("why", "Why", lambda: iter(())), "", "", '<article id="why"><h2>Why</h2></article>\n'),
)


class Blocks(unittest.TestCase):
    maxDiff = None

    def test_each_block_in_each_format(self) -> None:
        for block, as_words, as_markup, as_page in GOLDENS:
            with self.subTest(block=block):
                self.assertEqual(text(block), as_words)
                self.assertEqual(markdown(block), as_markup)
                self.assertEqual(html(block)[:len(as_page)], as_page)

    def test_empty_lines_stand_where_they_help(self) -> None:
        blocks = (doc.words("One."), doc.words("Two."), RATES, doc.quiet("A remark."), doc.words("Three."),
                  doc.Fold("Four", [doc.words("x")]))
        lines = text(*blocks).split("\n")
        self.assertEqual([line[:4] for line in lines],
                         ["One.", "Two.", "", "   a", "k  w", "1   ", "A re", "Thre", "", "Four", "  x", ""])

    def test_a_table_that_is_titled_says_its_caption_in_plain_formats(self) -> None:
        table = doc.Table("Rates", [doc.Column("k")], [("1",)], is_titled=True)
        self.assertEqual((text(table), markdown(table)), ("Rates\nk\n1\n", "**Rates**\n\n| k |\n| --- |\n| 1 |\n\n"))

    def test_one_run_of_several_has_a_rule_in_text_and_contents_on_the_page(self) -> None:
        runs = [doc.Section(f"run-{name}", f"Run {name}", [doc.Section(f"{name}-{part}", part, [doc.words(part)])
                                                        for part in ("rates", "cases")], is_part=True) for name in "ab"]
        document = doc.Document("2 runs", (), runs, "End.")
        lines = "".join(as_text(document)).split("\n")
        self.assertEqual(lines[:6], ["== Run a " + "=" * 91, "rates", "  rates", "", "cases", "  cases"])
        page = Outline("".join(as_html(document)))
        self.assertEqual(page.headings, ["Run a", "rates", "cases", "Run b", "rates", "cases"])
        self.assertLessEqual({"#run-a", "#a-rates", "#b-cases"}, set(page.links))

    def test_colours_are_a_matter_of_paint_alone(self) -> None:
        table = doc.Table("", [doc.Column("state")], [(doc.Mark("flaky", Tone.FLAKY),),
                                                      (doc.Mark("other", Tone.PLAIN),)])
        for block, painted in ((table, "state\n\x1b[33mflaky\x1b[0m\nother\n"),
                               (doc.Paragraph(("a ", doc.Mark("fail", Tone.FAIL))), "a \x1b[31mfail\x1b[0m\n"),
                               (doc.Fold(("a ", doc.Mark("fail", Tone.FAIL)), ()), "a \x1b[31mfail\x1b[0m\n"),
               (doc.Callout(Tone.FAIL, "No"), "\x1b[31mNo\x1b[0m\n"),
                               (doc.Facts([("Result", "x")]), "\x1b[1mResult\x1b[0m  x\n")):
            with self.subTest(block=block):
                self.assertEqual(text(block, paint=True), painted)
                self.assertEqual(text(block), re.sub("\x1b\\[\\d*m", "", painted))

    def test_spans_without_markup_are_a_title(self) -> None:
        self.assertEqual(plain(SEVERAL), "7 of 9 passed, a`b fail + 7 pass, 2 fail")
        self.assertEqual(plain(doc.listed([doc.Code("a"), "b", "c"])), "a, b, c")


class HowMuch(unittest.TestCase):
    def test_each_format_shows_its_detail(self) -> None:
        blocks = [doc.words(detail.name, detail=detail) for detail in doc.Detail]
        section = doc.Section("s", "Hidden", [doc.words("x")], detail=doc.ALL)
        empty = doc.Section("s", "Empty", [doc.words("y", detail=doc.ALL)])
        for shown, expected in ((text(*blocks, section, empty), "LEAD"),
                                (markdown(*blocks, section, empty), "LEAD MORE"),
                                (text(*blocks, section, full=True), "LEAD MORE ALL Hidden x"),
                                (html(*blocks, section), "LEAD MORE ALL Hidden x")):
            self.assertEqual(re.findall(r"LEAD|MORE|ALL|Hidden|Empty|\bx\b", shown), expected.split())

    def test_facts_of_more_detail_stand_beneath_the_others_as_one_list(self) -> None:
        facts = doc.Facts([("a", "1")], [("longer", "2")])
        for shown, expected in ((text(facts), "a  1\n"), (text(facts, full=True), "a       1\nlonger  2\n"),
                                (markdown(facts), "- **a:** 1\n- **longer:** 2\n\n"),
                                (html(facts).replace(' class="facts"', ""),
                                 "<dl><dt>a</dt><dd>1</dd><dt>longer</dt><dd>2</dd></dl>\n")):
            self.assertEqual(shown, expected)

    def test_a_column_stands_where_its_detail_is_shown(self) -> None:
        rows = [("1", "2", "3", "4")] * 3
        for made, total in ((rows, None), (lambda: iter(rows), None), (lambda: iter(rows), 3)):
            table = doc.Table("", [doc.Column("a"), doc.number("b", detail=doc.MORE), doc.Column("c", detail=doc.ALL),
                                   doc.Column("d")], made, doc.Cut(2, None, "row", total))
            self.assertEqual("a  d\n1  4\n1  4\nand 1 more row\n", text(table))
            self.assertEqual("a  d\n1  4\n1  4\n1  4\n", text(table, full=True))
            self.assertIn("| a | b | d |\n| --- | ---: | --- |\n| 1 | 2 | 4 |\n", markdown(table))
            self.assertIn('<th scope="col" class="number">b</th>', html(table))
            self.assertIn("<td>3</td>", html(table))

    def test_a_table_for_those_who_want_everything_is_folded_on_the_page(self) -> None:
        self.assertTrue(html(RATES._replace(detail=doc.ALL)).startswith("<details><summary>Rates</summary>"))

    def test_what_is_more_than_a_few_is_folded_or_left_out_and_it_is_said(self) -> None:
        table = doc.Table("", [doc.Column("n")], lambda: ((number,) for number in range(9)), doc.Cut(2, 4, "row", 9))
        for _ in range(2):
            self.assertIn("and 7 more rows", text(table))
            self.assertIn("And 5 more rows, not shown.", html(table))
        self.assertIn("and 7 more rows", text(table._replace(cut=doc.Cut(2))))
        bars = doc.Bars("Tags", "tag", "pass^1", "passed", [doc.Bar(str(n), 0.5, None, None, "") for n in range(9)],
                        doc.Cut(2, 5, "tag"))
        page = html(doc.Chart(bars))
        self.assertIn("<summary>3 more tags</summary>", page)
        self.assertIn("And 4 more tags, not shown.", page)


class Room(unittest.TestCase):
    def document(self, parts: int, rows: int, letters: int) -> doc.Document:
        """A document of many alike parts."""
        blocks: list[doc.Block] = [doc.words("Lead."), doc.Table(
            "", [doc.Column("x")], [(doc.Code("x" * letters, letters),)] * rows, doc.Cut(10, None, "case"),
            detail=doc.MORE)]
        return doc.Document("Many", (), [doc.Section(f"p{n}", f"Part {n}", blocks, is_part=True) for n in range(parts)],
                            "End.")

    def test_rows_go_first_then_details_then_the_end_and_it_is_said(self) -> None:
        for parts, rows, letters, said in (
                (1, 100, 10, "</details>\n\n---\n\nEnd.\n"), (1, 400, 500, "and 300 more cases"),
                (40, 40, 100, "and 28 more cases"), (40, 9, 2000, "Left out, so that the report fits: 32 details"),
                (4000, 9, 100, "longer than a comment may be")):
            with self.subTest(parts=parts, rows=rows, letters=letters):
                whole = "".join(as_markdown(self.document(parts, rows, letters), COMMENT))
                self.assertLessEqual(len(whole), COMMENT)
                self.assertIn(said, whole)

    def test_without_a_limit_nothing_is_left_out(self) -> None:
        self.assertEqual("".join(as_markdown(self.document(40, 40, 100))).count("x" * 100), 40 * 40)

    def test_a_page_of_many_rows_is_never_held_whole(self) -> None:
        table = doc.Table("Trials", [doc.Column("a"), doc.number("b")],
                          lambda: (("some text", str(number)) for number in range(15_000)),
                          doc.Cut(10, None, "trial", 15_000))
        document = doc.Document("Large", (), [doc.Section("s", "S", lambda: [table])])
        tracemalloc.start()
        length = sum(map(len, as_html(document)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertGreater(length, 1_000_000)
        self.assertLess(peak, 400_000)


class MarkdownWords(unittest.TestCase):
    def test_a_backslash_stands_only_where_markdown_needs_it(self) -> None:
        apart = "<!-- -->"
        for own, escaped in (
                ("complete: every planned cell was asked, 95 % (1.5-2)", None), ("k_max, pass@k, pass^10, a/b", None),
                ("p < 0.05 > x & y = 1 + 2!", None), ("12:45:59, -3.2 to +4.0", None),
                ("*a* _b_ __c__ a__b__", "\\*a\\* \\_b\\_ \\_\\_c\\_\\_ a__b\\_\\_"),
                ("<b> <3 </x <!", "\\<b> <3 \\</x \\<!"), ("&amp; &x", "\\&amp; &x"), ("[x](y) a|b", "\\[x](y) a\\|b"),
                ("https://x.org www.x.org", "https\\://x.org www\\.x.org"), ("me@x.org", f"me@{apart}x.org"),
                ("@team pass@1", f"@{apart}team pass@1"), ("#12 a #b GH-1", f"#{apart}12 a #b GH-{apart}1"),
                (":smile: a: b", f":{apart}smile: a: b"), ("1234567", f"123456{apart}7"),
                ("a\nb\tc\x1b", "a b c\\\\x1b")):
            with self.subTest(own=own):
                self.assertEqual(markdown_words(own), own if escaped is None else escaped)

    def test_no_line_begins_what_it_is_not(self) -> None:
        for own, line in (("- a", "\\- a"), ("-3 points", None), ("+ a", "\\+ a"), ("# a", "\\# a"), ("#a", None),
                          ("> a", "\\> a"), ("1. a", "1\\. a"), ("7 of 9", None), ("2) b", "2\\) b"), ("---", "\\---"),
                          ("===", "\\==="), ("1.5 s", None), ("  # a", "\\# a")):
            with self.subTest(own=own):
                self.assertEqual(markdown_line(own), own if line is None else line)


def skeleton(markup: str) -> list[str]:
    """The markup of each line that a renderer finds outside of code, and nothing of its words."""
    unquoted = re.sub(r"^> ", "", markup, flags=re.MULTILINE)
    lines = []
    for line in FENCED.sub("", unquoted).replace("<!-- -->", "").split("\n"):
        rest = re.sub(r"^<details><summary>[^<]*</summary>$", "<details>", line)
        rest = ESCAPE_OR_CODE.sub("=", rest)
        start = re.match(r"#{1,6} |[-+] |\d+\. |>|---$", rest)
        lines.append((start[0] if start else "") + "".join(re.findall(r"\*\*|</?\w+>|[\[|~`]", rest)))
    return lines


def tags(page: str) -> list[str]:
    """The tags of a page without the values of attributes, its ids and its links."""
    body = re.sub(r'<wbr>| tabindex="0"', "", page.split("</style>")[1])
    without_values = [re.sub('"[^"]*"', '""', tag) for tag in re.findall(r"<[^>]*>", body)]
    return [*without_values, *re.findall(r' (?:id|href)="[^"]*"', body)]


class Hostile(unittest.TestCase):
    def test_no_text_breaks_its_place(self) -> None:
        self.assertNotEqual(skeleton("a <b> **c** [d"), skeleton("a b c d"))
        self.assertNotEqual(tags('</style><a title="x" y="">'), tags('</style><a title="x">'))
        like, lines = tags("".join(as_html(every_block("plain")))), skeleton("".join(as_markdown(every_block("plain"))))
        for hostile in dict.fromkeys((*CORPUS, *HOSTILE)):
            with self.subTest(hostile=hostile[:80]):
                document = every_block(hostile)
                texts = [as_text(document, is_full=full) for full in (False, True)]
                for shown in map("".join, texts):
                    self.assertNotRegex(shown, UNSEEN)
                    self.assertLessEqual(max(map(width_of, shown.split("\n"))), WIDTH)
                    self.assertNotRegex(shown, r" \n")
                if hostile.strip():
                    markup = "".join(as_markdown(document))
                    self.assertNotRegex(markup, UNSEEN)
                    self.assertEqual(skeleton(markup), lines)
                    self.assertEqual(len(tables(FENCED.sub("", markup))), 5)
                    self.assertEqual(tags("".join(as_html(document))), like)
