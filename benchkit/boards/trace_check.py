"""Whether a trace agrees with itself, with the log beside it and with its questions: the model could see it if and only
if it was logged, and saw what it had to.

A segment without a trial line is abandoned (a kill or a signal came before the line) and counted, if it is the last of
its session: a session ends with it. Any other had a line once: its answer was taken out of the log, a violation.
A trial whose line comes into the log while this looks is neither: the next look finds it. A segment is lost if its
trial line fell to damage that the log names, or if it did so itself and its cell was asked again.

The trace is read once, one segment in memory at a time; who else draws on its trials is given each that counts.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import Outcome
from benchkit.boards import trace_file
from benchkit.boards import trace_invariants as invariants
from benchkit.boards.expected_trials import ExpectedTrials, expected_in
from benchkit.boards.trace_events import SegmentKey, TraceEvent, outcomes_in
from benchkit.boards.trace_file import FoundDamage, Segment
from benchkit.boards.trace_invariants import Asked, ExpectedTrial
from benchkit.boards.usage import NOTHING_USED, TokenUse, tokens_of
from benchkit.systems.loading import is_baseline
from benchkit.trial_log.reader import TrialLog, read_log

MOST_NAMED = 200
"""Violations that are named; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What must hold and does not (of trace_invariants.INVARIANTS, or SHOWN), where, and what was found."""

    invariant: str
    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what} ({self.invariant})"


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of looking: segments that belong to a trial line, those abandoned or lost, and what does not hold.

    `count` is of all violations; `violations` are the first MOST_NAMED of them. `exposed` are the first MOST_NAMED
    findings of what must not be shown, `exposed_count` is of all: the trace may be true, and the questions are bad.
    `used` is what all requests of each system took, whether their trials count or not; baselines send none.
    """

    segments: int
    abandoned: int
    count: int
    violations: tuple[Violation, ...]
    exposed: tuple[Violation, ...] = ()
    exposed_count: int = 0
    lost: int = 0
    is_damaged: bool = False
    used: Mapping[str, TokenUse] = field(default_factory=dict)

    @property
    def is_consistent(self) -> bool:
        """Whether every invariant holds."""
        return self.count == 0

    @property
    def headline(self) -> str:
        """The one line that says how it stands."""
        return "trace self-consistent" if self.is_consistent else f"trace invariant violations: {self.count}"

    @property
    def exposed_line(self) -> str:
        """That something was shown that must not be, in words; nothing where nothing was."""
        return "" if not self.exposed_count else (
            f"solvers were shown what tells the truth or is later than now, {count_of(self.exposed_count, 'time')}")

    @property
    def abandoned_line(self) -> str:
        """What is abandoned or lost, in words; nothing where nothing is."""
        told = ((self.abandoned, "abandoned: begun and cut off before the answer was recorded"),
                (self.lost, "lost to damage that was accepted"))
        return "; ".join(f"{count_of(count, 'trial')} {how}, counted for nothing" for count, how in told if count)

    @property
    def mend(self) -> str:
        """What can be done about what does not hold; nothing where all does."""
        return "" if self.is_consistent else trace_file.MEND_DAMAGE if self.is_damaged else trace_file.MEND


@dataclass(frozen=True, slots=True)
class CountedTrial:
    """An attempt that counts: what it ended in, as its trial line says, and its events; none where they are lost."""

    key: SegmentKey
    outcome: Outcome
    events: tuple[TraceEvent, ...]


TakeTrial = Callable[[CountedTrial], None]
"""What is given the trials that count, one after the other."""


def verify(
    log: TrialLog, trace: Path, asked: Asked | None = None, expected: ExpectedTrials | None = None,
    take: TakeTrial | None = None,
) -> Verification:
    """Hold a trace against its log, and against the questions that were asked where they are known.

    `expected` is what the log says, where that is known; `take` is given every trial that counts. Raises Unusable for a
    trace that is not there, or holds what no event can be, and where the pack cannot say what must not be shown.
    """
    expected = expected_in(log) if expected is None else expected
    check = _Check(log, expected, asked, take)
    # in this order: what was in the trace by then has its line in the log by now, the trial under way apart
    end = trace_file.trace_size(trace)
    since = frozenset[SegmentKey]() if log.is_current else frozenset(
        key for key in trace_file.trial_keys(read_log(log.path)) if expected.number(key) is None)
    for segment in trace_file.segments_in(trace, check.named, check.note_damage, end):
        if segment.key not in since:
            check.look_at(segment)
    return check.end()


class _Check:
    """A log, and what was found so far in the trace beside it."""

    def __init__(self, log: TrialLog, expected: ExpectedTrials, asked: Asked | None, take: TakeTrial | None) -> None:
        self._log, self._expected, self._asked, self._take = log, expected, asked, take
        self.named = trace_file.trace_damage_named_by(log)
        # "" is for a session of which nothing is left
        self._lines_lost = {**expected.lost_in, "": len(log.named)}
        self._seen = bytearray(len(expected))
        self._found, self._exposed = list[Violation](), list[Violation]()
        self._count = self._exposed_count = self._lost = self._matched = 0
        self._is_damaged = False
        self._abandoned: dict[str, SegmentKey] = {}
        self._last_at: dict[str, str] = {}
        self._used: dict[str, TokenUse] = {}

    def look_at(self, segment: Segment) -> None:
        """The next segment."""
        key, expected, before, place = segment.key, self._expected, self._count, segment_in_words(segment.key)
        number = expected.number(key)
        line = None if number is None else expected.expected(number)
        is_counted = number is not None and not self._seen[number] and expected.counts(number)
        # the events of a session stand in the order of time, over all its trials
        for event in segment.events:
            last = self._last_at.get(key.session, "")
            if event.at < last:
                self._add(invariants.TIMES, place, f"event {event.seq} is of {event.at}, and one before it of {last}")
            self._last_at[key.session] = event.at
        if not is_baseline(key.cell.system):
            used = self._used.get(key.cell.system, NOTHING_USED)
            self._used[key.cell.system] = used + tokens_of(outcomes_in(segment.events))
        self._go_on(key.session)
        self._is_damaged = self._is_damaged or segment.is_cut
        if number is None or line is None:
            self._without_line(segment, place)
        else:
            self._with_line(segment, place, number, line)
        is_sound = self._count == before and not segment.is_cut
        self._hold_against_question(segment, place, line, is_sound)
        if self._take is not None and line is not None and is_counted:
            outcome = invariants.outcome_in(segment.events, line) if is_sound else None
            self._take(CountedTrial(key, outcome or self._log.trial(key.cell).outcome, segment.events))

    def end(self) -> Verification:
        """Behind the last segment: what has none, and what came of all."""
        for number in (number for number, is_seen in enumerate(self._seen) if not is_seen):
            key = self._expected.key(number)
            if self._is_superseded(number):
                self._lost += 1
            else:
                self._add(invariants.SEGMENTS, segment_in_words(key), "its trial line has no segment")
            if self._take is not None and self._expected.counts(number):
                self._take(CountedTrial(key, self._log.trial(key.cell).outcome, ()))
        return Verification(self._matched, len(self._abandoned), self._count, tuple(self._found), tuple(self._exposed),
                            self._exposed_count, self._lost, self._is_damaged, self._used)

    def note_damage(self, found: FoundDamage) -> None:
        """Damage that no session names."""
        self._is_damaged = True
        self._add(invariants.LINES, found.where, str(found))

    def _add(self, invariant: str, place: str, what: str) -> None:
        self._count += 1
        if len(self._found) < MOST_NAMED:
            self._found.append(Violation(invariant, place, what))

    def _is_superseded(self, number: int) -> bool:
        """Whether a line gave way to a later attempt, in a log that names damage of its trace."""
        return bool(self.named) and not self._expected.is_last(number)

    def _go_on(self, session: str) -> None:
        """A session has another segment: what seemed its end was not."""
        lost = self._abandoned.pop(session, None)
        if lost is not None and self._lines_lost.get(session):
            self._lines_lost[session] -= 1
            self._lost += 1
        elif lost is not None:
            self._add(invariants.SEGMENTS, segment_in_words(lost), "its trial line is gone: its session went on behind "
                      "it, and a kill leaves only the last trial of a session without one")

    def _without_line(self, segment: Segment, place: str) -> None:
        """A segment has no trial line; that may be the end of its session."""
        if segment.key.session in self._expected.lost_in:
            self._abandoned[segment.key.session] = segment.key
        elif self._lines_lost.get(""):
            self._lost += 1
        else:
            self._add(invariants.SEGMENTS, place, "its trial line is gone, and so is its session")
        for what in invariants.gaps_in(segment.events) if not segment.is_cut else ():
            self._add(invariants.SEQ, place, what)

    def _with_line(self, segment: Segment, place: str, number: int, line: ExpectedTrial) -> None:
        if self._seen[number]:
            self._add(invariants.SEGMENTS, place, "its trial line has a second segment")
            return
        self._seen[number] = True
        self._matched += 1
        if segment.is_cut and self._is_superseded(number):
            self._lost += 1
            return
        for invariant, what in invariants.violations_of(segment.events, line):
            self._add(invariant, place, what)

    def _hold_against_question(self, segment: Segment, place: str, line: ExpectedTrial | None, is_sound: bool) -> None:
        """Look at what a trial was shown, and play it again where all else of it holds: else that says nothing new."""
        game = self._asked.game_of(segment, line) if self._asked is not None else None
        if self._asked is None or game is None:
            return
        for what in invariants.played_otherwise(segment, game) if is_sound else ():
            self._add(invariants.PLAYED, place, what)
        for what in self._asked.exposed_in(segment, game):
            self._exposed_count += 1
            if len(self._exposed) < MOST_NAMED:
                self._exposed.append(Violation(invariants.SHOWN, place, what))


def segment_in_words(key: SegmentKey) -> str:
    """A segment in words."""
    cell = key.cell
    return (f"trial {cell.trial} of case {shown_line(cell.case, 60)} by {shown_line(cell.system, 60)}, attempt "
            f"{key.attempt} in session {key.session}")
