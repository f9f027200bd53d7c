"""Disks that are full, broken, short of breath or read-only: the log, the recording, a report, stdout.

Old files stay as they were, one line says why, the exit code is 3, and once the disk is mended the log goes on.
A sync that failed is never counted as recorded, nor tried again on the same descriptor.
"""
from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from tests.commands import Told
from tests.faults.found import Found, Missing, Part, Turn, one_in
from tests.faults.mounts import fill, read_only, small_disk
from tests.faults.oracle import bytes_of, grown, lost
from tests.faults.scene import Scene, scene
from tests.workflow import typed

LIMITED = ("import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2); "
           "os.execv(sys.argv[2], sys.argv[2:])")


def _limited(size: int) -> list[str]:
    """What is put before a command so that no file of it grows beyond so many bytes."""
    return [sys.executable, "-c", LIMITED, str(size)]


def _full_log_bytes(one: Scene) -> int:
    one.wanted()
    return len(bytes_of(one.folder / "undisturbed" / "smol.jsonl"))


def _check_stopped(one: Scene, told: Told, *words: str) -> None:
    one.expect_told(told, 3, *words)
    one.problems += lost(one.acknowledged, bytes_of(one.log), "on a disk that failed")


def log_on_a_full_disk(turn: Turn) -> Found:
    """A small disk is full somewhere within the log; then there is room again."""
    with small_disk(turn.folder) as disk, scene(turn.folder, log_folder=disk / "recorded") as one:
        room = turn.dice.randrange(0, _full_log_bytes(one) - 8192, 4096)
        fill(disk, room)
        told = one.run(*one.flags, "--quiet")
        _check_stopped(one, told, "No space left")
        (disk / "filler").unlink()
        return _gone_on(one, f"a disk with room for {room} bytes")


def _gone_on(one: Scene, when: str) -> Found:
    acknowledged = len(one.acknowledged)
    one.goes_on(when)
    return Found(1, acknowledged, tuple(one.problems))


def log_at_a_limit_of_size(turn: Turn) -> Found:
    """No file may grow beyond a limit: a write takes a part, and the next one fails."""
    with scene(turn.folder) as one:
        size = turn.dice.randrange(1, _full_log_bytes(one))
        told = one.run(*one.flags, "--quiet", prefix=_limited(size))
        _check_stopped(one, told, "File too large")
        return _gone_on(one, f"a limit of {size} bytes")


def recording_on_a_full_disk(turn: Turn) -> Found:
    """An older recording stays as it is where a new one does not fit; so does an older report, and a page."""
    with small_disk(turn.folder) as disk, scene(turn.folder) as one:
        one.resume()
        table = {"recording.json": f"bench.py --log {one.log} --convert {disk}/recording.json",
                 "run.json": f"harness.py run --system replay:{one.recording} --out {disk}/run.json",
                 "report.json": f"report.py {turn.folder}/run.json --out {disk}/report.json",
                 "report.html": f"report.py {turn.folder}/run.json --html {disk}/report.html"}
        typed(table["run.json"].replace(f"{disk}", str(turn.folder)).split())
        for name, command in table.items():
            typed(command.split())
            # what stands there is what the command takes for its own and would replace, for it differs
            (disk / name).write_bytes((disk / name).read_bytes() + b" ")
        fill(disk, 0)
        for name, command in table.items():
            _refused_on_full(one, command, disk / name)
        return Found(len(table), 0, tuple(one.problems))


def _refused_on_full(one: Scene, command: str, path: Path) -> None:
    old = path.read_bytes()
    told = typed(command.split())
    one.expect_told(told, 3, "No space left", path.name)
    one.expect(path.read_bytes() == old, f"{path.name} is not what it was")
    one.expect(not list(path.parent.glob("*.partial-*")), f"a part of {path.name} is left")


def stdout_that_is_full(turn: Turn) -> Found:
    """/dev/full as stdout: exit code 3 and a line; the log and the recording are whole."""
    _need_dev_full()
    with scene(turn.folder) as one, open("/dev/full", "wb") as full:
        told = one.ended(one.start(*one.flags, "--quiet", stdout=full))
        one.expect_told(told, 3, "No space left")
        return _gone_on(one, "a stdout that is full")


def _need_dev_full() -> None:
    if not os.path.exists("/dev/full"):
        raise Missing("no /dev/full here")


def log_and_recording_on_dev_full(turn: Turn) -> Found:
    """/dev/full where a log or a recording should be is refused; nothing is asked."""
    _need_dev_full()
    with scene(turn.folder) as one:
        one.resume()
        link = one.log.with_name("full.jsonl")
        link.symlink_to("/dev/full")
        told = typed(["bench.py", *one.flags_for(link)])
        one.expect(told.code in (2, 3) and told.stderr.count("\n") == 1, f"a log that is /dev/full: {told}")
        one.expect_told(typed(["bench.py", "--log", str(one.log), "--convert", "/dev/full"]), 3, "/dev/full")
        return Found(2, 0, tuple(one.problems))


def sync_that_fails(turn: Turn) -> Found:
    """The kernel fails one sync of the log: its trial is not counted, and the descriptor is left alone."""
    return _injected(turn, "fdatasync", "EIO", "Input/output error")


def write_that_fails(turn: Turn) -> Found:
    """The kernel fails one write of the log, or has no room for it."""
    error, words = turn.dice.choice([("EIO", "Input/output error"), ("ENOSPC", "No space left"),
                                     ("EDQUOT", "quota exceeded")])
    return _injected(turn, "write", error, words)


def _injected(turn: Turn, call: str, error: str, words: str) -> Found:
    if shutil.which("strace") is None:
        raise Missing("no strace here")
    with scene(turn.folder) as one:
        one.log.parent.mkdir()
        one.log.touch()
        number = turn.dice.randint(1, 4 + one.cells)
        told = one.run(*one.flags, "--quiet", prefix=(
            "strace", "-f", "-qq", "-o", str(turn.folder / "calls"), "-P", str(one.log), "-e",
            "trace=write,fdatasync,fsync", "-e", f"inject={call}:error={error}:when={number}"))
        calls = bytes_of(turn.folder / "calls").decode(errors="replace").splitlines()
        if not any("INJECTED" in line for line in calls):
            raise Missing(f"strace cannot fail a call here: {told.stderr[-200:]}")
        _check_stopped(one, told, words)
        at = next(number for number, line in enumerate(calls) if "INJECTED" in line)
        after = [line for line in calls[at + 1:] if re.search(r"\b(write|fdatasync|fsync)\(", line)]
        one.expect(not after, f"after a failed {call} the log was touched again: {after[:2]}")
        return _gone_on(one, f"{error} at {call} {number}")


def writes_in_small_pieces(turn: Turn) -> Found:
    """Every write takes 100 bytes at most: all of them are written nevertheless."""
    with scene(turn.folder) as one:
        told = one.run(*one.flags, "--quiet", bends=("small_writes",))
        one.expect_told(told, 0)
        return _gone_on(one, "writes of 100 bytes")


def read_only_folder(turn: Turn) -> Found:
    """The disk becomes read-only between two sessions, or is so from the start."""
    with small_disk(turn.folder) as disk, scene(turn.folder, log_folder=disk / "recorded") as one:
        if turn.dice.random() < 0.7:
            typed(["bench.py", *one.flags, "--limit", str(turn.dice.randint(1, one.cells - 1))])
        before = bytes_of(one.log)
        read_only(disk, True)
        told = one.run(*one.flags, "--quiet")
        _check_stopped(one, told, "Read-only")
        one.problems += grown(before, bytes_of(one.log), "on a read-only disk")
        read_only(disk, False)
        return _gone_on(one, "a read-only disk")


TABLE: tuple[Callable[[Turn], Found], ...] = (
    log_on_a_full_disk, sync_that_fails, log_at_a_limit_of_size, write_that_fails, recording_on_a_full_disk,
    read_only_folder, stdout_that_is_full, writes_in_small_pieces, log_and_recording_on_dev_full)


def _part(fault: Callable[[Turn], Found]) -> Part:
    """Those that fail at a random place are tried more often than those that have one place only."""
    has_one_place = fault in (stdout_that_is_full, writes_in_small_pieces, log_and_recording_on_dev_full,
                              recording_on_a_full_disk)
    says = (fault.__doc__ or "").split("\n")[0].rstrip(".")
    return Part(fault.__name__.replace("_", " "), says, one_in(100 if has_one_place else 15), fault)


DISKS = tuple(map(_part, TABLE))
