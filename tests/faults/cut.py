"""A log cut at every byte of its first four and its last two lines; what goes on from there is killed at every write.

A kill is a write that takes a part of its bytes and never returns; nothing is written after it.
"""
from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.errors import EnvironmentFailure
from benchkit.disk.appending import DiskCalls
from tests.faults.found import NOTHING, Found, Part, Problem, Turn, wrong
from tests.faults.oracle import Place, Said, as_wanted, grown, lost, places_in
from tests.faults.small import NO_SYNC, Listener, put, record_on, wanted_from

TURNS, NEVER = 16, 10**9
ALL_FROM_ROUNDS = 150
"""From so many rounds on every cut is followed by a kill at every write; below, by a share of them, at least one."""


class Killed(BaseException):
    """The process is no more."""


@dataclass
class DyingDisk:
    """A disk of a process that is killed within the write of this number (0 is the first one)."""

    number: int
    dice: random.Random
    writes: int = 0

    def write(self, fd: int, data: memoryview) -> int:
        """Write; at the moment of death a part of it. The dead write no more."""
        self.writes += 1
        if self.writes <= self.number:
            return os.write(fd, data)
        if self.writes == self.number + 1:
            os.write(fd, data[:self.dice.randint(0, len(data))])
        raise Killed

    def calls(self) -> DiskCalls:
        """The calls to record with."""
        return DiskCalls(write=self.write, sync=lambda fd: None, sync_folder=lambda path: None)


@dataclass(frozen=True, slots=True)
class Sound:
    """A log that nothing disturbed: its path, bytes, and what its trials say."""

    path: Path
    data: bytes
    wanted: dict[Place, Said]


def sound_log(folder: Path) -> Sound:
    """A log of two cells: session, plan, system, loaded, two trials, stop."""
    path = folder / "log.jsonl"
    record_on(path)
    return Sound(path, path.read_bytes(), wanted_from(path))


def offsets(data: bytes) -> list[int]:
    """Every byte offset of the first four and the last two lines."""
    ends = [at + 1 for at in range(len(data)) if data[at:at + 1] == b"\n"]
    return [*range(ends[3] + 1), *range(ends[-3], len(data) + 1)]


def cut_and_kill(turn: Turn) -> Found:
    """One share of all offsets: cut there, go on, be killed, go on again."""
    sound, found = sound_log(turn.folder), NOTHING
    every = offsets(sound.data)
    # below 15 rounds only a share of the offsets, evenly spread
    step = turn.turns * max(1, round(15 / turn.rounds))
    for cut in every[turn.number::step]:
        found += _cut_at(sound, cut, turn)
    return found


def _cut_at(sound: Sound, cut: int, turn: Turn) -> Found:
    kept, disk = sound.data[:cut], DyingDisk(NEVER, turn.dice)
    found = _goes_on(sound, kept, (), f"cut at byte {cut}", disk)
    every = list(range(disk.writes))
    count = max(1, round(len(every) * min(1.0, turn.rounds / ALL_FROM_ROUNDS)))
    for number in turn.dice.sample(every, min(count, len(every))):
        found += _killed_at(sound, kept, DyingDisk(number, turn.dice), f"cut at byte {cut}, killed at write {number}")
    return found


def _killed_at(sound: Sound, kept: bytes, disk: DyingDisk, when: str) -> Found:
    listener = Listener()
    put(sound.path, kept)
    try:
        record_on(sound.path, disk.calls(), listener)
        return Found(1, 0, (wrong(f"{when}: it was not killed"),))
    except (Killed, EnvironmentFailure):  # the second where the dead tried to write a stop line, and saw a torn file
        data = sound.path.read_bytes()
    problems = (*grown(kept, data, when), *lost({*listener.told, *places_in(kept)}, data, when))
    return Found(0, len(listener.told), problems) + _goes_on(sound, data, listener.told, when)


def _goes_on(
    sound: Sound, data: bytes, told: Iterable[Place], when: str, disk: DyingDisk | None = None,
) -> Found:
    """The log goes on from these bytes, and in the end all is there, and once."""
    put(sound.path, data)
    left = len(sound.wanted) - len(places_in(data))
    recorded = record_on(sound.path, disk.calls() if disk else NO_SYNC)
    after = sound.path.read_bytes()
    problems = (*grown(data, after, when), *lost(told, after, when), *as_wanted(sound.wanted, after, when))
    if recorded.asked > left:
        problems += (Problem("calls", f"{when}: {recorded.asked} calls for {left} cells left"),)
    return Found(1, 0, problems)


CUTS = Part("cuts", "the log cut at every byte of 6 lines, then killed at its later writes", lambda rounds: TURNS,
            cut_and_kill)
