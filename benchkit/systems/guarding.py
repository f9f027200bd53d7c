"""Systems of the user, held to the contract: whatever else they raise or give becomes one line for the person.

What does not live here: the contract itself (system.py).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from benchkit.basics import strict_json
from benchkit.basics.canonical import canonical
from benchkit.basics.clock import Clock
from benchkit.basics.errors import ERROR_TYPES, BrokenOff, KitError, Surroundings, TrialError, Unusable
from benchkit.basics.hiding import Hidden
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Reply, Request, Timings, Usage
from benchkit.systems.keeping import MOST_SECONDS
from benchkit.systems.system import Loaded, System
from benchkit.tasks.modules import place_of, what_came

Made = TypeVar("Made")
GRACE_S = 1.0
"""So much later than its deadline a system may return that times its own request: a look at the server behind the
reply is not the model's time."""
METHODS = ("open", "settings", "warm", "answer", "close")
_NOTHING = type(None)
_TEXT, _COUNT, _NUMBER = (str, _NOTHING), (int, _NOTHING), (int, float, _NOTHING)
_TRIED: Mapping[str, tuple[type, ...]] = {"latency_s": _NUMBER, "retries": (int,), "waited_s": (int, float)}
_REPLY: Mapping[str, tuple[type, ...]] = {
    "finish": _TEXT, "reasoning": _TEXT, "usage": (Usage,), "timings": (Timings,), **_TRIED}
_ERROR: Mapping[str, tuple[type, ...]] = {"message": (str,), "partial": _TEXT, "stops": _TEXT, **_TRIED}
_USAGE = {one.name: _COUNT for one in fields(Usage)}
_TIMINGS = {one.name: _NUMBER for one in fields(Timings)}


def guarded(
    given: str, file: Path, make: Callable[[], Any], clock: Clock, hidden: Hidden,
    loading: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> System:
    """The system that `make` gives, guarded. Raises Unusable if it gives none, or raises.

    Words of an error are cut, so what is `hidden` must be so before. It is warmed within `loading`.
    """
    guard = _Guard(shown_line(given, 120), file, hidden)
    system = guard.called("system", make)
    missing = [method for method in METHODS if not callable(getattr(system, method, None))]
    if missing:
        raise guard.refusal("system", f"gave {type(system).__name__}, which has no {', '.join(missing)}")
    return GuardedSystem(system, guard, clock, loading)


@dataclass(frozen=True, slots=True)
class _Guard:
    given: str
    file: Path
    hidden: Hidden

    def asked(self, request: Request) -> _Guard:
        """The guard whose errors name the trial, too."""
        return replace(self, given=f"{self.given}, case {shown_line(request.case, 80)}, trial {request.trial}")

    def called(self, what: str, function: Callable[..., Made], *given: Request) -> Made:
        """What the function gives. Errors of the contract pass; any other is told with its place."""
        try:
            return function(*given)
        except TrialError as error:
            self.check_error(what, error)
            raise
        except KitError:
            raise
        except (OSError, MemoryError) as error:
            raise self._kind(what, Surroundings)(self._line(what, error)) from error
        except (Exception, SystemExit) as error:
            raise self._kind(what, Unusable)(self._line(what, error)) from error

    def refusal(self, what: str, why: str) -> KitError:
        """The error where the contract is not kept."""
        return self._kind(what, Unusable)(f"{self.given}: {what}() of {self.file.name} {why}")

    def object_of(self, what: str, given: object) -> Mapping[str, JSON]:
        """What was given, if it is a JSON object."""
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise self.refusal(what, "did not give a JSON object")
        try:
            strict_json.parse(canonical(dict(given)).encode("ascii"))
        except (TypeError, ValueError, RecursionError) as error:
            told = shown_line(self.hidden.text(str(error)))
            raise self.refusal(what, f"gave something that is not JSON: {told}") from None
        return given

    def check_types(self, what: str, given: object, wanted: Mapping[str, tuple[type, ...]]) -> None:
        """Raise the error of a contract that is not kept where a field is of another type. No truth is a number."""
        for name, types in wanted.items():
            value = getattr(given, name)
            if not isinstance(value, types) or isinstance(value, bool):
                meant = " or ".join("None" if one is _NOTHING else one.__name__ for one in types)
                raise self.refusal(what, f"gave a {type(given).__name__} whose {name} is of type "
                                         f"{type(value).__name__}, not {meant}")

    def check_error(self, what: str, error: TrialError) -> None:
        """The same for what a trial can end in."""
        self.check_types(what, error, _ERROR)
        if error.type not in ERROR_TYPES:
            raise self.refusal(what, f"raised a TrialError of the type {shown_line(str(error.type), 60)}, not one of "
                                     f"{', '.join(ERROR_TYPES)}")

    def _kind(self, what: str, usual: type[KitError]) -> type[KitError]:
        """The log is begun when `warm` is called: then it is no longer true that nothing was started."""
        return BrokenOff if what in ("warm", "answer", "close") else usual

    def _line(self, what: str, error: BaseException) -> str:
        place = place_of(error) or self.file.name
        return f"{self.given}: {what}() of {place} {what_came(error, self.hidden.text)}"


@dataclass(frozen=True, slots=True)
class GuardedSystem:
    """A system whose every call is checked; see `System` for what each does."""

    inner: Any
    guard: _Guard
    clock: Clock
    loading: Callable[[], AbstractContextManager[None]]

    def open(self) -> Mapping[str, JSON]:
        """The environment."""
        return self.guard.object_of("open", self.guard.called("open", self.inner.open))

    def settings(self) -> Mapping[str, JSON]:
        """All that determines a request."""
        return self.guard.object_of("settings", self.guard.called("settings", self.inner.settings))

    def warm(self) -> Loaded:
        """What was loaded; a plain number of seconds will do."""
        with self.loading():
            given = self.guard.called("warm", self.inner.warm)
        loaded = given if isinstance(given, Loaded) else Loaded(given)
        if not isinstance(loaded.load_s, int | float) or isinstance(loaded.load_s, bool) \
                or not 0 <= loaded.load_s <= MOST_SECONDS:
            raise self.guard.refusal("warm", "did not give the seconds that loading took")
        self.guard.check_types("warm", loaded, {"context_length": _COUNT})
        if loaded.details is not None:
            self.guard.object_of("warm", loaded.details)
        return replace(loaded, load_s=float(loaded.load_s))

    def answer(self, request: Request) -> Reply:
        """One whole reply; one that is late is a Timeout of this trial, as it would be at any other system."""
        start, guard = self.clock.monotonic(), self.guard.asked(request)
        given = guard.called("answer", self.inner.answer, request)
        end = self.clock.monotonic()
        if not isinstance(given, Reply) or not isinstance(given.output, str):
            raise guard.refusal(
                "answer", f"gave {type(given).__name__}, and not a Reply whose output is a text")
        for part, wanted in ((given, _REPLY), (given.usage, _USAGE), (given.timings, _TIMINGS)):
            guard.check_types("answer", part, wanted)
        latency_s, grace_s = (end - start, 0.0) if given.latency_s is None else (given.latency_s, GRACE_S)
        last = request.deadline + given.waited_s
        if start + latency_s > last or end > last + grace_s:
            raise TrialError("Timeout", "the whole reply came behind the time limit", given.output,
                             latency_s=latency_s, retries=given.retries, waited_s=given.waited_s)
        return given

    def close(self) -> None:
        """Let go."""
        self.guard.called("close", self.inner.close)
