"""Bad input at every command: one line that says what is wrong, where and what to do; nothing is changed."""
from __future__ import annotations

import json
import os
from typing import Any

from tests.fake_ollama import status
from tests.workflow import MODEL, NOWHERE, Workflow, WorkflowWithServer

KEYWORDS = "bench.py --system baselines:keywords --trials 2"


class WithALog(Workflow):
    """A log, its recording, its run record and its report are there."""

    def setUp(self) -> None:
        super().setUp()
        self.log = self.folder / "recorded/keywords.jsonl"
        self.recording = self.folder / "recorded/keywords.json"
        self.well(KEYWORDS)
        self.well("harness.py run --system replay:recorded/keywords.json --out runs/keywords.json")
        (self.folder / "notes.txt").write_text("mine\n", encoding="utf-8")
        (self.folder / "empty.jsonl").touch()

    def table(self, code: int, *rows: tuple[str, tuple[str, ...]]) -> None:
        for command, words in rows:
            with self.subTest(command=command):
                self.refused(command, code, *words)


class FlagsThatCannotBe(WithALog):
    def test_the_flags_that_may_be_meant_are_named(self) -> None:
        self.table(
            2,
            ("bench.py --trial 2 --budget 30", ("--trial 2 --budget 30; did you mean --trials, --budget-s? (",)),
            ("harness.py run --sistem a:b", ("did you mean --system?", "harness.py run --help lists")),
            ("harness.py compare a b --maxdrop=.1", ("did you mean --max-drop?",)),
            ("report.py runs/keywords.json --output a.json", ("did you mean --out?",)),
            ("outputs_digest.py recorded/keywords.jsonl --chek", ("did you mean --check?",)),
            ("board.py run job.toml --model a:b", ("did you mean --models?",)))
        self.assertNotIn("mean", self.refused("bench.py --colour red", 2, "unrecognized arguments: --colour red ("))

    def test_at_bench(self) -> None:
        log = "--log recorded/keywords.jsonl"
        self.table(
            2,
            ("bench.py --colour red", ("--colour",)),
            ("bench.py --trial 3", ("--trial",)),
            ("bench.py extra", ("extra",)),
            *((f"bench.py {flag}", (flag.split()[0],)) for flag in (
                "--trials 0", "--trials ten", "--budget-s 0", "--budget-s nan", "--timeout-s -1", "--timeout-s soon",
                "--limit 0", "--changed everything", "--system", "--log", "--hardware")),
            ("bench.py --convert a.json", ("need --log",)),
            ("bench.py --status", ("need --log",)),
            ("bench.py --export a.jsonl", ("need --log",)),
            (f"bench.py {log} --status --convert a.json", ("not allowed with",)),
            ("bench.py --system nobody", ("--system nobody", "module:name")),
            ("bench.py --system nowhere:x", ("there is no module nowhere",)),
            ("bench.py --system baselines:x", ("baselines:x", "coin, constant, keywords, labels, most-common")),
            ("bench.py --system replay:recorded/keywords.json", ("give python3 harness.py run this --system",)),
            (f"{KEYWORDS} --task nowhere", ("there is no module nowhere",)),
            (f"{KEYWORDS} --task json", ("json is a module of Python itself",)),
            (f"{KEYWORDS} --task ../x", ("../x is no name of a module",)),
            ("bench.py --system baselines:coin --split nowhere", ("--split nowhere", "development, test")),
            (f"{KEYWORDS} --case nobody", ("--case nobody", self.ids[0])),
            (f"{KEYWORDS} --cases nowhere.json", ("nowhere.json: there is no such file",)),
            (f"{KEYWORDS} --cases recorded", ("recorded is a folder",)),
            (f"{KEYWORDS} --log keywords.json", ("--log keywords.json", "ends in .jsonl")),
            ("bench.py --system baselines:labels --log cases.jsonl", ("cases.json is there and is no recording",)),
            (f"bench.py --system baselines:coin {log}",
             ("recorded with --system baselines:keywords", "bench.py " + log + " --system baselines:keywords")),
            (f"bench.py {log} --split test", ("recorded with --split development",)),
            ("bench.py --system baselines:coin --trials 20000001 --log a.jsonl",
             ("--trials 20000001", "more than the 20,000,000 that a log plans", "fewer trials")),
            (f"bench.py --system {MODEL} --host 'http://x y' --log a.jsonl", ("--host",)),
            (f"bench.py --system {MODEL} --host ftp://x --log a.jsonl", ("--host",)),
            (f"bench.py --system {MODEL} --host x:99999 --log a.jsonl", ("--host",)),
            ("bench.py --system 'model_triage:a b' --log a.jsonl", ("a b",)),
        )

    def test_at_bench_without_recording(self) -> None:
        log = "--log recorded/keywords.jsonl"
        self.table(
            2,
            ("bench.py --log nowhere.jsonl --status", ("nowhere.jsonl: there is no such file",)),
            ("bench.py --log empty.jsonl --status", ("empty.jsonl: nothing recorded yet",)),
            ("bench.py --log empty.jsonl --convert a.json", ("empty.jsonl: nothing recorded yet",)),
            ("bench.py --log empty.jsonl --export a.jsonl", ("empty.jsonl: nothing recorded yet",)),
            ("bench.py --log notes.txt --status", ("notes.txt: this is no trial log",)),
            ("bench.py --log recorded --status", ("recorded is a folder",)),
            (f"bench.py {log} --system baselines:coin --status", ("baselines:coin", "baselines:keywords")),
            (f"bench.py {log} --system baselines:coin --convert a.json", ("baselines:coin", "baselines:keywords")),
            (f"bench.py {log} --convert recorded/keywords.jsonl", ("keywords.jsonl", "is no recording")),
            (f"bench.py {log} --convert cases.json", ("cases.json", "is no recording")),
            (f"bench.py {log} --convert runs/keywords.json", ("runs/keywords.json", "is no recording")),
            (f"bench.py {log} --convert runs", ("runs is a folder",)),
            (f"bench.py {log} --export recorded/keywords.json", ("is there already",)),
        )

    def test_at_harness(self) -> None:
        replay = "harness.py run --system replay:recorded/keywords.json --out runs/new.json"
        self.table(
            2,
            ("harness.py", ("COMMAND",)),
            ("harness.py dance", ("dance",)),
            (f"{replay} --trials 3", ("it holds 2 trials of every case, not 3", "--trials 2 or fewer")),
            (f"{replay} --split test", ("recording of the split development", "--split development")),
            (f"{replay} --split nowhere", ("development, test",)),
            (f"{replay} --task nowhere", ("there is no module nowhere",)),
            (f"{replay} --cases nowhere.json", ("nowhere.json: there is no such file",)),
            ("harness.py run --system replay:nowhere.json", ("nowhere.json: there is no such file",)),
            ("harness.py run --system replay:cases.json",
             ("cases.json: this is a file of cases, not a recording; give a recording or a log",)),
            ("harness.py run --system replay:recorded/keywords.jsonl#baselines:coin", ("baselines:coin",)),
            ("harness.py run --system replay:recorded/keywords.json --out cases.json", ("cases.json",)),
            ("harness.py run --system replay:recorded/keywords.json --out recorded/keywords.json",
             ("recorded/keywords.json",)),
            ("harness.py run --system replay:recorded/keywords.json --out recorded", ("recorded is a folder",)),
            ("harness.py show --case nobody", ("--case nobody", self.ids[0])),
            ("harness.py check --cases nowhere.json", ("nowhere.json: there is no such file",)),
        )

    def test_at_report_and_outputs_digest(self) -> None:
        self.table(
            2,
            ("report.py", ("RUN",)),
            ("report.py nowhere.json", ("nowhere.json: there is no such file",)),
            ("report.py notes.txt", ("notes.txt", "not JSON")),
            ("report.py runs/keywords.json --case nobody", ("--case nobody", self.ids[0])),
            ("report.py runs/keywords.json --out runs/keywords.json", ("runs/keywords.json",)),
            ("report.py runs/keywords.json --out cases.json", ("cases.json",)),
            ("outputs_digest.py", ("--check FILE",)),
            ("outputs_digest.py nowhere.jsonl", ("nowhere.jsonl: there is no such file",)),
            ("outputs_digest.py recorded/keywords.jsonl --update a.json", ("--label",)),
            ("outputs_digest.py recorded/keywords.jsonl --update cases.json --label x", ("cases.json",)),
            ("outputs_digest.py --check nowhere.json", ("nowhere.json: there is no such file",)),
            ("outputs_digest.py --check cases.json", ("cases.json",)),
            ("outputs_digest.py --compare recorded/keywords.json nowhere.json", ("nowhere.json",)),
        )


class FilesThatCannotBe(WithALog):
    def test_cases(self) -> None:
        good = json.dumps(self.cases[0])
        for text, words in (
            ("", ("cases.json: it is not JSON", "line 1")),
            ("{", ("cases.json: it is not JSON", "column 2")),
            ("[]", ("cases.json: it is a list, not an object",)),
            ("{}", ("cases.json: cases is missing",)),
            ('{"cases": []}', ("cases.json: cases is empty",)),
            ('{"cases": {}}', ("cases.json: cases is an object, not a list",)),
            ('{"cases": [], "cases": []}', ('cases.json: the key "cases" stands twice',)),
            ('{"cases": [7]}', ("cases[0] is 7, not an object",)),
            (f'{{"cases": [{good}, {good}]}}', (f"cases[1] ({self.ids[0]}).id is the same as",)),
            (f'{{"cases": [{good.replace(self.ids[0], "a/" + chr(92) + "u001b")}]}}', ("cases[0].id", "control char")),
            (f'{{"cases": [{good.replace("split", "spilt")}]}}', (f"cases[0] ({self.ids[0]}).split is missing",)),
            (f'{{"cases": [{good}, NaN]}}', ("NaN is not a JSON number",)),
            (f'{{"cases": [{good.replace("Subject", "")[:-1]}, "more": 1}}]}}', ("more is no field that is known",)),
            ("[" * 500 + "]" * 500, ("nested more than 64 deep",)),
            ('{"cases": "\\ud800"}', ("lone surrogate",)),
        ):
            with self.subTest(text=text[:60]):
                (self.folder / "cases.json").write_text(text, encoding="utf-8")
                self.refused("harness.py check", 2, *words)
                self.refused(KEYWORDS + " --log recorded/new.jsonl", 2, *words)

    def test_a_case_that_the_task_cannot_ask(self) -> None:
        self.cases[1]["input"] = {"from": 1}
        self.put_cases(self.cases)
        self.refused(KEYWORDS + " --log recorded/new.jsonl", 2, f"task triage_task, case {self.ids[1]}", "input.")

    def test_tasks(self) -> None:
        for text, words in (
            ("1 +", ("my_task.py, line 1: it is not Python",)),
            ("import nowhere_at_all", ("my_task.py, line 1: it cannot be imported: ModuleNotFoundError",)),
            ("NAME, VERSION = 'a', 1", ("my_task.py: VERSION must be a text",)),
            ("NAME = VERSION = 'a'", ("my_task.py: a task needs a function messages",)),
            ("raise SystemExit", ("my_task.py, line 1: it cannot be imported: SystemExit",)),
        ):
            with self.subTest(text=text):
                (self.folder / "my_task.py").write_text(text, encoding="utf-8")
                self.refused(KEYWORDS + " --task my_task --log recorded/new.jsonl", 2, *words)
                self.refused("harness.py check --task my_task", 2, *words)

    def test_a_system_of_ones_own(self) -> None:
        for text, words in (
            ("1 +", ("my_model.py, line 1: it is not Python",)),
            ("x = 1", ("my_model.py has no function system(name, options)",)),
            ("def system(name, options):\n    return 7", ("system() of my_model.py gave int",)),
            ("def system(name, options):\n    return options.nothing", ("my_model.py, line 2 raised AttributeError",)),
        ):
            with self.subTest(text=text):
                (self.folder / "my_model.py").write_text(text, encoding="utf-8")
                self.refused("bench.py --system my_model:x --log recorded/new.jsonl", 2, *words)

    def test_a_log_of_which_a_line_was_altered(self) -> None:
        data = self.log.read_bytes()
        lines = data.splitlines(keepends=True)
        self.log.write_bytes(data.replace(b'"attempt":1', b'"attempt":2', 1))
        where = ("recorded/keywords.jsonl", "line 5", f"byte {sum(map(len, lines[:4]))}")
        for command in (KEYWORDS, KEYWORDS + " --dry-run", "bench.py --log recorded/keywords.jsonl --status",
                        "bench.py --log recorded/keywords.jsonl --convert new.json",
                        "harness.py run --system replay:recorded/keywords.jsonl --out runs/new.json",
                        "outputs_digest.py recorded/keywords.jsonl"):
            with self.subTest(command=command):
                self.refused(command, 2, *where)

    def test_a_log_line_that_was_altered_and_closed_again(self) -> None:
        whole = self.log.read_bytes()
        changes: tuple[tuple[int, dict[str, Any], str], ...] = (
            (0, {"v": 2}, "v"), (1, {"trials": 0}, "trials"), (2, {"settings": 7}, "settings"),
            (4, {"seed": 7}, "seed"), (4, {"latency_s": "long"}, "latency_s"), (4, {"kind": "dance"}, "kind"),
            (4, {"case": "nobody"}, "nobody"), (10, {"reason": "tired"}, "reason"))
        for number, fields, word in changes:
            with self.subTest(fields=fields):
                self.log.write_bytes(whole)
                self.alter(number, **fields)
                self.refused("bench.py --log recorded/keywords.jsonl --status", 2, "recorded/keywords.jsonl", word)

    def test_a_recording_of_other_cases_or_another_shape(self) -> None:
        whole = self.recording.read_text(encoding="ascii")
        for old, new, words in (
            (self.ids[0], "dev-other", (f"it has no case {self.ids[0]}",)),
            ('"recording": 2', '"recording": 3', ("recording is 3, not 1 or 2",)),
            ('"trials": 2', '"trials": 0', ("trials",)),
            ('"seed": 1001', '"seed": "x"', ("seed",)),
            ('"output": "', '"output": 7, "x": "', ("cases[0].trials[0]",)),
            ('"cold": true', '"cold": null', ("cases[0].trials[0].cold is null, not true or false",)),
            ("}", "", ("not JSON",)),
        ):
            with self.subTest(new=new):
                self.recording.write_text(whole.replace(old, new, 1), encoding="ascii")
                self.refused("harness.py run --system replay:recorded/keywords.json --out runs/new.json", 2,
                             "recorded/keywords.json", *words)


class EnvironmentFailure(WorkflowWithServer):
    def test_no_server(self) -> None:
        for command in ("bench.py --budget-s 30", f"bench.py --system {MODEL} --host {NOWHERE}"):
            self.refused(command, 3, f"no Ollama server at http://{NOWHERE}", "`ollama serve`",
                         "python3 bench.py --system baselines:keywords")

    def test_a_model_that_is_not_installed(self) -> None:
        self.server.models = {"smollm2:135m": "a" * 64, "other:1b": "b" * 64}
        self.refused(f"bench.py --host {self.server.host}", 3, "has no model gemma4:e2b",
                     "installed: smollm2:135m, other:1b", "`ollama pull gemma4:e2b`; or: python3 bench.py "
                     f"--host {self.server.host} --system model_triage:smollm2:135m\n")
        self.refused(f"bench.py --host {self.server.host} --system ollama:llama9", 3,
                     f"; or: python3 bench.py --host {self.server.host} --system ollama:smollm2:135m\n")
        self.server.remote.add("smollm2:135m")
        self.refused(f"bench.py --host {self.server.host} --system model_triage:llama9", 3,
                     "`ollama pull llama9:latest`; or: python3 bench.py --host", " --system model_triage:other:1b\n")
        self.server.models = {"a b; ls": "a" * 64}
        self.refused(f"bench.py --host {self.server.host}", 3,
                     "; or: python3 bench.py --host", " --system 'model_triage:a b; ls:latest'\n")

    def test_a_digest_that_is_not_the_pinned_one(self) -> None:
        self.server.models["gemma4:e2b"] = "c" * 64
        self.refused(f"bench.py --host {self.server.host}", 3, f"is served at digest {'c' * 64}",
                     "--system model_triage:gemma4:e2b", "model_triage.py, line ")

    def test_a_server_that_is_no_ollama_or_too_old(self) -> None:
        self.server.version = "0.1.0"
        self.refused(self.bench(), 3, "0.1.0")
        self.server.version = None
        self.refused(self.bench(), 3, self.server.host)
        self.server.paths["/api/version"] = status(200, "<html>hello</html>", "text/html")
        self.refused(self.bench(), 3, self.server.host)
        self.server.paths["/api/version"] = status(500)
        self.refused(self.bench(), 3, self.server.host)

    def test_a_model_that_would_send_the_prompts_elsewhere(self) -> None:
        self.server.remote.add("smollm2:135m")
        self.refused(self.bench(), 3, "--allow-cloud")

    def test_a_log_that_cannot_be_kept(self) -> None:
        if os.path.exists("/dev/full"):
            os.symlink("/dev/full", self.folder / "full.jsonl")
            told = self.type("bench.py --system baselines:keywords --log full.jsonl")
            self.assertEqual((2, True), (told.code, "full.jsonl is a link to /dev/full" in told.stderr), told)
            told = self.type("bench.py --system baselines:keywords --log full.jsonl/a.jsonl")
            self.assertEqual((2, 1, ""), (told.code, told.stderr.count("\n"), told.stdout))
            os.mkfifo(self.folder / "pipe.jsonl")
            told = self.type("bench.py --system baselines:keywords --log pipe.jsonl")
            self.assertEqual((3, "bench.py: pipe.jsonl is no regular file, so nothing can be kept there\n"),
                             (told.code, told.stderr))
        (self.folder / "notes.txt").write_text("mine\n", encoding="utf-8")
        told = self.type("bench.py --system baselines:keywords --log notes.txt/a.jsonl")
        self.assertEqual((2, 1, ""), (told.code, told.stderr.count("\n"), told.stdout))
