"""Another output format is one short renderer over the blocks: Org, as an example, with nothing of it elsewhere."""
from __future__ import annotations

import re
import unittest
from collections.abc import Iterator
from functools import singledispatch
from itertools import islice

from benchkit.basics.texts import shown
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.render.reading import counted, made, plain, spans_of
from tests.corpus import CORPUS
from tests.render_samples import every_block

# begin of the renderer
ENTITIES = {"\\": "backslash", "*": "ast", "/": "slash", "_": "under", "=": "equal", "~": "tilde", "+": "plus",
            "|": "vert", "[": "lbrack", "]": "rbrack", "<": "lt", ">": "gt", "$": "dollar", "#": "num", "{": "lbrace"}


def as_org(document: doc.Document) -> Iterator[str]:
    """The file, line by line."""
    yield f"#+TITLE: {org_line(document.title)}\n"
    yield from org_blocks((*made(document.lead), *document.sections, doc.Paragraph(document.footer)), 1)


def org_blocks(blocks: doc.Blocks, level: int) -> Iterator[str]:
    for block in made(blocks):
        yield from org_block(block, level)
        yield "\n"


def org_line(cell: doc.Cell) -> str:
    return "".join(f"*{org_line(span.content)}*" if isinstance(span, doc.Strong) else org_words(plain(span))
                   for span in spans_of(cell))


def org_words(text: str) -> str:
    flat = re.sub(r"\s", " ", shown(text))
    return "".join(f"\\{ENTITIES[one]}{{}}" if one in ENTITIES else one for one in flat)


def org_list(label: str, items: Iterator[doc.Spans]) -> Iterator[str]:
    return (f"{label} {org_line(item)}\n" for item in items)


@singledispatch
def org_block(block: doc.Block, level: int) -> Iterator[str]:
    raise TypeError(type(block).__name__)


@org_block.register(doc.Section)
@org_block.register(doc.Fold)
def _(block: doc.Section | doc.Fold, level: int) -> Iterator[str]:
    yield f"{'*' * level} {org_line(block.title)}\n"
    yield from org_blocks(block.blocks, level + 1)


@org_block.register
def _(block: doc.Paragraph, level: int) -> Iterator[str]:
    yield f" {org_line(block.spans)}\n"


@org_block.register
def _(block: doc.Facts, level: int) -> Iterator[str]:
    yield from org_list("-", ((org_words(label), " :: ", plain(spans)) for label, spans in (*block.pairs, *block.more)))


@org_block.register
def _(block: doc.Figures, level: int) -> Iterator[str]:
    yield from org_list("-", ((one.name, " ", one.value, " ", one.below) for one in block.items))


@org_block.register
def _(block: doc.Bullets, level: int) -> Iterator[str]:
    yield from org_list("1." if block.is_numbered else "-", iter(made(block.items)))


@org_block.register
def _(block: doc.Table, level: int) -> Iterator[str]:
    rows, total = counted(block.rows, block.cut)
    yield f"| {' | '.join(org_line(column.title) for column in block.columns)} |\n|---|\n"
    yield from (f"| {' | '.join(map(org_line, row))} |\n" for row in islice(rows, block.cut.few))
    if block.cut.few is not None and total > block.cut.few:
        yield f" and {org_words(block.cut.more(total - block.cut.few))}\n"


@org_block.register
def _(block: doc.Chart, level: int) -> Iterator[str]:
    yield from org_blocks(block.instead, level)


@org_block.register
def _(block: doc.Callout, level: int) -> Iterator[str]:
    yield f" *{org_line(block.title)}*\n"
    yield from org_blocks(block.blocks, level)


@org_block.register
def _(block: doc.Verbatim, level: int) -> Iterator[str]:
    kept, told = block.beginning
    lines = "".join(f": {line}\n" for line in shown(kept).split("\n"))
    yield f" {org_line(block.title)}\n{lines} {org_words(told)}\n"


@org_block.register
def _(block: doc.Beside, level: int) -> Iterator[str]:
    yield from org_blocks(block.blocks, level)
# end of the renderer


def org(text: str) -> list[str]:
    """The lines of a document in which every block stands once."""
    return "".join(as_org(every_block(text))).split("\n")


def starts(text: str) -> list[str]:
    """How each line of the document begins, and how many cells it has."""
    return [line[:1].strip("p") + "|" * line.count("|") for line in org(text) if not line.startswith(": ")]


class AnotherFormat(unittest.TestCase):
    def test_it_takes_at_most_ninety_lines(self) -> None:
        with open(__file__, encoding="utf-8") as file:
            renderer = re.search(r"# begin of(.*)# end of", file.read(), re.DOTALL)
        assert renderer is not None
        self.assertLessEqual(len(list(filter(str.strip, renderer[1].split("\n")))), 90)

    def test_it_says_what_the_blocks_say(self) -> None:
        blocks: list[doc.Block] = [
            doc.Paragraph(("7 of 9 ", doc.Strong("passed"), " by ", doc.Code("a/b"), ".")),
            doc.Bullets([doc.Mark("fail", Tone.FAIL)])]
        document = doc.Document("A run", blocks, [doc.Section("why", "Why", [doc.Paragraph("So.")])], "End.")
        self.assertEqual("".join(as_org(document)),
                         "#+TITLE: A run\n 7 of 9 *passed* by a\\slash{}b.\n\n- fail\n\n* Why\n So.\n\n\n End.\n\n")

    def test_no_text_breaks_it(self) -> None:
        for text in CORPUS:
            with self.subTest(text=text):
                same = "\n".join("p" * len(line) for line in text.split("\n"))
                self.assertEqual(starts(text), starts(same))
