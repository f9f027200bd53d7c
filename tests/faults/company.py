"""More than one process at one log: a second writer is refused, readers are never wrong, the dead hold nobody up."""
from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

from benchkit.basics.errors import Unusable
from benchkit.recordings.recording import recording_of
from benchkit.running.summary import status_of
from benchkit.trial_log.reader import read_log
from tests.commands import HANGS_S
from tests.faults.found import Found, Part, Problem, Turn, one_in
from tests.faults.oracle import bytes_of, grown, places_in
from tests.faults.scene import Scene, finalize, scene
from tests.workflow import typed


def two_at_once(turn: Turn) -> Found:
    """Two runs are started on one log at the same moment: one records all, the other says whose log it is."""
    with scene(turn.folder) as one:
        one.server.delay_s = 0.1
        both = [one.start(*one.flags, "--quiet") for _ in range(2)]
        told = [one.ended(process) for process in both]
        won = [number for number, one_told in enumerate(told) if one_told.code == 0]
        one.expect(len(won) == 1, f"of two at once {len(won)} recorded: {[each.stderr[-200:] for each in told]}")
        if len(won) == 1:
            one.expect_told(told[1 - won[0]], 3, "in use by another run")
            one.expect_told(told[won[0]], 0)
        if one.calls() != one.cells:
            one.problems.append(Problem("calls", f"two at once made {one.calls()} calls for {one.cells} cells"))
        return _gone_on(one, "two writers at once")


def second_writer(turn: Turn) -> Found:
    """A writer that is stopped still holds its log; killed, it holds nobody up."""
    with scene(turn.folder) as one:
        at = turn.dice.randint(2, one.cells)
        reached = threading.Event()
        process: list[subprocess.Popen[bytes]] = []

        def stop(number: int) -> None:
            if number == at:
                process[0].send_signal(signal.SIGSTOP)
                reached.set()
        one.on_arrival = lambda arrival: stop(arrival.number)
        process.append(one.start(*one.flags, "--quiet"))
        one.expect(reached.wait(HANGS_S), "the first writer never came to its request")
        time.sleep(0.05)
        before = bytes_of(one.log)
        one.on_arrival = lambda arrival: None
        refused = typed(["bench.py", *one.flags, "--quiet"])
        one.expect_told(refused, 3, "in use by another run", f"process {process[0].pid}")
        one.expect(bytes_of(one.log) == before, "the second writer wrote")
        if turn.number % 2:
            process[0].send_signal(signal.SIGCONT)
            one.expect(one.ended(process[0]).code == 0, "the first writer was hurt by the second")
        else:
            process[0].kill()
            process[0].wait()
            finalize(one.server)
        one.problems += grown(before, bytes_of(one.log), "with a second writer")
        return _gone_on(one, "a second writer")


def readers(turn: Turn) -> Found:
    """A log is read all the time while it is written in small pieces: no half line is damage, no count goes back."""
    with scene(turn.folder) as one:
        process = one.start(*one.flags, "--quiet", bends=("small_writes",))
        counts, reads = [0], 0
        while process.poll() is None:
            counts += _count(one)
            reads += 1
            if reads % 20 == 1 and one.log.exists():
                _read_by_commands(one)
        told = one.ended(process)
        one.expect_told(told, 0)
        one.expect(counts == sorted(counts), f"counts went back: {counts}")
        one.expect(len(set(counts)) > 2, f"the readers saw nothing of the run: {set(counts)}")
        return _gone_on(one, f"{reads} readers")


def _count(one: Scene) -> list[int]:
    """What --status and a conversion would say now; nothing where there is no plan yet."""
    acknowledged = len(one.acknowledged)
    if not one.log.exists():
        return []
    try:
        log = read_log(one.log)
        status = status_of(log)
        run = sum(trial.is_run for case in recording_of(log, None).cases for trial in case.trials)
    except Unusable as error:
        one.expect("nothing recorded yet" in str(error), f"a reader of a growing log was refused: {error}")
        return []
    recorded = status.planned - status.left
    one.expect(not status.damage, f"a half line was called damage: {log.harmless}")
    one.expect(acknowledged <= recorded == run, f"read: {recorded}, converted: {run}, acknowledged: {acknowledged}")
    there = len(places_in(bytes_of(one.log)))
    one.expect(recorded <= there, f"a reader counted {recorded} trials of {there}")
    return [recorded]


def _read_by_commands(one: Scene) -> None:
    """--status, --convert and a report while it runs end well, or say that nothing is recorded yet."""
    out, judge = one.folder / "meanwhile", f"harness.py run --trials {one.trials}"
    for command, codes in ((f"bench.py --log {one.log} --status", (0, 1)),
                           (f"bench.py --log {one.log} --convert {out}.json", (0,)),
                           (f"{judge} --system replay:{out}.json --out {out}-run.json", (0,)),
                           (f"report.py {out}-run.json", (0,))):
        told = typed(command.split())
        if "nothing recorded yet" in told.stderr:
            return
        one.expect(told.code in codes and not told.stderr, f"{command}: {told.code} {told.stderr[-200:]}")


def stale_lock(turn: Turn) -> Found:
    """A writer that is killed while it holds the lock: the next start is not held up."""
    with scene(turn.folder) as one:
        process = one.start(*one.flags, "--quiet")
        one.on_arrival = lambda arrival: os.kill(process.pid, signal.SIGKILL) if arrival.number == 2 else None
        process.wait(HANGS_S)
        finalize(one.server)
        one.on_arrival = lambda arrival: None
        start = time.monotonic()
        found = _gone_on(one, "a stale lock")
        one.expect(time.monotonic() - start < 10.0, "a stale lock held the next start up")
        return found


def _gone_on(one: Scene, when: str) -> Found:
    acknowledged = len(one.acknowledged)
    one.server.delay_s = 0.0
    one.goes_on(when)
    return Found(1, acknowledged, tuple(one.problems))


COMPANY = (
    Part("two writers at once", "started at the same moment", one_in(15), two_at_once),
    Part("a second writer", "while the first is stopped; then that is killed, or goes on", one_in(8), second_writer),
    Part("readers", "--status, --convert, reports all the time while it is written", one_in(25), readers),
    Part("stale lock", "the next start after a kill", one_in(50), stale_lock))
