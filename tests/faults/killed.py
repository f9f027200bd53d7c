"""SIGKILL at random moments: while it starts, asks, writes, converts; again and again, and then on to the end."""
from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchkit.running.summary import status_of
from benchkit.trial_log.reader import read_log
from tests.commands import HANGS_S
from tests.faults.found import Found, Part, Problem, Turn
from tests.faults.oracle import bytes_of, grown, places_in
from tests.faults.scene import Arrival, Scene, finalize, scene

START_S, AFTER_ARRIVAL_S, END_S = 0.4, 0.025, 0.12
"""How long a start takes, a trial, and what comes behind the last one: kills fall anywhere within."""


def kill_and_go_on(turn: Turn) -> Found:
    """One log: one to three runs are killed, the last one goes to the end."""
    kills = turn.dice.randint(1, 3)
    with scene(turn.folder) as one:
        is_watched = turn.number % 4 == 3
        one.server.delay_s = 0.12 if is_watched else 0.0
        for _ in range(kills):
            before = bytes_of(one.log)
            (_kill_watched if is_watched else _kill)(one, turn.dice)
            one.problems += grown(before, bytes_of(one.log), "after a kill")
        one.server.delay_s = 0.0
        acknowledged = len(one.acknowledged)
        one.goes_on(f"after {kills} kills", one.run if turn.number % 5 == 4 else None)
        if one.calls() > one.cells + kills:
            one.problems.append(Problem("calls", f"{one.calls()} calls for {one.cells} cells and {kills} kills"))
        return Found(kills, acknowledged, tuple(one.problems))


def _kill(one: Scene, dice: random.Random) -> None:
    """Start a run, and kill it: some time after its start, or some time after one of its requests has come."""
    at = dice.randint(0, one.cells)
    within = START_S if at == 0 else END_S if at == one.cells else AFTER_ARRIVAL_S
    moment = dice.uniform(0.0, within)
    process = one.start(*one.flags, "--quiet", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if at == 0:
        time.sleep(moment)
        process.kill()
    timers: list[threading.Timer] = []

    def arrived(arrival: Arrival) -> None:
        if arrival.number == at or (arrival.number == 1 and at > one.cells - len(places_in(arrival.log))):
            timers.append(threading.Timer(moment, process.kill))
            timers[0].start()
    one.on_arrival = arrived
    _until_dead(one, process)
    for timer in timers:
        timer.join()


def _kill_watched(one: Scene, dice: random.Random) -> None:
    """The same on a terminal: what progress and --status have counted stays recorded."""
    told: list[int] = []
    ours, theirs = os.openpty()
    process = one.start(stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    reader = threading.Thread(target=_read_counts, args=(ours, told.append))
    reader.start()

    def arrived(arrival: Arrival) -> None:
        if arrival.number > 1:
            told.append(_status_count(one.log))
    one.on_arrival = arrived
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(dice.uniform(0.6, 1.6))
    process.kill()
    _until_dead(one, process)
    reader.join()
    os.close(ours)
    there = len(places_in(bytes_of(one.log)))
    if max(told, default=0) > there:
        one.problems.append(Problem("lost", f"{max(told)} trials were counted, and {there} are there after a kill"))


def _read_counts(terminal: int, tell: Callable[[int], None]) -> None:
    """Tell every `N/M recorded` that comes out of a terminal."""
    shown = b""
    while data := _read(terminal):
        shown += data
    for count in re.findall(rb"(\d+)/\d+ recorded", shown):
        tell(int(count))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # EIO: nobody holds its other end any more
        return b""


def _status_count(log: Path) -> int:
    status = status_of(read_log(log))
    return status.planned - status.left


def _until_dead(one: Scene, process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process, and until its last request has come in."""
    process.wait(HANGS_S)
    finalize(one.server)
    one.on_arrival = lambda arrival: None


KILLS = Part("kills", "SIGKILL of bench.py at random moments", lambda rounds: rounds, kill_and_go_on)
