"""Replays everything committed, in one process, so that it also runs where no second one starts (WebAssembly).

    python3 .ci/replay.py make TREE            run the commands in TREE, a clone; what they print is in TREE/replayed
    python3 .ci/replay.py compare TREE OTHER   are the files of both equal, but for when and where they were made?

The commands are those of the README that build everything again, then a report in every format, a comparison and
digests. `compare` prints one line and exits with 0, or a line for each file that differs and exits with 1.
"""
from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

PLACES = ("recorded", "runs", "replayed")
MADE = ("recorded/*.json", "runs/*.json", "runs/*/*/board.*", "runs/*/*/eval.jsonl")
FORMATS = ("--html", "replayed/report.html", "--markdown", "replayed/report.md", "--junit", "replayed/report.xml",
           "--csv", "replayed/trials.csv", "--out", "replayed/report.json")


def commands(tree: Path) -> list[list[str]]:
    """The README's rebuilding commands without `python3`, and those that show the same files in other ways."""
    readme = (tree / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^## Build everything again.*?^```sh\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit("README.md has no block that builds everything again")
    rebuilding = [line.split()[1:] for line in found.group(1).splitlines()]
    runs = next(words for words in rebuilding if words[0] == "report.py")[1:-2]
    logs = [words[2] for words in rebuilding if words[0] == "bench.py"][:2]
    return [*rebuilding, ["report.py", *runs, *FORMATS], ["harness.py", "compare", *runs[:2]],
            ["outputs_digest.py", "--compare", *logs]]


def make(tree: Path) -> None:
    """Take away what is made, and run every command. Raises SystemExit when one ends as unusable (exit code over 1)."""
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    for path in (path for pattern in MADE for path in tree.glob(pattern)):
        if path.name != "recordings.json":
            path.unlink()
    Path("replayed").mkdir(exist_ok=True)
    for number, (script, *flags) in enumerate(commands(tree)):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = importlib.import_module(script.removesuffix(".py")).main(flags)
        Path("replayed", f"{number:02d}-{script}.txt").write_text(said.getvalue(), encoding="utf-8")
        if code > 1:
            raise SystemExit(f"{script} {' '.join(flags)}: exit code {code}")


def without_circumstances(value: Any, fields: frozenset[str]) -> Any:
    """A JSON value without the fields that tell when and where it was made."""
    if isinstance(value, dict):
        return {key: without_circumstances(inner, fields) for key, inner in value.items() if key not in fields}
    return [without_circumstances(inner, fields) for inner in value] if isinstance(value, list) else value


def compare(tree: Path, other: Path) -> int:
    """Say which files of two trees differ; what was printed counts if both were replayed."""
    sys.path.insert(0, str(tree))
    fields = frozenset(importlib.import_module("benchkit.recordings.replay").RUN_DESCRIPTION_FIELDS)
    places = PLACES if (other / "replayed").is_dir() else PLACES[:2]
    names = sorted({path.relative_to(root) for root in (tree, other) for place in places
                    for path in (root / place).rglob("*") if path.is_file()})
    different = []
    for name in names:
        texts = [(root / name).read_bytes() if (root / name).is_file() else b"" for root in (tree, other)]
        if texts[0] != texts[1] and b'"run_record"' in texts[0][:40]:
            texts = [json.dumps(without_circumstances(json.loads(text), fields)).encode() for text in texts if text]
        if len(set(texts)) != 1:
            different.append(name)
    for name in different:
        print(f"{name} differs")
    print(f"{len(names) - len(different)} of {len(names)} files are equal")
    return 1 if different or not names else 0


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]).resolve())
    else:
        sys.exit(compare(Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()))
