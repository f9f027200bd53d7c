"""Digests of what was answered: by trial, and of a whole log, so that two machines can compare without the texts.

Of an output: SHA-256 (64 hex) of its UTF-8; of an error: `error:<type>`; a trial that did not run has none, and
reasoning is in none. What does not live here: the file that keeps them (digest_book.py), and comparing two
recordings (digest_comparison.py).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchkit.basics.canonical import digest, text_digest
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
class LogDigests:
    """The digests of one system's trials: by case, trial 1 first, None where a trial did not run.

    `settings_sha256` is over the system's settings.
    """

    settings_sha256: str
    trials: Mapping[str, tuple[str | None, ...]]

    @property
    def sha256(self) -> str:
        """The digest of all: over [[case, trial, digest], ...] sorted."""
        return digest(sorted([one.case, one.trial, text] for one, text in self.by_trial().items()))

    def by_trial(self) -> dict[TrialOf, str]:
        """The digest of every trial that ran, trial 1 of all cases first."""
        most = max((len(digests) for digests in self.trials.values()), default=0)
        return {TrialOf(number + 1, case): text
                for number in range(most) for case, text in self._at(number) if text is not None}

    def _at(self, number: int) -> Iterator[tuple[str, str | None]]:
        for case, digests in self.trials.items():
            yield case, digests[number] if number < len(digests) else None


def digests_of(recording: Recording) -> LogDigests:
    """The digests of a recording. Trials that did not run are dropped at the end of a case, and None before."""
    trials = {case.id: _without_tail([trial_digest(trial) for trial in case.trials]) for case in recording.cases}
    return LogDigests(digest(recording.settings), trials)


def trial_digest(trial: RecordedTrial) -> str | None:
    """The digest of one trial; None if it did not run."""
    if isinstance(trial.outcome, Reply):
        return text_digest(trial.outcome.output)
    return f"{ERROR}{trial.outcome.error.type}" if trial.is_run else None


def differing(one: LogDigests, other: LogDigests) -> list[TrialOf]:
    """The trials whose digests differ, or that only one side has; in the order of running."""
    here, there = one.by_trial(), other.by_trial()
    trials = [*here, *(trial for trial in there if trial not in here)]
    return sorted((trial for trial in trials if here.get(trial) != there.get(trial)), key=lambda trial: trial.trial)


def _without_tail(digests: list[str | None]) -> tuple[str | None, ...]:
    while digests and digests[-1] is None:
        digests.pop()
    return tuple(digests)
