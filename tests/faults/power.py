"""Power cuts: what was not synced is gone, or there in part, or turned into NULs; what was acknowledged is there.

Tried with a stand-in for the disk that keeps only what was synced, everywhere; and with a real file system whose
block device is copied while bench.py waits for an answer, where this machine can mount one. Both are tried without
the sync as well, and must then lose: a test that cannot fail would prove nothing.
"""
from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from benchkit.basics.errors import EnvironmentFailure
from benchkit.disk.appending import DiskCalls
from tests.faults.cut import Killed
from tests.faults.found import NOTHING, Found, Part, Turn, holds, one_in
from tests.faults.mounts import Device, copied_device, device
from tests.faults.oracle import Place, as_wanted, bytes_of, grown, lost, places_in
from tests.faults.scene import Arrival, Scene, scene
from tests.faults.small import Listener, put, record_on, wanted_from

CUTS_A_TURN = 24


@dataclass
class CutDisk:
    """A disk that the power leaves at a write or a sync of this number; `kept` is what had been synced by then."""

    path: Path
    number: int
    syncs: bool
    kept: bytes | None = None
    calls_made: int = 0

    def _meet(self) -> None:
        self.calls_made += 1
        if self.calls_made > self.number:
            raise Killed

    def write(self, fd: int, data: memoryview) -> int:
        """Write into what is gone when the power is."""
        self._meet()
        return os.write(fd, data)

    def sync(self, _fd: int) -> None:
        """Keep what is there, unless this disk only says so."""
        self._meet()
        if self.syncs and self.kept is not None:
            self.kept = self.path.read_bytes()

    def sync_folder(self, _path: Path) -> None:
        """Keep the name of the file, so that it is there at all."""
        if self.syncs:
            self.kept = self.kept or b""

    def calls(self) -> DiskCalls:
        """The calls to record with."""
        return DiskCalls(write=self.write, sync=self.sync, sync_folder=self.sync_folder)

    def left(self, dice: random.Random) -> bytes | None:
        """What is on the disk when the power is back; None: not even the file."""
        if self.kept is None:
            return None
        torn = self.path.read_bytes()[len(self.kept):]
        torn = torn[:dice.randint(0, len(torn))]
        hole = dice.randint(0, len(torn))
        return self.kept + dice.choice([b"", torn, bytes(len(torn)), bytes(hole) + torn[hole:]])


def stand_in(turn: Turn) -> Found:
    """Many cuts with the stand-in, one after the other over one log, and one without the sync."""
    wanted_log, found = turn.folder / "wanted.jsonl", NOTHING
    record_on(wanted_log, trials=3)
    for number in range(CUTS_A_TURN):
        found += _several_cuts(turn, wanted_log, f"stand-in cut {turn.number}.{number}")
    return found + _without_sync(turn)


def _several_cuts(turn: Turn, wanted_log: Path, when: str) -> Found:
    """The power goes one to three times; then the log goes to its end."""
    log, told, found = turn.folder / "log.jsonl", set[Place](), NOTHING
    log.unlink(missing_ok=True)
    for _ in range(turn.dice.randint(1, 3)):
        before = bytes_of(log)
        disk = CutDisk(log, turn.dice.randint(0, 24), syncs=True, kept=before or None)
        told |= _told_before_cut(disk)
        left = disk.left(turn.dice)
        log.unlink() if left is None else put(log, left)
        data = bytes_of(log)
        found += Found(1, len(told), (*grown(before, data, when), *lost(told, data, when)))
    before = bytes_of(log)
    record_on(log, trials=3)
    data = bytes_of(log)
    return found + Found(0, 0, (*grown(before, data, when), *as_wanted(wanted_from(wanted_log), data, when)))


def _told_before_cut(disk: CutDisk) -> set[Place]:
    listener = Listener()
    with contextlib.suppress(Killed, EnvironmentFailure):
        record_on(disk.path, disk.calls(), listener, trials=3)
    return set(listener.told)


def _without_sync(turn: Turn) -> Found:
    """The same where a sync only says so: then what was told must be lost, or this test cannot see it."""
    log = turn.folder / "unsynced.jsonl"
    put(log, b"")
    disk = CutDisk(log, 22, syncs=False, kept=b"")
    told = _told_before_cut(disk)
    return Found(1, 0, holds(bool(told) and bool(lost(told, disk.kept or b"", "")),
                             "without a sync the stand-in lost nothing, so it proves nothing"))


@dataclass(frozen=True, slots=True)
class Copy:
    """A device as it was at one moment, what had been acknowledged before it, and the log as it stood in memory."""

    image: Path
    acknowledged: frozenset[Place]
    log: bytes


class Copier:
    """Copies the device under a run: while it waits for an answer, or stopped some time after a request."""

    def __init__(self, disk: Device, one: Scene, dice: random.Random) -> None:
        self._disk, self._one, self._dice = disk, one, dice
        self.process: subprocess.Popen[bytes] | None = None
        self.copies: list[Copy] = []
        self.timers: list[threading.Timer] = []

    def arrived(self, arrival: Arrival) -> None:
        """Copy now, soon, or not at all; always at the last request."""
        lot = self._dice.random()
        if lot < 0.3 or arrival.number == self._one.cells:
            self._copy()
        elif lot < 0.6:
            self.timers.append(threading.Timer(self._dice.uniform(0.0, 0.015), self._stop_and_copy))
            self.timers[-1].start()

    def _stop_and_copy(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)
            # a process that is within a sync stops behind it, and a copy made meanwhile is of no moment at all
            while not _is_stopped(self.process.pid):
                time.sleep(0.001)
            self._copy()
            self.process.send_signal(signal.SIGCONT)

    def _copy(self) -> None:
        acknowledged = frozenset(self._one.acknowledged)
        image = self._disk.image.with_name(f"cut-{len(self.copies)}")
        shutil.copyfile(self._disk.image, image)
        self.copies.append(Copy(image, acknowledged, bytes_of(self._one.log)))


def _is_stopped(pid: int) -> bool:
    """Whether all threads of a process have stopped, or ended."""
    states = [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(state in "TZX" for state in states)


def on_a_device(turn: Turn) -> Found:
    """bench.py on a file system of its own, whose device is copied at some moments, as a power cut leaves it."""
    return _on_a_device(turn, syncs=True)


def on_a_device_without_sync(turn: Turn) -> Found:
    """The same where a sync only says so: this must lose."""
    return _on_a_device(turn, syncs=False)


def _on_a_device(turn: Turn, syncs: bool) -> Found:
    with device(turn.folder) as disk, scene(turn.folder, log_folder=disk.folder / "recorded") as one:
        copier = Copier(disk, one, turn.dice)
        one.on_arrival = copier.arrived
        copier.process = one.start(*one.flags, "--quiet", bends=() if syncs else ("no_sync",))
        told = one.ended(copier.process)
        one.expect(told.code == 0, f"it ended with {told.code}: {told.stderr[-300:]}")
        for timer in copier.timers:
            timer.join()
        if syncs:
            _check_end(one, disk)
            _check_copies(one, copier.copies)
        else:
            one.expect(any(copy.acknowledged - places_in(_log_on(copy)) for copy in copier.copies),
                       "without a sync the device lost nothing, so it proves nothing")
        acknowledged = sum(len(copy.acknowledged) for copy in copier.copies) if syncs else 0
        return Found(len(copier.copies), acknowledged, tuple(one.problems))


def _check_end(one: Scene, disk: Device) -> None:
    """When bench.py has ended, the log and the recording are on the disk."""
    image = disk.image.with_name("end")
    shutil.copyfile(disk.image, image)
    with copied_device(image) as folder:
        for path in (one.log, one.recording):
            one.expect(bytes_of(folder / "recorded" / path.name) == path.read_bytes(),
                       f"{path.name} is not on the disk when bench.py has ended")


def _check_copies(one: Scene, copies: list[Copy]) -> None:
    """After each cut all is there that was acknowledged; after the last one the log goes on to its end."""
    left = b""
    for copy in copies:
        left = _log_on(copy)
        one.problems += lost(copy.acknowledged, left, copy.image.name)
        one.problems += grown(left, copy.log, copy.image.name)
    put(one.log, left)
    one.acknowledged = set(copies[-1].acknowledged)
    one.goes_on(copies[-1].image.name)


def _log_on(copy: Copy) -> bytes:
    with copied_device(copy.image) as folder:
        return bytes_of(folder / "recorded" / "smol.jsonl")


POWER = (
    Part("power cuts (stand-in)", "a disk that keeps only what was synced; without the sync it must lose", one_in(2),
         stand_in),
    Part("power cuts (device)", "the block device copied under bench.py", one_in(6), on_a_device),
    Part("power cuts without the sync", "the same where a sync only says so: it must lose", one_in(50),
         on_a_device_without_sync))
