"""What bench.py says at the end of a run that did not go well: which error, what became of those asked again, and
which part of a run that was cut short can be judged."""
from __future__ import annotations

import shutil

from tests.workflow import Workflow

SYSTEM = '''\
from pathlib import Path
from benchkit.basics.errors import TrialError
from benchkit.basics.values import Reply

class Robot:
    def open(self): return {"server": "toy", "server_version": "1"}
    def settings(self): return {}
    def warm(self): return 0
    def answer(self, request):
        name = f"{request.case} {request.trial}"
        if name in Path("fails").read_text().splitlines():
            raise TrialError("ServerError", "gone\\naway")
        return Reply("yes")
    def close(self): pass

def system(name, options): return Robot()
'''
RUN = "bench.py --system mine:x --quiet"


class FirstScreen(Workflow):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "mine.py").write_text(SYSTEM, encoding="utf-8")
        self.fails()

    def fails(self, *cells: str) -> None:
        """From now on these cells, as `case trial`, end in an error."""
        (self.folder / "fails").write_text("\n".join(cells), encoding="utf-8")

    def test_the_most_frequent_error_is_told_in_one_line(self) -> None:
        told_of = "\nmost frequent error: ServerError in {} of 6 started trials: gone\\naway\n".format
        for failing, words in ((self.every_cell(2), told_of(6)), (self.every_cell(1), told_of(3)), ([], None)):
            with self.subTest(words=words):
                shutil.rmtree(self.folder / "recorded", ignore_errors=True)
                self.fails(*failing)
                told = self.well(f"{RUN} --trials 2")
                self.assertEqual(words is not None, "most frequent error" in told)
                self.assertIn(words or "", told)

    def test_what_became_of_errors_that_were_asked_again(self) -> None:
        cells = self.every_cell(2)
        for flags in ("", "--parallel 2", "--shard 1/1"):
            with self.subTest(flags=flags):
                shutil.rmtree(self.folder / "recorded", ignore_errors=True)
                run = f"{RUN} --trials 2 {flags}"
                self.fails(*cells[:5])
                self.assertNotIn("asked again:", self.well(run))
                self.assertIn("; 5 error trials asked again: 0 answered, 5 ended in an error again\n",
                              self.well(f"{run} --retry-errors"))
                self.fails(*cells[:2])
                self.assertIn("; 5 error trials asked again: 3 answered, 2 ended in an error again\n",
                              self.well(f"{run} --retry-errors"))
                self.assertIn("; 1 error trial asked again: 0 answered, 1 ended in an error again\n",
                              self.well(f"{run} --retry-errors --limit 1"))

    def test_of_a_run_that_was_cut_short_the_complete_rounds_are_judged(self) -> None:
        for limit, what, judged in ((7, "judge 2 complete rounds", "incomplete 0 of 6"),
                                    (3, "judge 1 complete round", "incomplete 0 of 3"),
                                    (2, "judge the first round", "incomplete 1 of 3 (NotRun 1)"),
                                    (12, "judge again", "incomplete 0 of 12")):
            with self.subTest(limit=limit):
                shutil.rmtree(self.folder / "recorded", ignore_errors=True)
                told = self.well(f"{RUN} --trials 4 --limit {limit}")
                self.assertIn(judged, self.well(self.offered(told, what)))
                self.assertIn("Result ", self.well(self.offered(told, "report")))

    def test_a_run_that_had_hardly_begun_is_judged_in_its_first_round_from_its_log(self) -> None:
        told = self.well(f"{RUN} --trials 100000 --limit 4")
        command = self.offered(told, "judge 1 complete round")
        self.assertTrue(command.endswith("--trials 1 --out runs/x.json"), command)
        self.assertIn("incomplete 0 of 3", self.well(command))
        self.assertLess((self.folder / "runs" / "x.json").stat().st_size, 100_000)
        self.assertIn("all 3 planned trials were judged", self.well(self.offered(told, "report")))
