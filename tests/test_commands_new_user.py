"""What somebody meets who types it for the first time: a wrong name, a wrong file, a flag too many, a slip in a module.

Each must be told so that the next command is the right one.
"""
from __future__ import annotations

import shutil

from benchkit.trial_log.reader import read_log
from tests.commands import ROOT, Told
from tests.workflow import Workflow, typed

KEYWORDS = "bench.py --system baselines:keywords --trials 2"
MODEL = '''\
import sys, time
from benchkit.basics.values import Reply

class Robot:
    def open(self): return {"server": "toy", "server_version": "1"}
    def settings(self): return {}
    def warm(self): return 0
    def answer(self, request):
        if request.trial == 2:
            SLIP
        return Reply("yes")
    def close(self): pass

def system(name, options): return Robot()
'''


class Slips(Workflow):
    """A system of one's own that fails in trial 2, when three trials are recorded."""

    def run_with(self, slip: str, *flags: str) -> Told:
        (self.folder / "mine.py").write_text(MODEL.replace("SLIP", slip), encoding="utf-8")
        return self.type(" ".join(("bench.py --system mine:x --trials 2 --quiet", *flags)))

    def test_whatever_it_raises_or_gives_is_3_with_what_is_kept_and_the_way_on(self) -> None:
        for slip, words in (
                ("return {}['due']", "answer() of mine.py, line 10 raised KeyError: 'due'"),
                ("return 'yes'", "answer() of mine.py gave str, and not a Reply whose output is a text"),
                ("sys.exit(0)", "answer() of mine.py, line 10 called sys.exit(0)"),
                ("raise ConnectionResetError('gone')", "line 10 raised ConnectionResetError: gone"),
                ("return Reply('\\ud800')", "trial 2 cannot be kept: a text holds a lone surrogate")):
            for flags in ((), ("--parallel 2",)):
                with self.subTest(slip=slip, flags=flags):
                    shutil.rmtree(self.folder / "recorded", ignore_errors=True)
                    told = self.run_with(slip, *flags)
                    self.assertEqual((3, "", 1), (told.code, told.stdout, told.stderr.count("\n")), told.stderr)
                    self.assertIn(words, told.stderr)
                    self.assertRegex(told.stderr, "; [34] of 6 planned trials are recorded in recorded/x.jsonl; go on "
                                                  "with: python3 bench.py --system mine:x --trials 2 --quiet")
                    self.assertTrue(self.run_with("pass", *flags).stdout.count("every planned trial ran"))

    def test_the_trial_that_failed_is_named(self) -> None:
        self.assertIn(f"--system mine:x, case {self.ids[0]}, trial 2: answer() of mine.py, line 10 raised KeyError: ",
                      self.run_with("return {}['due']").stderr)

    def test_a_baseline_that_fails_is_a_fault_of_the_task(self) -> None:
        for function, words in (
                ("lambda case: 'x'", "raised TypeError: "),
                ("lambda case, seed: {}[seed]", "raised KeyError: 1001 (slip_task.py, line 2)"),
                ("lambda case, seed: None", "gave NoneType, not a text")):
            with self.subTest(function=function):
                self.put_task(function)
                self.refused("bench.py --task slip_task --system baselines:slip --trials 2 --quiet", 2,
                             f"task slip_task, case {self.ids[0]}: baseline slip {words}")

    def test_one_fault_is_one_line_of_check_with_the_first_cases_that_have_it(self) -> None:
        self.put_task("lambda case: 'x'")
        self.put_cases([{**self.cases[0], "id": f"c{number}"} for number in range(96)])
        told = self.type("harness.py check --task slip_task")
        self.assertEqual((2, ""), (told.code, told.stdout))
        first, last = told.stderr.splitlines()
        self.assertRegex(first, r"^cases\.json: task slip_task, cases c0, c1, c2.* and \d+ more: baseline slip raised ")
        self.assertEqual("harness.py: 1 problem in cases.json and slip_task; nothing was changed", last)

    def test_one_that_fails_later_on_is_3_with_what_is_kept(self) -> None:
        self.put_task("lambda case, seed: {1001: 'x'}[seed]")
        for flags in ("", "--parallel 2"):
            shutil.rmtree(self.folder / "recorded", ignore_errors=True)
            told = self.type(f"bench.py --task slip_task --system baselines:slip --trials 2 --quiet {flags}")
            self.assertEqual((3, "", 1), (told.code, told.stdout, told.stderr.count("\n")), told.stderr)
            self.assertRegex(told.stderr, "baseline slip raised KeyError: 1002 .*; 3 of 6 planned trials are recorded")

    def put_task(self, function: str) -> None:
        (self.folder / "slip_task.py").write_text(f"from triage_task import *\nslip = {function}\n"
                                                  "def baselines(): return {'slip': slip}\nSEES_LABELS = ()\n",
                                                  encoding="utf-8")

    def test_a_reply_that_comes_too_late_is_a_timeout_and_the_run_goes_on(self) -> None:
        told = self.run_with("time.sleep(.2)", "--timeout-s 0.1", "--parallel 3")
        self.assertEqual((0, ""), (told.code, told.stderr))
        log = read_log(self.folder / "recorded" / "x.jsonl")
        outcomes = [line.outcome for line in log.trials("mine:x")]
        self.assertEqual(["Timeout"] * 3, [one.error.type for one in outcomes if hasattr(one, "error")])
        self.assertEqual(["yes"] * 3, [one.error.partial for one in outcomes if hasattr(one, "error")])


class TasksThatLeave(Workflow):
    def test_a_task_that_leaves_python_is_told_wherever_it_does(self) -> None:
        for old, command, code, words in (
                ("def messages(case", f"{KEYWORDS}", 2, "messages called sys.exit(5) (triage_task.py, line"),
                ("def baselines(", f"{KEYWORDS}", 2, "baselines() called sys.exit(5) (triage_task.py, line"),
                ("NAME = ", f"{KEYWORDS}", 2, "it cannot be imported: SystemExit")):
            with self.subTest(old=old):
                text = (ROOT / "triage_task.py").read_text(encoding="utf-8")
                self.assertIn(old, text)
                lines = text.split("\n")
                place = next(number for number, line in enumerate(lines) if line.startswith(old))
                lines.insert(place if old.startswith("NAME ") else place + 1,
                             f"{'' if old.startswith('NAME') else '    '}raise SystemExit(5)")
                (self.folder / "triage_task.py").write_text("\n".join(lines), encoding="utf-8")
                self.refused(command, code, words)

    def test_a_check_that_leaves_python_makes_trials_incomplete(self) -> None:
        before, raised = "def check(case: Case, output: str) -> dict[str, bool]:", "raise SystemExit(5)"
        self.change("triage_task.py", before,
                    f"def check(case, output):\n    {raised}\n\n\ndef _check(case, output):")
        for after, words in (("raise SystemExit(5)", "called sys.exit(5)"),
                             ("raise GeneratorExit", "raised GeneratorExit")):
            with self.subTest(after):
                self.change("triage_task.py", raised, after)
                raised = after
                place = f"check {words} (triage_task.py, line "
                self.refused(KEYWORDS, 2, place)
                told = self.type(f"{KEYWORDS} --unchecked").stdout
                self.assertIn("CheckError", told)
                self.assertIn(f"not judged: {place}", told)
                (self.folder / "recorded" / "keywords.jsonl").unlink()

    def test_a_check_that_raises_is_found_before_the_first_trial_and_told_with_message_file_and_line(self) -> None:
        self.change("triage_task.py", "def check(case: Case, output: str) -> dict[str, bool]:",
                    "def check(case, output):\n    return {'due': {}['due']}\n\n\ndef _check(case, output):")
        line = 1 + (self.folder / "triage_task.py").read_text(encoding="utf-8").splitlines().index(
            "    return {'due': {}['due']}")
        raised = f"check raised KeyError: 'due' (triage_task.py, line {line})"
        for command in (KEYWORDS, "harness.py run --system baselines:keywords --trials 1"):
            with self.subTest(command):
                told = self.refused(command, 2, f"case {self.ids[0]}: {raised}, on the output ''")
                self.assertIn("python3 harness.py check --task triage_task --cases cases.json says", told)
                self.assertFalse((self.folder / "recorded").exists())
        self.assertIn(f"\nnot judged: {raised}\n", self.well(f"{KEYWORDS} --unchecked"))
        # what is recorded already is shown, and nobody is asked
        self.assertIn(f"\nnot judged: {raised}\n", self.well(KEYWORDS))
        self.assertIn(f"\n  not judged: {raised}\n", self.well(
            "harness.py run --system replay:recorded/keywords.json --out runs/a.json"))
        self.well("report.py runs/a.json --out a.json --html a.html --markdown a.md --junit a.xml --csv a.csv")
        self.assertEqual({("CheckError", raised)}, {
            (result["error"]["type"], result["error"]["message"]) for result in self.json("runs/a.json")["results"]})
        (found,) = (one for one in self.json("a.json")["runs"][0]["warnings"] if one["code"] == "check-raises")
        self.assertIn(f"could not judge 6 of 6 trials: {raised}; mend it", found["text"])
        for name in ("a.html", "a.md", "a.xml", "a.csv"):
            with self.subTest(name):
                text = (self.folder / name).read_text(encoding="utf-8")
                self.assertRegex(text, r"raised KeyError: .{1,8}due.{1,8}\(triage_task(.|\\.)py, line " + str(line))


class Names(Workflow):
    def test_a_file_of_python_is_no_name_of_a_module_and_the_name_is_given(self) -> None:
        for command, words in (
                (f"{KEYWORDS} --task date_task.py", "date_task.py is no name of a module: give date_task"),
                ("harness.py check --task tasks/date_task.py", "give tasks.date_task"),
                ("harness.py check --task ./date_task.py", "give date_task"),
                ("bench.py --system mine.py:x", "give mine:x"), ("bench.py --system mine.py", "give mine:NAME"),
                ("harness.py check --task date-task.py", "give triage_task for triage_task.py, or folder.module")):
            with self.subTest(command=command):
                self.refused(command, 2, words)

    def test_cases_that_are_not_there_are_named_with_their_flag(self) -> None:
        (self.folder / "cases.json").unlink()
        for command in (KEYWORDS, "harness.py check", "harness.py show --case x"):
            with self.subTest(command=command):
                self.refused(command, 2, "cases.json: there is no such file; name the file of cases with --cases FILE")


class FilesInTheWrongPlace(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.well(f"{KEYWORDS} --quiet")
        self.well("harness.py run --system replay:recorded/keywords.json --out runs/keywords.json")
        self.well("report.py runs/keywords.json --out runs/report.json")
        self.well("outputs_digest.py recorded/keywords.jsonl --update recorded/recordings.json --label here")

    def test_each_is_called_what_it_is(self) -> None:
        for command, words in (
                ("report.py recorded/keywords.json", "this is a recording, not a run record; judge it first (with "
                 "--cases FILE if its cases are not in cases.json): python3 harness.py run --task triage_task "
                 "--system replay:recorded/keywords.json --out runs/keywords.json"),
                ("report.py recorded/keywords.jsonl", "this is a trial log, not a run record; judge it first"),
                ("report.py runs/report.json", "this is a report, not a run record; give the run records"),
                ("harness.py compare runs/keywords.json cases.json", "this is a file of cases, not a run record"),
                ("harness.py run --system replay:runs/keywords.json",
                 "this is a run record, not a recording; replay the recording it was made of"),
                ("harness.py run --system replay:runs/report.json", "this is a report, not a recording"),
                ("harness.py run --system replay:recorded/keywords.json --cases runs/keywords.json",
                 "this is a run record, not a file of cases; name the file of cases with --cases"),
                ("harness.py check --cases recorded/keywords.jsonl", "this is a trial log, not a file of cases"),
                ("outputs_digest.py --check recorded/keywords.jsonl", "this is a trial log, not a file of digests"),
                ("outputs_digest.py recorded/keywords.json", "this is a recording, not a trial log"),
                ("bench.py --log recorded/keywords.json --status", "this is a recording, not a trial log"),
                ("outputs_digest.py --compare recorded/keywords.jsonl runs/keywords.json", "this is a run record")):
            with self.subTest(command=command):
                self.refused(command, 2, words)

    def test_a_command_that_is_offered_names_the_log_that_is_there(self) -> None:
        self.refused("harness.py run --system replay:recorded/keywords.json --trials 5", 2,
                     "record more: python3 bench.py --task triage_task --system baselines:keywords "
                     "--log recorded/keywords.jsonl --trials 5")
        (self.folder / "recorded" / "keywords.json").write_text('{"recording": 1}', encoding="utf-8")
        self.refused("harness.py run --system replay:recorded/keywords.json", 2, "convert its log again: python3 "
                     "bench.py --log recorded/keywords.jsonl --convert recorded/keywords.json")

    def test_a_damaged_log_can_be_digested_when_that_is_wished(self) -> None:
        lines = self.log.with_name("keywords.jsonl").read_bytes().splitlines(keepends=True)
        self.log.with_name("keywords.jsonl").write_bytes(b"".join([*lines[:4], b"damage\n", *lines[4:]]))
        for command in ("recorded/keywords.jsonl", "--check recorded/recordings.json",
                        "--compare recorded/keywords.jsonl recorded/keywords.json"):
            with self.subTest(command=command):
                self.refused(f"outputs_digest.py {command}", 2, "line 5")
                self.well(f"outputs_digest.py {command} --accept-damage")

    def test_a_log_that_lost_the_line_of_its_only_session_keeps_every_trial(self) -> None:
        log, recording = (self.log.with_name(f"keywords.{kind}") for kind in ("jsonl", "json"))
        lines, before = log.read_bytes().splitlines(keepends=True), self.json(recording)
        damaged = b"#" + b"".join(lines)[1:]
        log.write_bytes(damaged)
        again = f"{KEYWORDS} --quiet"
        self.refused(again, 2, "recorded/keywords.jsonl: line 1 (byte 0): ", "bytes are no whole line",
                     "python3 bench.py --log recorded/keywords.jsonl --accept-damage")
        for flags in ("--status", "--convert other.json", f"--export {log.name}", "--merge recorded/keywords.jsonl"):
            with self.subTest(flags):
                told = self.refused(f"bench.py --log {'new' if 'merge' in flags else 'recorded/keywords'}.jsonl {flags}"
                                    + (" --accept-damage" if "export" not in flags else ""), 2)
                self.assertIn("the first line of its only session is lost", told)
        self.well(f"{again} --accept-damage")
        self.assertTrue(log.read_bytes().startswith(damaged))
        self.assertEqual(sum(b'"kind":"trial"' in line for line in lines), log.read_bytes().count(b'"kind":"trial"'))
        self.assertEqual(before["cases"], self.json(recording)["cases"])


class Shares(Workflow):
    def test_points_in_place_of_a_share_are_told_as_the_share(self) -> None:
        for given, words in (("20", "'20' is not a number from 0 to 1: 20 points (or %) are 0.2 ("),
                             ("2.5", "'2.5' is not a number from 0 to 1: 2.5 points (or %) are 0.025 ("),
                             ("200", "'200' is not a number from 0 to 1 ("),
                             ("x", "'x' is not a number from 0 to 1 (")):
            for command in ("harness.py compare a.json b.json --max-drop", "report.py a.json b.json --margin"):
                with self.subTest(given=given, command=command):
                    self.refused(f"{command} {given}", 2, words)


class FlagsTooMany(Workflow):
    def test_a_flag_given_twice_is_refused_by_name_at_every_command(self) -> None:
        for command, flag in (
                ("bench.py --case a --case b", "--case"), ("bench.py --trials=1 --trials 1", "--trials"),
                ("bench.py --quiet --quiet", "--quiet"), ("harness.py run --out a --out b", "--out"),
                ("harness.py compare a b --strict --strict", "--strict"), ("report.py a --csv b --csv c", "--csv"),
                ("outputs_digest.py a --system b --system c", "--system"),
                ("board.py run j --limit 1 --limit 2", "--limit")):
            with self.subTest(command=command):
                self.refused(command, 2, f"{flag} is given 2 times; give it once")

    def test_behind_two_hyphens_nothing_is_a_flag(self) -> None:
        self.refused("report.py -- --csv --csv", 2, "--csv: there is no such file")

    def test_no_command_that_is_offered_has_a_flag_twice(self) -> None:
        self.well(f"{KEYWORDS} --quiet --retry-errors --limit 2")
        for what in ("go on", "judge 1 complete round", "report"):
            with self.subTest(what=what):
                words = self.offered(self.type(f"{KEYWORDS} --quiet --retry-errors --limit 1").stdout, what).split()
                flags = [word for word in words if word.startswith("--")]
                self.assertEqual(len(set(flags)), len(flags))
                # errors have a command of their own
                self.assertNotIn("--retry-errors", flags)

    def test_flags_that_a_mode_does_not_heed_are_refused_by_name(self) -> None:
        self.well(f"{KEYWORDS} --quiet")
        log = "bench.py --log recorded/keywords.jsonl"
        for command, words in (
                (f"{log} --status --trials 3", "--status does not heed --trials; leave it out"),
                (f"{log} --convert new.json --budget-s 5 --quiet",
                 "--convert does not heed --budget-s, --quiet; leave them"),
                (f"{log} --export new.jsonl --system x:y", "--export does not heed --system"),
                (f"{log} --merge recorded/a.jsonl --timeout-s 120", "--merge does not heed --timeout-s")):
            with self.subTest(command=command):
                self.refused(command, 2, words)
        self.well(f"{log} --status --system baselines:keywords --accept-damage")


class FromAnotherFolder(Workflow):
    def test_every_command_is_offered_as_it_was_typed(self) -> None:
        self.well(f"{KEYWORDS} --quiet")
        for name, flags, offered in (
                ("harness.py", ("run", "--system", "replay:recorded/keywords.json"),
                 "report.py runs/keywords.json --out"),
                ("report.py", ("recorded/keywords.json",),
                 "harness.py run --task triage_task --system replay:recorded/keywords.json"),
                ("harness.py", ("run", "--system", "replay:recorded/keywords.json", "--trials", "7"),
                 "bench.py --task triage_task --system baselines:keywords --log recorded/keywords.jsonl --trials 7"),
                ("bench.py", ("--colour",), "bench.py --help lists the flags"),
                ("harness.py", ("run", "--colour"), "harness.py run --help lists the flags"),
                ("harness.py", ("run", "--trials", "x"), "harness.py run --help lists the flags"),
                ("board.py", ("list",), f"board.py run {ROOT}/jobs/example.toml --offline makes one")):
            with self.subTest(name=name, flags=flags):
                told = typed((name, *flags), by_path=True)
                self.assertIn(f"python3 {ROOT}/{offered}", told.stdout + told.stderr)

    def test_without_a_server_the_command_that_was_typed_is_offered_with_what_needs_none(self) -> None:
        for name, flags, offered in (
                ("bench.py", ("--budget-s", "5"), "bench.py --system baselines:keywords"),
                ("bench.py", ("--task", "triage_task", "--log", "recorded/a.jsonl"),
                 "bench.py --task triage_task --system baselines:keywords"),
                ("harness.py", ("run", "--system", "model_triage:gemma", "--out", "runs/a.json"),
                 "harness.py run --system baselines:keywords"),
                ("board.py", ("run", str(ROOT / "jobs" / "example.toml"), "--models", "model_triage:gemma"),
                 f"board.py run {ROOT}/jobs/example.toml --offline")):
            with self.subTest(name=name, flags=flags):
                told = typed((name, *flags), by_path=True)
                self.assertEqual((3, ""), (told.code, told.stdout), told.stderr)
                self.assertTrue(told.stderr.rstrip().endswith(f"run without a model: python3 {ROOT}/{offered}"),
                                told.stderr)
