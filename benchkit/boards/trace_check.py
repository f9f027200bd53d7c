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

from benchkit.basics.texts import are, count_of, shown_line
from benchkit.basics.values import Outcome
from benchkit.boards.expected_trials import ExpectedTrials, expected_in
from benchkit.boards.trace_events import SegmentKey, TraceEvent, outcomes_in
from benchkit.boards.trace_file import (
    MEND,
    MEND_DAMAGE,
    FoundDamage,
    Segment,
    TraceReader,
    trace_damage_named_by,
    trace_size,
    trial_keys,
)
from benchkit.boards.trace_invariants import (
    LINES,
    PLAYED,
    SEGMENTS,
    SEQ,
    SHOWN,
    TIMES,
    Asked,
    ExpectedTrial,
    gaps_in,
    outcome_in,
    played_otherwise,
    violations_of,
)
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
        told = []
        if self.abandoned:
            told.append(f"{count_of(self.abandoned, 'trial')} abandoned: begun and cut off before the answer was "
                        "recorded, counted for nothing")
        if self.lost:
            told.append(f"{count_of(self.lost, 'trial')} lost to damage that was accepted, counted for nothing")
        return "; ".join(told)

    @property
    def mend(self) -> str:
        """What can be done about what does not hold; nothing where all does."""
        return "" if self.is_consistent else MEND_DAMAGE if self.is_damaged else MEND


@dataclass(frozen=True, slots=True)
class CountedTrial:
    """An attempt that counts: what it ended in, as its trial line says, and its events; none where they are lost."""

    key: SegmentKey
    outcome: Outcome
    events: tuple[TraceEvent, ...]


TakeTrial = Callable[[CountedTrial], None]
"""What is given the trials that count, one after the other."""


@dataclass(slots=True)
class _Findings:
    expected: ExpectedTrials
    lines_lost: dict[str, int]
    is_named: bool
    seen: bytearray
    found: list[Violation] = field(default_factory=list)
    count: int = 0
    lost: int = 0
    matched: int = 0
    is_damaged: bool = False
    abandoned: dict[str, SegmentKey] = field(default_factory=dict)
    exposed: list[Violation] = field(default_factory=list)
    exposed_count: int = 0
    last_at: dict[str, str] = field(default_factory=dict)
    used: dict[str, TokenUse] = field(default_factory=dict)

    def is_superseded(self, number: int) -> bool:
        """Whether a line gave way to a later attempt, in a log that names damage of its trace."""
        return self.is_named and not self.expected.is_last(number)

    def add(self, invariant: str, place: str, what: str) -> None:
        self.count += 1
        if len(self.found) < MOST_NAMED:
            self.found.append(Violation(invariant, place, what))

    def is_exposed(self, place: str, what: str) -> None:
        self.exposed_count += 1
        if len(self.exposed) < MOST_NAMED:
            self.exposed.append(Violation(SHOWN, place, what))

    def uses(self, segment: Segment) -> None:
        name = segment.key.cell.system
        if not is_baseline(name):
            self.used[name] = self.used.get(name, NOTHING_USED) + tokens_of(outcomes_in(segment.events))

    def times_of(self, segment: Segment) -> None:
        """The events of a session stand in the order of time, over all its trials."""
        session, place = segment.key.session, place_of(segment.key)
        for event in segment.events:
            last = self.last_at.get(session, "")
            if event.at < last:
                self.add(TIMES, place, f"event {event.seq} is of {event.at}, and one before it of {last}")
            self.last_at[session] = event.at

    def goes_on(self, session: str) -> None:
        """A session has another segment: what seemed its end was not."""
        lost = self.abandoned.pop(session, None)
        if lost is not None and self.lines_lost.get(session):
            self.lines_lost[session] -= 1
            self.lost += 1
        elif lost is not None:
            self.add(SEGMENTS, place_of(lost), "its trial line is gone: its session went on behind it, and a kill "
                                               "leaves only the last trial of a session without one")

    def is_without_line(self, key: SegmentKey) -> None:
        """A segment has no trial line; that may be the end of its session."""
        if key.session in self.expected.lost_in:
            self.abandoned[key.session] = key
        elif self.lines_lost.get(""):
            self.lost += 1
        else:
            self.add(SEGMENTS, place_of(key), "its trial line is gone, and so is its session")

    def damaged(self, found: FoundDamage) -> None:
        length, self.is_damaged = found.damage.length, True
        self.add(LINES, found.where, f"{count_of(length, 'byte')} {are(length)} no whole line")


def verify(log: TrialLog, trace: Path, asked: Asked | None = None) -> Verification:
    """Hold a trace against its log, and against the questions that were asked where they are known.

    Raises Unusable for a trace that is not there, or holds what no event can be, and where the pack cannot say what
    must not be shown.
    """
    return look_through(log, expected_in(log), trace, asked)


def look_through(
    log: TrialLog, expected: ExpectedTrials, trace: Path, asked: Asked | None = None, take: TakeTrial | None = None,
) -> Verification:
    """The same where it is known what the log says; `take` is given every trial that counts."""
    named = trace_damage_named_by(log)
    # "" is for a session of which nothing is left
    findings = _Findings(expected, {**expected.lost_in, "": len(log.named)}, bool(named), bytearray(len(expected)))
    reader = TraceReader(trace, named)
    # in this order: what was in the trace by then has its line in the log by now, the trial under way apart
    end = trace_size(trace)
    since = _recorded_since(log, expected)
    try:
        for segment in reader.segments(findings.damaged, end=end):
            if segment.key not in since:
                _look_at(segment, log, asked, findings, take)
    finally:
        reader.close()
    for number in (number for number, is_seen in enumerate(findings.seen) if not is_seen):
        key = expected.key(number)
        if findings.is_superseded(number):
            findings.lost += 1
        else:
            findings.add(SEGMENTS, place_of(key), "its trial line has no segment")
        if take is not None and expected.counts(number):
            take(CountedTrial(key, log.trial(key.cell).outcome, ()))
    return Verification(findings.matched, len(findings.abandoned), findings.count, tuple(findings.found),
                        tuple(findings.exposed), findings.exposed_count, findings.lost, findings.is_damaged,
                        findings.used)


def _look_at(
    segment: Segment, log: TrialLog, asked: Asked | None, findings: _Findings, take: TakeTrial | None,
) -> None:
    expected, before = findings.expected, findings.count
    number = expected.number(segment.key)
    line = None if number is None else expected.expected(number)
    is_counted = number is not None and not findings.seen[number] and expected.counts(number)
    findings.times_of(segment)
    findings.uses(segment)
    _take(segment, number, line, findings)
    is_sound = findings.count == before and not segment.is_cut
    if asked is not None:
        _hold_against_question(segment, asked, line, findings, is_sound=is_sound)
    if take is not None and line is not None and is_counted:
        outcome = outcome_in(segment.events, line) if is_sound else None
        take(CountedTrial(segment.key, outcome or log.trial(segment.key.cell).outcome, segment.events))


def _recorded_since(log: TrialLog, expected: ExpectedTrials) -> frozenset[SegmentKey]:
    """The trials that came into a growing log after it was read."""
    return frozenset() if log.is_current else frozenset(
        key for key in trial_keys(read_log(log.path)) if expected.number(key) is None)


def place_of(key: SegmentKey) -> str:
    """A segment in words."""
    cell = key.cell
    return (f"trial {cell.trial} of case {shown_line(cell.case, 60)} by {shown_line(cell.system, 60)}, attempt "
            f"{key.attempt} in session {key.session}")


def _hold_against_question(
    segment: Segment, asked: Asked, line: ExpectedTrial | None, findings: _Findings, *, is_sound: bool,
) -> None:
    """Look at what a trial was shown, and play it again where all else of it holds: else that says nothing new."""
    game = asked.game_of(segment, line.request if line else None, line.settings if line else {})
    if game is None:
        return
    place = place_of(segment.key)
    for what in played_otherwise(segment, game) if is_sound else ():
        findings.add(PLAYED, place, what)
    for what in asked.exposed_in(segment, game):
        findings.is_exposed(place, what)


def _take(segment: Segment, number: int | None, line: ExpectedTrial | None, findings: _Findings) -> None:
    place = place_of(segment.key)
    findings.goes_on(segment.key.session)
    findings.is_damaged = findings.is_damaged or segment.is_cut
    if number is None or line is None:
        findings.is_without_line(segment.key)
        for what in gaps_in(segment.events) if not segment.is_cut else ():
            findings.add(SEQ, place, what)
    elif findings.seen[number]:
        findings.add(SEGMENTS, place, "its trial line has a second segment")
    else:
        findings.seen[number] = True
        findings.matched += 1
        if segment.is_cut and findings.is_superseded(number):
            findings.lost += 1
            return
        for invariant, what in violations_of(segment.events, line):
            findings.add(invariant, place, what)
