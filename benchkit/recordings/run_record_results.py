"""Reading the results of a run record: every field of the right type, every verdict what follows from its checks.

What does not live here: the file around them (run_record_reading.py).
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchkit.basics.fields import Fields
from benchkit.basics.known_rows import KnownRows, all_in_bounds
from benchkit.basics.values import JSON, Timings, Usage, seed_of
from benchkit.recordings import pieces
from benchkit.recordings.run_record import VERDICTS, Result
from benchkit.recordings.run_record_writing import RESULT_FIELDS

_RESULT_FIELD_SET = dict.fromkeys(RESULT_FIELDS).keys()  # in order: of two that are missing, the first is named


class ResultReader:
    """Reads results that are like those accepted before quickly, and all others field by field.

    Types are remembered; what depends on values is checked each time.
    """

    def __init__(self) -> None:
        self._results = KnownRows(RESULT_FIELDS)
        self._usages, self._timings = KnownRows(tuple(pieces.USAGE_SHAPE)), KnownRows(tuple(pieces.TIMINGS_SHAPE))

    def read(self, value: Any, place: str) -> Result:
        """The result in a JSON value; ValueError names the place and the field."""
        result = self._quick(value)
        if result is None:
            result = _result_of(Fields(value, place))
            self._accept(result, value)
        return result

    def _quick(self, value: Any) -> Result | None:
        """The result, if nothing in it needs a closer look."""
        row = self._results.row(value)
        if row is None or row[9] is not None:
            return None
        (case, trial, seed, verdict, checks, explain, output, finish, reasoning, _, usage, timings, latency_s,
         recorded_latency_s, attempts, retries, cold) = row
        counts, spans = self._usages.row(usage), self._timings.row(timings)
        if counts is None or spans is None or trial < 1 or seed != seed_of(trial) or output is None or not (
                _is_judged(verdict, checks, explain)
                and all_in_bounds((latency_s, recorded_latency_s, attempts, retries, *counts, *spans))):
            return None
        return Result(case, trial, seed, verdict, checks, explain, output, finish, reasoning, None, Usage(*counts),
                      Timings(*spans), latency_s, recorded_latency_s, attempts, retries, cold)

    def _accept(self, result: Result, value: Any) -> None:
        """Remember what a result looks like that was read with care."""
        self._results.accept(value)
        if result.usage is not None and result.timings is not None:
            self._usages.accept(value["usage"])
            self._timings.accept(value["timings"])


def _is_judged(verdict: str, checks: Mapping[str, JSON] | None, explain: Mapping[str, JSON] | None) -> bool:
    return (bool(checks) and checks is not None and _BOOLEAN.issuperset(map(type, checks.values()))
            and verdict == ("pass" if all(checks.values()) else "fail")
            and (explain is None or _TEXT.issuperset(map(type, explain.values()))))


_BOOLEAN, _TEXT = frozenset((bool,)), frozenset((str,))


def _result_of(fields: Fields) -> Result:
    fields.has_exactly(_RESULT_FIELD_SET, optional=("slept_s",))
    values = fields.values
    result = Result(
        fields.text("case"), *pieces.trial_and_seed_of(fields),
        fields.one_of("verdict", VERDICTS), _checks_of(fields), _explain_of(fields),
        fields.text_or_none("output"), fields.text_or_none("finish"), fields.text_or_none("reasoning"),
        None if values["error"] is None else pieces.error_of(fields.inner("error")),
        None if values["usage"] is None else pieces.usage_of(fields.inner("usage")),
        None if values["timings"] is None else pieces.timings_of(fields.inner("timings")),
        fields.seconds_or_none("latency_s"), fields.seconds_or_none("recorded_latency_s"),
        fields.integer("attempts"), fields.integer("retries"), fields.boolean("cold"),
        fields.seconds_or_none("slept_s") if "slept_s" in values else None)
    _check_verdict(result, fields)
    return result


def _checks_of(fields: Fields) -> Mapping[str, bool] | None:
    if fields.values["checks"] is None:
        return None
    checks = fields.mapping("checks")
    if not checks or not all(type(value) is bool for value in checks.values()):
        raise fields.wrong("checks", "null or an object of true and false")
    return checks  # type: ignore[return-value]  # every value was just seen to be a bool


def _explain_of(fields: Fields) -> Mapping[str, str] | None:
    if fields.values["explain"] is None:
        return None
    explain = fields.mapping("explain")
    if not all(type(value) is str for value in explain.values()):
        raise fields.wrong("explain", "null or an object of texts")
    return explain  # type: ignore[return-value]  # every value was just seen to be a text


def _check_verdict(result: Result, fields: Fields) -> None:
    if result.verdict == "incomplete":
        if result.error is None or result.checks is not None:
            raise ValueError(f"{fields.place} is incomplete, so it needs an error and no checks")
        if result.output is not None and result.error.type != "CheckError":
            raise ValueError(f"{fields.place} has both an output and a {result.error.type}")
    elif result.checks is None or result.output is None or result.error is not None:
        raise ValueError(f"{fields.place} is a {result.verdict}, so it needs an output, checks and no error")
    elif all(result.checks.values()) != (result.verdict == "pass"):
        raise ValueError(f"{fields.at('verdict')} does not follow from its checks")
