"""A log from a stranger names a task and a system; neither is imported unless a person types it."""
from __future__ import annotations

from tests.workflow import Workflow

MARK = "import pathlib\npathlib.Path('imported').touch()\n"
STRANGE_TASK = MARK + '''
NAME, VERSION = "strange", "1"
def messages(case): return [{"role": "user", "content": case.id}]
def schema(): return None
def check(case, output): return {"any": True}
'''
STRANGE_SYSTEM = MARK + '''
from benchkit.basics.values import Reply
class Yes:
    def open(self): return {"server": None, "server_version": None}
    def settings(self): return {}
    def warm(self): return 0.0
    def answer(self, request): return Reply(output="yes")
    def close(self): pass
def system(name, options): return Yes()
'''


class StrangeLog(Workflow):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "strange_task.py").write_text(STRANGE_TASK, encoding="utf-8")
        (self.folder / "strange_system.py").write_text(STRANGE_SYSTEM, encoding="utf-8")
        self.typed_words = "--task strange_task --system strange_system:yes"
        self.well(f"bench.py {self.typed_words} --trials 2 --log recorded/smol.jsonl --quiet")
        (self.folder / "imported").unlink()

    def test_neither_module_of_a_log_is_imported_and_the_command_that_names_them_is_offered(self) -> None:
        for more in ("", " --trials 3", " --dry-run", " --retry-errors"):
            with self.subTest(more=more):
                told = self.type(f"bench.py --log recorded/smol.jsonl{more}")
                self.assertEqual((2, ""), (told.code, told.stdout))
                self.assertIn(self.typed_words, told.stderr)
                self.assertEqual(1, told.stderr.count("\n"))
                self.assertFalse((self.folder / "imported").exists())

    def test_typed_they_are_imported_and_the_run_goes_on(self) -> None:
        self.assertIn("of 3 cases 3 passed every time", self.well(
            f"bench.py --log recorded/smol.jsonl {self.typed_words} --trials 3 --quiet"))
        self.assertTrue((self.folder / "imported").exists())

    def test_a_replay_is_not_judged_by_the_example_and_the_command_that_names_the_task_is_offered(self) -> None:
        for source in ("recorded/smol.jsonl", "recorded/smol.json"):
            with self.subTest(source=source):
                told = self.type(f"harness.py run --system replay:{source} --out runs/smol.json")
                self.assertEqual((2, ""), (told.code, told.stdout))
                self.assertIn("it was recorded with --task strange_task; a module is never imported", told.stderr)
                self.assertIn("with --cases FILE if they are not in cases.json: ", told.stderr)
                self.assertEqual(1, told.stderr.count("\n"))
                self.assertFalse((self.folder / "imported").exists())
                offered = told.stderr.rstrip("\n").rpartition(": ")[2].removeprefix("python3 ")
                self.assertIn("pass 6 of 6", self.well(offered))
                (self.folder / "imported").unlink()

    def test_the_commands_that_a_merge_offers_name_them(self) -> None:
        shard = f"bench.py {self.typed_words} --trials 2 --quiet"
        for number in (1, 2):
            self.well(f"{shard} --shard {number}/2 --log recorded/half-{number}.jsonl")
        told = self.well("bench.py --merge recorded/half-1.jsonl recorded/half-2.jsonl --log recorded/all.jsonl")
        self.assertIn(self.typed_words, told)
        self.assertIn("of 3 cases 3 passed every time", self.well(self.offered(told, "show")))
        told = self.well("bench.py --merge recorded/half-1.jsonl --log recorded/part.jsonl")
        self.well(self.offered(told, "recording"))
        self.assertIn("every planned trial ran", self.well(self.offered(told, "run what is left")))

    def test_what_to_do_after_another_prompt_names_them(self) -> None:
        path = self.folder / "strange_task.py"
        path.write_text(path.read_text(encoding="utf-8").replace("case.id}", "case.id + '!'}"), encoding="utf-8")
        told = self.type("harness.py run --task strange_task --system replay:recorded/smol.json --out runs/smol.json")
        self.assertEqual((2, ""), (told.code, told.stdout))
        offered = told.stderr.rstrip("\n").rpartition("record again: python3 ")[2]
        self.assertIn(self.typed_words, offered)
        self.assertIn("of 3 cases 3 passed every time", self.well(f"{offered} --quiet"))

    def test_what_needs_no_module_imports_none(self) -> None:
        for command in ("bench.py --log recorded/smol.jsonl --status",
                        "bench.py --log recorded/smol.jsonl --convert recorded/other.json",
                        "outputs_digest.py recorded/smol.jsonl"):
            self.well(command)
        self.assertFalse((self.folder / "imported").exists())
