"""Where an output may go: never onto an input, another output or a link, and never onto a file of another kind.

The kind of a file is told by how it begins, so that a file given in the place of another is called what it is.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from pathlib import Path

from benchkit.basics.command import shell_word
from benchkit.basics.errors import Unusable
from benchkit.disk.whole_files import open_to_read, read_json, shown_path

HEAD_BYTES = 2**18
_FIRST_KEY = re.compile(rb'\s*\{\s*"([a-z_]+)"\s*:')
_CLOSING = re.compile(rb',"sum":"[0-9a-f]{16}"\}\r?$', re.MULTILINE)
_TASK = re.compile(rb'"task":\s*\{\s*"module":\s*"([A-Za-z0-9_.]+)"')


class FileKind(StrEnum):
    """The files there are; the value is how one is called in a sentence."""

    LOG = "a trial log"
    RECORDING = "a recording"
    RUN_RECORD = "a run record"
    REPORT = "a report"
    GATE = "an answer of compare"
    CASES = "a file of cases"
    DIGESTS = "a file of digests"
    PAGE = "a page or XML file"


_FIRST_KEYS = {b"recording": FileKind.RECORDING, b"run_record": FileKind.RUN_RECORD, b"report": FileKind.REPORT,
               b"gate": FileKind.GATE, b"recordings": FileKind.DIGESTS, b"cases": FileKind.CASES}


def beginning(path: Path) -> bytes:
    """The first bytes of a file. Raises Unusable if it cannot be read."""
    with os.fdopen(open_to_read(path), "rb") as file:
        return file.read(HEAD_BYTES)


def kind_in(head: bytes) -> FileKind | None:
    """What begins so; None for what is none of the kit's files, or empty."""
    if _CLOSING.search(head) is not None:
        return FileKind.LOG  # first, for a line of a log may begin as another file does
    first = _FIRST_KEY.match(head)
    if first is not None and first[1] in _FIRST_KEYS:
        return _FIRST_KEYS[first[1]]
    return FileKind.PAGE if head.lstrip().startswith((b"<!doctype", b"<?xml")) else None


def refuse_another_kind(path: Path, wanted: FileKind) -> None:
    """Raise Unusable where a file is another of the kit's files than the one wanted, with what to do with it."""
    head = beginning(path)
    kind = kind_in(head)
    if kind is FileKind.CASES and wanted not in (FileKind.CASES, FileKind.LOG):
        # recordings and records have cases, too, and these come first where keys were sorted
        value = read_json(path)
        keys = value.keys() if isinstance(value, Mapping) else ()
        kind = next((kind for key, kind in _FIRST_KEYS.items() if key.decode() in keys), None)
    if kind not in (None, wanted):
        raise Unusable(f"{shown_path(path)}: this is {kind}, not {wanted}; {_remedy(path, head, kind, wanted)}")


def _remedy(path: Path, head: bytes, kind: FileKind | None, wanted: FileKind) -> str:
    name = shell_word(str(path))
    if wanted is FileKind.RUN_RECORD and kind in (FileKind.LOG, FileKind.RECORDING):
        found, out = _TASK.search(head), shell_word(os.path.join("runs", f"{path.stem}.json"))
        task = "" if found is None else f" --task {shell_word(found[1].decode('utf-8', 'replace'))}"
        command = f"python3 harness.py run{task} --system {shell_word(f'replay:{path}')} --out {out}"
        return f"judge it first (with --cases FILE if its cases are not in cases.json): {command}"
    if wanted is FileKind.RUN_RECORD and kind in (FileKind.REPORT, FileKind.GATE, FileKind.PAGE):
        return "give the run records it was made of, as python3 harness.py run writes them"
    if wanted is FileKind.RECORDING and kind is FileKind.RUN_RECORD:
        return f"replay the recording it was made of; python3 report.py {name} shows what it holds"
    if wanted is FileKind.DIGESTS and kind is FileKind.LOG:
        return f"python3 outputs_digest.py {name} prints its digest"
    return _WHERE_FROM[wanted]


_WHERE_FROM = {
    FileKind.LOG: "give the log that python3 bench.py writes, whose name ends in .jsonl",
    FileKind.RECORDING: "give a recording or a log, as python3 bench.py writes them",
    FileKind.RUN_RECORD: "give a run record, as python3 harness.py run writes it",
    FileKind.CASES: "name the file of cases with --cases",
    FileKind.DIGESTS: "give a file that python3 outputs_digest.py LOG --update FILE --label TEXT has made",
}
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
