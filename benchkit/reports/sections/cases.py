"""The cases of a run, trial by trial: the flaky ones, output beside output; those without a pass; each in detail."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter

from benchkit.basics.texts import are, count_of, sentence, shown_line, word_for
from benchkit.pages.tones import Tone
from benchkit.recordings.run_record import Result
from benchkit.render import document as doc
from benchkit.reports import outputs
from benchkit.reports.failures import failed_checks
from benchkit.reports.figures import each_by_itself, percent, spread
from benchkit.reports.run_report import RunReport
from benchkit.reports.sections.anchors import LONGEST_TEXT, MOST_ROWS, Anchors, by_trouble, has_marks
from benchkit.reports.tally import CaseRow, in_state, main_failure, never_passed, passed_cell, state_words
from benchkit.statistics.estimators import State

FEW_BARS = 30
TROUBLE = doc.Cut(8, 500, "case")
MOST_IN_LINE = 20
"""Marks of trials in a line of text; more give way to the other columns."""
MOST_OPEN, MOST_PAIRS, MOST_FIELDS, MOST_CHECKS = 5, 60, 12, 30
BEFORE, LINES_BEFORE, MOST_OWN, BEHIND = 200, 4, 1_200, 400
"""Characters (and lines) shown of what two outputs begin with, of what each has for itself, of what both end with."""
LEGEND: Sequence[doc.Span] = (
    doc.Mark("mark", Tone.PASS, True), " passed, ", doc.Mark("mark", Tone.FAIL, True), " failed, ",
    doc.Mark("mark", Tone.INCOMPLETE, True), " incomplete, ", doc.Mark("mark", Tone.ABSENT, True), " did not run. ")
_TONES = {State.STABLE_PASS: Tone.PASS, State.STABLE_FAIL: Tone.FAIL, State.FLAKY: Tone.FLAKY,
          State.POSSIBLY_FLAKY: Tone.INCOMPLETE, State.NO_DATA: Tone.ABSENT}
_VERDICTS = {"pass": Tone.PASS, "fail": Tone.FAIL}
_ELSEWHERE = (doc.Code("python3 report.py RUN --case ID"), " prints every output of a case, whole.")


def _state_mark(row: CaseRow) -> doc.Mark:
    return doc.Mark(state_words(row.state), _TONES.get(row.state, Tone.PASS if row.passed else Tone.FAIL))


def _verdict_mark(result: Result) -> doc.Mark:
    """The verdict of a trial in words, the type of its error where it has none; one that never ran is absent."""
    if result.error is None:
        return doc.Mark(result.verdict, _VERDICTS.get(result.verdict, Tone.INCOMPLETE))
    tone = Tone.ABSENT if result.error.type == "NotRun" else Tone.INCOMPLETE
    return doc.Mark(f"incomplete: {result.error.type}", tone)


def _case_title(row: CaseRow) -> doc.Spans:
    """`B passed 2 of 3: flaky`."""
    return doc.Code(row.id), f" passed {passed_cell(row)}: ", _state_mark(row)


# lists of cases


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
    trials: doc.Cell = list(_marks(run, place, anchors)) if has_marks(run) else doc.Tally(shown_line(row.id, 60), [
        (Tone.PASS, row.passed), (Tone.FAIL, row.n - row.passed), (Tone.INCOMPLETE, row.incomplete)])
    return (doc.Link(anchors.case(place), doc.Code(row.id)), trials, passed_cell(row), spread(row.low, row.high),
            percent(row.disagreement), _state_mark(row))


def _marks(run: RunReport, place: int, anchors: Anchors) -> Iterator[doc.Mark]:
    """A small mark for each trial, by the outcomes that the anchors hold, so that they are not read again."""
    name, detailed = shown_line(run.cases[place].id, 60), anchors.detailed.get(place)
    if detailed is None or len(detailed.trials) < run.record.trials:
        marks = {one.trial: _verdict_mark(one) for one in run.record.results_of(place)}
    else:
        firsts = [(_verdict_mark(group.first), group.trials) for group in detailed.groups]
        marks = {trial: mark for mark, trials in firsts for trial in trials}
    for trial, mark in sorted(marks.items(), key=itemgetter(0)):
        yield doc.Mark(f"{name}, trial {trial}: {mark.words}", mark.tone, True, anchors.trial(place, trial))


def bar_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """How often each case passes, drawn with its interval: the flaky ones first."""
    places = by_trouble(run.cases)

    def bars() -> Iterator[doc.Bar]:
        for place in places:
            row = run.cases[place]
            yield doc.Bar(doc.Link(anchors.case(place), doc.Code(row.id)), row.passed / row.n if row.n else None,
                          row.low, row.high, passed_cell(row), _state_mark(row).tone)

    caption = "Share of judged trials that passed, with Wilson's 95 % intervals, flaky cases first"
    yield doc.Chart(doc.Bars(caption, "case", "pass rate", "passed", bars, doc.Cut(
        FEW_BARS, MOST_ROWS, "case", len(places)))) if places else doc.words("There are no cases.")


def never_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """The cases of which no judged trial passed."""
    rows, touched = never_passed(run.cases), run.coverage.cases_touched
    if rows:
        yield trouble_table(run, "Cases of which no judged trial passed", rows, anchors)
    else:
        yield doc.words(f"{word_for(touched, 'The one case', f'Every one of {touched:,} cases')} with a judged trial "
                        "passed at least once."
                        if touched else "No trial was judged.")


def trouble_table(
    run: RunReport, caption: str, rows: Sequence[CaseRow], anchors: Anchors, title: str = "case",
    cut: doc.Cut = TROUBLE,
) -> doc.Table:
    """Cases, how often they passed, what they fail most often by, and what was expected."""
    places = {case.id: place for place, case in enumerate(run.record.cases)}
    columns = [doc.flexible(title), doc.Column("passed", doc.Kind.WORD), doc.flexible("fails most often by"),
               doc.number("95 %", detail=doc.MORE), doc.flexible("expected", detail=doc.MORE)]
    return doc.Table(caption, columns, [
        (doc.Link(anchors.case(places[row.id]), doc.Code(row.id)), passed_cell(row), doc.Code(main_failure(row), 120),
         spread(row.low, row.high), doc.Code(outputs.expected_line(run.record.cases[places[row.id]].expected), 120))
        for row in rows], cut)


# flaky cases


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
        pair = outputs.output_pair(run.record.results_of(place))
        if pair is not None:
            yield doc.Fold(_case_title(rows[place]), partial(_pair_blocks, run, place, pair, anchors),
                           is_open=number < MOST_OPEN, detail=doc.ALL)
    if len(flaky) > MOST_PAIRS:
        yield doc.quiet(f"And {count_of(len(flaky) - MOST_PAIRS, 'more flaky case')}: see all cases.", detail=doc.ALL)


def _pair_blocks(run: RunReport, place: int, pair: tuple[Result, Result], anchors: Anchors) -> Iterator[doc.Block]:
    passed, failed = pair
    expected = outputs.expected_line(run.record.cases[place].expected)
    if expected:
        yield doc.words("Expected ", doc.Code(expected, 200), ".")
    explain = failed.explain or {}
    reasons = (f"{check}: {explain[check]}" if check in explain else check for check in failed_checks(failed))
    yield doc.words("Failed by ", *doc.listed((doc.Code(reason, 200) for reason in reasons), "; "), ".")
    yield doc.words(*_difference(passed.output or "", failed.output or ""))
    yield doc.Beside([_output(one, other.output or "", anchors.trial(place, one.trial))
                      for one, other in (pair, pair[::-1])])


def _difference(passed: str, failed: str) -> Iterator[doc.Span]:
    differences = outputs.field_differences(passed, failed)
    if passed == failed:
        yield "The outputs are equal: the checks do not depend on them alone."
    elif not differences:
        yield f"The outputs differ from character {len(outputs.parted(passed, failed)[0]) + 1:,} on."
    else:
        for number, (name, values) in enumerate(islice(differences.items(), MOST_FIELDS)):
            was, now = ("nothing" if value is None else doc.Code(value) for value in values)
            yield "; " if number else "The outputs differ in "
            yield from (doc.Code(name, 40), ": ", was, " against ", now)
        more = len(differences) - MOST_FIELDS
        yield f"; and {more} more." if more > 0 else "."


def _output(result: Result, other: str, to: str) -> doc.Verbatim:
    """An output, what the other does not share marked, and of long ones only what lies around it."""
    common, whole, rest = outputs.parted(result.output or "", other)
    before = "\n".join(common[-BEFORE:].split("\n")[-LINES_BEFORE:])
    start = ("\u2026" if len(before) < len(common) else "") + before
    own, end = whole[:MOST_OWN], rest[:BEHIND] + ("\u2026" if len(rest) > BEHIND else "")
    if len(own) < len(whole):
        end = f"\u2026 ({len(whole) - len(own):,} more characters)"
    return doc.Verbatim(start + own + end, (doc.Link(to, f"trial {result.trial}"), ": ", _verdict_mark(result)),
                        strong=(len(start), len(start) + len(own)))


# single trials: what was asked and expected, what came, what the checks say, how long it took


def detail_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """A folded block for each case that has details on a page."""
    if len(anchors.detailed) < len(run.cases):
        yield doc.words(f"Details of {len(anchors.detailed):,} of {count_of(len(run.cases), 'case')}: those that fail "
                        "or are open come before all others. ", *_ELSEWHERE)
    if anchors.most_characters < LONGEST_TEXT:
        yield doc.words(f"Texts are cut behind {anchors.most_characters:,} characters, so that the page stays small. ",
                        *_ELSEWHERE)
    for place in anchors.detailed:
        yield doc.Fold(_case_title(run.cases[place]), partial(_detailed_blocks, run, place, anchors),
                       anchors.case(place))


def _detailed_blocks(run: RunReport, place: int, anchors: Anchors) -> Iterator[doc.Block]:
    detailed, most = anchors.detailed[place], anchors.most_characters
    yield from _tags(run, place)
    yield doc.Beside(_asked(run, place, most))
    for group in detailed.groups:
        yield doc.Fold((doc.Code(run.cases[place].id), ", ", *_group_title(group)), partial(_group_blocks, group, most),
                       anchors.trial(place, group.first.trial))
    if detailed.hidden:
        yield doc.quiet(f"Other outcomes, in {count_of(detailed.hidden, 'trial')}, are not shown.")


def case_section(run: RunReport, case_id: str) -> doc.Section:
    """All trials of one case, whole, those with the same outcome told once. Raises KeyError for an id of no case."""
    place = {row.id: place for place, row in enumerate(run.cases)}[case_id]
    row = run.cases[place]
    return doc.Section("case", (doc.Code(case_id), ": ", _state_mark(row)), [
        doc.words(doc.Code(run.record.system, 400), f" passed {passed_cell(row)} (95 %: {spread(row.low, row.high)}); "
                  f"two fresh trials differ in {percent(row.disagreement)} %."),
        *_tags(run, place), *_asked(run, place, None),
        *(doc.Fold(_group_title(group), partial(_group_blocks, group, None))
          for group in outputs.answer_groups(run.record.results_of(place)))])


def _tags(run: RunReport, place: int) -> list[doc.Paragraph]:
    tags = run.record.cases[place].tags
    return [doc.words("Tags: ", *doc.listed(map(doc.Code, tags)), ".")] if tags else []


def _asked(run: RunReport, place: int, most: int | None) -> list[doc.Verbatim]:
    case = run.record.cases[place]
    return [doc.Verbatim(outputs.value_text(value), title, most)
            for title, value in (("Input", case.input), ("Expected", case.expected))]


def _group_title(group: outputs.AnswerGroup) -> tuple[doc.Span, ...]:
    told = f"trial {group.numbers}" if group.size == 1 else f"trials {group.numbers}, the same outcome"
    wrong = doc.listed(doc.Code(check, 40) for check in failed_checks(group.first)[:4])
    return told, ": ", _verdict_mark(group.first), *((", not ", *wrong) if wrong else ())


def _group_blocks(group: outputs.AnswerGroup, most: int | None) -> Iterator[doc.Block]:
    """Seed, seconds and tokens of each trial with this outcome, what the checks say, and the texts."""
    result, error = group.first, group.first.error
    if group.size == 1:
        yield doc.quiet(*group.trials.values())
    else:
        more = group.size - len(group.trials)
        yield doc.Bullets([*(f"trial {trial}, {measures}" for trial, measures in group.trials.items()),
                           *([f"and {count_of(more, 'more trial')}"] if more else [])])
    if error is not None:
        yield doc.words(doc.Code(error.type), ": ", doc.Code(error.message, 400))
    checks = list(_checks(result))
    if checks:
        yield doc.Bullets(checks)
    if result.reasoning:
        yield doc.Fold(f"Reasoning, {count_of(len(result.reasoning), 'character')}, never judged",
                       [doc.Verbatim(result.reasoning, "", most)])
    if result.output is not None:
        yield doc.Verbatim(result.output, "Output", most)
    if error is not None and error.partial:
        yield doc.Verbatim(error.partial, "What had come", most)


def _checks(result: Result) -> Iterator[doc.Spans]:
    checks, explain = result.checks or {}, result.explain or {}
    for check in failed_checks(result)[:MOST_CHECKS]:
        why = (": ", doc.Code(explain[check], 400)) if check in explain else ()
        yield "not ", doc.Code(check, 60), *why
    held = [check for check, holds in checks.items() if holds]
    if held:
        more = f" and {len(held) - MOST_CHECKS} more" if len(held) > MOST_CHECKS else ""
        yield "holds: ", *doc.listed(doc.Code(check, 40) for check in held[:MOST_CHECKS]), more
