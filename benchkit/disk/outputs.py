"""Where an output may go: never onto an input or another output, and never onto a file of another kind,
or one that is named like it.

What does not live here: writing it (whole_files.py).
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from itertools import combinations

from benchkit.basics.errors import Unusable
from benchkit.disk.whole_files import open_to_read, shown_path

HEAD_BYTES = 200
_FLAGS = {".json": "--out", ".html": "--html", ".htm": "--html", ".md": "--markdown", ".markdown": "--markdown",
          ".xml": "--junit", ".csv": "--csv"}
"""The flag of report.py that writes files of such names."""


def refuse_shared(outputs: Mapping[str, str], inputs: Iterable[str]) -> None:
    """Raise Unusable where an output (its flag -> its path) is an input, or two outputs are one file."""
    given = list(inputs)
    for flag, path in outputs.items():
        if any(is_same_file(path, other) for other in given):
            raise Unusable(
                f"{shown_path(path)}: this is an input, which is never written over; give {flag} another name")
    for (flag, path), (other_flag, other) in combinations(outputs.items(), 2):
        if is_same_file(path, other):
            raise Unusable(f"{shown_path(other)}: {flag} and {other_flag} name one file; give one of them another name")


def refuse_misnamed(flag: str, path: str) -> None:
    """Raise Unusable where a name ends as those of another kind of report do, with the flag that is meant."""
    suffix = os.path.splitext(path)[1].lower()
    meant = _FLAGS.get(suffix, flag)
    if meant != flag:
        raise Unusable(f"{flag} {shown_path(path)}: a name that ends in {suffix} is for report.py {meant}; give that "
                       "flag, or another name")


def is_same_file(path: str, other: str) -> bool:
    """Whether two paths lead to one file, through links and other spellings too; it need not be there."""
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def refuse_unlike(path: str, start: re.Pattern[bytes], kind: str) -> None:
    """Raise Unusable where a file stands that is neither empty nor begins as `start` does, so is no `kind`."""
    try:
        with os.fdopen(open_to_read(path), "rb") as file:
            head = file.read(HEAD_BYTES)
    except Unusable:
        if os.path.isfile(path):
            raise  # it cannot be read, so nobody knows whose it is
        return  # nothing is there, or no file: writing will say what
    if head and not start.match(head):
        raise Unusable(f"{shown_path(path)} is there and is no {kind}, so it is not written over; give another name")
