"""Waiting for a server in slices, so that a signal and the deadline end every wait, whatever the server does."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from benchkit.basics.clock import Clock, StopRequest

SLICE_S = 0.1


class DeadlinePassed(Exception):
    """The time of a request is over."""


def _nothing() -> None:
    """Nothing is done meanwhile."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long a request may take: until `deadline` (monotonic seconds), or a signal. `meanwhile` is called in slices.

    A wait asks for `slice_s` before each piece of it, and calls `meanwhile` where nothing came.
    """

    clock: Clock
    stop: StopRequest
    deadline: float
    meanwhile: Callable[[], None] = _nothing

    def slice_s(self) -> float:
        """Seconds to wait now, more than 0. Raises DeadlinePassed, and Interrupted within a slice of a signal."""
        self.stop.raise_if_wished()
        left = self.deadline - self.clock.monotonic()
        if left <= 0:
            raise DeadlinePassed
        return min(SLICE_S, left)

    def at_most(self, seconds: float) -> Waiting:
        """The same, but no longer than so many seconds from now."""
        return replace(self, deadline=min(self.deadline, self.clock.monotonic() + seconds))
