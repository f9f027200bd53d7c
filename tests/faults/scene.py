"""Where most faults happen: a folder with cases, a server that always answers alike, and bench.py.

bench.py runs as a process of its own to be hurt, and in this process to go on where it was hurt (that is faster,
and the same code).
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.commands import PYTHON, ROOT, Told
from tests.fake_ollama import FakeOllama, Fault, Handler, Seen, lines, says, status
from tests.faults.found import Problem, holds
from tests.faults.oracle import Place, Said, as_wanted, bytes_of, grown, lost, places_in, trials_in
from tests.workflow import MODEL, typed

PATIENCE_S = 60.0
LONG = "ä long answer, " * 6000


class SteadyOllama(FakeOllama):
    """The same answer to the same request, whoever asks and how often: texts, long texts, and errors."""

    def fault_of(self, seen: Seen) -> Fault | None:
        """What a request meets instead of its answer; it follows from the request."""
        mark = hashlib.sha256(json.dumps([seen.body["messages"], seen.body["options"]["seed"]]).encode()).digest()[0]
        table: dict[int, Fault] = {
            0: status(500, '{"error":"the runner has gone"}'), 1: lines(b"this is no JSON"),
            2: says('{"category": "bug"', done_reason="length"), 3: _long, 4: lines(b'{"done":false}', ends=False)}
        return table.get(mark % 10)

    def _answered(self, handler: Handler, seen: Seen) -> None:
        fault = self.fault_of(seen) if is_asked(seen) else None
        if fault is not None and handler.wait(self.delay_s):
            fault(handler, seen)
        else:
            super()._answered(handler, seen)


def is_asked(seen: Seen) -> bool:
    """Whether a chat asks for a trial; the others only clear what an ended request has left in the server."""
    return bool(seen.body["options"]["num_predict"] != 1)


def _long(handler: Handler, seen: Seen) -> None:
    """An answer of some 90 kB, in one line: its line of the log is longer than a page, so it can be torn."""
    said = {"model": seen.body["model"], "created_at": "2026-11-30T10:00:00Z", "done": False,
            "message": {"role": "assistant", "content": LONG}}
    done = {**said, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop",
            "prompt_eval_count": 40, "eval_count": 20_000, "total_duration": 1, "load_duration": 1,
            "prompt_eval_duration": 1, "eval_duration": 1}
    lines(json.dumps(said).encode(), json.dumps(done).encode())(handler, seen)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A request that has just come: which of its session, and the log at this moment."""

    number: int
    log: bytes


class Scene:
    """One log and all that happens to it. Use as a context manager; it works in its folder meanwhile."""

    def __init__(self, folder: Path, trials: int = 3, log_folder: Path | None = None) -> None:
        self.folder, self.trials = folder, trials
        self.log = (log_folder or folder / "recorded") / "smol.jsonl"
        self.recording = self.log.with_suffix(".json")
        self.server = SteadyOllama()
        self.acknowledged: set[Place] = set()
        self.problems: list[Problem] = []
        self.on_arrival: Callable[[Arrival], None] = lambda arrival: None
        self._asked: list[Place] = []
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        every = json.loads((ROOT / "cases.json").read_text(encoding="utf-8"))["cases"]
        self.cases = [case for case in every if case["split"] == "development"][:3]
        (folder / "cases.json").write_text(json.dumps({"cases": self.cases}), encoding="utf-8")

    def __enter__(self) -> Scene:
        here = os.getcwd()
        self._stack.callback(os.chdir, here)
        os.chdir(self.folder)
        self._stack.enter_context(self.server)
        self.server.on_chat = self._arrived
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def flags(self) -> list[str]:
        """The command that records this log, and goes on with it."""
        return self.flags_for(self.log)

    def flags_for(self, log: Path) -> list[str]:
        """The same command for another log."""
        return ["--system", MODEL, "--log", str(log), "--host", self.server.host, "--trials", str(self.trials)]

    @property
    def cells(self) -> int:
        """How many are planned."""
        return len(self.cases) * self.trials

    # ------------------------------------------------------------------------------------- bench.py

    def start(
        self, *flags: str, bends: Sequence[str] = (), prefix: Sequence[str] = (), **more: Any,
    ) -> subprocess.Popen[bytes]:
        """bench.py (with the flags of this log, unless some are given) as a process, which dies with the scene."""
        self._asked.clear()
        script = [str(ROOT / "tests/faults/bent.py"), ",".join(bends)] if bends else [str(ROOT / "bench.py")]
        process = subprocess.Popen(
            [*prefix, *PYTHON, *script, *(flags or self.flags)], cwd=self.folder,
            env=environment(),
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})
        self._stack.callback(bury, process)
        return process

    def ended(self, process: subprocess.Popen[bytes]) -> Told:
        """What a process told, once it has ended; a traceback is a problem."""
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        told = Told(process.returncode, (stdout or b"").decode(), (stderr or b"").decode())
        self.expect("Traceback" not in told.stderr, f"a traceback: {told.stderr[-300:]}")
        return told

    def run(self, *flags: str, bends: Sequence[str] = (), prefix: Sequence[str] = ()) -> Told:
        """bench.py as a process, to its end."""
        return self.ended(self.start(*flags, bends=bends, prefix=prefix))

    def resume(self) -> Told:
        """The same command in this process."""
        self._asked.clear()
        return typed(["bench.py", *self.flags])

    # ------------------------------------------------------------------------------------ the witness

    def _arrived(self, seen: Seen) -> None:
        """A request has come: so all that this session asked before is recorded, or the promise is broken."""
        if not is_asked(seen):
            return
        with self._lock:
            data, place = bytes_of(self.log), self.place_of(seen)
            # a request that is sent again, as after a full queue, is of a trial that is still under way
            before = [asked for asked in self._asked if asked != place]
            self.acknowledge(before, data, f"when request {len(self._asked) + 1} of a session came")
            self._asked.append(place)
        self.on_arrival(Arrival(len(self._asked), data))

    def place_of(self, seen: Seen) -> Place:
        """The cell that a request asks."""
        text = seen.body["messages"][-1]["content"]
        case = next(case["id"] for case in self.cases if case["input"]["subject"] in text)
        return Place(MODEL, case, seen.body["options"]["seed"] - 1000)

    def acknowledge(self, places: Sequence[Place], data: bytes, when: str) -> None:
        """These cells are said to be recorded; if one is not in the log now, that is a loss."""
        self.acknowledged.update(places)
        self.problems += lost(self.acknowledged, data, when)

    def calls(self) -> int:
        """Requests so far that asked the model something."""
        return sum(map(is_asked, self.server.chats()))

    def expect(self, is_so: bool, text: str) -> None:
        """Note a problem unless it is so."""
        self.problems += holds(is_so, text)

    def expect_told(self, told: Told, code: int, *words: str) -> None:
        """It ended with this exit code, and with one line on stderr that has these words."""
        self.expect(told.code == code, f"exit code {told.code}, not {code}: {told.stderr[-300:]}")
        self.expect(told.stderr.count("\n") <= 1, f"more than one line: {told.stderr[:300]}")
        for word in words:
            self.expect(word in told.stderr, f"not told: {word!r} in {told.stderr[:300]!r}")

    # ---------------------------------------------------------------------------------- what must hold

    def goes_on(self, when: str, resume: Callable[[], Told] | None = None) -> None:
        """The log is resumed to its end: nothing lost, nothing twice, no call too many, nothing else said."""
        before, asked = bytes_of(self.log), self.calls()
        self.problems += lost(self.acknowledged, before, when)
        left = self.cells - len(places_in(before))
        told = (resume or self.resume)()
        after = bytes_of(self.log)
        self.expect(told.code == 0, f"{when}: the resumed run ended with {told.code}: {told.stderr[-300:]}")
        self.problems += grown(before, after, when)
        self.problems += as_wanted(self.wanted(), after, when)
        if self.calls() - asked != left:
            self.problems.append(Problem("calls", f"{when}: {self.calls() - asked} calls for {left} cells left"))
        self.expect(self._is_recorded_whole(after), f"{when}: the recording is not what the log says")

    def _is_recorded_whole(self, data: bytes) -> bool:
        """Whether the recording beside the log says of every cell what the log says."""
        said = {(place.case, place.trial): said for place, _attempt, said in trials_in(data)}
        recording = json.loads(bytes_of(self.recording) or b'{"cases": []}')
        found = {(case["id"], trial["trial"]): Said(
            trial.get("output"), trial.get("finish"), trial["error"]["type"] if "error" in trial else None)
            for case in recording["cases"] for trial in case["trials"]}
        return said == found

    def wanted(self) -> dict[Place, Said]:
        """What a single run says that nothing disturbs: it is made once in this folder, at the end or before."""
        log = self.folder / "undisturbed" / "smol.jsonl"
        if not log.exists():
            asked, arrived = list(self.server.seen), self.server.on_chat
            self.server.on_chat, delay, self.server.delay_s = (lambda seen: None), self.server.delay_s, 0.0
            told = typed(["bench.py", *self.flags_for(log)])
            self.expect(told.code == 0, f"an undisturbed run ended with {told.code}: {told.stderr[-300:]}")
            self.server.seen[:], self.server.on_chat, self.server.delay_s = asked, arrived, delay
        return {place: said for place, _attempt, said in trials_in(log.read_bytes())}


def environment() -> dict[str, str]:
    """That of a process to be hurt: nothing of the tests, but the place where compiled modules are kept."""
    return {key: value for key, value in os.environ.items()
            if not key.startswith(("PYTHON", "OLLAMA")) or key == "PYTHONPYCACHEPREFIX"}


def bury(process: subprocess.Popen[bytes]) -> None:
    """End a process, if it has not ended, and let go of it."""
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def finalize(server: FakeOllama) -> None:
    """Wait until the requests of a process that has died are all in."""
    seen = -1
    while seen != len(server.seen):
        seen = len(server.seen)
        time.sleep(0.02)


@contextlib.contextmanager
def scene(folder: Path, **more: Any) -> Iterator[Scene]:
    """A scene in a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    with Scene(folder, **more) as made:
        yield made
