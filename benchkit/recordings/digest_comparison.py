"""Two recordings of the same cells, output by output: how many are equal, where they first part, and that in words.

Cold and warm trials are kept apart, since real servers answer a prompt that is not in their cache otherwise. An
entry of recordings.json does not say which trials were cold; then the other side's word is taken. Trials are taken
from both sides in step, and of those taken no more is kept than the digests of one case, counted.
Errors are no outputs: trials that ended in one are counted apart.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import LeafDifference, differences
from benchkit.basics.texts import count_of, percent, shown_line
from benchkit.basics.values import JSON, Reply
from benchkit.recordings.digest_book import entry_named, is_book, read_book
from benchkit.recordings.digests import ERROR, ErrorPairs, LogDigests, TrialOf, digests_of, error_pairs, trial_digest
from benchkit.recordings.recording import RecordedTrial, Recording
from benchkit.recordings.replay import Reference, recording_from, reference_of
from benchkit.statistics.estimators import Agreement, equal_pairs_share, mean_share, parting_index

GROUPS = ("warm", "cold", "cold on one side only", "cold or warm is not known")
AROUND = 20
"""Letters shown of each text from where they part."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The digest of one trial, whether it was cold, and its output; None where that is not known.

    `error` is the digest if it is that of an error, which names its type.
    """

    digest: str
    is_cold: bool | None
    output: str | None

    @property
    def error(self) -> str | None:
        return self.digest if self.digest.startswith(ERROR) else None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison. `recording` is None where only digests are kept."""

    name: str
    digests: LogDigests
    recording: Recording | None

    def answers(self) -> Mapping[str, Iterable[_Answer | None]]:
        """What came of each trial, by case, to be taken once; None where a trial did not run."""
        def answer_of(trial: RecordedTrial) -> _Answer | None:
            text = trial_digest(trial)
            return None if text is None else _Answer(text, trial.cold, _output(trial))

        if self.recording is None:
            return {case: (None if text is None else _Answer(text, None, None) for text in texts)
                    for case, texts in self.digests.trials.items()}
        return {case.id: map(answer_of, case.trials) for case in self.recording.cases}

    def text(self, trial: TrialOf) -> str | None:
        """The output of a trial, if it is at hand."""
        if self.recording is None:
            return None
        return _output(next(case for case in self.recording.cases if case.id == trial.case).trials[trial.trial - 1])


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
    one, other = first.recording, second.recording
    asks = {} if one is None or other is None else {case.id: case.ask for case in other.cases}
    others = () if one is None else tuple(case.id for case in one.cases if asks.get(case.id, case.ask) != case.ask)
    sides, left_out = (first.answers(), second.answers()), frozenset(others)
    alone, found = [0, 0], _Found()
    shares: tuple[list[Fraction | None], list[Fraction | None]] = ([], [])
    for case in dict.fromkeys([*sides[0], *sides[1]]):
        if case in left_out:
            continue
        outputs = Counter[bytes](), Counter[bytes]()
        for number, pair in enumerate(zip_longest(*(side.get(case, ()) for side in sides)), 1):
            for at, answer in enumerate(pair):
                if answer is not None:
                    alone[at] += pair[1 - at] is None
                    if not answer.is_cold and answer.error is None:
                        outputs[at][bytes.fromhex(answer.digest)] += 1
            left, right = pair
            if left is not None and right is not None:
                found.take(TrialOf(number, case), left, right)
        for at, counted in enumerate(outputs):
            shares[at].append(equal_pairs_share(counted))
    return DigestComparison(
        {name: Agreement(found.compared[name], found.equal[name], found.firsts.get(name))
         for name in GROUPS if found.compared[name]},
        error_pairs(found.errors), found.first_difference(first, second), found.parted_at, alone[0], alone[1],
        mean_share(shares[0]), mean_share(shares[1]),
        first.digests.settings_sha256 == second.digests.settings_sha256,
        () if one is None or other is None else tuple(differences(one.settings, other.settings)),
        () if one is None or other is None else tuple(differences(_circumstances(one), _circumstances(other))), others)


class _Found:
    """What is found of trials that both sides have, as they are taken, in the order of the first side; by group."""

    def __init__(self) -> None:
        self.compared, self.equal = Counter[str](), Counter[str]()
        self.firsts: dict[str, TrialOf] = {}
        self.errors = Counter[tuple[str | None, str | None]]()
        self.parted_at = Counter[int]()
        self._first: tuple[TrialOf, str] | None = None

    def take(self, trial: TrialOf, one: _Answer, other: _Answer) -> None:
        known = {cold for cold in (one.is_cold, other.is_cold) if cold is not None}
        name = GROUPS[2 if len(known) == 2 else 3 if not known else 1 if True in known else 0]
        is_equal = one.digest == other.digest
        # cases come in the order of running, so of two trials of one number the one that came first stands first
        if one.error is None and other.error is None:
            self.compared[name] += 1
            self.equal[name] += is_equal
            if not is_equal and (name not in self.firsts or trial.trial < self.firsts[name].trial):
                self.firsts[name] = trial
        else:
            self.errors[one.error, other.error] += 1
        if is_equal:
            return
        if one.output is not None and other.output is not None:
            self.parted_at[parting_index(one.output, other.output) or 0] += 1
        if self._first is None or trial.trial < self._first[0].trial:
            self._first = trial, name

    def first_difference(self, first: Side, second: Side) -> FirstDifference | None:
        if self._first is None:
            return None
        left, right = first.text(self._first[0]), second.text(self._first[0])
        if left is None or right is None:
            return FirstDifference(*self._first, None, None, None)
        at = parting_index(left, right) or 0
        return FirstDifference(*self._first, at, left[at:at + AROUND], right[at:at + AROUND])


def _output(trial: RecordedTrial) -> str | None:
    return trial.outcome.output if isinstance(trial.outcome, Reply) else None


def _circumstances(recording: Recording) -> dict[str, JSON]:
    last = recording.sessions[-1]
    return {"hardware": last.hardware, **last.environment}


def comparison_text(found: DigestComparison, first: str, second: str) -> Iterator[str]:
    """What was found, a line each."""
    a, b = shown_line(first), shown_line(second)
    equal = count_of(found.compared, "output that both have is equal", "outputs that both have are equal")
    yield f"{a} and {b}: {sum(group.equal for group in found.groups.values()):,} of {equal}"
    for name, group in found.groups.items():
        yield f"  {name}: {group.equal} of {group.compared} equal{in_brackets(group.share)}"
    yield from (f"  {text}" for text in found.errors.texts(a, b))
    if found.only_first or found.only_second:
        yield f"  on one side only: {count_of(found.only_first, 'trial')} of {a}, {found.only_second:,} of {b}"
    if found.other_asks:
        yield f"  left out, as they were asked something else: {', '.join(map(shown_line, found.other_asks))}"
    if not found.same_settings and not found.settings:
        yield "  the settings of the two differ; which do is not known"
    for what, leaves in (("settings", found.settings), ("circumstances", found.circumstances)):
        if leaves:
            yield f"  {what} that differ:"
            yield from (f"    {leaf.place}: {leaf.one} and {leaf.other}" for leaf in leaves)
    parted = found.first_difference
    if parted is not None:
        where = f"  the first that differs: {parted.trial} ({parted.group})"
        yield where if parted.character is None else (
            f"{where}, from character {parted.character + 1} on: \"{shown_line(parted.first_text or '')}\" and "
            f"\"{shown_line(parted.second_text or '')}\"")
        if found.parted_at.total() > 1:
            places = sorted(found.parted_at.elements())
            more = "" if places[0] == places[-1] else (
                f" to {places[-1] + 1}, half of them by character {places[(len(places) - 1) // 2] + 1}")
            yield f"  outputs that differ do so first at character {places[0] + 1}{more}"
    yield (f"  equal pairs of outputs inside a case, without cold trials: {a}{in_brackets(found.self_first)}, "
           f"{b}{in_brackets(found.self_second)}")


def in_brackets(share: Fraction | None) -> str:
    """` (98.3 %)`; ` n/a` where nothing could be compared."""
    return " n/a" if share is None else f" ({percent(share)} %)"


def sides_of(texts: Sequence[str], system: str | None, accept_damage: bool) -> list[Side]:
    """Both sides, each a log, `LOG#SYSTEM`, a recording, or `FILE#LABEL`: an entry of a file of digests.

    Where an entry holds several logs, the one is meant that the other side is named after.
    """
    stems = [Path(text.rpartition("#")[0] or text).stem for text in texts]
    sides = []
    for text, other in zip(texts, reversed(stems), strict=True):
        reference = reference_of(text)
        if reference.system is not None and is_book(reference.path):
            logs = entry_named(reference.path, read_book(reference.path), reference.system).logs
            if len(logs) > 1 and other not in logs:
                raise Unusable(f"{text}: the entry holds {', '.join(logs)}, and the other side is called {other}; "
                               "compare it with a log of one of these names")
            sides.append(Side(text, logs[other] if len(logs) > 1 else next(iter(logs.values())), None))
        else:
            recording = recording_from(Reference(reference.path, reference.system or system), accept_damage)
            sides.append(Side(text, digests_of(recording), recording))
    return sides
