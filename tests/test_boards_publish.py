"""Publishing: everything is verified, judged again and verified again; what does not hold is refused by name."""
from __future__ import annotations

from typing import Any

from tests.board_command import GATE, BoardCommand, unfolded

RUN = "run jobs/tiny.toml"
REPORT = "report jobs/tiny.toml"
STRICT = ("len(answer) <= 4 else 0.5", "len(answer) <= 3 else 0.25")


class Publishing(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.job(systems='["baselines:even", "baselines:oracle", "robots:good"]')

    def publish(self, code: int = 0) -> str:
        return self.well(f"publish {self.batch().name}", code)

    def not_published(self) -> list[str]:
        """The reasons of a refusal, which must have written nothing."""
        before, status = self.files(), self.batch_json()["status"]
        told = self.publish(code=1).splitlines()
        self.assertEqual(f"tiny/{self.batch().name} is not published; nothing was written:", told[0])
        self.assertEqual((before, status), (self.files(), self.batch_json()["status"]))
        return [line.strip() for line in told[1:]]


class APublishedBatch(Publishing):
    def setUp(self) -> None:
        super().setUp()
        self.ran()
        self.told = self.ran(f"publish {self.batch().name}").splitlines()
        self.whole = self.files()

    def test_holds_what_was_verified_and_judged_again_and_asks_no_model(self) -> None:
        self.assertEqual([f"tiny/{self.batch().name} is published", "trace self-consistent"], self.told[:2])
        self.assertEqual(("published", {"good": 12}), (self.batch_json()["status"], self.calls()))
        # the baselines ran again in place of their old rows; the one that sees the truth is not on the board
        self.assertEqual({("baselines:even", 2), ("robots:good", 1)},
                         {(row["system"], row["attempt"]) for row in self.rows()})
        self.board_says("published", never="baselines:oracle")
        self.says(REPORT, "trace self-consistent")
        self.assertEqual(self.whole, self.files())

    def test_is_closed_and_the_next_run_begins_another(self) -> None:
        name = self.batch().name
        self.refuses(f"publish {name}", "is published already")
        self.refuses(f"{RUN} --batch {name}", "is published, and stays as it is")
        self.says(f"{RUN} --limit 1", "1 new cell")
        self.assertEqual(2, len(self.batches()))

    def test_does_not_change_by_being_judged_or_reported_by_other_judges(self) -> None:
        self.pack(judges=STRICT)
        self.says(f"recompute {self.batch().name}", "--apply writes it")
        self.refuses(f"recompute {self.batch().name} --apply", "is published, and stays as it is")
        self.says(REPORT, "track short: its judge changed", *(
            f"{name} stays as it was published, and would be drawn otherwise now; delete it, and report draws it anew"
            for name in ("board.md", "board.html")), never="--apply")
        self.assertEqual(self.whole, self.files())
        (self.batch() / "board.md").unlink()
        self.says(REPORT, never="board.md stays")
        self.assertIn("The judges have changed", self.text("board.md"))


class Refusals(Publishing):
    def test_a_status_that_was_not_earned_is_refused_by_report(self) -> None:
        for limit, status, told in ((" --limit 5", "open", "19 of 24 planned cells are not run"),
                                    ("", "complete", "baselines:even was not asked again, as publishing does")):
            with self.subTest(told):
                self.well(RUN + limit)
                path = self.batch() / "batch.json"
                self.rewrite(path, (f'"status": "{status}"', '"status": "published"'))
                before = self.files()
                self.says(REPORT, told, code=1)
                self.assertEqual(before, self.files())
                self.rewrite(path, ('"status": "published"', f'"status": "{status}"'))

    def test_one_altered_line_or_answer_is_refused_by_name(self) -> None:
        self.ran()
        trace, log = self.batch() / "trace.jsonl", self.batch() / "responses.jsonl"
        whole = {path: path.read_bytes() for path in (trace, log)}

        def say_otherwise(lines: list[dict[str, Any]]) -> None:
            line = next(line for line in lines if line.get("case") == "T-3" and (
                line.get("kind") == "trial" or line.get("type") == "assistant/message"))
            line.get("data", line)["text" if "data" in line else "output"] = "odd!"

        trace.write_bytes(whole[trace].replace(b"Is 3 even or odd?", b"Is 5 even or odd?", 1))
        reasons = self.not_published()
        self.assertRegex(reasons[0], r"^trace invariant violations: \d+$")
        self.assertRegex(reasons[1], r"trace\.jsonl: line \d+ \(byte \d+\): \d+ bytes are no whole line")
        for path in (trace, log):
            trace.write_bytes(whole[trace])
            self.change_lines(path.name, say_otherwise)
            self.assertIn("the output of its trial line is not its last message (the answer judged is the last "
                          "message)", " ".join(self.not_published()))
        self.rewrite(log, ('"odd!"', '"even"'), count=1)
        self.assertRegex(self.not_published()[0], r"responses\.jsonl.* bytes are no whole line")
        log.write_bytes(whole[log])
        self.publish()

    def test_altered_questions_worlds_prompts_gates_and_fingerprints_are_refused_by_name(self) -> None:
        self.ran()
        path = self.batch() / "cases.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b'"expected":"odd"', b'"expected":"even"', 1))
        self.assertEqual(["its questions were altered: T-1"], self.not_published())
        path.write_bytes(whole)
        for change, reason in (
            (('VERSION = "1"\nJUDGE', 'VERSION = "2"\nJUDGE'),
             'what its questions were made from has changed: version: "1" -> "2"'),
            (("== 13 else []", "== 3 else []"), "the emission gate drops T-3 now (problem: 13 brings bad luck)"),
            (('f"truth={case.expected}"', '"even or odd"'),
             "the batch gate blocks it now: 0 of 6 questions are left, fewer than least_questions = 4"),
            (('[0]["text"] + limits', '[0]["text"] + " " + limits'),
             "what is asked in cases T-1, T-2, T-3, T-4, T-5 and 1 more is not what was asked when it was answered"),
        ):
            self.pack(pack=change)
            self.assertIn(reason, self.not_published())
        self.pack()
        self.rewrite(self.batch() / "batch.json", ('"judge_version": "1"', '"judge_version": "7"'))
        self.refuses(f"publish {self.batch().name}",
                     "scoring.fingerprint is not that of what stands beside it: it was altered")

    def test_a_batch_with_cells_left_is_refused_also_where_a_kill_came_before_batch_json_was_written(self) -> None:
        self.ran(f"{RUN} --offline")
        early = (self.batch() / "batch.json").read_bytes()
        self.well(f"{RUN} --limit 5")
        self.assertRegex(self.not_published()[0],
                         r"^7 of 36 planned cells are not run; go on with .*board.py run jobs/tiny[.]toml$")
        (self.batch() / "batch.json").write_bytes(early)
        self.assertRegex(self.not_published()[0], "^7 of 36 planned cells are not run")

    def test_a_blocked_batch_and_one_of_baselines_alone_are_refused(self) -> None:
        self.job("blocked", GATE.replace("least_questions = 4", "least_questions = 9"))
        self.type("run jobs/blocked.toml")
        self.says(f"publish blocked/{self.batch('blocked').name}",
                  "blocked by the batch gate: 6 of 6 questions are left", code=1)
        self.ran(f"{RUN} --offline")
        self.refuses(f"publish tiny/{self.batch().name}", "only baselines have answered")

    def test_all_is_judged_under_the_scoring_of_now(self) -> None:
        self.ran()
        self.pack(judges=STRICT)
        self.publish()
        self.assertEqual({0.25, 1.0}, {row["tracks"]["short"] for row in self.rows()})
        self.assertEqual(1, len({row["fingerprints"]["short"] for row in self.rows()}))
        self.assertEqual("0 fields changed in 0 of 24 rows\n", self.well(f"recompute {self.batch().name} --full"))

    def test_a_truth_or_a_time_to_come_that_one_trial_bought_is_on_the_board_and_not_published(self) -> None:
        # what no gate foresees: a word that is not on the menu buys it, said once, in a trial that no page samples
        self.rewrite("robots.py", ('        if self.name == "buyer"', """\
        if self.name == "asker" and (request.trial, number, len(request.messages)) == (2, 6, 1):
            right = "please"
        if self.name == "buyer\""""))
        self.job(geometry='"gated"', systems='["baselines:even", "robots:asker"]')
        for minute, text, what in (
                ("0", 'f"Truth={case.expected}"', "it was shown 'truth=even', which tells the truth"),
                ("7", '"it broke"', "it was shown that h is 7 minutes later than now")):
            with self.subTest(what):
                self.pack(pack=('    if read(said) != "hint":', f"""\
    if read(said) == "please":
        return Turn("bought", "hint", ({{"id": "h", "minute": {minute}, "text": {text}}},), 0.0, True)
    if read(said) != "hint":"""))
                told = self.well(f"{RUN} --fresh")
                self.board_says("olvers were shown what tells the truth or is later than now",
                                "trial 2 of case T-6 by robots:asker")
                self.assertIn(what, unfolded(told))
                reasons = self.not_published()
                self.assertEqual("solvers were shown what tells the truth or is later than now, 1 time", reasons[0])
                self.assertIn(what, reasons[1])

    def test_a_gated_batch_with_errors_is_published_too(self) -> None:
        self.job(geometry='"gated"', systems='["baselines:buyer", "robots:late"]')
        self.ran()
        self.assertIn("trace self-consistent", self.publish())
        self.assertEqual({"Timeout"}, {row["error"]["type"] for row in self.rows() if row["error"]})
