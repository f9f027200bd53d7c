"""Digests of what was answered: by trial, and of a whole log, so that two machines can compare without the texts.

Of an output: SHA-256 (64 hex) of its UTF-8; of an error: `error:<type>`; a trial that did not run has none, and
reasoning is in none. Those of a large recording are made whenever they are taken, and kept by nobody.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from benchkit.basics.json_text import digest, text_digest, text_of
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.values import Reply
from benchkit.recordings.recording import RecordedTrial, Recording

ERROR = "error:"
"""What the digest of an error begins with; no digest of an output does."""


@dataclass(frozen=True, slots=True, order=True)
class TrialOf:
    """Which trial of which case, ordered as trials are run."""

    trial: int
    case: str


@dataclass(frozen=True, slots=True)
class Total:
    """All digests of a log: how many trials ran, and the digest over [[case, trial, digest], ...] sorted."""

    ran: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LogDigests:
    """The digests of one system's trials: by case, trial 1 first, None where a trial did not run.

    `settings_sha256` is over the system's settings. None at the end of a case says no more than nothing there.
    """

    settings_sha256: str
    trials: Mapping[str, Sequence[str | None]]

    @property
    def sha256(self) -> str:
        """The digest of all; every trial is taken for it."""
        return self.total().sha256

    def total(self) -> Total:
        """Count and sum up all trials, taking each once."""
        ran, summed = 0, hashlib.sha256(b"[")
        for case in sorted(self.trials):
            name = text_of(case)
            for number, text in enumerate(self.trials[case], 1):
                if text is not None:
                    # the canonical text of the list, row by row: no digest holds a letter that JSON escapes
                    summed.update(f'{"," if ran else ""}[{name},{number},"{text}"]'.encode("ascii"))
                    ran += 1
        summed.update(b"]")
        return Total(ran, summed.hexdigest())


def digests_of(recording: Recording) -> LogDigests:
    """The digests of a recording, made on demand if its trials are. Raises nothing before they are taken."""
    return LogDigests(digest(recording.settings), {case.id: _digests_of(case.trials) for case in recording.cases})


def _digests_of(trials: Sequence[RecordedTrial]) -> Sequence[str | None]:
    if not isinstance(trials, OnDemand):
        return tuple(without_tail(map(trial_digest, trials)))

    def read(start: int, stop: int) -> Iterator[str | None]:
        return map(trial_digest, trials[start:stop])

    return OnDemand(len(trials), read)


def trial_digest(trial: RecordedTrial) -> str | None:
    """The digest of one trial; None if it did not run."""
    if isinstance(trial.outcome, Reply):
        return text_digest(trial.outcome.output)
    return f"{ERROR}{trial.outcome.error.type}" if trial.is_run else None


def without_tail(digests: Iterable[str | None]) -> Iterator[str | None]:
    """The same digests, without any None at the end."""
    waiting = 0
    for text in digests:
        if text is None:
            waiting += 1
            continue
        yield from repeat(None, waiting)
        waiting = 0
        yield text
