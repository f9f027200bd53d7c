"""What commands print, return and write over files that are committed, whole, as it was when a person last read it.

    python3 -m tests.goldens          write tests/goldens/*.txt anew; the difference is to be read line by line

One text for each group of commands: they are typed one after the other, each group in a folder of its own. Nothing of
the kit's inside is used here, so that the inside can be built anew behind these texts.
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from tests.commands import ROOT
from tests.shipped import copy_of_the_tree
from tests.workflow import NOWHERE, typed_in

GOLDENS = ROOT / "tests" / "goldens"
TOY = GOLDENS / "toy"
LONGEST_FILE = 30_000
"""Of a longer file its SHA-256 is kept, and how long it is."""
CIRCUMSTANCES = re.compile(r'"started_at":\s?"[^"]*",\s*"environment":\s?\{[^}]*\}')
"""What differs from one run record of the same log to the next."""
ROBOT = "harness.py run --task parity_task --cases cases.json --system"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "toy": (
        "bench.py --log robot.jsonl --task parity_task --status",
        "bench.py --log robot.jsonl --convert robot.json",
        "bench.py --log doll.jsonl --convert doll.json",
        "bench.py --log robot.jsonl --export clean.jsonl",
        f"{ROBOT} replay:robot.json --out robot-run.json",
        f"{ROBOT} replay:doll.jsonl --out doll-run.json",
        f"{ROBOT} replay:doll.jsonl --out doll-lines.jsonl",
        "harness.py check --task parity_task --cases cases.json",
        "harness.py show --task parity_task --cases cases.json --case two",
        "report.py robot-run.json",
        "report.py robot-run.json --full",
        "report.py doll-lines.jsonl --case three",
        "report.py robot-run.json doll-run.json --margin 5 --out report.json --html page.html --markdown report.md "
        "--junit junit.xml --csv trials.csv",
        "report.py robot-run.json doll-run.json --margin .05 --out report.json --html page.html --markdown report.md "
        "--junit junit.xml --csv trials.csv",
        "harness.py compare robot-run.json doll-run.json --out gate.json",
        "harness.py compare doll-run.json robot-run.json",
        "harness.py compare doll-run.json robot-run.json --allow-incomplete --strict --max-drop 10",
        "outputs_digest.py robot.jsonl doll.jsonl",
        "outputs_digest.py robot.jsonl --update book.json --label here",
        "outputs_digest.py --check book.json",
        "outputs_digest.py --compare robot.jsonl doll.json",
    ),
    "recorded": (
        "bench.py --log recorded/qwen2.5-coder.jsonl",
        "bench.py --log recorded/qwen2.5-coder-partial.jsonl --status",
        "bench.py --log recorded/smollm2.jsonl --dry-run",
        "report.py runs/qwen2.5-coder.json",
        "report.py runs/qwen2.5-coder.json --full",
        "report.py runs/smollm2.json runs/most-common.json --markdown both.md --out both.json",
        "report.py runs/smollm2.json --case dev-001-double-charge",
        "harness.py compare runs/smollm2.json runs/qwen2.5-coder.json",
        "harness.py compare runs/most-common.json runs/smollm2.json --strict",
        "harness.py check --task triage_task --cases cases.json",
        "harness.py show --task triage_task --cases cases.json --case dev-002-white-page --system model_triage:gemma",
        "outputs_digest.py --check recorded/recordings.json",
        "outputs_digest.py --compare recorded/smollm2-llama-cpp.jsonl recorded/smollm2.json",
    ),
    "boards": (
        "board.py list",
        "board.py report jobs/small_single.toml --batch 20261130T134337Z",
        "board.py report jobs/small_gated.toml --batch 20261130T140229Z",
        "board.py estimate jobs/small_gated.toml",
        "board.py trace runs/small_gated/20261130T140229Z --case EW-01 --system baselines:coin --trial 1",
        "board.py recompute runs/small_single/20261130T134337Z",
        "board.py publish runs/small_single/20261130T134337Z",
    ),
    "refusals": (
        "bench.py --system nothing:here",
        "bench.py --system model_triage:qwen",
        "bench.py --trials 0",
        "bench.py --log damaged.jsonl --status",
        "bench.py --log damaged.jsonl --convert damaged.json",
        "bench.py --log damaged.jsonl --accept-damage --status",
        "bench.py --log robot.jsonl --trials 2 --task parity_task",
        "bench.py --log cases.json --status",
        "harness.py run --system replay:nowhere.json",
        "harness.py run --task parity_task --cases cases.json --system replay:robot.jsonl --trials 9",
        "harness.py compare robot.jsonl robot.jsonl",
        "harness.py check --task no_task",
        "report.py",
        "report.py cases.json",
        "report.py nowhere.json",
        "outputs_digest.py robot.jsonl --update cases.json --label x",
        "outputs_digest.py --compare robot.jsonl nowhere.jsonl",
        "board.py run nowhere.toml",
        "board.py report nowhere.toml",
        "board.py publish nowhere",
        "board.py trace nowhere --case a --system b",
    ),
}


def golden(group: str) -> str:
    """All that the commands of a group print, return and write, in a folder that is made for them."""
    with tempfile.TemporaryDirectory() as text, mock.patch.dict(os.environ, {"OLLAMA_HOST": NOWHERE}):
        folder = Path(text).resolve() / "here"
        if group in ("toy", "refusals"):
            shutil.copytree(TOY, folder)
        else:
            copy_of_the_tree(folder)
        with _modules_of(folder):
            told = "".join(text for command in COMMANDS[group] for text in _typed(folder, command))
        return told.replace(str(folder), "FOLDER").replace(str(ROOT), "KIT").replace(NOWHERE, "127.0.0.1:11434")


@contextlib.contextmanager
def _modules_of(folder: Path) -> Iterator[None]:
    """The modules of the folder come first, and are forgotten behind it; those they stood in for are there again."""
    path, modules = list(sys.path), dict(sys.modules)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(folder) in str(getattr(module, "__file__", "")):
                del sys.modules[name]
        sys.modules.update({name: module for name, module in modules.items() if name not in sys.modules})


def _typed(folder: Path, command: str) -> Iterator[str]:
    before = _files(folder)
    told = typed_in(folder, *shlex.split(command))
    yield f"$ {command}\nexit code {told.code}\n"
    for name, text in (("stdout", told.stdout), ("stderr", told.stderr)):
        if text:
            yield f"--- {name}\n{_ended(text)}"
    after = _files(folder)
    for name in sorted({*before, *after}):
        if name not in after:
            yield f"--- {name} is gone\n"
        elif before.get(name) != after[name]:
            yield f"--- {name}\n{_ended(_shown(after[name]))}"
    yield "\n"


def _files(folder: Path) -> dict[str, str]:
    found = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    texts = [CIRCUMSTANCES.sub("(when and where)", path.read_bytes().decode("utf-8")) for path in found]
    return {path.relative_to(folder).as_posix(): text for path, text in zip(found, texts, strict=True)}


def _shown(text: str) -> str:
    if len(text) <= LONGEST_FILE:
        return text
    return f"{len(text):,} characters, SHA-256 {hashlib.sha256(text.encode('utf-8')).hexdigest()}"


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n(no newline at the end)\n"


def main() -> None:
    """Write all texts anew."""
    for group in COMMANDS:
        (GOLDENS / f"{group}.txt").write_text(golden(group), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
