"""Digests of what was answered: by trial, and of a whole log, so that two machines can compare without the texts.

Trials that ended in an error on a side are counted by name, apart from outputs that are compared.

Of an output: SHA-256 (64 hex) of its UTF-8; of an error: `error:<type>`; a trial that did not run has none, and
reasoning is in none. Those of a large recording are made whenever they are taken, and kept by nobody; those that are
read from a file are kept packed, in 33 bytes each.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from benchkit.basics.errors import ERROR_TYPES
from benchkit.basics.json_text import digest, text_digest, text_of
from benchkit.basics.on_demand import OnDemand
from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import Reply
from benchkit.recordings.recording import RecordedTrial, Recording

ERROR = "error:"
"""What the digest of an error begins with; no digest of an output does."""
DIGEST = "[0-9a-f]{64}|" + ERROR + "(?:" + "|".join(ERROR_TYPES) + ")"
"""What the digest of a trial looks like."""
_WITHOUT_OUTPUT = (None, *(f"{ERROR}{name}" for name in ERROR_TYPES))
_PACKED_BYTES = 33


@dataclass(frozen=True, slots=True, order=True)
class TrialOf:
    """Which trial of which case, ordered as trials are run."""

    trial: int
    case: str

    def __str__(self) -> str:
        return f"case {shown_line(self.case, 80)}, trial {self.trial}"


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
        return self.total()[1]

    def total(self) -> tuple[int, str]:
        """How many trials ran, and the digest over [[case, trial, digest], ...] sorted; each is taken once."""
        ran, summed = 0, hashlib.sha256(b"[")
        for case in sorted(self.trials):
            name = text_of(case)
            for number, text in enumerate(self.trials[case], 1):
                if text is not None:
                    # the canonical text of the list, row by row: no digest holds a letter that JSON escapes
                    summed.update(f'{"," if ran else ""}[{name},{number},"{text}"]'.encode("ascii"))
                    ran += 1
        summed.update(b"]")
        return ran, summed.hexdigest()


def digests_of(recording: Recording) -> LogDigests:
    """The digests of a recording, made on demand if its trials are. Raises nothing before they are taken."""
    def made(trials: Sequence[RecordedTrial]) -> Sequence[str | None]:
        if not isinstance(trials, OnDemand):
            return tuple(without_tail(map(trial_digest, trials)))
        return OnDemand(len(trials), lambda start, stop: map(trial_digest, trials[start:stop]))

    return LogDigests(digest(recording.settings), {case.id: made(case.trials) for case in recording.cases})


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


def packed(text: str | None) -> bytes:
    """A digest in 33 bytes: 0 and the bytes of its hex digits, or from 1 on which of those without an output it is."""
    if text is None or text.startswith(ERROR):
        return bytes([1 + _WITHOUT_OUTPUT.index(text), *bytes(_PACKED_BYTES - 1)])
    return b"\0" + bytes.fromhex(text)


def digests_in(data: bytes) -> Sequence[str | None]:
    """The digests that were packed one behind the other."""
    def read(start: int, stop: int) -> Iterator[str | None]:
        for at in range(start * _PACKED_BYTES, stop * _PACKED_BYTES, _PACKED_BYTES):
            kind = data[at]
            yield _WITHOUT_OUTPUT[kind - 1] if kind else data[at + 1:at + _PACKED_BYTES].hex()

    return OnDemand(len(data) // _PACKED_BYTES, read)


@dataclass(frozen=True, slots=True)
class ErrorPairs:
    """How many trials ended in an error on both sides, with one type there, and where the other gave an output."""

    both: int
    same_type: int
    only_first: int
    only_second: int

    @property
    def counted(self) -> int:
        """Trials with an error on a side."""
        return self.both + self.only_first + self.only_second

    @property
    def different(self) -> int:
        """Those that are not the same on both sides."""
        return self.counted - self.same_type

    def texts(self, first: str, second: str) -> Iterator[str]:
        """What there is, in a sentence each, without a full stop; the sides by name."""
        if self.both:
            yield (f"{count_of(self.both, 'trial')} ended in an error on both sides, {self.same_type:,} with the same "
                   "type")
        for count, side in ((self.only_first, first), (self.only_second, second)):
            if count:
                yield f"{count_of(count, 'trial')} ended in an error in {side} only"


def error_pairs(types: Mapping[tuple[str | None, str | None], int]) -> ErrorPairs:
    """The counts of trials by the types of their errors; None where a side gave an output, on one side at most."""
    both = {pair: count for pair, count in types.items() if None not in pair}
    return ErrorPairs(
        sum(both.values()), sum(count for (one, other), count in both.items() if one == other),
        sum(count for (_, other), count in types.items() if other is None),
        sum(count for (one, _), count in types.items() if one is None))
