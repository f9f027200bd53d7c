"""SIGINT and SIGTERM, once and twice: during a call, a write, the wait before a retry, a conversion.

Once: it ends in order, with a stop line where the session was still open, and says how to go on. Twice: it leaves
at once. Either way the log goes on.
"""
from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from tests.commands import Told
from tests.fake_ollama import silent, status
from tests.faults.found import Found, Part, Turn
from tests.faults.oracle import bytes_of, whole_lines
from tests.faults.scene import Arrival, Scene, finalize, scene

AT_ONCE_S = 4.0
"""How long an end may take on a machine that is busy; the bent waits are shorter than this, a request is longer."""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@dataclass(frozen=True, slots=True)
class Moment:
    """When a signal comes: what is bent, how the moment is brought about, and how the session ends then."""

    name: str
    bends: tuple[str, ...]
    prepare: Callable[[Scene, Callable[[], None]], None]
    stop: str


def _during_a_call(one: Scene, signals: Callable[[], None]) -> None:
    def arrived(arrival: Arrival) -> None:
        if arrival.number == 3:
            one.server.next(silent(20.0))
            signals()
    one.on_arrival = arrived


def _during_a_wait(one: Scene, signals: Callable[[], None]) -> None:
    def arrived(arrival: Arrival) -> None:
        if arrival.number == 3:
            one.server.next(status(503))
            signals()
    one.on_arrival = arrived


def _when_it_is_bent(one: Scene, signals: Callable[[], None]) -> None:
    signals()


MOMENTS = (
    Moment("a call", (), _during_a_call, "interrupted"),
    Moment("a write", ("slow_write",), _when_it_is_bent, "interrupted"),
    Moment("a retry wait", (), _during_a_wait, "interrupted"),
    Moment("a conversion", ("slow_replace",), _when_it_is_bent, "complete"),
)
TABLE = list(product(MOMENTS, CODES, (False, True)))


def signalled(turn: Turn) -> Found:
    """One row of the table: a signal (or two) at a moment, and then on to the end."""
    moment, number, twice = TABLE[turn.number % len(TABLE)]
    when = f"{number.name}{' twice' if twice else ''} during {moment.name}"
    with scene(turn.folder) as one:
        told, took_s = _signal(one, moment, number, twice)
        # the second one can meet a process that is leaving: then it ends by the signal, which a shell calls the same
        codes = (CODES[number], -number) if twice else (CODES[number],)
        one.expect(told.code in codes, f"{when}: exit code {told.code}: {told.stderr[-300:]}")
        one.expect(took_s < AT_ONCE_S, f"{when}: it took {took_s:.1f} s to end")
        if not twice:
            one.expect(f"stopped by {number.name}" in told.stderr and told.stderr.count("\n") == 1,
                       f"{when}: {told.stderr[:300]!r}")
            one.expect(_stop_of(one) == moment.stop, f"{when}: the stop line says {_stop_of(one)}")
            one.expect(not list(one.log.parent.glob("*.partial-*")), f"{when}: a part of a file is left")
        acknowledged = len(one.acknowledged)
        finalize(one.server)
        one.on_arrival = lambda arrival: None
        one.server.stop()
        one.server.start()
        one.goes_on(when)
        return Found(1, acknowledged, tuple(one.problems))


def _signal(one: Scene, moment: Moment, number: signal.Signals, twice: bool) -> tuple[Told, float]:
    """Start a run and send it the signal at the moment; what it told, and the seconds it took to end then."""
    processes: list[subprocess.Popen[bytes]] = []
    sent: list[float] = []

    def signals() -> None:
        if moment.bends:
            _wait_for_file(one, f"bent-{moment.bends[0]}", processes[0])
        else:
            time.sleep(0.15)
        sent.append(time.monotonic())
        processes[0].send_signal(number)
        if twice:
            time.sleep(0.05)
            processes[0].send_signal(number)
    if not moment.bends:
        moment.prepare(one, _in_background(signals))
    processes.append(one.start(*one.flags, "--quiet", bends=moment.bends))
    if moment.bends:
        signals()
    told = one.ended(processes[0])
    return told, time.monotonic() - sent[0] if sent else 0.0


def _in_background(act: Callable[[], None]) -> Callable[[], None]:
    return lambda: threading.Thread(target=act).start()


def _wait_for_file(one: Scene, name: str, process: subprocess.Popen[bytes]) -> None:
    while not (one.folder / name).exists() and process.poll() is None:
        time.sleep(0.01)


def _stop_of(one: Scene) -> str | None:
    """What the last line of the log says of the end; None where it says nothing."""
    lines = whole_lines(bytes_of(one.log))
    return lines[-1].get("reason") if lines else None


SIGNALS = Part("signals", "SIGINT and SIGTERM, once and twice, at four moments",
               lambda rounds: len(TABLE) * max(1, rounds // 60) if rounds >= 15 else rounds, signalled)
