"""Every file that is made from the committed logs is made again, byte for byte, whatever the hash seed and locale."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

from benchkit.basics.json_text import close_line
from benchkit.boards.batch import BOARD_HTML, BOARD_MARKDOWN, EVAL
from benchkit.recordings.replay import RUN_DESCRIPTION_FIELDS
from tests.commands import HANGS_S, PYTHON, ROOT
from tests.shipped import SHIPPED, copy_of_the_tree, not_shipped
from tests.test_readme import rebuild_commands
from tests.test_tasks_task import InAFolder
from tests.workflow import typed_in

ENVIRONMENT = {"PYTHONHASHSEED": "77", "LC_ALL": "C", "TZ": "Pacific/Apia"}
"""Another one than that in which the committed files were made."""


def without_description(value: Any) -> Any:
    """A run record without the fields that tell of its circumstances."""
    if isinstance(value, dict):
        return {key: without_description(inner) for key, inner in value.items() if key not in RUN_DESCRIPTION_FIELDS}
    return [without_description(inner) for inner in value] if isinstance(value, list) else value


def made_files(folder: Path) -> dict[str, bytes]:
    """Every shipped file of recorded/ and runs/ that follows from the logs."""
    paths = [folder / place / name for place in ("recorded", "runs") for name in SHIPPED[place]
             if name.endswith(".json") and name != "recordings.json"]
    paths += [batch / name for batch in shipped_batches(folder) for name in (BOARD_MARKDOWN, BOARD_HTML, EVAL)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.exists()}


def shipped_batches(folder: Path) -> list[Path]:
    """The folders of the batches."""
    return [folder / place / name for place in SHIPPED if place.startswith("runs/") for name in SHIPPED[place]]


def files_in(folders: list[Path]) -> dict[Path, bytes]:
    """Every file in some folders, and what is in it."""
    return {path.relative_to(one.parent): path.read_bytes() for one in folders for path in one.iterdir()}


class Shipped(unittest.TestCase):
    @unittest.skipUnless((ROOT / ".git").exists() and shutil.which("git"), "no clone: what is shipped is not known")
    def test_all_that_is_committed_is_listed_and_nothing_else(self) -> None:
        command = ["git", "ls-files", "recorded", "runs"]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        found: dict[str, set[str]] = {place: set() for place in SHIPPED}
        for line in told.stdout.splitlines():
            for place, names in found.items():
                if line.startswith(f"{place}/"):
                    names.add(line.removeprefix(f"{place}/").partition("/")[0])
        self.assertEqual(found, SHIPPED)

    def test_a_copy_leaves_out_what_somebody_added(self) -> None:
        names = ["smollm2.json", "mine.json", "mine.jsonl"]
        self.assertEqual(not_shipped(str(ROOT / "recorded"), names), {"mine.json", "mine.jsonl"})
        self.assertEqual(not_shipped(str(ROOT / "runs" / "small_gated"), ["20261130T140229Z", "2027"]), {"2027"})
        self.assertEqual(not_shipped(str(ROOT), ["my_task.py", "__pycache__"]), {"__pycache__"})


class Rebuilt(InAFolder):
    def test_all_files_from_the_logs_are_equal_but_for_the_circumstances(self) -> None:
        committed, tree = made_files(ROOT), copy_of_the_tree(self.folder / "tree")
        for name in made_files(tree):
            (tree / name).unlink()
        for command in rebuild_commands():
            with self.subTest(command):
                told = subprocess.run(
                    [*PYTHON, *command.split()[1:]], cwd=tree, check=False, capture_output=True, text=True,
                    timeout=HANGS_S, env={**os.environ, **ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": ""})
                more = [line for line in told.stderr.splitlines()
                        if not line.startswith(("written: ", "recorded/recordings.json: 2 logs beside it "))]
                self.assertEqual((0, []), (told.returncode, more))
                if "board.py" in command:
                    self.assertNotRegex(told.stdout, "differ|otherwise")
        made = made_files(tree)
        self.assertEqual(sorted(committed), sorted(made))
        for name, data in committed.items():
            with self.subTest(name=name):
                if b'"run_record": 2' in data[:40]:
                    self.assertEqual(*(without_description(json.loads(one)) for one in (data, made[name])))
                else:
                    self.assertEqual(data, made[name])
        self.assertEqual(files_in(shipped_batches(ROOT)), files_in(shipped_batches(tree)))

    def test_the_partial_log_is_a_byte_prefix_of_the_whole(self) -> None:
        whole = (ROOT / "recorded" / "qwen2.5-coder.jsonl").read_bytes()
        partial = (ROOT / "recorded" / "qwen2.5-coder-partial.jsonl").read_bytes()
        self.assertTrue(whole.startswith(partial))
        self.assertGreater(len(whole), len(partial))

    def test_the_partial_recording_says_what_the_budget_left(self) -> None:
        recording = json.loads((ROOT / "recorded" / "qwen2.5-coder-partial.json").read_text(encoding="utf-8"))
        trials = [trial for case in recording["cases"] for trial in case["trials"]]
        missing = [trial["error"] for trial in trials if trial.get("error", {}).get("type") == "NotRun"]
        self.assertTrue(0 < len(missing) < len(trials))
        self.assertEqual({"not run: the budget ended first"}, {error["message"] for error in missing})

    def test_the_digests_are_those_of_the_committed_log_and_two_machines_were_kept(self) -> None:
        book = json.loads((ROOT / "recorded" / "recordings.json").read_text(encoding="utf-8"))
        self.assertEqual([["smollm2-llama-cpp"], ["qwen2.5-coder", "smollm2"]],
                         [sorted(entry["logs"]) for entry in book["entries"]])

    def test_one_character_of_one_output_is_named_by_case_and_trial(self) -> None:
        shutil.copytree(ROOT / "recorded", self.folder / "recorded")
        log = self.folder / "recorded" / "smollm2.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        number = next(number for number, line in enumerate(lines) if b'"output":' in line)
        fields = json.loads(lines[number])
        del fields["sum"]
        fields["output"] += "!"
        lines[number] = close_line(fields)
        log.write_bytes(b"".join(lines))
        told = typed_in(self.folder, "outputs_digest.py", "--check", "recorded/recordings.json")
        self.assertEqual(1, told.code)
        self.assertIn(f"{fields['case']}", told.stdout)
        self.assertIn(f"trial {fields['trial']}", told.stdout)
