"""A fleet of machines that runs the shards of a run: a small simulation of what happens when, event by event.

A machine takes a shard, starts (the model is loaded), and runs its trials at its own speed until the shard is done, the
machine is interrupted, or the time is over. Between two events nothing is simulated: the trials of such a stint are
counted, not played, so 10^8 of them cost as much as 10^4. Their durations come in as the mean of the shard, drawn once.
"""
from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass
from random import Random

NEVER = math.inf
_DONE, _INTERRUPTED, _OVER = "done", "interrupted", "over"


@dataclass(frozen=True, slots=True)
class Interruptions:
    """Why a machine stops in the middle, as mean times in seconds; exponentially distributed, machine by machine.

    A failure needs a repair; after a preemption another machine of the same kind takes the place.
    """

    between_failures_s: float = NEVER
    repair_s: float = 0.0
    between_preemptions_s: float = NEVER
    replace_s: float = 0.0

    @property
    def rate(self) -> float:
        """Interruptions a second of running."""
        return 1 / self.between_failures_s + 1 / self.between_preemptions_s


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines. One of speed 1 ends a trial every `trial_s` seconds, with `at_once` of them under way.

    trial_spread  standard deviation of the duration of a trial, in means
    speeds        a machine's speed is exp(gauss(0, speed_spread)); a share `slow` of them runs at `slow_speed` of that
    start_s       from taking a shard to its first trial: starting, loading the model
    """

    machines: int
    trial_s: float
    at_once: int = 1
    trial_spread: float = 0.0
    speed_spread: float = 0.0
    slow: float = 0.0
    slow_speed: float = 1.0
    start_s: float = 0.0
    interruptions: Interruptions = Interruptions()


@dataclass(frozen=True, slots=True)
class Job:
    """What is run, and how it is shared out: shards as `--shard I/N` makes them, none larger by more than a trial.

    pinned        whether a shard waits for its own machine (shard i for machine i), or any free one goes on with it
    kept_every_s  what an interruption leaves: trials up to the last multiple of this since the shard was taken up.
                  0: each trial as it ends; NEVER: only shards that came to their end
    budget_s      after which a shard ends in order, and is not taken up again
    until_s       when all machines stop, in order
    """

    trials: int
    shards: int
    pinned: bool = False
    kept_every_s: float = 0.0
    budget_s: float = NEVER
    until_s: float = NEVER


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: trials done of each shard, and when the last machine stopped.

    repeated  machine time that went into trials which had to be run again, in trials
    ideal_s   what the same machines would need if none was ever interrupted, started, or without work
    """

    done: tuple[int, ...]
    planned: int
    ended_s: float
    interruptions: int
    repeated: float
    ideal_s: float

    @property
    def left(self) -> int:
        """Trials that no log holds."""
        return self.planned - sum(self.done)

    @property
    def times_ideal(self) -> float:
        """How many times the ideal it took; NEVER if something is left."""
        return NEVER if self.left else self.ended_s / self.ideal_s


@dataclass(slots=True)
class _Stint:
    """A machine at work on a shard: since when, how long a trial takes there, and what will end it."""

    machine: int
    shard: int
    since_s: float
    step_s: float
    end: str


def shard_sizes(trials: int, shards: int) -> list[int]:
    """Trials of each shard, as every N-th cell gives them."""
    return [trials // shards + (index < trials % shards) for index in range(shards)]


def speeds_of(fleet: Fleet, random: Random) -> list[float]:
    """A speed for each machine; which of them are slow is chance."""
    slow = set(random.sample(range(fleet.machines), round(fleet.slow * fleet.machines)))
    return [math.exp(random.gauss(0.0, fleet.speed_spread)) * (fleet.slow_speed if machine in slow else 1.0)
            for machine in range(fleet.machines)]


def simulate(fleet: Fleet, job: Job, random: Random) -> Outcome:
    """Run a job on a fleet. Raises ValueError if shards are pinned and there are more of them than machines."""
    if job.pinned and job.shards > fleet.machines:
        raise ValueError(f"{job.shards} shards cannot be pinned to {fleet.machines} machines")
    return _Simulation(fleet, job, random).run()


def _mean_duration(spread: float, trials: int, random: Random) -> float:
    """How long the trials of a shard take on average, in means: nearly normal, for it is a mean of many."""
    return max(0.1, random.gauss(1.0, spread / math.sqrt(trials))) if trials else 1.0


class _Simulation:
    """The state of a fleet while time goes on."""

    def __init__(self, fleet: Fleet, job: Job, random: Random) -> None:
        self._fleet, self._job, self._random = fleet, job, random
        self._speeds = speeds_of(fleet, random)
        self._sizes = shard_sizes(job.trials, job.shards)
        self._means = [_mean_duration(fleet.trial_spread, size, random) for size in self._sizes]
        self._done = [0] * job.shards
        self._queue = deque(range(job.shards))
        self._idle: list[int] = []
        self._events: list[tuple[float, int, _Stint | int]] = []
        self._order = self._interruptions = 0
        self._repeated = self._ended_s = 0.0

    def run(self) -> Outcome:
        """Event after event, until nobody has anything to do or the time is over."""
        for machine in range(self._fleet.machines):
            self._take(machine, 0.0)
        while self._events:
            now, _, event = heapq.heappop(self._events)
            if isinstance(event, _Stint):
                self._end(event, now)
            else:
                self._take(event, now)
        ideal_s = self._job.trials * self._fleet.trial_s / math.fsum(self._speeds)
        return Outcome(tuple(self._done), self._job.trials, self._ended_s, self._interruptions, self._repeated, ideal_s)

    def _at(self, time_s: float, event: _Stint | int) -> None:
        self._order += 1
        heapq.heappush(self._events, (time_s, self._order, event))

    def _take(self, machine: int, now: float) -> None:
        """A machine is free: it takes up the next shard, or its own."""
        if now >= self._job.until_s:
            return
        if self._job.pinned:
            if machine < self._job.shards and self._done[machine] < self._sizes[machine]:
                self._start(machine, machine, now)
        elif self._queue:
            self._start(machine, self._queue.popleft(), now)
        else:
            self._idle.append(machine)

    def _start(self, machine: int, shard: int, now: float) -> None:
        fleet = self._fleet
        step_s = fleet.trial_s * self._means[shard] / self._speeds[machine]
        rounds = math.ceil((self._sizes[shard] - self._done[shard]) / fleet.at_once)
        ends_s = now + fleet.start_s + rounds * fleet.at_once * step_s
        rate = fleet.interruptions.rate
        at_s, end = min((ends_s, _DONE), (min(now + self._job.budget_s, self._job.until_s), _OVER),
                        (now + self._random.expovariate(rate) if rate else NEVER, _INTERRUPTED))
        self._at(at_s, _Stint(machine, shard, now, step_s, end))

    def _end(self, stint: _Stint, now: float) -> None:
        """A stint is over: what it leaves is counted, and the machine is free, now or after a while."""
        self._ended_s = max(self._ended_s, now)
        if stint.end == _INTERRUPTED:
            self._interrupt(stint, now)
            return
        # where the time is over the run ends in order: its log is whole, and copied once more
        more = self._kept(stint, now, 0.0)[0] if stint.end == _OVER else NEVER
        self._done[stint.shard] = int(min(self._done[stint.shard] + more, self._sizes[stint.shard]))
        if stint.end == _DONE or not self._job.pinned:
            self._take(stint.machine, now)

    def _interrupt(self, stint: _Stint, now: float) -> None:
        kept, worked = self._kept(stint, now, self._job.kept_every_s)
        self._done[stint.shard] += kept
        self._interruptions += 1
        self._repeated += worked - kept
        if not self._job.pinned:
            self._put_back(stint.shard, now)
        self._at(now + self._away_s(), stint.machine)

    def _kept(self, stint: _Stint, now: float, every: float) -> tuple[int, float]:
        """Trials that a cut stint leaves, and the time it spent on trials, in trials."""
        at_once = self._fleet.at_once
        spent_s = now - stint.since_s
        worked = max(0.0, spent_s - self._fleet.start_s) / stint.step_s
        kept_s = 0.0 if every == NEVER else spent_s - (spent_s % every if every else 0.0)
        kept = max(0.0, kept_s - self._fleet.start_s) / stint.step_s
        return min(int(kept // at_once) * at_once, self._sizes[stint.shard] - self._done[stint.shard]), worked

    def _put_back(self, shard: int, now: float) -> None:
        """A shard that was cut is the next one to be taken up: at once, if a machine is idle."""
        self._queue.appendleft(shard)
        if self._idle:
            self._take(self._idle.pop(), now)

    def _away_s(self) -> float:
        """How long a machine is gone."""
        found = self._fleet.interruptions
        is_failure = self._random.random() * found.rate < 1 / found.between_failures_s
        mean_s = found.repair_s if is_failure else found.replace_s
        return self._random.expovariate(1 / mean_s) if mean_s else 0.0
