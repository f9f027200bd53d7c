"""Test modules side by side: one worker per core takes them from a queue, and what it finds is told here in full.

Workers are forks of this process, so they run the very tests that were loaded; where there is no fork, or one core,
everything runs here. What a run prints, counts and exits with is the same either way.
"""
# ruff: noqa: N802 - the names of a result's methods are unittest's
from __future__ import annotations

import os
import pickle
import selectors
import struct
import sys
import traceback
import unittest
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeAlias

ExcInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]
UNIT = struct.Struct("<H")
"""The number of a unit in the queue; a read of so few bytes takes one whole, whoever else reads."""
LENGTH = struct.Struct("<I")


class WorkerDied(RuntimeError):
    """A worker ended before it had told what came of its tests."""


@dataclass(frozen=True, slots=True)
class Told:
    """One call of a method of a result. `place` is the test's place in its unit; None: `name` is all there is."""

    method: str
    unit: int
    place: int | None
    name: str
    details: str | float | None = None


class SideBySide(unittest.TestSuite):
    """A suite whose units (its direct members) are independent: each is run whole, in any order, by any worker."""

    def __init__(self, units: Sequence[unittest.TestSuite], workers: int) -> None:
        super().__init__(units)
        self._workers = workers

    def run(self, result: unittest.TestResult, debug: bool = False) -> unittest.TestResult:
        """Run all units; `result` is told what the workers find, test by test."""
        if debug or self._workers < 2 or not hasattr(os, "fork"):
            return super().run(result, debug)
        units = [unit for unit in self if isinstance(unit, unittest.TestSuite)]
        queue = _queue_of(len(units))
        workers = [_start(units, queue) for _ in range(min(self._workers, len(units)))]
        try:
            for told in _heard(workers):
                _tell(result, told, units)
                if result.shouldStop:
                    _emptied(queue)
        finally:
            os.close(queue)
        return result


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _queue_of(units: int) -> int:
    """The reading end of a pipe that holds the numbers of all units, and then its end."""
    reading, writing = os.pipe()
    os.write(writing, b"".join(map(UNIT.pack, range(units))))
    os.close(writing)
    return reading


def _emptied(queue: int) -> None:
    while os.read(queue, 4096):
        pass


# ------------------------------------------------------------------------------------------- in a worker

@dataclass(frozen=True, slots=True)
class _Worker:
    process: int
    told: int


def _start(units: Sequence[unittest.TestSuite], queue: int) -> _Worker:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        os.close(writing)
        return _Worker(process, reading)
    code = 1
    try:
        os.close(reading)
        _work(units, queue, writing)
        code = 0
    except BaseException:  # noqa: BLE001 - nothing of a worker may run on as the process that it was forked from
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _work(units: Sequence[unittest.TestSuite], queue: int, writing: int) -> None:
    while number := os.read(queue, UNIT.size):
        unit = UNIT.unpack(number)[0]
        units[unit].run(_Telling(unit, list(_tests(units[unit])), writing))


class _Telling(unittest.TestResult):
    """A result that keeps nothing: every call goes down a pipe."""

    def __init__(self, unit: int, tests: Sequence[unittest.TestCase], writing: int) -> None:
        super().__init__()
        self._unit, self._writing = unit, writing
        self._places = {id(test): place for place, test in enumerate(tests)}

    def _say(self, method: str, test: unittest.TestCase, details: str | float | None = None) -> None:
        told = pickle.dumps(Told(method, self._unit, self._places.get(id(test)), str(test), details))
        _write_all(self._writing, LENGTH.pack(len(told)) + told)

    def startTest(self, test: unittest.TestCase) -> None:
        self._say("startTest", test)

    def stopTest(self, test: unittest.TestCase) -> None:
        self._say("stopTest", test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._say("addSuccess", test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._say("addSkip", test, reason)

    def addError(self, test: unittest.TestCase, err: ExcInfo) -> None:
        self._say("addError", test, _text_of(err))

    def addFailure(self, test: unittest.TestCase, err: ExcInfo) -> None:
        self._say("addFailure", test, _text_of(err))

    def addExpectedFailure(self, test: unittest.TestCase, err: ExcInfo) -> None:
        self._say("addExpectedFailure", test, _text_of(err))

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._say("addUnexpectedSuccess", test)

    def addDuration(self, test: unittest.TestCase, elapsed: float) -> None:
        self._say("addDuration", test, elapsed)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: ExcInfo | None) -> None:
        if err is not None and err[0] is not None:
            is_failure = issubclass(err[0], test.failureException)
            self._say("addFailure" if is_failure else "addError", test, f"{subtest}\n{_text_of(err)}")


def _text_of(err: ExcInfo) -> str:
    return "".join(traceback.format_exception(err[1]))


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data):]


def _tests(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from _tests(one)
        else:
            yield one


# ---------------------------------------------------------------------------------------------- over here

def _heard(workers: Sequence[_Worker]) -> Iterator[Told]:
    """All that workers tell, as it comes. Raises WorkerDied if one ends in any other way than at the queue's end."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.told, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select():
                told = _next(key.fd)
                if told is not None:
                    yield told
                else:
                    selector.unregister(key.fd)
                    _end(key.data)


def _next(descriptor: int) -> Told | None:
    """The next that a worker tells; None where it has ended."""
    head = _read(descriptor, LENGTH.size)
    body = _read(descriptor, LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
    told = pickle.loads(body) if body else None
    return told if isinstance(told, Told) else None


def _read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := os.read(descriptor, size - len(data))):
        data += more
    return data


def _end(worker: _Worker) -> None:
    os.close(worker.told)
    status = os.waitpid(worker.process, 0)[1]
    if status:
        raise WorkerDied(f"a worker ended with {os.waitstatus_to_exitcode(status)}; its tests are not told")


def _tell(result: unittest.TestResult, told: Told, units: Sequence[unittest.TestSuite]) -> None:
    test: unittest.TestCase = _Named(told.name)
    if told.place is not None:
        test = list(_tests(units[told.unit]))[told.place]
    method: Callable[..., Any] | None = getattr(result, told.method, None)
    if method is None or told.details is None:
        if method is not None:
            method(test)
    elif told.method in ("addError", "addFailure", "addExpectedFailure"):
        kind = test.failureException if told.method == "addFailure" else InWorker
        method(test, (kind, kind(f"\n{told.details}"), None))
    else:
        method(test, told.details)


class InWorker(Exception):
    """What a worker met, as text."""


class _Named(unittest.TestCase):
    """Stands for what is no test but can fail like one: the setting up of a class or a module."""

    def __init__(self, name: str) -> None:
        super().__init__("run")
        self._name = name

    def __str__(self) -> str:
        return self._name

    def id(self) -> str:
        return self._name
