"""Disks made for one turn, where this machine can mount them: a small one, and one whose device can be copied.

Each raises Missing with the name of what is missing.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.found import Missing

IMAGE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Device:
    """A file system on a file: where it is mounted, and the file that is its device."""

    folder: Path
    image: Path


def _need(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise Missing(f"no {', '.join(missing)} here")
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise Missing("mounting needs root")


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, text=True)
    if done.returncode:
        raise Missing(f"{command[0]} does not work here: {done.stderr.strip()[:200]}")


@contextlib.contextmanager
def _mounted(folder: Path, *how: str | Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    _run("mount", *how, folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "1m") -> Iterator[Path]:
    """A disk in memory that is soon full."""
    _need("mount", "umount")
    with _mounted(folder / "small", "-t", "tmpfs", "-o", f"size={size}", "tmpfs") as mounted:
        yield mounted


def read_only(mounted: Path, is_so: bool) -> None:
    """Make a mounted disk read-only, or not any more."""
    _run("mount", "-o", f"remount,{'ro' if is_so else 'rw'}", mounted)


def fill(disk: Path, room: int) -> None:
    """Leave so much room on a disk, by a file that is called filler."""
    with (disk / "filler").open("wb") as file:
        file.write(bytes(shutil.disk_usage(disk).free - room))


@contextlib.contextmanager
def device(folder: Path) -> Iterator[Device]:
    """A file system on a loop device; what is not synced stays in memory for minutes."""
    _need("mount", "umount", "losetup", "mkfs.ext4")
    image = folder / "device"
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    _run("mkfs.ext4", "-q", "-F", image)
    with _mounted(folder / "mounted", "-o", "loop,commit=300", image) as mounted:
        yield Device(mounted, image)


@contextlib.contextmanager
def copied_device(image: Path) -> Iterator[Path]:
    """A copy of a device, mounted as after a power cut: its journal is played back first."""
    with _mounted(image.with_name(f"{image.name}-mounted"), "-o", "loop", image) as mounted:
        yield mounted
