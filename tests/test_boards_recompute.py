"""Judging again: a changed judge changes exactly the fields it judges, and calls nobody."""
from __future__ import annotations

import json
import re

from benchkit.basics.values import JSON
from tests.board_command import BoardCommand, ranking

STRICT = ("len(answer) <= 4 else 0.5", "len(answer) <= 3 else 0.25")
RAISING = ("return 1.0 if len(answer)", "return 1 / 0 if case.id == 'T-2' else 1.0 if len(answer)")
NO_CHANGE = "0 fields changed in 0 of 24 rows"
RUN = "run jobs/tiny.toml"
REPORT = "report jobs/tiny.toml"
TASK = '''
NAME, VERSION = "numbers", "1"


def messages(case):
    return [{"role": "user", "content": f"Is {case.input} even or odd?"}]


def schema():
    return None


def check(case, output):
    return {"right": output == case.expected, "short": len(output) <= 4}
'''


class OfATask(BoardCommand):
    def test_a_file_that_changed_is_not_called_a_judge_that_changed(self) -> None:
        cases: list[JSON] = [{"id": f"n{number}", "split": "development", "input": str(number), "tags": [],
                              "expected": ("even", "odd")[number % 2]} for number in range(1, 7)]
        (self.home / "cases.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
        (self.home / "numbers_task.py").write_text(TASK, encoding="utf-8")
        self.job(pack="", seed="", count="", task='"numbers_task"', cases='"cases.json"',
                 systems='["robots:good", "baselines:most-common"]')
        # what the headline is stands under it
        self.says(f"{RUN} --models robots:good",
                  "Headline: the mean of the capability tracks x (1 - the share of answers that broke a hard gate), in "
                  "percent, with its 95 % interval. The tracks are the checks of a task, each by itself: how often all "
                  "of them hold for one answer, which bench.py calls pass^1")
        self.board_says("how often all of them hold for one answer, which bench.py calls pass^1, is another figure.")
        self.rewrite("numbers_task.py", ("def messages", "def baselines():\n    return {}\n\n\ndef messages"))
        self.says(f"{RUN} --models baselines:most-common", "the file of the judges changed (numbers_task.py), be it in "
                  "what judges or elsewhere", f"\n  Run python3 board.py recompute tiny/{self.batch().name} --apply\n",
                  never="its judge changed")
        self.says(f"recompute {self.batch().name} --apply", f"{NO_CHANGE}; written")
        self.says(REPORT, never="the judges changed")


class AChangedJudge(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.ran()
        self.asked = (self.calls(), self.opened())

    def recompute(self, flags: str = "") -> list[str]:
        return self.well(f"recompute {self.batch().name} {flags}").splitlines()

    def test_recompute_lists_exactly_the_fields_it_changed_and_writes_nothing_until_it_is_applied(self) -> None:
        self.pack(judges=STRICT)
        before, values = self.files(), [row["tracks"] for row in self.rows()]
        told = self.recompute()
        self.assertEqual("scoring: track short: its judge changed", told[0])
        self.assertEqual("18 fields changed in 18 of 24 rows; nothing was written, --apply writes it", told[-1])
        changed = {tuple(re.split(", |: ", line)[:3]) for line in told[1:-1]}
        # every answer of four letters: all of the baseline, and those of the robot where even is right
        self.assertEqual(changed, {(row["case"], row["system"], f"trial {row['trial']}") for row in self.rows()
                                   if row["system"] == "baselines:even" or int(row["case"][2:]) % 2 == 0})
        self.assertTrue(all(line.endswith(": short 1.0 -> 0.25") for line in told[1:-1]))
        self.assertEqual(before, self.files())
        # the board keeps its values, and has a banner with the command
        command = f"python3 board.py recompute tiny/{self.batch().name} --apply"
        for one in (REPORT, RUN):
            self.says(one, "track short: its judge changed", command)
        self.assertIn(command, self.text("board.html"))
        self.assertEqual(values, [row["tracks"] for row in self.rows()])
        self.assertIn("18 fields changed in 18 of 24 rows; written", self.recompute("--apply"))
        self.assertEqual({0.25, 1.0}, {row["tracks"]["short"] for row in self.rows()})
        self.assertEqual([NO_CHANGE], self.recompute())
        self.says(REPORT, never="its judge changed")
        self.assertEqual(self.asked, (self.calls(), self.opened()))

    def test_what_could_not_be_written_is_not_called_written(self) -> None:
        self.pack(judges=STRICT)
        (self.batch() / "board.md").unlink()
        (self.batch() / "board.md").mkdir()
        told = self.type(f"recompute {self.batch().name} --apply")
        self.assertNotEqual(0, told.code, told.stdout)
        self.assertNotIn("written", told.stdout)

    def test_only_tracks_whose_judge_changed_are_judged_again_unless_all_are_asked_for(self) -> None:
        self.rewrite(self.batch() / "eval.jsonl", ('"right":0.0', '"right":0.5'))
        self.assertEqual([NO_CHANGE], self.recompute())
        told = self.recompute("--full")
        self.assertEqual("6 fields changed in 6 of 24 rows; nothing was written, --apply writes it", told[-1])
        self.assertTrue(all(line.endswith("right 0.5 -> 0.0") for line in told[:-1]))

    def test_a_judge_that_raises_makes_its_cells_incomplete(self) -> None:
        self.pack(judges=RAISING)
        told = self.recompute("--apply")
        raised = "CheckError (track short raised ZeroDivisionError: division by zero (judges.py, line 7))"
        self.assertIn(f"T-2, robots:good, trial 1: error none -> {raised}", told)
        row = next(row for row in self.rows() if row["case"] == "T-2")
        self.assertEqual(("incomplete", {}, {}), (row["verdict"], row["tracks"], row["gates"]))
        self.assertEqual([("robots:good", "open", "69.4 to 100.0", "10 of 12"),
                          ("baselines:even", "open", "48.6 to 75.0", "10 of 12")],
                         [(*row[:3], row[5]) for row in ranking("\n".join(told))])
        self.pack()
        self.assertIn(f"error {raised} -> none", "\n".join(self.recompute()))

    def test_another_judge_version_alone_is_a_difference_without_changed_fields(self) -> None:
        self.pack(pack=('JUDGE_VERSION = "1"', 'JUDGE_VERSION = "2"'))
        self.says(REPORT, "judge version: 1 -> 2")
        self.assertEqual(["scoring: judge version: 1 -> 2", f"{NO_CHANGE}; nothing was written, --apply writes it"],
                         self.recompute())
        self.recompute("--apply")
        self.assertEqual({"2"}, {row["judge_version"] for row in self.rows()})
        self.assertEqual([NO_CHANGE], self.recompute())

    def test_cells_that_run_later_are_judged_by_the_new_judge_and_the_others_stand(self) -> None:
        self.well(f"{RUN} --fresh --models baselines:even")
        self.pack(judges=STRICT)
        told = self.says(f"{RUN} --models robots:good", "its judge changed", "Answers stand here under two scorings",
                         "  - judged by those of before: baselines:even\n"
                         "  - judged by the judges as they are now: robots:good\n")
        self.assertEqual({"n/a"}, {row[3] for row in ranking(told)})
        self.assertIn("who is ahead of whom is left open", self.text("board.md"))
        short = {(row["system"], row["case"]): row["tracks"]["short"] for row in self.rows()}
        self.assertEqual((1.0, 0.25), (short["baselines:even", "T-2"], short["robots:good", "T-2"]))
        self.assertEqual(2, len({row["fingerprints"]["short"] for row in self.rows()}))
        self.assertEqual({"1-2"}, {row[3] for row in ranking("\n".join(self.recompute("--apply")))})
        self.assertEqual(1, len({row["fingerprints"]["short"] for row in self.rows()}))

    def test_a_track_that_is_new_is_judged_and_one_that_is_gone_is_left_out(self) -> None:
        self.pack(judges=('Track("short", "capability"', 'Track("brief", "capability"'))
        told = self.recompute()
        for line in ("scoring: track short is gone", "scoring: track brief is new",
                     "T-1, robots:good, trial 1: short 1.0 -> none", "T-1, robots:good, trial 1: brief none -> 1.0"):
            self.assertIn(line, told)

    def test_without_its_rows_a_batch_is_judged_from_nothing(self) -> None:
        (self.batch() / "eval.jsonl").unlink()
        self.assertEqual("24 fields changed in 24 of 24 rows; nothing was written, --apply writes it",
                         self.recompute()[-1])
        self.well(REPORT)
        self.assertEqual([NO_CHANGE], self.recompute())
