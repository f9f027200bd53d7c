"""Why trials failed: by check, and by what the task says was expected and came instead.

What does not live here: which answer was taken for which (confusion.py), and trials that could not be judged
(coverage.py): those are incomplete, not failed.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from benchkit.recordings.run_record import Result


@dataclass(frozen=True, slots=True)
class CheckCount:
    """One check: in how many failed trials it did not hold, and in how many it was the only one."""

    name: str
    failed: int
    alone: int


@dataclass(frozen=True, slots=True)
class Reason:
    """One explanation of one check, as the task words it, and how many trials it explains."""

    check: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Failures:
    """Why `failed` trials of `judged` failed. Checks in the order the task names them, reasons by count."""

    judged: int
    failed: int
    checks: tuple[CheckCount, ...]
    reasons: tuple[Reason, ...]


def failed_checks(result: Result) -> tuple[str, ...]:
    """The names of the checks that did not hold in one trial; none where it was not judged."""
    return tuple(name for name, holds in (result.checks or {}).items() if not holds)


def failures_of(results: Iterable[Result]) -> Failures:
    """Count over all trials of a run, in one pass."""
    names: dict[str, None] = {}
    failed: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    verdicts: Counter[str] = Counter()
    for result in results:
        verdicts[result.verdict] += 1
        names.update(dict.fromkeys(result.checks or ()))
        if result.verdict == "fail":
            wrong = failed_checks(result)
            failed.update(wrong)
            alone.update(wrong if len(wrong) == 1 else ())
            reasons.update((result.explain or {}).items())
    return Failures(
        verdicts["pass"] + verdicts["fail"], verdicts["fail"],
        tuple(CheckCount(name, failed[name], alone[name]) for name in names),
        _by_count(reasons))


def _by_count(reasons: Counter[tuple[str, str]]) -> tuple[Reason, ...]:
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Reason(check, text, count) for (check, text), count in ordered)
