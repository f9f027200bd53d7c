"""A game small enough to follow by hand, a system that says what a script has for it, and sessions that record both.

The toy pack hides a colour; what may be bought is a look (1 coin) and a long look (3 coins). An answer is any text
that begins with "it is".
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from benchkit.basics.clock import Budget, Clock, StopRequest
from benchkit.basics.command import Command
from benchkit.basics.errors import TrialError
from benchkit.basics.values import JSON, Case, Message, Reply, Request, TaskName, Timings, Usage
from benchkit.boards.evaluation import NOTHING_BEFORE, Before
from benchkit.boards.findings import Examined, examine_trials
from benchkit.boards.game import GameRules, games_of
from benchkit.boards.pack import Handed, Pack, PackBaseline, PackMarket, PriceList, Step, Track
from benchkit.boards.playing import TracedSystem
from benchkit.boards.solvers import baseline_solver
from benchkit.boards.trace_check import Verification, verify
from benchkit.boards.trace_file import Segment, TraceWriter, segments_in, trace_damage_named_by
from benchkit.boards.trace_invariants import Asked
from benchkit.running.engine import Observer
from benchkit.running.plan import ALL, RemainingWork, Selection
from benchkit.running.session import record
from benchkit.running.workload import Ended, RunContext, Workload
from benchkit.systems.system import Loaded, System
from benchkit.trial_log.lines import TrialLine
from benchkit.trial_log.reader import TrialLog, read_log
from tests.trial_logs import NO_SYNC

STAMP = "2026-11-30T12:00:00.000Z"
CASES = tuple(Case(f"toy-{number}", "toys", {"colour": "red"}, "red", ()) for number in (1, 2))
LOOK, LONG_LOOK, ANSWER = '{"buy":"look"}', '{"buy":"long look"}', "it is red"
ROBOT = "toys:robot"


@dataclass(slots=True)
class ToyTool:
    name: str
    says: str
    price: float
    kinds: Sequence[str] = ()
    services: Sequence[str] = ()


@dataclass(slots=True)
class ToyTurn:
    kind: str
    tool: str | None = None
    observations: Sequence[Mapping[str, JSON]] = ()
    cost: float = 0.0
    grounded: bool = False
    error: str | None = None


TOOLS = (ToyTool("look", "a look", 1.0), ToyTool("long look", "a long look", 3.0))


def turn(case: Case, said: str, steps: Sequence[Step], left: float) -> ToyTurn:
    if said.startswith("it is"):
        return ToyTurn("answer")
    tool = next((tool for tool in TOOLS if said == '{"buy":"' + tool.name + '"}'), None)
    if tool is None:
        return ToyTurn("unreadable", error="that is neither")
    if tool.price > left:
        return ToyTurn("refused", tool.name, grounded=True, error="that costs more than is left")
    seen: dict[str, JSON] = {"id": f"o{len(steps)}", "minute": 0, "text": "red, I think"}
    return ToyTurn("bought", tool.name, (seen,), tool.price, True)


def reply(done: object, left: float, steps_left: int) -> str:
    return f"{left:g} coins and {steps_left} messages left"


def first_messages(view: JSON, budget: float | None, steps: int | None) -> list[dict[str, str]]:
    limits = "" if budget is None else f" {budget:g} coins, {steps} messages."
    return [{"role": "system", "content": "Name the colour." + limits}, {"role": "user", "content": "Which is it?"}]


def payload(case: Case, geometry: str) -> JSON:
    return {"now": "12:00", "geometry": geometry, "observations": [{"id": "o0", "minute": 0, "text": "a thing"}]}


def looks_twice(view: Handed, seed: int, messages: Sequence[Message]) -> str:
    return LOOK if len(messages) < 6 else ANSWER


def toy_pack(
    turn: Callable[[Case, str, Sequence[Step], float], ToyTurn] = turn,
    messages: Callable[[JSON, float | None, int | None], Sequence[Message]] = first_messages,
    answer: Callable[[Handed, int, Sequence[Message]], str] = looks_twice,
    payload: Callable[[Case, str], JSON] = payload,
) -> Pack:
    """The pack, with a function or two of another's choice."""
    prices = PriceList("coins", 4.0, 4, {tool.name: tool.price for tool in TOOLS})
    return Pack(
        module="toys", name="toys", version="1", judge_version="1", synthetic=None,
        pack_sha256="0" * 64, judge_sha256="0" * 64, build=lambda seed, count, llm: CASES[:count],
        truth_terms=lambda case: (), problems=lambda case: (), answer_key=lambda case: "red",
        said_key=lambda said: said,
        payload=payload, messages=messages, schema=lambda view: {"type": "string"},
        market=PackMarket(prices, lambda case: TOOLS, turn, reply),
        tracks=(Track("right", "capability", "a", "b", lambda case, said, steps: 1.0, "0" * 64),),
        baselines={"looker": PackBaseline("looker", answer, False, "1" * 64, payload)})


@dataclass
class Robot:
    """A system that says what its script has next; an error in the script is raised. `asked` keeps all requests."""

    script: list[str | Reply | Exception] = field(default_factory=lambda: [LOOK, ANSWER] * 8)
    asked: list[Request] = field(default_factory=list)
    is_closed: bool = False
    temperature: float = 1.0

    def open(self) -> Mapping[str, JSON]:
        return {"server": "robots", "server_version": "1"}

    def settings(self) -> Mapping[str, JSON]:
        return {"temperature": self.temperature}

    def warm(self) -> Loaded:
        return Loaded(0.5)

    def answer(self, request: Request) -> Reply:
        self.asked.append(request)
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        return Reply(said, usage=Usage(10, 3), timings=Timings(output_s=0.25), latency_s=0.1000004, retries=1,
                     waited_s=0.5)

    def close(self) -> None:
        self.is_closed = True


def timed_out(partial: str | None = "it i") -> TrialError:
    return TrialError("Timeout", "no whole reply within 1 s", partial, latency_s=1.0, retries=2, waited_s=0.25)


class Nobody:
    """A witness of nothing."""

    def starts(self, assignment: object) -> None: ...
    def recorded(self, line: TrialLine) -> None: ...


@contextmanager
def unwatched(ahead: RemainingWork) -> Iterator[Observer]:
    yield Nobody()


class Batch:
    """A folder with a log and a trace of the toy pack, recorded session by session."""

    def __init__(
        self, folder: Path, rules: GameRules | None = None, pack: Pack | None = None, cases: tuple[Case, ...] = CASES,
    ) -> None:
        self.log_path, self.trace_path = folder / "responses.jsonl", folder / "trace.jsonl"
        self.pack, self.cases = pack or toy_pack(), cases
        self.rules = rules or GameRules("gated")
        self.now = 0.0
        self.clock = Clock(monotonic=self._tick, wall=lambda: 1.8e9)
        self.stop = StopRequest()

    def _tick(self) -> float:
        self.now += 0.125
        return self.now

    def run(
        self, systems: Mapping[str, System] | None = None, *, trials: int = 1, selection: Selection = ALL,
        writer: TraceWriter | None = None,
    ) -> Ended:
        """A session of these systems (None: the baseline of the pack)."""
        games = games_of(self.pack, self.cases, self.rules)
        trace = writer or self.writer()
        playing = systems or {
            "baselines:looker": baseline_solver(self.pack, "looker", self.cases, self.rules.geometry)}
        players = {name: TracedSystem(one, name, games, trace, self.clock, 60.0) for name, one in playing.items()}
        order = Workload(
            log=self.log_path, systems=players, title=TaskName("toys", "toys", "1"), cases=self.cases,
            prompts={name: game.prompt for name, game in games.items()}, split="toys", trials=trials,
            budget=Budget(0.0, None), timeout_s=60.0,
            command=Command("board.py", ("run", "toys")), selection=selection, adds_systems=True, sidecar=trace)
        log = read_log(self.log_path) if self.log_path.exists() and self.log_path.stat().st_size else None
        context = RunContext((), 0.0, lambda text: None, None, self.clock, self.stop)
        # no test cuts the power under this game
        with mock.patch.object(os, "fsync", create=True), mock.patch.object(os, "fdatasync", create=True):
            return record(order, log, context, unwatched)

    def writer(self) -> TraceWriter:
        return TraceWriter(self.trace_path, self.clock.stamp, NO_SYNC)

    def log(self) -> TrialLog:
        return read_log(self.log_path)

    def verified(self) -> Verification:
        return verify(self.log(), self.trace_path, Asked(self.pack, {case.id: case for case in self.cases}, self.rules))

    def examined(self, pack: Pack | None = None, before: Before = NOTHING_BEFORE) -> Examined:
        """What log and trace amount to, by the judges of a pack."""
        asked = Asked(pack or self.pack, {case.id: case for case in self.cases}, self.rules)
        return examine_trials(lambda take: read_log(self.log_path, take=take), self.trace_path, asked, before)

    def segments(self) -> list[Segment]:
        return list(segments_in(self.trace_path, trace_damage_named_by(self.log())))

    def trials(self) -> list[TrialLine]:
        return [line for line, _place in self.log().lines_that_count() if isinstance(line, TrialLine)]


