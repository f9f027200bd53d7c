"""The report page on single trials: what was asked and expected, what came, what the checks say, how long it took.

All of it is folded. Trials of a case with the same outcome stand in one block; a link to any of them opens it.
"""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of, shown_line
from benchkit.pages.html import Child, Html, element, joined
from benchkit.pages.marks import badge
from benchkit.pages.parts import bullets, code, fold, paragraph, side_by_side, text_block
from benchkit.recordings.run_record import Result
from benchkit.reports.failures import failed_checks
from benchkit.reports.outputs import AnswerGroup
from benchkit.reports.page_parts import line, name, quiet, tone_of, tone_of_trial, value_text, words_of
from benchkit.reports.page_run import LONGEST_TEXT, DetailedCase, RunOnPage
from benchkit.reports.text_cases import passed_cell

MOST_CHECKS = 30


def details_part(run: RunOnPage) -> Iterator[Html]:
    """A folded block for each case that has one."""
    cases = len(run.report.cases)
    if len(run.detailed) < cases:
        yield paragraph(f"Details of {len(run.detailed):,} of {count_of(cases, 'case')}: those that fail or may be "
                        "flaky come before all others. ", _elsewhere())
    if run.most_characters < LONGEST_TEXT:
        yield paragraph(f"Texts are cut behind {run.most_characters:,} characters, so that the page stays small. ",
                        _elsewhere())
    for place in run.detailed:
        yield _case(run, place)
        yield Html("\n")


def _elsewhere() -> Html:
    return joined(code("python3 report.py RUN --case ID"), " prints every output of a case, whole.")


def _case(run: RunOnPage, place: int) -> Html:
    row, case = run.report.cases[place], run.report.record.cases[place]
    detailed = run.detailed[place]
    summary = joined(name(row.id), f" passed {passed_cell(row)} ", badge(tone_of(row), str(row.state)))
    tags = quiet("Tags: ", ", ".join(line(tag) for tag in case.tags)) if case.tags else None
    asked = side_by_side(_text(run, value_text(case.input), "Input"),
                         _text(run, value_text(case.expected), "Expected"))
    hidden = quiet(f"Other outcomes, in {count_of(detailed.hidden, 'trial')}, are not shown.") if (
        detailed.hidden) else None
    return fold(summary, tags, asked, *_groups(run, detailed), hidden, anchor=run.case_anchor(place))


def _text(run: RunOnPage, text: str, title: str) -> Html:
    return text_block(text, title, most_characters=run.most_characters)


def _groups(run: RunOnPage, case: DetailedCase) -> Iterator[Html]:
    for group in case.groups:
        anchor = run.trial_anchor(case.place, group.first.trial)
        yield fold(_summary(run, case.place, group), *_body(run, case.place, group), anchor=anchor)


def _summary(run: RunOnPage, place: int, group: AnswerGroup) -> Html:
    first = group.first
    told = f"trial {group.numbers}" if group.size == 1 else f"trials {group.numbers}, the same outcome"
    case = name(run.report.cases[place].id)
    return joined(badge(tone_of_trial(first), words_of(first)), " ", case, f" {told}", _why(first))


def _why(result: Result) -> str:
    wrong = failed_checks(result)
    return f", not {', '.join(shown_line(check, 40) for check in wrong[:4])}" if wrong else ""


def _body(run: RunOnPage, place: int, group: AnswerGroup) -> Iterator[Child]:
    result = group.first
    yield _measures(run, place, group)
    if result.error is not None:
        yield paragraph(f"{result.error.type}: {line(result.error.message)}")
    yield _checks(result)
    yield from _texts(run, result)


def _measures(run: RunOnPage, place: int, group: AnswerGroup) -> Html:
    if group.size == 1:
        return quiet(group.lines[0].text)
    lines = [element("li", told.text, id=run.trial_anchor(place, told.trial) if number else None)
             for number, told in enumerate(group.lines)]
    more = group.size - len(group.lines)
    if more:
        lines.append(element("li", f"and {count_of(more, 'more trial')}"))
    return element("ul", *lines, class_="quiet")


def _checks(result: Result) -> Html:
    checks, explain = result.checks or {}, result.explain or {}
    wrong, held = failed_checks(result), [check for check, holds in checks.items() if holds]
    told: list[Child] = [joined("not ", name(check), f": {line(explain[check])}" if check in explain else None)
                         for check in wrong[:MOST_CHECKS]]
    if held:
        names = ", ".join(shown_line(check, 40) for check in held[:MOST_CHECKS])
        more = f" and {len(held) - MOST_CHECKS} more" if len(held) > MOST_CHECKS else ""
        told.append(f"holds: {names}{more}")
    return bullets(told)


def _texts(run: RunOnPage, result: Result) -> Iterator[Html]:
    if result.reasoning:
        yield fold(f"Reasoning, {count_of(len(result.reasoning), 'character')}, never judged",
                   _text(run, result.reasoning, "Reasoning"))
    if result.output is not None:
        yield _text(run, result.output, "Output")
    if result.error is not None and result.error.partial:
        yield _text(run, result.error.partial, "What had come")
