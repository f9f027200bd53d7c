"""One case, one trial, one of everything: no command, page or table speaks of "1 trials"."""
from __future__ import annotations

import re

from tests.board_command import BoardCommand
from tests.commands import ROOT
from tests.workflow import Workflow

MANY_OF_ONE = re.compile(
    r"(?<![\d.,:/^@=+-])1 (?:\([^()]*\) )?(?:[a-z-]+ ){0,2}(?:trials|cases|cells|sessions|questions|systems|answers|"
    r"runs|hosts|lines|outputs|checks|problems|places|logs|shards|observations|attempts|requests|pairs|rows|fields|tries|"
    r"calls|steps|events|letters|warnings|models|tokens|entries|regressions|trials? are|cases? are|cells? are)\b")
"""A number 1 before a word of several. Not within a version, a list of settings or a time."""
FINE = re.compile(r"1 (?:--|of|per|x|and|to|in|with|has|is|pass|fail|a|for|at|s\b)")

VERB_OF_MANY = re.compile(
    r"\ball 1 [a-z]+|\bof 1 (?:[a-z-]+ )?(?:case|trial|answer)(?: that passed every time| of the candidate)? "
    r"(?:are|were|have|differ|pass|do|passed their|hold)\b|\b1 of [\d,]+ (?:[a-z-]+ )?(?:cases|trials|answers)"
    r"(?: that passed every time| of the candidate)? (?:are|were|have|differ|do|hold)\b")


def of_one(text: str) -> list[str]:
    """The phrases of a text that speak of one thing as of several."""
    plain = re.sub(r"<[^>]*>|\\", "", text)
    verbs = [found.group() for found in VERB_OF_MANY.finditer(" ".join(plain.split()))]
    return verbs + [found.group() for found in MANY_OF_ONE.finditer(plain) if not FINE.match(found.group())]


class OneOfEverything(Workflow):
    def test_no_command_that_records_judges_reports_or_compares_says_it(self) -> None:
        self.put_cases(self.cases[:1])
        commands = [
            "bench.py --system baselines:keywords --trials 1 --dry-run",
            "bench.py --system baselines:keywords --trials 1 --quiet", "bench.py --log recorded/keywords.jsonl",
            "bench.py --log recorded/keywords.jsonl --status",
            "bench.py --log recorded/keywords.jsonl --convert recorded/again.json",
            "bench.py --log recorded/keywords.jsonl --export recorded/clean.jsonl",
            "bench.py --merge recorded/keywords.jsonl --log recorded/merged.jsonl",
            "bench.py --system baselines:most-common --trials 1 --quiet",
            "bench.py --system baselines:keywords --trials 2 --limit 1 --log recorded/two.jsonl --quiet",
            "bench.py --system baselines:keywords --trials 2 --budget-s 0.001 --log recorded/open.jsonl --quiet",
            "bench.py --system baselines:keywords --trials 1 --shard 1/1 --log recorded/shard.jsonl --quiet",
            "harness.py check", f"harness.py show --case {self.ids[0]}",
            *(f"harness.py run --system replay:recorded/{name}.json --out runs/{name}.json"
              for name in ("keywords", "most-common", "open")),
            "harness.py run --system replay:recorded/keywords.json --trials 2 --out runs/x.json",
            "harness.py compare runs/keywords.json runs/most-common.json --max-drop 1 --out gate.json",
            "harness.py compare runs/most-common.json runs/keywords.json --strict",
            "report.py runs/keywords.json --html a.html --markdown a.md --junit a.xml --csv a.csv --out a.json",
            "report.py runs/open.json --html b.html --markdown b.md --junit b.xml",
            "report.py runs/most-common.json runs/keywords.json --html c.html --markdown c.md --junit c.xml",
            f"report.py runs/keywords.json --case {self.ids[0]}",
            "outputs_digest.py recorded/keywords.jsonl --update recorded/book.json --label a",
            "outputs_digest.py recorded/keywords.jsonl", "outputs_digest.py --check recorded/book.json",
            "outputs_digest.py --compare recorded/keywords.jsonl recorded/most-common.jsonl",
        ]
        for command in commands:
            with self.subTest(command):
                told = self.type(command)
                self.assertEqual([], of_one(told.stdout + told.stderr), told)
        for name in ("a.html", "a.md", "a.xml", "a.csv", "b.html", "b.md", "b.xml", "c.html", "c.md", "c.xml"):
            with self.subTest(name):
                self.assertEqual([], of_one((self.folder / name).read_text(encoding="utf-8")))


class OneOfEverythingOnABoard(BoardCommand):
    def test_no_board_says_it(self) -> None:
        gate = "[batch_gate]\nleast_questions = 1\nmost_one_answer = 1.0\nmost_blind_score = 1.0\n"
        self.job("triage", gate, pack="", seed="", count="1", trials="1", task='"triage_task"',
                 systems='["baselines:keywords", "robots:late"]', cases=f"'{(ROOT / 'cases.json').as_posix()}'")
        for command in ("estimate jobs/triage.toml", "run jobs/triage.toml --limit 1", "list",
                        "estimate jobs/triage.toml", "run jobs/triage.toml", "report jobs/triage.toml"):
            with self.subTest(command):
                told = self.type(command)
                self.assertEqual([], of_one(told.stdout + told.stderr), told)
        for command in ("recompute", "recompute --full", "publish", "list"):
            told = self.type(command if command == "list" else f"{command} {self.batch('triage').name}")
            with self.subTest(command):
                self.assertEqual([], of_one(told.stdout + told.stderr), told)
        for name in ("board.md", "board.html"):
            with self.subTest(name):
                self.assertEqual([], of_one((self.batch("triage") / name).read_text(encoding="utf-8")))
