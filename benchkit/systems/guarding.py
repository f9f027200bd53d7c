"""Systems of the user, held to the contract: whatever else they raise or give becomes one line for the person.

What does not live here: the contract itself (system.py).
"""
from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchkit.basics import strict_json
from benchkit.basics.canonical import canonical
from benchkit.basics.errors import KitError, Surroundings, TrialError, Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Reply, Request
from benchkit.systems.system import Loaded, System

Made = TypeVar("Made")
METHODS = ("open", "settings", "warm", "answer", "close")


def guarded(name: str, file: Path, make: Callable[[], Any]) -> System:
    """The system that `make` gives, guarded. Raises Unusable if it gives none, or raises."""
    guard = _Guard(name, file)
    system = guard.called("system", make)
    missing = [method for method in METHODS if not callable(getattr(system, method, None))]
    if missing:
        raise guard.refusal("system", f"gave {type(system).__name__}, which has no {', '.join(missing)}")
    return GuardedSystem(system, guard)


@dataclass(frozen=True, slots=True)
class _Guard:
    name: str
    file: Path

    def called(self, what: str, function: Callable[..., Made], *given: Request) -> Made:
        """What the function gives. Errors of the contract pass; any other is told with its place."""
        try:
            return function(*given)
        except (KitError, TrialError):
            raise
        except OSError as error:
            raise Surroundings(self._line(what, error)) from error
        except Exception as error:
            raise Unusable(self._line(what, error)) from error

    def refusal(self, what: str, why: str) -> Unusable:
        """The error where the contract is not kept."""
        return Unusable(f"--system {shown_line(self.name, 100)}: {what}() of {self.file.name} {why}")

    def object_of(self, what: str, given: object) -> Mapping[str, JSON]:
        """What was given, if it is a JSON object."""
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise self.refusal(what, "did not give a JSON object")
        try:
            strict_json.parse(canonical(dict(given)).encode("ascii"))
        except (TypeError, ValueError, RecursionError) as error:
            raise self.refusal(what, f"gave something that is not JSON: {shown_line(str(error))}") from None
        return given

    def _line(self, what: str, error: Exception) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(self.file)]
        place = f", line {lines[-1]}" if lines else ""
        return (f"--system {shown_line(self.name, 100)}: {what}() of {self.file.name}{place} raised "
                f"{type(error).__name__}: {shown_line(str(error))}")


@dataclass(frozen=True, slots=True)
class GuardedSystem:
    """A system whose every call is checked; see `System` for what each does."""

    inner: Any
    guard: _Guard

    def open(self) -> Mapping[str, JSON]:
        """The environment."""
        return self.guard.object_of("open", self.guard.called("open", self.inner.open))

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request."""
        return self.guard.object_of("settings", self.guard.called("settings", self.inner.settings))

    def warm(self) -> Loaded:
        """What was loaded; a plain number of seconds will do."""
        given = self.guard.called("warm", self.inner.warm)
        if isinstance(given, Loaded):
            return given
        if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < float("inf"):
            return Loaded(float(given))
        raise self.guard.refusal("warm", "did not give the seconds that loading took")

    def answer(self, request: Request) -> Reply:
        """One whole reply."""
        given = self.guard.called("answer", self.inner.answer, request)
        if not isinstance(given, Reply) or not isinstance(given.output, str):
            raise self.guard.refusal("answer", "did not give a Reply whose output is a text")
        return given

    def close(self) -> None:
        """Let go."""
        self.guard.called("close", self.inner.close)
