"""Two recordings of the same cells, output by output: how many are equal, and where they first part.

Cold and warm trials are kept apart, since real servers answer a prompt that is not in their cache otherwise. An
entry of recordings.json does not say which trials were cold; then the other side's word is taken.
What does not live here: the formulas (statistics/agreement.py), and verdicts (reports/).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from benchkit.basics.values import Reply
from benchkit.recordings.digests import ERROR, LogDigests, TrialOf
from benchkit.recordings.recording import Recording
from benchkit.statistics.agreement import Agreement, agreement, parting_index, self_agreement

GROUPS = ("warm", "cold", "cold on one side only", "cold or warm is not known")
AROUND = 20
"""Letters shown of each text from where they part."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison. `recording` is None where only digests are kept."""

    name: str
    digests: LogDigests
    recording: Recording | None

    def is_cold(self) -> Mapping[TrialOf, bool]:
        """Which trials that ran were cold; empty where that is not known."""
        if self.recording is None:
            return {}
        return {TrialOf(trial.trial, case.id): trial.cold
                for case in self.recording.cases for trial in case.trials if trial.is_run}

    def text(self, trial: TrialOf) -> str | None:
        """The output of a trial, if it is at hand."""
        if self.recording is None:
            return None
        outcome = next(case for case in self.recording.cases if case.id == trial.case).trials[trial.trial - 1].outcome
        return outcome.output if isinstance(outcome, Reply) else None


@dataclass(frozen=True, slots=True)
class Parting:
    """The first trial that differs; `character` is where its two texts part, and what follows there on each side."""

    trial: TrialOf
    group: str
    character: int | None
    first_text: str | None
    second_text: str | None


@dataclass(frozen=True, slots=True)
class DigestComparison:
    """What two sides have in common.

    `groups` holds only those of GROUPS that have trials. `only_first` and `only_second` count trials that ran on
    one side only. `self_first` and `self_second` are the shares of equal pairs of outputs inside a case, over the
    trials that gave one and are not cold. `other_asks` names cases that were asked something else; they are left out.
    """

    groups: Mapping[str, Agreement[TrialOf]]
    parting: Parting | None
    only_first: int
    only_second: int
    self_first: Fraction | None
    self_second: Fraction | None
    same_settings: bool
    other_asks: tuple[str, ...]

    @property
    def compared(self) -> int:
        """Trials that ran on both sides."""
        return sum(group.compared for group in self.groups.values())

    @property
    def different(self) -> int:
        """Trials whose outputs differ."""
        return sum(group.compared - group.equal for group in self.groups.values())


def compare(first: Side, second: Side) -> DigestComparison:
    """Compare two sides, trial by trial."""
    others = _other_asks(first.recording, second.recording)
    left, right = _by_trial(first, others), _by_trial(second, others)
    cold_left, cold_right = first.is_cold(), second.is_cold()
    group_of = {trial: _group(cold_left.get(trial), cold_right.get(trial)) for trial in left if trial in right}
    groups = {name: agreement({trial: left[trial] for trial in group_of if group_of[trial] == name}, right)
              for name in GROUPS if name in group_of.values()}
    where = agreement(left, right).first_difference
    return DigestComparison(
        groups, None if where is None else _parting(first, second, where, group_of[where]),
        sum(trial not in right for trial in left), sum(trial not in left for trial in right),
        _self_agreement(left, cold_left), _self_agreement(right, cold_right),
        first.digests.settings_sha256 == second.digests.settings_sha256, others)


def _by_trial(side: Side, left_out: tuple[str, ...]) -> dict[TrialOf, str]:
    return {trial: text for trial, text in side.digests.by_trial().items() if trial.case not in left_out}


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


def _parting(first: Side, second: Side, trial: TrialOf, group: str) -> Parting:
    left, right = first.text(trial), second.text(trial)
    if left is None or right is None:
        return Parting(trial, group, None, None, None)
    at = parting_index(left, right) or 0
    return Parting(trial, group, at, left[at:at + AROUND], right[at:at + AROUND])


def _self_agreement(digests: Mapping[TrialOf, str], cold: Mapping[TrialOf, bool]) -> Fraction | None:
    by_case: dict[str, list[str]] = {}
    for trial, text in digests.items():
        if not cold.get(trial, False) and not text.startswith(ERROR):
            by_case.setdefault(trial.case, []).append(text)
    return self_agreement(by_case.values())
