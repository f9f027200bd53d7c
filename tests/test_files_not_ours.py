"""Files that are not the kit's: nothing is added to them, nothing is written through a link, none stands in for ours.

Every attack is played with commands, on the real file system of this machine.
"""
from __future__ import annotations

import json
import os
import subprocess
import unittest
from pathlib import Path

from tests.board_command import BoardCommand
from tests.commands import PYTHON, ROOT
from tests.workflow import Workflow

FOREIGN = {
    "text": b"Things to do:\n1. milk\n", "text without a line end": b"note to myself", "a line end": b"\n",
    "Windows line ends": b"\r\n\r\n", "JSON": b"{}", "JSON over lines": b'{\n  "budget": 3\n}\n',
    "lines of JSON": b'{"a": 1}\n{"a": 2}\n', "binary": bytes(range(256)) * 3, "a disk of NULs": bytes(1 << 20),
    "a text that quotes a log": b'seen: {"budget_s":null,"kind":"session"}\n',
}


@unittest.skipUnless(os.name == "posix", "links and locks of POSIX")
class Logs(Workflow):
    RUN = "bench.py --system baselines:keywords --trials 1 --quiet"

    def test_nothing_is_added_to_a_file_that_is_no_log(self) -> None:
        path = self.folder / "notes.jsonl"
        commands = [f"{self.RUN} --log notes.jsonl{more}" for more in (
            "", " --accept-damage", " --changed rerun", " --shard 1/2", " --dry-run")]
        commands += [f"bench.py --log notes.jsonl {mode}" for mode in (
            "--status", "--convert out.json", "--export out.jsonl")]
        commands.append("harness.py run --system baselines:keywords --trials 1 --out notes.json")
        for number, (name, data) in enumerate(FOREIGN.items()):
            path.write_bytes(data)
            # each file with the run, and each way to open a log with some file
            for command in {commands[0], commands[number % len(commands)]} if number else commands:
                with self.subTest(name, command=command):
                    self.refused(command, 2, "notes.jsonl: this is no trial log")
        self.refused(commands[0], 2, "give another name, or move this file away")

    def test_a_log_is_gone_on_with_where_its_first_line_was_torn_and_behind_named_damage(self) -> None:
        self.well(f"{self.RUN} --log whole.jsonl")
        whole = (self.folder / "whole.jsonl").read_bytes()
        first = whole.index(b"\n") + 1
        for data in (b"", whole[:1], whole[:40], whole[:first - 1], whole[:first].replace(b"pid", b"pix"),
                     bytes(40) + whole[40:first], bytes(first), whole + b"torn"):
            with self.subTest(data[:20]):
                (self.folder / "log.jsonl").write_bytes(data)
                (self.folder / "log.json").unlink(missing_ok=True)
                self.assertIn("every planned trial ran", self.well(f"{self.RUN} --log log.jsonl"))
                self.assertTrue((self.folder / "log.jsonl").read_bytes().startswith(data))

    def test_a_log_that_is_a_link_is_refused_by_name_and_its_target_stays(self) -> None:
        self.well(f"{self.RUN} --log recorded/keywords.jsonl")
        self.well("harness.py run --system replay:recorded/keywords.jsonl --out runs/record.jsonl")
        (self.folder / "empty").touch()
        for target in ("recorded/keywords.jsonl", "runs/record.jsonl", "empty", "nowhere", "link.jsonl"):
            (self.folder / "link.jsonl").symlink_to(target)
            for command in (f"{self.RUN} --log link.jsonl", f"{self.RUN} --log link.jsonl --dry-run",
                            "harness.py run --system baselines:keywords --trials 1 --out link.json"):
                with self.subTest(target=target, command=command):
                    self.refused(command, 2, "link.jsonl is a link to ", "give the name of the file itself")
            self.assertFalse((self.folder / "nowhere").exists())
            (self.folder / "link.jsonl").unlink()

    def test_outputs_take_the_place_of_links_and_what_these_lead_to_stays(self) -> None:
        self.well(f"{self.RUN} --log recorded/keywords.jsonl")
        self.well("harness.py run --system replay:recorded/keywords.json --out runs/a.json")
        (self.folder / "keywords.jsonl").write_bytes((self.folder / "recorded/keywords.jsonl").read_bytes())
        outputs = {
            "bench.py --log recorded/keywords.jsonl --convert out": "recorded/keywords.json",
            "harness.py run --system replay:recorded/keywords.json --out out": "runs/a.json",
            "harness.py compare runs/a.json runs/a.json --out out": None,
            "report.py runs/a.json --out out": None, "report.py runs/a.json --html out": None,
            "outputs_digest.py keywords.jsonl --update out --label x": None,
        }
        for command, kind in outputs.items():
            for link in (Path.symlink_to, Path.hardlink_to):
                # what is ours could be replaced, so this is where a link would be written through
                target = self.folder / "elsewhere"
                target.write_bytes(b"" if kind is None else (self.folder / kind).read_bytes() + b" ")
                if "digest" in command:
                    target.write_bytes(b'{"recordings": 1, "entries": []}')
                before = target.read_bytes()
                link(self.folder / "out", target)
                with self.subTest(command, link=link.__name__):
                    self.well(command)
                    self.assertEqual(before, target.read_bytes())
                    self.assertFalse((self.folder / "out").is_symlink())
                    self.assertNotEqual(before, (self.folder / "out").read_bytes())
                (self.folder / "out").unlink()

    def test_new_files_are_not_made_where_a_link_stands(self) -> None:
        self.well(f"{self.RUN} --log recorded/keywords.jsonl")
        (self.folder / "out.jsonl").symlink_to("nowhere")
        for command in ("bench.py --log recorded/keywords.jsonl --export out.jsonl",
                        "bench.py --merge recorded/keywords.jsonl --log out.jsonl"):
            with self.subTest(command):
                self.refused(command, 2, "out.jsonl is there already")
                self.assertFalse((self.folder / "nowhere").exists())

    def test_a_link_that_comes_while_the_log_is_written_ends_the_run(self) -> None:
        (self.folder / "swap.py").write_text(
            "import os\nfrom benchkit.basics.values import Reply\n"
            "class Swap:\n"
            "    def open(self): return {'server': None}\n"
            "    def settings(self): return {}\n"
            "    def warm(self): return 0.0\n"
            "    def answer(self, request):\n"
            "        if request.trial == 2 and not os.path.islink('recorded/x.jsonl'):\n"
            "            os.rename('recorded/x.jsonl', 'stolen'); os.symlink('../stolen', 'recorded/x.jsonl')\n"
            "        return Reply('yes')\n"
            "    def close(self): pass\n"
            "def system(name, options): return Swap()\n", encoding="utf-8")
        told = self.type("bench.py --system swap:x --trials 2 --quiet")
        self.assertEqual(3, told.code, told)
        self.assertIn("recorded/x.jsonl was removed or replaced while it was written", told.stderr)
        self.assertEqual(self.every_cell(1), self.trials(self.folder / "stolen"))

    def test_a_log_names_no_module_but_the_example_s_task_and_the_kit_s_systems(self) -> None:
        mark = "from pathlib import Path\nPath('imported').touch()\n"
        self.well(f"{self.RUN} --log recorded/smol.jsonl")
        sound = self.log.read_bytes()
        plan = next(number for number, line in enumerate(self.lines()) if line["kind"] == "plan")
        for module in ("openai", "ollama", "baselines", "model_triage"):
            (self.folder / f"{module}.py").write_text(mark, encoding="utf-8")
            self.log.write_bytes(sound)
            self.alter(plan, task={"module": module, "name": "inbox", "version": "1"})
            with self.subTest(module):
                self.refused("bench.py --log recorded/smol.jsonl --trials 2", 2,
                             f"it was recorded with --task {module}; a module is never imported")
                self.assertFalse((self.folder / "imported").exists())


@unittest.skipUnless(os.name == "posix", "links and locks of POSIX")
class Batches(BoardCommand):
    DERIVED = ("board.md", "board.html", "eval.jsonl", "batch.json")

    def test_what_is_made_of_a_batch_is_written_through_no_link_out_of_its_folder(self) -> None:
        self.well("run jobs/tiny.toml")
        for command in ("report jobs/tiny.toml", f"recompute {self.batch().name} --full --apply",
                        "run jobs/tiny.toml --models robots:other"):
            for name in self.DERIVED:
                away, path = self.home / f"away-{name}", self.batch() / name
                path.rename(away)
                path.symlink_to(away)
                if name.startswith("board"):
                    away.write_bytes(b"")
            before = {name: (self.home / f"away-{name}").read_bytes() for name in self.DERIVED}
            with self.subTest(command):
                self.well(command)
                self.assertEqual(before, {name: (self.home / f"away-{name}").read_bytes() for name in self.DERIVED})
            for name in self.DERIVED:
                path = self.batch() / name
                if path.is_symlink():  # nothing new was to be said
                    path.unlink()
                    path.write_bytes(before[name])

    def test_log_and_trace_that_are_links_are_refused_by_name(self) -> None:
        self.well("run jobs/tiny.toml --limit 5")
        for name in ("responses.jsonl", "trace.jsonl"):
            path, away = self.batch() / name, self.home / name
            path.rename(away)
            path.symlink_to(away)
            before = away.read_bytes()
            with self.subTest(name):
                self.assertIn(f"{name} is a link to ", self.refused("run jobs/tiny.toml"))
                self.assertEqual(before, away.read_bytes())
            path.unlink()
            away.rename(path)
        self.well("run jobs/tiny.toml")

    def test_nothing_is_added_to_a_trace_that_is_none(self) -> None:
        self.well("run jobs/tiny.toml --limit 1")
        for name in ("responses.jsonl", "trace.jsonl"):
            path = self.batch() / name
            sound = path.read_bytes()
            for what, data in FOREIGN.items():
                path.write_bytes(data)
                with self.subTest(name, what=what):
                    self.assertIn(f"{name}: this is no tr", self.refused("run jobs/tiny.toml"))
            path.write_bytes(sound)


@unittest.skipUnless(os.name == "posix", "links and locks of POSIX")
class Digests(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.well("bench.py --system baselines:keywords --trials 1 --quiet")

    def test_every_update_that_says_done_is_in_the_file_however_many_run_at_once(self) -> None:
        words = [*PYTHON, str(ROOT / "outputs_digest.py"), "recorded/keywords.jsonl", "--update", "book.json",
                 "--label"]
        labels = [f"number {number}" for number in range(6)]
        processes = [subprocess.Popen([*words, label], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                     for label in labels]
        told = [process.communicate() for process in processes]
        self.assertEqual([0] * 6, [process.returncode for process in processes], told)
        self.assertEqual(sorted(labels), sorted(entry["label"] for entry in self.json("book.json")["entries"]))
        self.assertNotIn("book.json.lock", self.files())

    def test_a_lock_file_that_is_somebody_s_is_not_removed(self) -> None:
        (self.folder / "recorded/book.json.lock").write_bytes(b"mine")
        self.well("outputs_digest.py recorded/keywords.jsonl --update recorded/book.json --label x")
        self.assertEqual(b"mine", (self.folder / "recorded/book.json.lock").read_bytes())

    def test_no_text_of_a_stranger_s_file_reaches_the_terminal_as_it_is(self) -> None:
        bad = "\x1b]0;owned\x07\x1b[2J\u202egood\x9b31m"
        self.well("outputs_digest.py recorded/keywords.jsonl --update recorded/book.json --label x")
        book = self.json("recorded/book.json")
        book["entries"][0]["label"] = bad
        (self.folder / "recorded/book.json").write_text(json.dumps(book), encoding="utf-8")
        for command in ("outputs_digest.py --check recorded/book.json",
                        f"outputs_digest.py --compare 'recorded/book.json#{bad}' recorded/keywords.jsonl",
                        "outputs_digest.py --compare recorded/book.json#none recorded/keywords.jsonl"):
            with self.subTest(command):
                told = self.type(command)
                self.assertIn("\\x1b]0;owned\\x07\\x1b[2J\\u202egood\\x9b31m", told.stdout + told.stderr)
                self.assertNotRegex(told.stdout + told.stderr, "[\x1b\x07\x9b\u202e]")
