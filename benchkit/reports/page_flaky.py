"""The report page on flaky cases: what was expected, an output that passed beside one that failed, and what differs."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of
from benchkit.pages.html import Child, Html, element, joined
from benchkit.pages.marks import badge
from benchkit.pages.parts import code, fold, paragraph, side_by_side
from benchkit.recordings.run_record import JudgedCase, Result
from benchkit.reports.failures import failed_checks
from benchkit.reports.outputs import OutputPair, Parted, expected_line, field_differences, output_pair, parted
from benchkit.reports.page_parts import line, linked, name, quiet, tone_of, tone_of_trial
from benchkit.reports.page_run import RunOnPage, places_by_trouble
from benchkit.reports.tally import in_state
from benchkit.reports.text_cases import passed_cell
from benchkit.statistics.estimators import State

FEW_OPEN = 5
MOST_SHOWN, MOST_FIELDS = 60, 12
AROUND, MOST_OWN = 400, 1_200
"""Characters shown of what two outputs share on either side, and of what each has for itself."""


def flaky_part(run: RunOnPage) -> Iterator[Html]:
    """The cases that passed and failed; the first few open."""
    rows = run.report.cases
    flaky = [place for place in places_by_trouble(rows) if rows[place].state is State.FLAKY]
    maybe = len(in_state(rows, State.POSSIBLY_FLAKY))
    if not flaky:
        yield paragraph(f"No case of {len(rows):,} both passed and failed.")
    for number, place in enumerate(flaky[:MOST_SHOWN]):
        pair = output_pair(run.results_of(place))
        if pair is not None:
            yield _case(run, place, pair, number < FEW_OPEN)
    if len(flaky) > MOST_SHOWN:
        yield quiet(f"And {count_of(len(flaky) - MOST_SHOWN, 'more flaky case')}: see all cases.")
    if maybe:
        yield paragraph(f"{count_of(maybe, 'case')} of {len(rows):,} may be flaky, as the incomplete trials go.")


def _case(run: RunOnPage, place: int, pair: OutputPair, is_open: bool) -> Html:
    row = run.report.cases[place]
    summary = joined(name(row.id), f" passed {passed_cell(row)} ", badge(tone_of(row), str(row.state)))
    passed, failed = pair.passed.output or "", pair.failed.output or ""
    return fold(
        summary, _expected(run.report.record.cases[place]), _checks(pair.failed), _difference(passed, failed),
        side_by_side(_output(run, place, pair.passed, parted(passed, failed)),
                     _output(run, place, pair.failed, parted(failed, passed))), is_open=is_open)


def _expected(case: JudgedCase) -> Html | None:
    told = expected_line(case.expected)
    return paragraph("Expected ", code(told), ".") if told else None


def _checks(failed: Result) -> Html:
    explain = failed.explain or {}
    told = "; ".join(line(f"{check}: {explain[check]}" if check in explain else check)
                     for check in failed_checks(failed))
    return paragraph("Failed by ", told, ".")


def _difference(passed: str, failed: str) -> Html | None:
    differences = field_differences(passed, failed)
    if passed == failed:
        return paragraph("The outputs are equal: the checks do not depend on them alone.")
    if not differences:
        return paragraph(f"The outputs differ from character {len(parted(passed, failed).start) + 1:,} on.")
    told = [joined("; " if number else " ", name(one.name), ": ", _value(one.passed), " against ", _value(one.failed))
            for number, one in enumerate(differences[:MOST_FIELDS])]
    more = f"; and {len(differences) - MOST_FIELDS} more" if len(differences) > MOST_FIELDS else ""
    return paragraph("The outputs differ in", *told, more, ".")


def _value(text: str | None) -> Html:
    return joined("nothing") if text is None else name(text)


def _output(run: RunOnPage, place: int, result: Result, text: Parted) -> Html:
    heading = joined(badge(tone_of_trial(result), result.verdict), " ",
                     linked(run.trial_anchor(place, result.trial), f"trial {result.trial}"))
    shown = element("pre", *_pieces(text))
    return element("div", element("p", heading, class_="text-title"), shown, class_="text")


def _pieces(text: Parted) -> Iterator[Child]:
    # a parser drops the first line end behind <pre>, so that a text which begins with one needs another
    if (text.start or text.own or text.end).startswith("\n"):
        yield Html("\n")
    yield ("\u2026" + text.start[-AROUND:]) if len(text.start) > AROUND else text.start
    if text.own:
        own = text.own[:MOST_OWN]
        yield element("mark", own)
        if len(own) < len(text.own):
            yield f"\u2026 ({len(text.own) - len(own):,} more characters)"
            return
    yield (text.end[:AROUND] + "\u2026") if len(text.end) > AROUND else text.end
