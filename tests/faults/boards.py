"""SIGKILL of a board run: the log of the answers and the trace of all that was seen, bought and said.

Two baselines and a model buy what they want to see; the witness is the server, as for bench.py. In the end the
board is drawn, its trace holds, and every answer has its one closed story in the trace.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tests.board_door import GATE, job_text
from tests.boards_packs import put_pack
from tests.doors import ROOT, Told
from tests.fake_ollama import Seen
from tests.faults.found import Found, Part, Problem, Turn, holds, one_in
from tests.faults.oracle import Place, Said, as_wanted, bytes_of, grown, lost, places_in, trials_in, whole_lines
from tests.faults.scene import CACHE, PATIENCE_S, SteadyOllama, bury, is_asked, settle
from tests.river import MODEL, typed

SYSTEMS = ("baselines:even", "baselines:buyer", MODEL)
START_S, STEP_S = 0.5, 0.03


def answer(model: str, messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """A hint is bought first, or not; then a word follows, mostly a right one."""
    number = number_in(messages)
    mark = hashlib.sha256(f"{number} {seed}".encode()).digest()[0]
    if len(messages) < 3 and mark % 2:
        return "hint"
    return "even" if (number + (mark % 5 == 0)) % 2 == 0 else "odd"


def number_in(messages: Sequence[Mapping[str, str]]) -> int:
    """The number that a question is about."""
    found = re.search(r"Is (\d+) even", messages[0]["content"])
    assert found, messages
    return int(found.group(1))


class BoardScene:
    """A folder with a small pack, a job, and a server; board.py as a process and in this one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.server = folder, SteadyOllama()
        self.server.answer = answer
        self.acknowledged: set[Place] = set()
        self.problems: list[Problem] = []
        self.kill_at: tuple[int, float] | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self._asked: list[Place] = []
        self._lock = threading.Lock()
        for home in (folder, folder / "undisturbed"):
            put_pack(home)
            (home / "jobs").mkdir()
            systems = json.dumps(SYSTEMS)
            (home / "jobs" / "tiny.toml").write_text(job_text(GATE, systems=systems, geometry='"gated"'), "utf-8")

    def _batch_file(self, home: Path, name: str) -> Path:
        """A file of the newest batch; where there is none yet, a name at which nothing is."""
        batches = sorted((home / "runs" / "tiny").glob("*"), key=lambda path: (len(path.name), path.name))
        return (batches[-1] if batches else home / "none") / name

    def files(self) -> tuple[bytes, bytes]:
        """The log and the trace as they are."""
        return (bytes_of(self._batch_file(self.folder, "responses.jsonl")),
                bytes_of(self._batch_file(self.folder, "trace.jsonl")))

    def arrived(self, seen: Seen) -> None:
        """A request has come: the cells that this session asked for before are recorded, or the promise is broken."""
        if not is_asked(seen):
            return
        place = Place(MODEL, f"T-{number_in(seen.body['messages'])}", seen.body["options"]["seed"] - 1000)
        with self._lock:
            before = [asked for asked in self._asked if asked != place]
            self.acknowledged.update(before)
            self.problems += lost(before, self.files()[0], f"when a request for {place} came")
            self._asked.append(place)
            number = len(self._asked)
        if self.kill_at and number == self.kill_at[0] and self.process is not None:
            threading.Timer(self.kill_at[1], self.process.kill).start()

    def asked(self) -> set[Place]:
        """The cells that this session asked for."""
        return set(self._asked)

    def kill(self, number: int, after_s: float) -> None:
        """Run board.py, and kill it so long after a request of this number; after its start where that is 0."""
        self._asked.clear()
        self.kill_at = (number, after_s)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OLLAMA"))}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "board.py"), "run", "jobs/tiny.toml"], cwd=self.folder,
            env={**kept, "OLLAMA_HOST": self.server.host, "PYTHONPYCACHEPREFIX": str(CACHE)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if number == 0:
                time.sleep(after_s)
                self.process.kill()
            self.process.wait(PATIENCE_S)
        finally:
            bury(self.process)
        self.kill_at = None
        settle(self.server)

    def run(self, home: Path) -> Told:
        """board.py in this process, to its end."""
        self._asked.clear()
        # the modules of the pack are dropped again; those of the kit were loaded before, by tests.board_door
        with (contextlib.chdir(home), mock.patch.dict(sys.modules), mock.patch.object(sys, "path", list(sys.path)),
              mock.patch.object(sys, "dont_write_bytecode", True),
              mock.patch.dict(os.environ, {"OLLAMA_HOST": self.server.host})):
            return typed(["board.py", "run", "jobs/tiny.toml"])

    def wanted(self) -> dict[Place, Said]:
        """What a run says that nothing disturbs."""
        home, self.server.on_chat = self.folder / "undisturbed", lambda seen: None
        told = self.run(home)
        self.problems += holds(told.code == 0, f"an undisturbed board ended with {told.code}: {told.stderr[-300:]}")
        data = bytes_of(self._batch_file(home, "responses.jsonl"))
        return {place: said for place, _attempt, said in trials_in(data)}


def kill_board(turn: Turn) -> Found:
    """One batch: its run is killed once to three times, then it goes on to its board."""
    kills = turn.dice.randint(1, 3)
    one = BoardScene(turn.folder)
    with one.server:
        wanted = one.wanted()
        one.server.on_chat = one.arrived
        for _ in range(kills):
            before = one.files()
            number = turn.dice.randint(0, 14)
            one.kill(number, turn.dice.uniform(0.0, STEP_S if number else START_S))
            for old, new in zip(before, one.files(), strict=True):
                one.problems += grown(old, new, "after a kill of a board")
            one.problems += lost(one.acknowledged, one.files()[0], "after a kill of a board")
        _check_end(one, wanted, f"a board after {kills} kills")
    return Found(kills, len(one.acknowledged), tuple(one.problems))


def _check_end(one: BoardScene, wanted: Mapping[Place, Said], when: str) -> None:
    before, acknowledged = one.files(), set(one.acknowledged)
    left = {place for place in wanted if place.system == MODEL} - places_in(before[0])
    told = one.run(one.folder)
    log, trace = one.files()
    one.problems += holds(told.code == 0 and "trace self-consistent" in told.stdout,
                          f"{when}: {told.code} {told.stdout[:200]} {told.stderr[-300:]}")
    one.problems += (*grown(before[0], log, when), *grown(before[1], trace, when))
    one.problems += (*lost(acknowledged, log, when), *as_wanted(wanted, log, when))
    if one.asked() != left:
        one.problems.append(Problem("calls", f"{when}: asked for {len(one.asked())} cells, {len(left)} were left"))
    stories = [_key(line) for line in whole_lines(trace) if line["type"] == "trial/end"]
    answers = [_key(line) for line in whole_lines(log) if line["kind"] == "trial"]
    one.problems += holds(set(answers) <= set(stories) and len(stories) == len(set(stories)),
                          f"{when}: an answer has no story of its own in the trace")


def _key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a trial line and the events of its story have in common."""
    system = line.get("system", line.get("solver"))
    return line["session"], system, line["case"], line["trial"], line["attempt"]


BOARDS = Part("kills of a board", "SIGKILL of board.py at random moments", one_in(3), kill_board)
