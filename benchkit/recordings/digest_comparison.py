"""Two recordings of the same cells, output by output: how many are equal, and where they first part.

Cold and warm trials are kept apart, since real servers answer a prompt that is not in their cache otherwise. An
entry of recordings.json does not say which trials were cold; then the other side's word is taken. Trials are taken
from both sides in step, and of those taken no more is kept than the digests of one case, counted.
Errors are no outputs: trials that ended in one are counted apart.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest

from benchkit.basics.fields import LeafDifference, differences
from benchkit.basics.values import JSON, Reply
from benchkit.recordings.digests import ERROR, LogDigests, TrialOf, trial_digest
from benchkit.recordings.error_pairs import ErrorPairs, error_pairs
from benchkit.recordings.recording import RecordedTrial, Recording
from benchkit.statistics.estimators import Agreement, equal_pairs_share, mean_share, parting_index

GROUPS = ("warm", "cold", "cold on one side only", "cold or warm is not known")
AROUND = 20
"""Letters shown of each text from where they part."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The digest of one trial, whether it was cold, and its output; None where that is not known."""

    digest: str
    is_cold: bool | None
    output: str | None

    @property
    def error(self) -> str | None:
        """The digest if it is that of an error, which names its type."""
        return self.digest if self.digest.startswith(ERROR) else None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison. `recording` is None where only digests are kept."""

    name: str
    digests: LogDigests
    recording: Recording | None

    def answers(self) -> dict[str, Iterator[_Answer | None]]:
        """What came of each trial, by case, to be taken once; None where a trial did not run."""
        if self.recording is None:
            return {case: (None if text is None else _Answer(text, None, None) for text in texts)
                    for case, texts in self.digests.trials.items()}
        return {case.id: map(_answer_of, case.trials) for case in self.recording.cases}

    def text(self, trial: TrialOf) -> str | None:
        """The output of a trial, if it is at hand."""
        if self.recording is None:
            return None
        outcome = next(case for case in self.recording.cases if case.id == trial.case).trials[trial.trial - 1].outcome
        return outcome.output if isinstance(outcome, Reply) else None


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first trial that differs; `character` is where its two texts part, and what follows there on each side."""

    trial: TrialOf
    group: str
    character: int | None
    first_text: str | None
    second_text: str | None


@dataclass(frozen=True, slots=True)
class DigestComparison:
    """What two sides have in common.

    `groups` holds only those of GROUPS in which both sides gave outputs. `errors` are trials that ran on both sides and
    gave none on one of them, or on either. `only_first` and `only_second` count trials that ran on
    one side only. `parted_at` counts outputs that differ by the index of the first character in which they do.
    `self_first` and `self_second` are the shares of equal pairs of outputs inside a case, over the
    trials that gave one and are not cold. `settings` and `circumstances` (hardware and environment of the last
    sessions) tell what differs by name; they are empty where a side kept digests alone. `other_asks` names cases that
    were asked something else; they are left out.
    """

    groups: Mapping[str, Agreement[TrialOf]]
    errors: ErrorPairs
    first_difference: FirstDifference | None
    parted_at: Counter[int]
    only_first: int
    only_second: int
    self_first: Fraction | None
    self_second: Fraction | None
    same_settings: bool
    settings: tuple[LeafDifference, ...]
    circumstances: tuple[LeafDifference, ...]
    other_asks: tuple[str, ...]

    @property
    def compared(self) -> int:
        """Trials that gave an output on both sides."""
        return sum(group.compared for group in self.groups.values())

    @property
    def different(self) -> int:
        """Trials that ran on both sides and are not the same there: outputs, or how they ended."""
        return sum(group.compared - group.equal for group in self.groups.values()) + self.errors.different


def compare(first: Side, second: Side) -> DigestComparison:
    """Compare two sides in step, case by case, trial by trial; each trial of either is taken once."""
    others = _other_asks(first.recording, second.recording)
    left, right, found = first.answers(), second.answers(), _Found()
    left_out = frozenset(others)
    one, other = first.recording, second.recording
    for case in dict.fromkeys([*left, *right]):
        if case not in left_out:
            found.take_case(case, left.get(case, iter(())), right.get(case, iter(())))
    return DigestComparison(
        found.agreements(), error_pairs(found.errors),
        None if found.first is None else _first_difference(first, second, found.first, found.first_group),
        found.parted_at, found.left.alone, found.right.alone,
        mean_share(found.left.shares), mean_share(found.right.shares),
        first.digests.settings_sha256 == second.digests.settings_sha256,
        () if one is None or other is None else tuple(differences(one.settings, other.settings)),
        () if one is None or other is None else tuple(differences(_circumstances(one), _circumstances(other))), others)


class _Group:
    """The trials of one of GROUPS: how many, how many equal, the first that is not."""

    def __init__(self) -> None:
        self.compared, self.equal = 0, 0
        self.first: TrialOf | None = None

    def take(self, trial: TrialOf, is_equal: bool) -> None:
        self.compared += 1
        self.equal += is_equal
        if not is_equal and _is_before(trial, self.first):
            self.first = trial


class _OneSide:
    """What is counted of one side: trials that only it has, and the share of equal pairs of every case."""

    def __init__(self) -> None:
        self.alone = 0
        self.shares: list[Fraction | None] = []
        self._outputs: Counter[bytes] = Counter()

    def take(self, answer: _Answer | None, other: _Answer | None) -> None:
        if answer is None:
            return
        self.alone += other is None
        if not answer.is_cold and answer.error is None:
            self._outputs[bytes.fromhex(answer.digest)] += 1

    def end_case(self) -> None:
        self.shares.append(equal_pairs_share(self._outputs))
        self._outputs.clear()


class _Found:
    """What is found as cases are taken, in the order of the first side; `first` is the first trial that differs."""

    def __init__(self) -> None:
        self.left, self.right = _OneSide(), _OneSide()
        self.first: TrialOf | None = None
        self.first_group = ""
        self.parted_at = Counter[int]()
        self.errors = Counter[tuple[str | None, str | None]]()
        self._groups = {name: _Group() for name in GROUPS}

    def take_case(self, case: str, left: Iterator[_Answer | None], right: Iterator[_Answer | None]) -> None:
        for number, (one, other) in enumerate(zip_longest(left, right), 1):
            self.left.take(one, other)
            self.right.take(other, one)
            if one is not None and other is not None:
                self._compare(TrialOf(number, case), one, other)
        self.left.end_case()
        self.right.end_case()

    def _compare(self, trial: TrialOf, one: _Answer, other: _Answer) -> None:
        name = _group(one.is_cold, other.is_cold)
        is_equal = one.digest == other.digest
        if one.error is None and other.error is None:
            self._groups[name].take(trial, is_equal)
        else:
            self.errors[one.error, other.error] += 1
        if one.output is not None and other.output is not None and not is_equal:
            self.parted_at[parting_index(one.output, other.output) or 0] += 1
        if not is_equal and _is_before(trial, self.first):
            self.first, self.first_group = trial, name

    def agreements(self) -> dict[str, Agreement[TrialOf]]:
        """Those of GROUPS that have trials."""
        return {name: Agreement(group.compared, group.equal, group.first)
                for name, group in self._groups.items() if group.compared}


def _is_before(trial: TrialOf, first: TrialOf | None) -> bool:
    # cases come in the order of running, so of two trials of one number the one that came first stands first
    return first is None or trial.trial < first.trial


def _answer_of(trial: RecordedTrial) -> _Answer | None:
    text = trial_digest(trial)
    output = trial.outcome.output if isinstance(trial.outcome, Reply) else None
    return None if text is None else _Answer(text, trial.cold, output)


def _circumstances(recording: Recording) -> dict[str, JSON]:
    last = recording.sessions[-1]
    return {"hardware": last.hardware, **last.environment}


def _other_asks(first: Recording | None, second: Recording | None) -> tuple[str, ...]:
    if first is None or second is None:
        return ()
    asks = {case.id: case.ask for case in second.cases}
    return tuple(case.id for case in first.cases if asks.get(case.id, case.ask) != case.ask)


def _group(left: bool | None, right: bool | None) -> str:
    known = {cold for cold in (left, right) if cold is not None}
    if len(known) == 2:
        return "cold on one side only"
    if not known:
        return "cold or warm is not known"
    return "cold" if True in known else "warm"


def _first_difference(first: Side, second: Side, trial: TrialOf, group: str) -> FirstDifference:
    left, right = first.text(trial), second.text(trial)
    if left is None or right is None:
        return FirstDifference(trial, group, None, None, None)
    at = parting_index(left, right) or 0
    return FirstDifference(trial, group, at, left[at:at + AROUND], right[at:at + AROUND])
