"""Test modules side by side: each worker takes the next one as soon as it is free; what it finds is told here.

Workers are forks of this process, so they run the very tests that were loaded; where there is no fork, or one worker,
everything runs here. What a run prints, counts and exits with is the same either way.
"""
# ruff: noqa: N802 - the names of a result's methods are unittest's
from __future__ import annotations

import gc
import os
import unittest
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

_UNITS: list[unittest.TestSuite] = []
"""In a worker only: what was loaded before it was forked."""


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a unit: the tests that began, by name; and of those that did not just pass (method, name, details).

    The method is one of unittest.TestResult. `durations` are empty before Python 3.12.
    """

    began: tuple[str, ...]
    ends: tuple[tuple[str, str, str], ...]
    durations: tuple[tuple[str, float], ...]


class SideBySide(unittest.TestSuite):
    """A suite whose units (its direct members) are independent: each is run whole, in any order, by any worker."""

    def __init__(self, units: Sequence[unittest.TestSuite], workers: int) -> None:
        super().__init__(units)
        self._workers = workers

    def run(self, result: unittest.TestResult, debug: bool = False) -> unittest.TestResult:
        """Run all units. Raises BrokenProcessPool where a worker died, for then nobody knows what came of its tests."""
        if debug or self._workers < 2 or not hasattr(os, "fork"):
            return super().run(result, debug)
        units = [unit for unit in self if isinstance(unit, unittest.TestSuite)]
        workers = min(self._workers, len(units))
        gc.freeze()  # what is loaded stays: no worker has to look through it for garbage
        with ProcessPoolExecutor(workers, get_context("fork"), _given, (units,)) as pool:
            try:
                for future in as_completed([pool.submit(_run, number) for number in range(len(units))]):
                    _tell(result, future.result())
                    if result.shouldStop:
                        break
            finally:
                pool.shutdown(cancel_futures=True)
        return result


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Heard(unittest.TestResult):
    """A result that also keeps which tests began."""

    def __init__(self) -> None:
        super().__init__()
        self.began: list[str] = []

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.began.append(str(test))


def _given(units: Sequence[unittest.TestSuite]) -> None:
    """A worker begins; it may be one of a worker, whose units are others."""
    _UNITS[:] = units


def _run(number: int) -> Told:
    """Run a unit, in a worker."""
    heard = _Heard()
    _UNITS[number].run(heard)
    ends = [(method, str(getattr(test, "test_case", test)), f"{test}\n{text}" if hasattr(test, "test_case") else text)
            for method, found in (("addFailure", heard.failures), ("addError", heard.errors),
                                  ("addSkip", heard.skipped), ("addExpectedFailure", heard.expectedFailures))
            for test, text in found]
    ends += [("addUnexpectedSuccess", str(test), "") for test in heard.unexpectedSuccesses]
    return Told(tuple(heard.began), tuple(ends), tuple(getattr(heard, "collectedDurations", ())))


def _tell(result: unittest.TestResult, told: Told) -> None:
    ends = defaultdict(list)
    for method, name, details in told.ends:
        ends[name].append((method, details))
    for name in told.began:
        test = _Named(name)
        result.startTest(test)
        for method, details in ends.pop(name, [("addSuccess", "")]):
            _end(result, test, method, details)
        result.stopTest(test)
    for name, others in ends.items():
        # the setting up of a class or a module
        for method, details in others:
            _end(result, _Named(name), method, details)
    if hasattr(result, "collectedDurations"):
        result.collectedDurations.extend(told.durations)


def _end(result: unittest.TestResult, test: unittest.TestCase, method: str, details: str) -> None:
    if method == "addSkip":
        result.addSkip(test, details)
    elif method in ("addSuccess", "addUnexpectedSuccess"):
        getattr(result, method)(test)
    else:
        kind = test.failureException if method == "addFailure" else InWorker
        getattr(result, method)(test, (kind, kind(f"\n{details}"), None))


class InWorker(Exception):
    """What a worker met, as text."""


class _Named(unittest.TestCase):
    """Stands for a test of a worker, or for what is no test but can fail like one."""

    def __init__(self, name: str) -> None:
        super().__init__("run")
        self._name = name

    def __str__(self) -> str:
        return self._name

    def id(self) -> str:
        return self._name
