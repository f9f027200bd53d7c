"""All trials of one case as text: what was asked and expected, and what came, whole.

Texts of cases and models are quoted line by line, folded to the width, nothing dropped.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Timings, Usage
from benchkit.recordings.run_record import JudgedCase, Result
from benchkit.reports.columns import INDENT, clipped, quoted, wrapped
from benchkit.reports.figures import percent, seconds, spread
from benchkit.reports.paint import NO_PAINT, Paint
from benchkit.reports.run_report import RunReport
from benchkit.reports.speed import latency_of
from benchkit.reports.tally import CaseRow
from benchkit.reports.text_cases import passed_cell

BAR = INDENT + "| "
"""Before each line of somebody else's text."""


def case_text(run: RunReport, case_id: str, paint: Paint = NO_PAINT) -> str:
    """One case with all its trials; ends in a newline. Raises KeyError where the run has no such case."""
    place = next((place for place, row in enumerate(run.cases) if row.id == case_id), None)
    if place is None:
        raise KeyError(case_id)
    record = run.record
    lines = [*_case_lines(run, record.cases[place], run.cases[place], paint)]
    for result in record.results_of(place):
        lines += ["", *_trial_lines(result, paint)]
    return "\n".join(lines) + "\n"


def _case_lines(run: RunReport, case: JudgedCase, row: CaseRow, paint: Paint) -> Iterator[str]:
    yield paint.strong(clipped(case.id, 60)) + ": " + paint.state(str(row.state))
    yield from wrapped(f"{shown_line(run.record.system, 60)} passed {passed_cell(row)} "
                       f"(95 %: {spread(row.low, row.high)}); two fresh trials differ in "
                       f"{percent(row.disagreement)} %", INDENT)
    if case.tags:
        yield from wrapped("tags: " + ", ".join(shown_line(tag, 60) for tag in case.tags), INDENT)
    yield "input"
    yield from _value_lines(case.input)
    yield "expected"
    yield from _value_lines(case.expected)


def _value_lines(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield from quoted(value, BAR)
    elif isinstance(value, Mapping) and all(isinstance(one, str | int | float | None) for one in value.values()):
        for name, one in value.items():
            yield from _named_lines(name, one)
    else:
        yield from quoted(json.dumps(value, indent=1, ensure_ascii=False), BAR)


def _named_lines(name: str, value: JSON) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value)
    if "\n" not in text:
        yield from quoted(f"{name}: {text}", BAR)
    else:
        yield from quoted(f"{name}:", BAR)
        yield from quoted(text, BAR + INDENT)


def _trial_lines(result: Result, paint: Paint) -> Iterator[str]:
    tone = {"pass": paint.good, "fail": paint.bad}.get(result.verdict, paint.unsure)
    yield f"trial {result.trial}, seed {result.seed}: {tone(result.verdict)}"
    if result.error is not None:
        yield from wrapped(f"{result.error.type}: {shown_line(result.error.message, 400)}", INDENT)
    yield from _check_lines(result)
    yield from _measure_lines(result)
    for label, text in (("reasoning", result.reasoning), ("output", result.output),
                        ("what had come", result.error.partial if result.error else None)):
        if text is not None:
            yield f"{INDENT}{label}" + ("" if text else " (empty)")
            yield from quoted(text, BAR) if text else ()


def _check_lines(result: Result) -> Iterator[str]:
    explain = result.explain or {}
    held = [shown_line(name, 60) for name, holds in (result.checks or {}).items() if holds]
    for name, holds in (result.checks or {}).items():
        if not holds:
            why = f": {shown_line(explain[name], 200)}" if name in explain else ""
            yield from wrapped(f"not {shown_line(name, 60)}{why}", INDENT)
    if held:
        yield from wrapped("holds: " + ", ".join(held), INDENT)


def _measure_lines(result: Result) -> Iterator[str]:
    facts = measures_of(result)
    if facts:
        yield from wrapped(", ".join(facts), INDENT)


def measures_of(result: Result) -> list[str]:
    """What was measured of a trial, fact by fact: seconds, attempts, tokens, timings."""
    facts = [f"{seconds(latency_of(result))} s"] if latency_of(result) is not None else []
    facts += ["cold"] if result.cold else []
    facts += [f"attempt {result.attempts}"] if result.attempts > 1 else []
    facts += [f"{result.retries} sent again"] if result.retries else []
    facts += [f"finish {shown_line(result.finish, 30)}"] if result.finish not in (None, "stop") else []
    return facts + _usage_facts(result.usage) + _timing_facts(result.timings)


def _usage_facts(usage: Usage | None) -> list[str]:
    if usage is None:
        return []
    counts = (("in", usage.prompt_tokens), ("out", usage.output_tokens), ("cached", usage.cached_tokens))
    return [f"{count} tokens {name}" for name, count in counts if count is not None]


def _timing_facts(timings: Timings | None) -> list[str]:
    if timings is None:
        return []
    parts = (("load", timings.load_s), ("prompt", timings.prompt_s), ("output", timings.output_s),
             ("first token", timings.first_token_s), ("other", timings.other_s))
    return [f"{name} {seconds(value)} s" for name, value in parts if value is not None]
