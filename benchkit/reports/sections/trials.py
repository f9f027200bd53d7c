"""Single trials: what was asked and expected, what came, what the checks say, how long it took."""
from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchkit.basics.texts import count_of
from benchkit.recordings.run_record import JudgedCase, Result
from benchkit.render import document as doc
from benchkit.reports.failures import failed_checks
from benchkit.reports.figures import percent, spread
from benchkit.reports.outputs import AnswerGroup, answer_groups, value_text
from benchkit.reports.run_report import RunReport
from benchkit.reports.sections.anchors import LONGEST_TEXT, Anchors
from benchkit.reports.sections.cases import case_title, state_mark, verdict_mark
from benchkit.reports.tally import passed_cell

MOST_CHECKS = 30
_ELSEWHERE = (doc.Code("python3 report.py RUN --case ID"), " prints every output of a case, whole.")


def detail_blocks(run: RunReport, anchors: Anchors) -> Iterator[doc.Block]:
    """A folded block for each case that has details on a page."""
    cases = len(run.cases)
    if len(anchors.detailed) < cases:
        yield doc.words(f"Details of {len(anchors.detailed):,} of {count_of(cases, 'case')}: those that fail or are "
                        "open come before all others. ", *_ELSEWHERE)
    if anchors.most_characters < LONGEST_TEXT:
        yield doc.words(f"Texts are cut behind {anchors.most_characters:,} characters, so that the page stays small. ",
                        *_ELSEWHERE)
    for place in anchors.detailed:
        yield doc.Fold(case_title(run.cases[place]), partial(_detailed_blocks, run, place, anchors),
                       anchors.case(place))


def _detailed_blocks(run: RunReport, place: int, anchors: Anchors) -> Iterator[doc.Block]:
    case, detailed = run.record.cases[place], anchors.detailed[place]
    yield from _tags(case)
    yield doc.Beside(_asked(run, place, anchors.most_characters))
    for group in detailed.groups:
        yield doc.Fold(_title(run.cases[place].id, group), list(_group_blocks(group, anchors.most_characters)),
                       anchors.trial(place, group.first.trial))
    if detailed.hidden:
        yield doc.quiet(f"Other outcomes, in {count_of(detailed.hidden, 'trial')}, are not shown.")


def case_section(run: RunReport, case_id: str) -> doc.Section:
    """All trials of one case, whole, those with the same outcome told once. Raises KeyError for an id of no case."""
    place = {row.id: place for place, row in enumerate(run.cases)}[case_id]
    return doc.Section("case", (doc.Code(case_id), ": ", state_mark(run.cases[place])),
                       partial(_case_blocks, run, place))


def _case_blocks(run: RunReport, place: int) -> Iterator[doc.Block]:
    row = run.cases[place]
    yield doc.words(doc.Code(run.record.system, 400),
                    f" passed {passed_cell(row)} (95 %: {spread(row.low, row.high)}); two "
                    f"fresh trials differ in {percent(row.disagreement)} %.")
    yield from _tags(run.record.cases[place])
    yield from _asked(run, place, None)
    for group in answer_groups(run.record.results_of(place)):
        yield doc.Fold(_title("", group), partial(_group_blocks, group, None))


def _tags(case: JudgedCase) -> Iterator[doc.Block]:
    if case.tags:
        yield doc.words("Tags: ", *doc.listed(map(doc.Code, case.tags)), ".")


def _asked(run: RunReport, place: int, most: int | None) -> list[doc.Verbatim]:
    case = run.record.cases[place]
    return [doc.Verbatim(value_text(case.input), "Input", most),
            doc.Verbatim(value_text(case.expected), "Expected", most)]


def _title(case_id: str, group: AnswerGroup) -> doc.Spans:
    told = f"trial {group.numbers}" if group.size == 1 else f"trials {group.numbers}, the same outcome"
    name: tuple[doc.Span, ...] = (doc.Code(case_id), ", ") if case_id else ()
    wrong = doc.listed(doc.Code(check, 40) for check in failed_checks(group.first)[:4])
    return *name, told, ": ", verdict_mark(group.first), *((", not ", *wrong) if wrong else ())


def _group_blocks(group: AnswerGroup, most: int | None) -> Iterator[doc.Block]:
    result = group.first
    yield from _measured(group)
    if result.error is not None:
        yield doc.words(doc.Code(result.error.type), ": ", doc.Code(result.error.message, 400))
    checks = list(_checks(result))
    if checks:
        yield doc.Bullets(checks)
    yield from _texts(result, most)


def _measured(group: AnswerGroup) -> Iterator[doc.Block]:
    """Seed, seconds and tokens of each trial with this outcome."""
    told = [", ".join((f"seed {one.seed}", *one.facts)) for one in group.trials]
    if group.size == 1:
        yield doc.quiet(told[0])
        return
    more = group.size - len(told)
    yield doc.Bullets([*(f"trial {one.trial}, {facts}" for one, facts in zip(group.trials, told, strict=True)),
                       *([f"and {count_of(more, 'more trial')}"] if more else [])])


def _checks(result: Result) -> Iterator[doc.Spans]:
    checks, explain = result.checks or {}, result.explain or {}
    for check in failed_checks(result)[:MOST_CHECKS]:
        yield "not ", doc.Code(check, 60), *((": ", doc.Code(explain[check], 400)) if check in explain else ())
    held = [check for check, holds in checks.items() if holds]
    if held:
        more = f" and {len(held) - MOST_CHECKS} more" if len(held) > MOST_CHECKS else ""
        yield "holds: ", *doc.listed(doc.Code(check, 40) for check in held[:MOST_CHECKS]), more


def _texts(result: Result, most: int | None) -> Iterator[doc.Block]:
    if result.reasoning:
        yield doc.Fold(f"Reasoning, {count_of(len(result.reasoning), 'character')}, never judged",
                       [doc.Verbatim(result.reasoning, "", most)])
    if result.output is not None:
        yield doc.Verbatim(result.output, "Output", most)
    if result.error is not None and result.error.partial:
        yield doc.Verbatim(result.error.partial, "What had come", most)
