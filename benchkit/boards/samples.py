"""Sampled cases: what was seen in the order of time, what each system said, and exactly what it was shown.

All of it is taken from the trace, never made anew; what has a truth term is left out, and a warning says so.
"""
from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import are, count_of, shown_line
from benchkit.basics.values import JSON, Case, Cell, Outcome, Reply
from benchkit.boards.game import observations_in
from benchkit.boards.pack import Pack
from benchkit.boards.question_gates import leaked_terms, right_word
from benchkit.boards.scores import ScoreRow
from benchkit.boards.trace_check import CountedTrial
from benchkit.boards.trace_events import CALL, MESSAGE, RESULT, SYSTEM, USER, TraceEvent, opening_of

UNREADABLE = "unreadable"
"""What an answer or a question says in one word, where the pack cannot read it."""
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
class _Trial:
    """What one system was shown, bought and said; an observation with whether it was bought."""

    output: str | None
    now: str | None
    observations: tuple[tuple[bool, Mapping[str, JSON]], ...]
    purchases: tuple[Purchase, ...]
    shown: tuple[ShownMessage, ...]


@dataclass(frozen=True, slots=True)
class _Answered:
    """The row of one system at a sampled case, the number of its line, and its trial (None: there is none)."""

    row: ScoreRow
    line: int
    trial: _Trial | None

    @property
    def output(self) -> str | None:
        """Its answer; None where it has no verdict."""
        return self.trial.output if self.trial and self.row.error is None else None


class Sampling:
    """Keeps the first trial of every system at up to MOST_CASES cases, of all trials that it is given."""

    def __init__(self, pack: Pack, cases: Sequence[Case]) -> None:
        self._pack, self._chosen = pack, choose(cases, pack)
        self._wanted = {case.id for case in self._chosen}
        self._trials: dict[Cell, _Trial] = {}

    def take(self, trial: CountedTrial) -> None:
        """A trial that counts."""
        cell = trial.key.cell
        if trial.events and cell.trial == TRIAL and cell.case in self._wanted:
            self._trials[cell] = _trial_of(trial.outcome, trial.events)

    def cases(self, rows: Sequence[ScoreRow], systems: Sequence[str]) -> tuple[SampledCase, ...]:
        """The cases with the answers of these systems, in the order given."""
        found = {row.cell: _Answered(row, number, self._trials.get(row.cell)) for number, row in enumerate(rows, 1)
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


def _trial_of(outcome: Outcome, events: Sequence[TraceEvent]) -> _Trial:
    opening, said = opening_of(events), ""
    payload = opening.payload if opening else None
    observations = [(False, one) for one in observations_in(payload)] if opening else []
    purchases, shown = [], []
    for event in events:
        data = event.data
        if event.type == CALL:
            said = data["arguments"]
        elif event.type == RESULT:
            observations += [(True, one) for one in data["observation"] if opening]
            got = tuple(str(one.get("id", "")) for one in data["observation"])
            purchases.append(Purchase(said, data["cost"], got, data["error"]))
        # a message that no request brought is an example
        elif event.type in (SYSTEM, USER) or (event.type == MESSAGE and data["request"] is None):
            shown.append(ShownMessage(_ROLES[event.type], event.step, data["text"]))
    return _Trial(outcome.output if isinstance(outcome, Reply) else None,
                  str(payload["now"]) if isinstance(payload, Mapping) and "now" in payload else None,
                  tuple(observations), tuple(purchases), tuple(shown))


def _sampled(case: Case, pack: Pack, answered: Sequence[_Answered]) -> SampledCase:
    seen = tuple(_seen(answered))
    kept = tuple(one for one in seen if not leaked_terms(pack, case, f"{one.id}\n{one.service}\n{one.text}"))
    gone = len(seen) - len(kept)
    warnings = [f"{count_of(gone, 'observation')} {are(gone)} left out: {'it' if gone == 1 else 'each'} {LEAKS}"]
    return SampledCase(
        id=case.id, tags=case.tags,
        now=next((one.trial.now for one in answered if one.trial and one.trial.now is not None), ""),
        answer_key=readable_word(pack, case) or UNREADABLE,
        truth=json.dumps(case.expected, indent=1, ensure_ascii=False), observations=kept,
        answers=tuple(_answer(one, pack) for one in answered), payloads=tuple(_payloads(case, pack, answered)),
        warnings=tuple(warnings) if gone else ())


def _seen(answered: Sequence[_Answered]) -> Iterator[Seen]:
    """Every observation that any of them was shown, in the order of time."""
    found: dict[str, Seen] = {}
    buyers: dict[str, list[str]] = defaultdict(list)
    handed: set[str] = set()
    for one in answered:
        for is_bought, observation in one.trial.observations if one.trial else ():
            key, minute = canonical(observation), observation.get("minute")
            name, at, kind, service, text = (str(observation.get(field, ""))
                                             for field in ("id", "at", "kind", "service", "text"))
            is_timed = isinstance(minute, int | float) and not isinstance(minute, bool)
            found.setdefault(key, Seen(name, float(cast("float", minute)) if is_timed else None, at, kind, service,
                                       text))
            if is_bought:
                buyers[key].append(one.row.cell.system)
            else:
                handed.add(key)
    for key, seen in sorted(found.items(), key=lambda item: (item[1].minute is None, item[1].minute or 0.0)):
        cited = re.compile(rf"(?<![\w-]){re.escape(seen.id)}(?![\w-])")
        yield replace(seen, bought_by=() if key in handed else tuple(dict.fromkeys(buyers[key])),
                      cited_by=tuple(one.row.cell.system for one in answered
                                     if one.output and seen.id and cited.search(one.output)))


def _answer(one: _Answered, pack: Pack) -> SampledAnswer:
    row = one.row
    scores = (Score(track.name, track.kind, float(value)) for track in pack.tracks
              if (value := row.value(track.name)) is not None)
    error = None if row.error is None else f"{row.error.type}: {row.error.message}"
    return SampledAnswer(row.cell.system, row.cell.trial, row.attempt, one.output, error, tuple(scores),
                         one.trial.purchases if one.trial else (), one.line)


def _payloads(case: Case, pack: Pack, answered: Sequence[_Answered]) -> Iterator[Payload]:
    """Each different conversation as it was shown, with the systems that were shown it."""
    groups: dict[tuple[ShownMessage, ...], list[str]] = defaultdict(list)
    for one in answered:
        if one.trial is not None:
            groups[one.trial.shown].append(one.row.cell.system)
    for messages, systems in groups.items():
        if leaked_terms(pack, case, "\n".join(message.text for message in messages)):
            named = ", ".join(shown_line(name, 60) for name in systems)
            yield Payload(tuple(systems), (), f"what {named} was shown is left out: it {LEAKS}")
        else:
            yield Payload(tuple(systems), messages)
