"""Reports for tests, in each format: of small runs, and of runs in which every text is hostile."""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

from benchkit.basics.values import ErrorFacts
from benchkit.recordings.run_record import Result, RunRecord
from benchkit.render.as_text import as_text
from benchkit.render.reading import plain
from benchkit.reports.comparison import SideBySide, side_by_side
from benchkit.reports.documents import markdown_report, page_report, text_report
from benchkit.reports.run_report import report_of
from benchkit.reports.sections.lead import headline
from benchkit.reports.sections.pairs import gate_document
from benchkit.reports.verdicts import GateRules, gate_of
from tests.comparison_samples import two_of, with_outputs
from tests.hostile_run import hostile_record
from tests.reports_samples import WORKED_SUITE, case, record, with_results

LONG = "x" * 300_000
CASES = {"always": "+++++", "never": "-----", "flaky": "+-+-+", "cut-short": "++nnn", "slow": "t+-t+", "unrun": "nnnnn"}
"""One case of every state, five trials each."""


def side_of(*records: RunRecord, names: str = "first second third", margin: Fraction | None = None) -> SideBySide:
    """Some runs, each under a name."""
    runs = [report_of(one, name) for one, name in zip(records, names.split(" "), strict=False)]
    return side_by_side(runs, margin)


def text_of(*records: RunRecord, full: bool = True, names: str = "first second third",
            margin: Fraction | None = None) -> str:
    """The text of some runs, all of it or what comes first."""
    return "".join(text_report(side_of(*records, names=names, margin=margin), is_full=full))


def markdown_of(*records: RunRecord, names: str = "first second third", margin: Fraction | None = None) -> str:
    """Their Markdown."""
    return "".join(markdown_report(side_of(*records, names=names, margin=margin)))


def page_of(*records: RunRecord, names: str = "first second third", margin: Fraction | None = None) -> str:
    """Their page."""
    return "".join(page_report(side_of(*records, names=names, margin=margin)))


def without_pictures(page: str) -> str:
    """The markup of a page without what only makes it look good."""
    body = re.sub(r"<svg[^>]*>.*?</svg>", "", page.split("<h1>")[1], flags=re.DOTALL)
    body = re.sub(r"<(colgroup|figure)>.*?</\1>\n?|<wbr>", "", body, flags=re.DOTALL)
    return re.sub(r' (?:class|scope|role|tabindex|aria-[a-z]+)="[^"]*"', "", body)


def flat(text: str) -> str:
    """A text on one line, without what Markdown adds to words."""
    return " ".join(re.sub(r"<!-- -->|[\\`*]", "", text.replace("\u00a0", " ")).split())


def every_format(*records: RunRecord, names: str = "first second third") -> dict[str, str]:
    """All that text, Markdown and page say of some runs, each on one line, by format."""
    return {"text": flat(text_of(*records, names=names)), "Markdown": flat(markdown_of(*records, names=names)),
            "page": flat(Outline(page_of(*records, names=names)).text)}


def told_first(of: RunRecord) -> dict[str, str]:
    """The headline of a run, by its labels."""
    return {label: plain(spans) for label, spans in headline(report_of(of, "run")).pairs}


def tagged(marks: Mapping[str, str] = CASES) -> RunRecord:
    """A run whose cases have tags and two kinds of right answers, so that there is something to confuse."""
    of = record(marks, {"temperature": 1.0})
    cases = [case(one.id, ("odd" if place % 2 else "even", "all"), {"label": "spam" if place % 2 else "bug"})
             for place, one in enumerate(of.cases)]
    spam = {one.id for one in cases[1::2]}
    results = [replace(one, explain={"label": "expected spam, got bug"}) if one.explain and one.case in spam else one
               for one in of.results]
    return replace(of, cases=tuple(cases), results=tuple(results))


def other() -> RunRecord:
    """The same cases by another system, better at some and worse at others."""
    return replace(tagged({"always": "++-++", "never": "+++++", "flaky": "+-+-+", "cut-short": "++++-",
                           "slow": "-----", "unrun": "nnnnn"}), system="toys:other", settings={"temperature": 0.5})


def everything() -> RunRecord:
    """A case of every state, and in their trials all that a trial may have."""
    run = with_outputs(tagged(CASES), {
        **{("always", trial): "the same answer" for trial in range(1, 6)},
        ("flaky", 1): '{"label": "bug", "urgent": true}', ("flaky", 2): '{"label": "spam"}', ("never", 1): "",
        ("slow", 2): "\n".join(f"line {number}" for number in range(9)) + "GOOD" + "y" * 1300,
        ("slow", 3): "\n".join(f"line {number}" for number in range(9)) + "BAD"})
    first = replace(run.cases[0], input={"subject": "Help", "body": "one\ntwo", "count": 3, "urgent": None},
                    expected={"deep": {"er": [1]}})

    def fields(one: Result) -> Mapping[str, object]:
        if (one.case, one.trial) == ("never", 2):
            return {"reasoning": "first I thought", "finish": "length", "explain": None, "attempts": 2, "retries": 1}
        if one.error is not None and one.error.type == "Timeout":
            return {"error": ErrorFacts("Unfinished", "no end came", "half an ans")}
        return {}
    return with_results(replace(run, cases=(first, *run.cases[1:])), fields)


def three_runs() -> SideBySide:
    """A base, a candidate with everything that can happen, and one that was judged by another judge."""
    base = record({"alpha": "++++", "beta": "+++-", "gamma": "+-+-", "delta": "----", "omega": "++++"})
    candidate = with_outputs(
        record({"alpha": "+--n", "beta": "+++-", "gamma": "++++", "delta": "nnnn", "new": "++++"}),
        {("beta", 2): "answer two"})
    anew = replace(base, judge=replace(base.judge, version="2"))
    return side_of(base, candidate, anew, names="base candidate judged-anew", margin=Fraction(1, 20))


def gate_text(base: RunRecord | Mapping[str, str], candidate: RunRecord | Mapping[str, str], rules: GateRules) -> str:
    """What `harness.py compare` says of two runs."""
    side = two_of(base, candidate)
    comparison = side.pairs[0].comparison
    assert comparison is not None
    answer = gate_of(comparison, side.runs[1].totals, rules)
    return "".join(as_text(gate_document(side, side.pairs[0], answer), is_full=True))


def part_of(page: str, anchor: str) -> str:
    """A section of a page."""
    return page.split(f'<section id="{anchor}"')[1].split("</section>")[0]


def hostile() -> RunRecord:
    """Hostile texts everywhere, a line of 300 kB among the outputs."""
    of = hostile_record()
    results = list(of.results)
    results[0] = replace(results[0], output=LONG)
    return replace(of, results=tuple(results))


def worked() -> RunRecord:
    """The suite whose figures are worked out by hand in other tests."""
    return record(WORKED_SUITE)


class Outline(HTMLParser):
    """What a page is made of: its tags, ids, links, headings, and its text without markup."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.headings: list[str] = []
        self._pieces: list[str] = []
        self._in_heading = False
        self.feed(page)

    @property
    def text(self) -> str:
        """All text between the tags; a space is a space, whether a line may break there or not."""
        return "".join(self._pieces).replace("\u00a0", " ")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if tag == "a" else []
        if tag in ("h2", "h3"):
            self._in_heading = True
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_heading = self._in_heading and tag not in ("h2", "h3")

    def handle_data(self, data: str) -> None:
        self._pieces.append(data)
        if self._in_heading:
            self.headings[-1] += data
