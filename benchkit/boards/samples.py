"""Sampled cases: what was seen in the order of time, what each system said, and exactly what it was shown.

All of it is taken from the trace, never made anew, and looked through for truth terms: what has one is left out, and
a warning says so.
"""
from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import are, count_of, shown_line
from benchkit.basics.values import JSON, Case, Cell, Reply
from benchkit.boards.exposure import leaked_terms
from benchkit.boards.game import observations_in
from benchkit.boards.pack import Pack
from benchkit.boards.question_gates import right_word
from benchkit.boards.scores import ScoreRow
from benchkit.boards.solver_facts import UNREADABLE
from benchkit.boards.trace_check import CountedTrial
from benchkit.boards.trace_events import CALL, MESSAGE, RESULT, SYSTEM, USER, TraceEvent, opening_of

MOST_CASES = 6
TRIAL = 1
LEAKS = "holds a text that gives the truth away"
_ROLES = {SYSTEM: "system", USER: "user", MESSAGE: "assistant"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation of a sampled case. `minute` is from now (0 or less), None where it has none.

    `bought_by` are the systems that bought it; empty: all were handed it. `cited_by` are those whose answer has its id.
    """

    id: str
    minute: float | None
    at: str
    kind: str
    service: str
    text: str
    bought_by: tuple[str, ...] = ()
    cited_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """One answer under one track: from 0 to 1; of a gate 1.0 (it held) or 0.0."""

    track: str
    kind: Literal["capability", "gate"]
    value: float


@dataclass(frozen=True, slots=True)
class Purchase:
    """A message before the answer: as it was written, and what came of it (`got` are ids of observations)."""

    said: str
    cost: float
    got: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class SampledAnswer:
    """What one system said to a sampled case in one trial.

    `output` is None where the cell is incomplete: then `error` is `Timeout: no whole reply within 120 s`, and there
    are no scores. `eval_line` is the number of its line in eval.jsonl, from 1.
    """

    system: str
    trial: int
    attempt: int
    output: str | None
    error: str | None
    scores: tuple[Score, ...]
    purchases: tuple[Purchase, ...]
    eval_line: int


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message that a solver was shown, before its message number `step`, word for word."""

    role: str
    step: int
    text: str


@dataclass(frozen=True, slots=True)
class Payload:
    """Exactly what `systems` were shown, from the trace. With a `warning` it is left out, and this stands there."""

    systems: tuple[str, ...]
    messages: tuple[ShownMessage, ...]
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class SampledCase:
    """One question along its time: observations in order, then every system's answer.

    `now` is the moment T; `answer_key` the right answer in one word; `truth` the whole of it as indented JSON.
    `observations` is empty for a task, whose payload has none. `warnings` say what was left out.
    """

    id: str
    tags: tuple[str, ...]
    now: str
    answer_key: str
    truth: str
    observations: tuple[Seen, ...]
    answers: tuple[SampledAnswer, ...]
    payloads: tuple[Payload, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Told:
    """One system at a sampled case: its answer, and what it was shown and bought."""

    output: str | None
    now: str | None
    observations: tuple[tuple[bool, Mapping[str, JSON]], ...]
    purchases: tuple[Purchase, ...]
    shown: tuple[ShownMessage, ...]


@dataclass(frozen=True, slots=True)
class _Answered:
    """One system at a sampled case: its row with the number of its line, and its trial (None: there is none)."""

    row: ScoreRow
    line: int
    told: _Told | None

    @property
    def output(self) -> str | None:
        """Its answer; None where it has no verdict."""
        return self.told.output if self.told and self.row.error is None else None


class Sampling:
    """Keeps the first trial of every system at up to MOST_CASES cases, of all trials that it is given."""

    def __init__(self, pack: Pack, cases: Sequence[Case]) -> None:
        self._pack, self._chosen = pack, choose(cases, pack)
        self._wanted = {case.id for case in self._chosen}
        self._told: dict[Cell, _Told] = {}

    def take(self, trial: CountedTrial) -> None:
        """A trial that counts."""
        cell, outcome, events = trial.key.cell, trial.outcome, trial.events
        if events and cell.trial == TRIAL and cell.case in self._wanted:
            self._told[cell] = _Told(outcome.output if isinstance(outcome, Reply) else None, _now(events),
                                     tuple(_observations(events)), tuple(_purchases(events)), tuple(_shown(events)))

    def cases(self, rows: Sequence[ScoreRow], systems: Sequence[str]) -> tuple[SampledCase, ...]:
        """The cases with the answers of these systems, in the order given."""
        found = {row.cell: _Answered(row, number, self._told.get(row.cell)) for number, row in enumerate(rows, 1)
                 if row.cell.trial == TRIAL and row.cell.case in self._wanted}
        return tuple(_sampled(case, self._pack, [found[cell] for cell in
                                                 (Cell(system, case.id, TRIAL) for system in systems) if cell in found])
                     for case in self._chosen)


def choose(cases: Sequence[Case], pack: Pack) -> tuple[Case, ...]:
    """Up to MOST_CASES cases in their order: the first of each right answer, then the second of each, and so on."""
    by_answer: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_answer[readable_word(pack, case) or UNREADABLE].append(case)
    rounds = [(number, case.id) for same in by_answer.values() for number, case in enumerate(same)]
    chosen = {name for _, name in sorted(rounds, key=lambda one: one[0])[:MOST_CASES]}
    return tuple(case for case in cases if case.id in chosen)


def readable_word(pack: Pack, case: Case) -> str | None:
    """The right answer of a case in one word; None where the pack cannot say it (any more)."""
    try:
        return right_word(pack, case)
    except Unusable:
        return None


def _sampled(case: Case, pack: Pack, told: Sequence[_Answered]) -> SampledCase:
    seen = tuple(_seen(told))
    kept = tuple(one for one in seen if not leaked_terms(pack, case, f"{one.id}\n{one.service}\n{one.text}"))
    gone = len(seen) - len(kept)
    now = next((one.told.now for one in told if one.told and one.told.now is not None), "")
    return SampledCase(
        id=case.id, tags=case.tags, now=now,
        answer_key=readable_word(pack, case) or UNREADABLE,
        truth=json.dumps(case.expected, indent=1, ensure_ascii=False), observations=kept,
        answers=tuple(_answer(one, pack) for one in told), payloads=tuple(_payloads(case, pack, told)),
        warnings=(f"{count_of(gone, 'observation')} {are(gone)} left out: {'it' if gone == 1 else 'each'} {LEAKS}",)
        if gone else ())


def _now(events: Sequence[TraceEvent]) -> str | None:
    opening = opening_of(events)
    payload = opening.payload if opening else None
    return str(payload["now"]) if isinstance(payload, Mapping) and "now" in payload else None


# ------------------------------------------------------------------------------------------- what was seen

def _seen(told: Sequence[_Answered]) -> Iterator[Seen]:
    """Every observation that any of them was shown, in the order of time."""
    found: dict[str, Seen] = {}
    buyers: dict[str, list[str]] = defaultdict(list)
    handed: set[str] = set()
    for one in told:
        for is_bought, observation in one.told.observations if one.told else ():
            text = canonical(observation)
            found.setdefault(text, _seen_of(observation))
            if is_bought:
                buyers[text].append(one.row.cell.system)
            else:
                handed.add(text)
    for text, seen in sorted(found.items(), key=lambda item: (item[1].minute is None, item[1].minute or 0.0)):
        yield replace(seen, bought_by=() if text in handed else tuple(dict.fromkeys(buyers[text])),
                      cited_by=tuple(one.row.cell.system for one in told if _cites(one.output, seen.id)))


def _observations(events: Sequence[TraceEvent]) -> Iterator[tuple[bool, Mapping[str, JSON]]]:
    """(whether it was bought, the observation) of all that a trial was shown."""
    opening = opening_of(events)
    if opening is None:
        return
    yield from ((False, one) for one in observations_in(opening.payload))
    for event in events:
        if event.type == RESULT:
            yield from ((True, one) for one in event.data["observation"])


def _seen_of(observation: Mapping[str, JSON]) -> Seen:
    minute = observation.get("minute")
    at, kind, service, text = (str(observation.get(name, "")) for name in ("at", "kind", "service", "text"))
    return Seen(str(observation.get("id", "")),
                float(minute) if isinstance(minute, int | float) and not isinstance(minute, bool) else None,
                at, kind, service, text)


def _cites(output: str | None, name: str) -> bool:
    return bool(output and name and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", output))


# ------------------------------------------------------------------------------------------- what was said

def _answer(told: _Answered, pack: Pack) -> SampledAnswer:
    row = told.row
    scores = (Score(track.name, track.kind, float(value)) for track in pack.tracks
              if (value := row.value(track.name)) is not None)
    error = None if row.error is None else f"{row.error.type}: {row.error.message}"
    return SampledAnswer(
        row.cell.system, row.cell.trial, row.attempt, told.output, error, tuple(scores),
        told.told.purchases if told.told else (), told.line)


def _purchases(events: Sequence[TraceEvent]) -> Iterator[Purchase]:
    said = ""
    for event in events:
        if event.type == CALL:
            said = event.data["arguments"]
        elif event.type == RESULT:
            data = event.data
            yield Purchase(said, data["cost"], tuple(str(one.get("id", "")) for one in data["observation"]),
                           data["error"])


# ------------------------------------------------------------------------------------------- what was shown

def _payloads(case: Case, pack: Pack, told: Sequence[_Answered]) -> Iterator[Payload]:
    """Each different conversation as it was shown, with the systems that were shown it."""
    groups: dict[tuple[ShownMessage, ...], list[str]] = defaultdict(list)
    for one in told:
        if one.told is not None:
            groups[one.told.shown].append(one.row.cell.system)
    for messages, systems in groups.items():
        if leaked_terms(pack, case, "\n".join(message.text for message in messages)):
            named = ", ".join(shown_line(name, 60) for name in systems)
            yield Payload(tuple(systems), (), f"what {named} was shown is left out: it {LEAKS}")
        else:
            yield Payload(tuple(systems), messages)


def _shown(events: Sequence[TraceEvent]) -> Iterator[ShownMessage]:
    for event in events:
        is_example = event.type == MESSAGE and event.data["request"] is None
        if event.type in (SYSTEM, USER) or is_example:
            yield ShownMessage(_ROLES[event.type], event.step, event.data["text"])
