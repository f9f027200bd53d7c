"""Whole reports as they were when a person last read them: of small runs, in text, Markdown and as a page.

    python3 -m tests.test_reports_goldens --write    write tests/goldens/reports/* anew; read the difference
"""
from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from benchkit.recordings.run_record import read_run_record
from benchkit.render.columns import Paint
from benchkit.reports.documents import case_report, first_screen, markdown_report, page_report, text_report
from benchkit.reports.run_report import report_of
from benchkit.reports.verdicts import GateRules
from tests.commands import ROOT
from tests.page_runs import (
    everything,
    gate_text,
    markdown_of,
    other,
    page_of,
    side_of,
    tagged,
    text_of,
    three_runs,
    without_pictures,
    worked,
)
from tests.reports_samples import record

FOLDER = ROOT / "tests" / "goldens" / "reports"


def kept_texts() -> Iterator[tuple[str, str]]:
    """Names of files and whole texts.

    `worked` is the suite whose figures are worked out by hand in other tests; `everything` has a case of every state
    and two right answers; `nothing` has no case.
    """
    run, all_of, committed = report_of(worked(), "worked"), everything(), read_run_record(ROOT / "runs/smollm2.json")
    yield "worked-first.txt", first_screen(run)
    yield "worked-case.txt", "".join(case_report([run], "B"))
    for name, of in (("worked", worked()), ("everything", all_of), ("nothing", record({}))):
        yield f"{name}.txt", text_of(of, full=False, names=name)
        yield f"{name}-full.txt", text_of(of, names=name)
        yield f"{name}.md", markdown_of(of, names=name)
        yield f"{name}.html", without_pictures(page_of(of, names=name))
    yield "committed.md", markdown_of(committed, names="committed")
    cases = [(all_of, "always"), (all_of, "never"), (all_of, "flaky"), (all_of, "slow"),
             (committed, "dev-004-price-forty")]
    yield "one-case.txt", "\n".join("".join(case_report([report_of(of, "run")], name)) for of, name in cases)
    yield "two.txt", text_of(tagged(), other(), full=False)
    side = three_runs()
    yield "three.txt", "".join(text_report(side))
    yield "three-full.txt", "".join(text_report(side, is_full=True))
    yield "three.md", "".join(markdown_report(side))
    yield "three.html", without_pictures("".join(page_report(side)))
    yield "gate.txt", "\n".join(_gates())


def _gates() -> Iterator[str]:
    base = dict.fromkeys("abcdefghij", "+++")
    fallen = {**base, **dict.fromkeys("abcdef", "++-")}
    yield gate_text(base, {**fallen, "j": "++n", "k": "+++"}, GateRules(strict=True))
    yield gate_text({**base, "gone": "+++"}, {**base, "a": "---"}, GateRules())
    yield gate_text({**base, "j": "---"}, {**fallen, "f": "+++", "e": "+++"}, GateRules(max_drop=Fraction(1, 100)))
    yield gate_text(fallen, base, GateRules())


class WholeTexts(unittest.TestCase):
    maxDiff = None

    def test_each_reads_so(self) -> None:
        for name, text in kept_texts():
            with self.subTest(name):
                self.assertEqual((FOLDER / name).read_text(encoding="utf-8"), text)

    def test_nothing_else_is_kept(self) -> None:
        self.assertEqual(sorted(path.name for path in FOLDER.iterdir()), sorted(name for name, _ in kept_texts()))


class TheSame(unittest.TestCase):
    def test_with_colours_taken_away_the_text_is_the_same(self) -> None:
        run, one, three = report_of(everything(), "first"), side_of(everything()), three_runs()
        for write in (lambda paint: first_screen(run, paint), lambda paint: case_report([run], "slow", paint),
                      lambda paint: text_report(one, paint), lambda paint: text_report(one, paint, is_full=True),
                      lambda paint: text_report(three, paint), lambda paint: text_report(three, paint, is_full=True)):
            plain, painted = ("".join(write(Paint(is_on))) for is_on in (False, True))
            self.assertNotIn("\x1b", plain)
            self.assertIn("\x1b", painted)
            self.assertEqual(plain, re.sub("\x1b\\[[0-9]*m| +(?=\x1b\\[0m\n)", "", painted))

    def test_several_runs_have_what_is_said_of_each_alone_behind_what_compares_them(self) -> None:
        both = text_of(tagged(), other())
        for place, of in enumerate((tagged(), other())):
            alone = text_of(of, names=("first", "second")[place]).split("\nMade by")[0].rstrip("\n")
            self.assertIn(alone, both)
        rules = [line for line in both.split("\n") if line.startswith("==")]
        self.assertEqual([rule.rstrip("=") for rule in rules], ["== first: toys:robot ", "== second: toys:other "])

    def test_when_and_where_was_judged_changes_nothing(self) -> None:
        again = replace(worked(), started_at="2027-01-01T00:00:00.000Z", environment={"host": "another"})
        for write in (text_of, markdown_of, page_of):
            self.assertEqual(write(worked()), write(again))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        FOLDER.mkdir(parents=True, exist_ok=True)
        for kept, shown in kept_texts():
            (FOLDER / kept).write_text(shown, encoding="utf-8", newline="\n")
    else:
        unittest.main()
