"""The errors of the kit, in one short tree.

    Exception
    ├── KitError          one line for a person; a command prints it and returns its exit code
    │   ├── Unusable      2: bad flags, a bad file, an unusable task, a log or recording that does not fit
    │   ├── EnvironmentFailure  3: no server, no such model, digest not the pinned one, disk full, log in use
    │   │   ├── NoServer  nobody answers where a system's server should be
    │   │   ├── NoModel   the server is there, and has no such model
    │   │   └── BrokenOff a system, a task or a pack failed in the middle of a run
    │   └── Interrupted   130 or 143: a signal asked for the end
    └── TrialError        no whole reply came, or none could be judged: recorded, never printed as a failure of the kit
"""
from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchkit.basics.values import Failure

ERROR_TYPES = (
    "NotRun", "Timeout", "Unreachable", "ServerBusy", "ServerError", "BrokenReply", "Unfinished", "BadReply",
    "ReplyTooLarge", "PromptTooLong", "ModelChanged", "CheckError",
)
"""Why a trial is incomplete: the closed list, in the order in which reports name them. A reader refuses any other word.

A new word also stands in docs/formats.md; running/plan.py says which cannot be tried again (NEVER_RETRIED), and
network/replies.py which answer of a server is which. A number of a word stands in no file.
"""


class KitError(Exception):
    """One line that says what is wrong, where, and what to do."""

    exit_code = 2


class Unusable(KitError):
    """Something given cannot be used: nothing was started, nothing was changed."""

    exit_code = 2


class EnvironmentFailure(KitError):
    """Something around the kit is missing or in the way: what was recorded stays."""

    exit_code = 3


class NoServer(EnvironmentFailure):
    """Nobody answers at the address of a system's server; who knows the command adds the one that needs none."""


class NoModel(EnvironmentFailure):
    """The server has no such model; `instead` is a system that it has, for the command that asks that one."""

    def __init__(self, message: str, instead: str | None = None) -> None:
        super().__init__(message)
        self.instead = instead


class BrokenOff(EnvironmentFailure):
    """Something given turned out to be unusable when the log was begun already: what was recorded stays."""


class Interrupted(KitError):
    """A signal asked for the end. SIGHUP counts as SIGTERM."""

    def __init__(self, number: int, what_is_kept: str = "") -> None:
        super().__init__(f"stopped by {'SIGINT' if number == signal.SIGINT else 'SIGTERM'}{what_is_kept}")
        self.number = number
        self.exit_code = 130 if number == signal.SIGINT else 143


class TrialError(Exception):
    """No whole reply came for one trial.

    `type` is one of ERROR_TYPES, `message` the kit's own words, `partial` the text that had come (None: none).
    `latency_s` (of the last request), `retries` and `waited_s` say what was tried; None is unknown.
    `stops` is the sentence for the person if no further trial can succeed; None: the run goes on. `stops_in_a_row` is
    the sentence if none can when trials in a row end like this. `status` is that of HTTP, where the server gave one.
    `retried` is what came of each request before the last.
    """

    def __init__(
        self, type: str, message: str, partial: str | None = None, *,  # noqa: A002 - the field's name in the log
        latency_s: float | None = None, retries: int = 0, waited_s: float = 0.0, stops: str | None = None,
        stops_in_a_row: str | None = None, status: int | None = None,
    ) -> None:
        super().__init__(f"{type}: {message}")
        self.type, self.message, self.partial = type, message, partial
        self.latency_s, self.retries, self.waited_s = latency_s, retries, waited_s
        self.stops, self.stops_in_a_row, self.status = stops, stops_in_a_row, status
        self.retried: tuple[Failure, ...] = ()
