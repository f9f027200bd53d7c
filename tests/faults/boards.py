"""A board run that is killed, whose disk is full, whose power goes: its log, and the trace of all that happened.

Two baselines and a model buy what they want to see; the witness is the server, as for bench.py. In the end the
board is drawn, its trace holds, and every answer has its one closed story in the trace.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tests.board_command import GATE, job_text
from tests.boards_packs import put_pack
from tests.commands import PYTHON, ROOT, Told
from tests.fake_ollama import Seen
from tests.faults.found import Found, Part, Problem, Turn, holds, one_in
from tests.faults.mounts import copied_device, device, fill, small_disk
from tests.faults.oracle import Place, Said, as_wanted, bytes_of, grown, lost, places_in, trials_in, whole_lines
from tests.faults.scene import PATIENCE_S, SteadyOllama, bury, environment, finalize, is_asked
from tests.workflow import MODEL, typed

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


class Files(NamedTuple):
    """The bytes of the two files of a batch that grow."""

    log: bytes
    trace: bytes


def files_in(home: Path) -> Files:
    """Those of the newest batch; no bytes where there is none yet."""
    batch = max((home / "runs" / "tiny").glob("*"), key=lambda path: (len(path.name), path.name), default=home / "none")
    return Files(bytes_of(batch / "responses.jsonl"), bytes_of(batch / "trace.jsonl"))


class BoardScene:
    """A folder with a small pack, a job, and a server; board.py as a process and in this one."""

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        """`home` is where the batch comes to be, if that is not in the folder."""
        self.home, self.undisturbed, self.server = home or folder, folder / "undisturbed", SteadyOllama()
        self.server.answer = answer
        self.acknowledged: set[Place] = set()
        self.problems: list[Problem] = []
        self.kill_at: tuple[int, float] | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.asked: list[Place] = []  # in this session
        self._lock = threading.Lock()
        for place in (self.home, self.undisturbed):
            put_pack(place)
            (place / "jobs").mkdir()
            systems = json.dumps(SYSTEMS)
            (place / "jobs" / "tiny.toml").write_text(job_text(GATE, systems=systems, geometry='"gated"'), "utf-8")

    def arrived(self, seen: Seen) -> None:
        """A request has come: the cells that this session asked for before are recorded, or the promise is broken."""
        if not is_asked(seen):
            return
        place = Place(MODEL, f"T-{number_in(seen.body['messages'])}", seen.body["options"]["seed"] - 1000)
        with self._lock:
            before = [asked for asked in self.asked if asked != place]
            self.acknowledged.update(before)
            self.problems += lost(before, files_in(self.home).log, f"when a request for {place} came")
            self.asked.append(place)
            number = len(self.asked)
        if self.kill_at and number == self.kill_at[0] and self.process is not None:
            threading.Timer(self.kill_at[1], self.process.kill).start()

    def kill(self, number: int, after_s: float) -> None:
        """Run board.py, and kill it so long after a request of this number; after its start where that is 0."""
        self.kill_at = (number, after_s)
        with self.started() as process:
            if number == 0:
                time.sleep(after_s)
                process.kill()
            process.wait(PATIENCE_S)
        self.kill_at = None
        finalize(self.server)

    @contextlib.contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """board.py as a process, which ends with this."""
        self.asked.clear()
        self.process = subprocess.Popen(
            [*PYTHON, str(ROOT / "board.py"), "run", "jobs/tiny.toml"], cwd=self.home,
            env={**environment(), "OLLAMA_HOST": self.server.host},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield self.process
        finally:
            bury(self.process)

    def run(self, home: Path) -> Told:
        """board.py in this process, to its end."""
        self.asked.clear()
        # the modules of the pack are dropped again; those of the kit were loaded before, by tests.board_command
        with (contextlib.chdir(home), mock.patch.dict(sys.modules), mock.patch.object(sys, "path", list(sys.path)),
              mock.patch.object(sys, "dont_write_bytecode", True),
              mock.patch.dict(os.environ, {"OLLAMA_HOST": self.server.host})):
            return typed(["board.py", "run", "jobs/tiny.toml"])

    def wanted(self) -> dict[Place, Said]:
        """What a run says that nothing disturbs."""
        self.server.on_chat = lambda seen: None
        told = self.run(self.undisturbed)
        self.server.on_chat = self.arrived
        self.problems += holds(told.code == 0, f"an undisturbed board ended with {told.code}: {told.stderr[-300:]}")
        return {place: said for place, _attempt, said in trials_in(files_in(self.undisturbed).log)}


def kill_board(turn: Turn) -> Found:
    """One batch: its run is killed once to three times, then it goes on to its board."""
    kills = turn.dice.randint(1, 3)
    one = BoardScene(turn.folder)
    with one.server:
        wanted = one.wanted()
        for _ in range(kills):
            before = files_in(one.home)
            number = turn.dice.randint(0, 14)
            one.kill(number, turn.dice.uniform(0.0, STEP_S if number else START_S))
            one.problems += _both_grown(before, files_in(one.home), "after a kill of a board")
            one.problems += lost(one.acknowledged, files_in(one.home).log, "after a kill of a board")
        _check_end(one, wanted, f"a board after {kills} kills")
    return Found(kills, len(one.acknowledged), tuple(one.problems))


def _check_end(one: BoardScene, wanted: Mapping[Place, Said], when: str) -> None:
    before, acknowledged = files_in(one.home), set(one.acknowledged)
    left = {place for place in wanted if place.system == MODEL} - places_in(before.log)
    told = one.run(one.home)
    after = files_in(one.home)
    one.problems += holds(told.code == 0 and "trace self-consistent" in told.stdout,
                          f"{when}: {told.code} {told.stdout[:200]} {told.stderr[-300:]}")
    one.problems += (*_both_grown(before, after, when), *lost(acknowledged, after.log, when),
                     *as_wanted(wanted, after.log, when), *_without_story(after, when))
    if set(one.asked) != left:
        one.problems.append(Problem("calls", f"{when}: asked for {len(set(one.asked))} cells, {len(left)} were left"))


def _both_grown(before: Files, after: Files, when: str) -> tuple[Problem, ...]:
    return (*grown(before.log, after.log, f"{when}, log"), *grown(before.trace, after.trace, f"{when}, trace"))


def _without_story(files: Files, when: str) -> tuple[Problem, ...]:
    """Every answer in the log has its one closed story in the trace."""
    def keys(data: bytes, kind: str) -> list[tuple[Any, ...]]:
        return [(line["session"], line.get("system", line.get("solver")), line["case"], line["trial"], line["attempt"])
                for line in whole_lines(data) if kind in (line.get("kind"), line.get("type"))]

    stories = keys(files.trace, "trial/end")
    return holds(set(keys(files.log, "trial")) <= set(stories) and len(stories) == len(set(stories)),
                 f"{when}: an answer has no story of its own in the trace")


def full_disk(turn: Turn) -> Found:
    """The disk is full somewhere within a batch; then there is room again."""
    with small_disk(turn.folder, "8m") as disk:
        one = BoardScene(turn.folder / "sound", disk)
        with one.server:
            wanted = one.wanted()
            size = sum(path.stat().st_size for path in one.undisturbed.rglob("*.jsonl"))
            fill(disk, turn.dice.randrange(0, size, 4096))
            before = files_in(one.home)
            told = one.run(one.home)
            (disk / "filler").unlink()
            one.problems += holds(
                told.code == 3 and "No space left" in told.stderr and told.stderr.count("\n") == 1,
                f"a board on a full disk: {told.code} {told.stderr[-300:]}")
            one.problems += _both_grown(before, files_in(one.home), "on a full disk")
            _check_end(one, wanted, "a board on a disk that was full")
    return Found(1, len(one.acknowledged), tuple(one.problems))


def power_cuts(turn: Turn) -> Found:
    """The device is copied under a board run: an answer that is there has its story in the trace."""
    with device(turn.folder) as disk:
        one = BoardScene(turn.folder / "sound", disk.folder)
        with one.server:
            one.wanted()
            copies: list[tuple[Path, set[Place]]] = []

            def arrived(seen: Seen) -> None:
                one.arrived(seen)
                if turn.dice.random() < 0.4:
                    copies.append((turn.folder / f"cut-{len(copies)}", set(one.acknowledged)))
                    shutil.copyfile(disk.image, copies[-1][0])
            one.server.on_chat = arrived
            with one.started() as process:
                one.problems += holds(process.wait(PATIENCE_S) == 0, f"it ended with {process.returncode}")
        for image, acknowledged in copies:
            with copied_device(image) as folder:
                left = files_in(folder)
            one.problems += (*lost(acknowledged, left.log, image.name), *_without_story(left, image.name))
    return Found(len(copies), sum(len(acknowledged) for _image, acknowledged in copies), tuple(one.problems))


BOARDS = (
    Part("kills of a board", "SIGKILL of board.py at random moments", one_in(3), kill_board),
    Part("a board on a full disk", "the log or the trace of a batch does not fit", one_in(15), full_disk),
    Part("power cuts under a board", "the block device copied under board.py", one_in(15), power_cuts))
