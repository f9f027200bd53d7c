"""The cases of a run: all of them, trial by trial; the flaky ones, output beside output; those without a pass."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchkit.basics.texts import are, count_of, sentence, shown_line
from benchkit.pages.parts import Tone
from benchkit.recordings.run_record import Result
from benchkit.render import document as doc
from benchkit.reports.failures import failed_checks
from benchkit.reports.figures import each_by_itself, percent, spread
from benchkit.reports.outputs import OutputPair, expected_line, field_differences, output_pair, parted
from benchkit.reports.run_report import RunReport
from benchkit.reports.sections.anchors import MOST_ROWS, NOWHERE, Anchors, by_trouble, has_marks
from benchkit.reports.tally import CaseRow, in_state, main_failure, never_passed, passed_cell, state_words
from benchkit.statistics.estimators import State

FEW_BARS = 30
TROUBLE = doc.Cut(8, 500, "case")
MOST_IN_LINE = 20
"""Marks of trials in a line of text; more give way to the other columns."""
MOST_OPEN, MOST_PAIRS, MOST_FIELDS = 5, 60, 12
BEFORE, LINES_BEFORE, MOST_OWN, BEHIND = 200, 4, 1_200, 400
"""Characters (and lines) shown of what two outputs begin with, of what each has for itself, of what both end with."""
LEGEND: Sequence[doc.Span] = (
    doc.Mark("mark", Tone.PASS, True), " passed, ", doc.Mark("mark", Tone.FAIL, True), " failed, ",
    doc.Mark("mark", Tone.INCOMPLETE, True), " incomplete, ", doc.Mark("mark", Tone.ABSENT, True), " did not run. ")
_TONES = {State.STABLE_PASS: Tone.PASS, State.STABLE_FAIL: Tone.FAIL, State.FLAKY: Tone.FLAKY,
          State.POSSIBLY_FLAKY: Tone.INCOMPLETE, State.NO_DATA: Tone.ABSENT}
_VERDICTS = {"pass": Tone.PASS, "fail": Tone.FAIL}


def state_mark(row: CaseRow) -> doc.Mark:
    """The state of a case."""
    tone = _TONES.get(row.state, Tone.PASS if row.passed else Tone.FAIL)
    return doc.Mark(state_words(row.state), tone)


def verdict_mark(result: Result, small: bool = False, to: str = "") -> doc.Mark:
    """The verdict of a trial in words, the type of its error where it has none; one that never ran is absent."""
    told = result.verdict if result.error is None else f"incomplete: {result.error.type}"
    is_absent = result.error is not None and result.error.type == "NotRun"
    tone = Tone.ABSENT if is_absent else _VERDICTS.get(result.verdict, Tone.INCOMPLETE)
    return doc.Mark(f"{shown_line(result.case, 60)}, trial {result.trial}: {told}" if small else told, tone, small, to)


def case_name(row: CaseRow, to: str = "") -> doc.Link:
    """The id of a case, which leads to its details."""
    return doc.Link(to, doc.Code(row.id))


def case_title(row: CaseRow) -> doc.Spans:
    """`B passed 2 of 3: flaky`."""
    return doc.Code(row.id), f" passed {passed_cell(row)}: ", state_mark(row)


def all_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """Every case in the order of its file, with a mark for each trial, or with counts in a large run."""
    if not run.cases:
        yield doc.words("There are no cases.")
        return
    yield doc.quiet(*(LEGEND if has_marks(run) else ()),
                    "A mark or a name leads to input, output and checks. " if anchors.detailed else "",
                    "Disagree: how often two fresh trials of a case would differ.", detail=doc.MORE)
    shown = sorted(by_trouble(run.cases)[:MOST_ROWS])
    is_short = run.record.trials <= MOST_IN_LINE
    trials = doc.Column("trials", doc.Kind.WORD if is_short else doc.Kind.TEXT, flexible=not is_short)
    columns = [doc.flexible("case"), trials, doc.Column("passed", doc.Kind.WORD), doc.number("95 %"),
               doc.number("disagree %", hint="how often two fresh trials differ"), doc.Column("state", doc.Kind.WORD)]
    yield doc.Table(f"Every trial of {count_of(len(shown), 'case')}", columns,
                    lambda: (_case_row(run, place, anchors) for place in shown),
                    doc.Cut(what="case", total=len(shown)), detail=doc.MORE)
    left = len(run.cases) - len(shown)
    if left:
        yield doc.quiet(f"And {count_of(left, 'more case')}, not shown: those above have the most failures and "
                        "unknowns.", detail=doc.MORE)
    note = each_by_itself(len(run.cases))
    if note:
        yield doc.quiet(sentence(note), detail=doc.MORE)


def _case_row(run: RunReport, place: int, anchors: Anchors) -> Sequence[doc.Cell]:
    row = run.cases[place]
    return (case_name(row, anchors.case(place)), _marks(run, place, anchors), passed_cell(row),
            spread(row.low, row.high), percent(row.disagreement), state_mark(row))


def _marks(run: RunReport, place: int, anchors: Anchors) -> doc.Cell:
    if has_marks(run):
        return tuple(verdict_mark(one, True, anchors.trial(place, one.trial)) for one in run.record.results_of(place))
    row = run.cases[place]
    return doc.Tally(shown_line(row.id, 60), [(Tone.PASS, row.passed), (Tone.FAIL, row.n - row.passed),
                                              (Tone.INCOMPLETE, row.incomplete)])


def rate_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """How often each case passes, drawn with its interval: the flaky ones first."""
    if not run.cases:
        yield doc.words("There are no cases.")
        return
    places = by_trouble(run.cases)
    yield doc.Chart(doc.Bars("Share of judged trials that passed, with Wilson's 95 % intervals, flaky cases first",
                             "case", "pass rate", "passed", lambda: (_bar(run, place, anchors) for place in places),
                             doc.Cut(FEW_BARS, MOST_ROWS, "case", len(places))))


def _bar(run: RunReport, place: int, anchors: Anchors) -> doc.Bar:
    row = run.cases[place]
    return doc.Bar(case_name(row, anchors.case(place)), row.passed / row.n if row.n else None, row.low, row.high,
                   passed_cell(row), state_mark(row).tone)


def never_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """The cases of which no judged trial passed."""
    rows, touched = never_passed(run.cases), run.coverage.cases_touched
    if rows:
        yield trouble_table(run, "Cases of which no judged trial passed", rows, anchors)
    else:
        yield doc.words(f"Every one of {count_of(touched, 'case')} with a judged trial passed at least once."
                        if touched else "No trial was judged.")


def trouble_table(
    run: RunReport, caption: str, rows: Sequence[CaseRow], anchors: Anchors = NOWHERE, cut: doc.Cut = TROUBLE,
    title: str = "case",
) -> doc.Table:
    """Cases, how often they passed, what they fail most often by, and what was expected."""
    places = {case.id: place for place, case in enumerate(run.record.cases)}
    columns = [doc.flexible(title), doc.Column("passed", doc.Kind.WORD), doc.flexible("fails most often by"),
               doc.number("95 %", detail=doc.MORE), doc.flexible("expected", detail=doc.MORE)]
    return doc.Table(caption, columns, [
        (case_name(row, anchors.case(places[row.id])), passed_cell(row), doc.Code(main_failure(row), 120),
         spread(row.low, row.high), doc.Code(expected_line(run.record.cases[places[row.id]].expected), 120))
        for row in rows], cut)


def flaky_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """The cases that passed and failed, and of the first of them an output that passed beside one that failed."""
    rows = run.cases
    flaky = [place for place in by_trouble(rows) if rows[place].state is State.FLAKY]
    if flaky:
        yield trouble_table(run, "Cases that passed and failed, the most even first",
                            [rows[place] for place in flaky], anchors)
    else:
        yield doc.words(f"No case of {len(rows):,} both passed and failed.")
    left = len(in_state(rows, State.POSSIBLY_FLAKY))
    if left:
        yield doc.words(f"{count_of(left, 'case')} of {len(rows):,} {are(left)} open: flaky or not, as the incomplete "
                        "trials go.")
    for number, place in enumerate(flaky[:MOST_PAIRS]):
        pair = output_pair(run.record.results_of(place))
        if pair is not None:
            yield doc.Fold(case_title(rows[place]), partial(_pair_blocks, run, place, pair, anchors),
                           is_open=number < MOST_OPEN, detail=doc.ALL)
    if len(flaky) > MOST_PAIRS:
        yield doc.quiet(f"And {count_of(len(flaky) - MOST_PAIRS, 'more flaky case')}: see all cases.", detail=doc.ALL)


def _pair_blocks(run: RunReport, place: int, pair: OutputPair, anchors: Anchors) -> Iterator[doc.Block]:
    expected = expected_line(run.record.cases[place].expected)
    if expected:
        yield doc.words("Expected ", doc.Code(expected, 200), ".")
    explain = pair.failed.explain or {}
    yield doc.words("Failed by ", *doc.listed((doc.Code(f"{check}: {explain[check]}" if check in explain else check,
                                                        200)
                                               for check in failed_checks(pair.failed)), "; "), ".")
    passed, failed = pair.passed.output or "", pair.failed.output or ""
    yield _difference(passed, failed)
    yield doc.Beside([_output(pair.passed, passed, failed, anchors.trial(place, pair.passed.trial)),
                      _output(pair.failed, failed, passed, anchors.trial(place, pair.failed.trial))])


def _difference(passed: str, failed: str) -> doc.Paragraph:
    differences = field_differences(passed, failed)
    if passed == failed:
        return doc.words("The outputs are equal: the checks do not depend on them alone.")
    if not differences:
        return doc.words(f"The outputs differ from character {len(parted(passed, failed).start) + 1:,} on.")
    told: list[doc.Span] = []
    for one in differences[:MOST_FIELDS]:
        told += ["; " if told else "", doc.Code(one.name, 40), ": ", _value(one.passed), " against ",
                 _value(one.failed)]
    more = f"; and {len(differences) - MOST_FIELDS} more" if len(differences) > MOST_FIELDS else ""
    return doc.words("The outputs differ in ", *told, more, ".")


def _value(text: str | None) -> doc.Span:
    return "nothing" if text is None else doc.Code(text)


def _output(result: Result, text: str, other: str, to: str) -> doc.Verbatim:
    """An output, what the other does not share marked, and of long ones only what lies around it."""
    part = parted(text, other)
    before = "\n".join(part.start[-BEFORE:].split("\n")[-LINES_BEFORE:])
    start = ("\u2026" if len(before) < len(part.start) else "") + before
    own, end = part.own[:MOST_OWN], part.end[:BEHIND] + ("\u2026" if len(part.end) > BEHIND else "")
    if len(own) < len(part.own):
        end = f"\u2026 ({len(part.own) - len(own):,} more characters)"
    return doc.Verbatim(start + own + end, (doc.Link(to, f"trial {result.trial}"), ": ", verdict_mark(result)),
                        strong=(len(start), len(start) + len(own)))
