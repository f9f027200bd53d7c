"""A system with a fake server for tests: options, requests, and how its errors are caught."""
from __future__ import annotations

import time
import unittest
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure, KitError, TrialError
from benchkit.basics.values import JSON, Request
from benchkit.systems.system import System, SystemOptions
from tests.commands import HANGS_S, LATE_S
from tests.fake_ollama import FakeOllama

OTHER = "b" * 64
SCHEMA: Mapping[str, JSON] = {"type": "object", "properties": {"z": {"type": "boolean"}, "a": {"type": "integer"}}}
MESSAGES = ({"role": "system", "content": "Sort."}, {"role": "user", "content": "Hello"})
PROBE = [MESSAGES[0], {"role": "user", "content": "."}]
"""What is asked before the trial behind one that was given up."""


class WithSystem(unittest.TestCase):
    server: FakeOllama

    def setUp(self) -> None:
        self.stop = StopRequest()
        self.said: list[str] = []
        # two short waits, and then one that no trial has the time for
        waits = (0.05, 0.1, HANGS_S)
        self.enterContext(mock.patch.multiple("benchkit.network.replies", BUSY_WAITS_S=waits, REFUSED_WAITS_S=waits))

    def options(self, clock: Clock | None = None, **changed: Any) -> SystemOptions:
        fields = {"host": self.server.host, "task": None, "cases": (), **changed}
        return SystemOptions(clock=clock or Clock(), stop=self.stop, say=self.said.append, **fields)

    def refused(self, act: Callable[[], object], kind: type[KitError] = EnvironmentFailure) -> str:
        """The line of the error that comes of it."""
        with self.assertRaises(kind) as caught:
            act()
        line = str(caught.exception)
        self.assertTrue(line.isprintable(), line)
        return line

    def request(self, limit_s: float = 2 * LATE_S, trial: int = 1) -> Request:
        return Request("a", trial, 1, 1000 + trial, MESSAGES, SCHEMA, time.monotonic() + limit_s)

    def error(self, system: System, limit_s: float = 5.0) -> TrialError:
        """The error of a trial, which ends within its limit and a moment."""
        start = time.monotonic()
        with self.assertRaises(TrialError) as caught:
            system.answer(self.request(limit_s))
        self.assertLess(time.monotonic() - start, limit_s + LATE_S)
        return caught.exception


def hurried(times: float) -> Clock:
    """A clock that goes so many times faster from now on."""
    start = time.monotonic()
    return Clock(monotonic=lambda: start + (time.monotonic() - start) * times)
