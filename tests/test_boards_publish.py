"""Publishing: everything is verified, judged again and verified again; what does not hold is refused by name."""
from __future__ import annotations

import re
import unittest
from typing import Any

from tests.board_command import GATE, BoardCommand, unfolded
from tests.boards_packs import JUDGES, PACK, put_pack


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

    def test_end_to_end(self) -> None:
        self.well("run jobs/tiny.toml")
        calls = self.calls()
        told = self.publish().splitlines()
        self.assertEqual([f"tiny/{self.batch().name} is published", "trace self-consistent"], told[:2])
        self.assertEqual("published", self.batch_json()["status"])
        self.assertEqual(calls, self.calls())
        attempts = {(row["system"], row["attempt"]) for row in self.rows()}
        # the baselines ran again in place of their old rows; the one that sees the truth is not on the board
        self.assertEqual({("baselines:even", 2), ("robots:good", 1)}, attempts)
        for name in ("board.md", "board.html"):
            text = (self.batch() / name).read_text(encoding="utf-8").replace("\\", "")
            self.assertNotIn("baselines:oracle", text)
            self.assertIn("published", text)
        before = self.files()
        self.assertIn("trace self-consistent", self.well("report jobs/tiny.toml"))
        self.assertEqual(before, self.files())

    def test_a_published_batch_is_closed_and_the_next_run_begins_another(self) -> None:
        self.well("run jobs/tiny.toml")
        self.publish()
        name = self.batch().name
        self.assertIn("is published already", self.refused(f"publish {name}"))
        self.assertIn("is published, and stays as it is", self.refused(f"run jobs/tiny.toml --batch {name}"))
        self.assertIn("1 new cell", self.well("run jobs/tiny.toml --limit 1"))
        self.assertEqual(2, len(self.batches()))

    def test_recompute_lists_what_changes_in_a_published_batch_and_writes_nothing(self) -> None:
        self.well("run jobs/tiny.toml")
        self.publish()
        put_pack(self.home, judges=JUDGES.replace("len(answer) <= 4 else 0.5", "len(answer) <= 3 else 0.25"))
        self.assertIn("--apply writes it", self.well(f"recompute {self.batch().name}"))
        self.assertIn("is published, and stays as it is", self.refused(f"recompute {self.batch().name} --apply"))
        told = self.well("report jobs/tiny.toml")
        self.assertIn("track short: its judge changed", told)
        self.assertNotIn("--apply", told)

    def test_a_published_board_does_not_change_by_being_reported(self) -> None:
        self.well("run jobs/tiny.toml")
        self.publish()
        before = self.files()
        put_pack(self.home, judges=JUDGES.replace("len(answer) <= 4 else 0.5", "len(answer) <= 3 else 0.25"))
        told = self.well("report jobs/tiny.toml")
        for name in ("board.md", "board.html"):
            self.assertIn(f"{name} stays as it was published, and would be drawn otherwise now; delete it, and report "
                          "draws it anew", told)
        self.assertEqual(before, self.files())
        (self.batch() / "board.md").unlink()
        self.assertNotIn("board.md stays", self.well("report jobs/tiny.toml"))
        self.assertIn("The judges have changed", (self.batch() / "board.md").read_text(encoding="utf-8"))

    def test_a_status_that_was_not_earned_is_refused_by_report(self) -> None:
        for limit, told in (("--limit 5", "19 of 24 planned cells are not run"),
                            ("", "baselines:even was not asked again, as publishing does")):
            with self.subTest(told):
                self.well(f"run jobs/tiny.toml {limit}")
                path = self.batch() / "batch.json"
                whole = path.read_text()
                path.write_text(re.sub('"status": "[a-z]+"', '"status": "published"', whole))
                before = self.files()
                self.assertIn(told, self.well("report jobs/tiny.toml", code=1))
                self.assertEqual(before, self.files())
                path.write_text(whole)

    def test_one_altered_line_of_the_trace_is_refused_by_name(self) -> None:
        self.well("run jobs/tiny.toml")
        path = self.batch() / "trace.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b"Is 3 even or odd?", b"Is 5 even or odd?", 1))
        reasons = self.not_published()
        self.assertRegex(reasons[0], r"^trace invariant violations: \d+$")
        self.assertRegex(reasons[1], r"trace\.jsonl: line \d+ \(byte \d+\): \d+ bytes are no whole line")
        path.write_bytes(whole)
        self.publish()

    def test_an_event_altered_with_its_sum_is_refused_by_name(self) -> None:
        self.well("run jobs/tiny.toml")

        def change(events: list[dict[str, Any]]) -> None:
            said = next(event for event in events if event["type"] == "assistant/message" and event["case"] == "T-3")
            said["data"]["text"] = "better"
        self.change_lines("trace.jsonl", change)
        self.assertIn("the output of its trial line is not its last message (the answer judged is the last message)",
                      " ".join(self.not_published()))

    def test_an_answer_altered_in_the_log_is_refused_by_name(self) -> None:
        self.well("run jobs/tiny.toml")

        def change(lines: list[dict[str, Any]]) -> None:
            next(line for line in lines if line.get("case") == "T-3")["output"] = "odd!"
        self.change_lines("responses.jsonl", change)
        self.assertIn("is not its last message", " ".join(self.not_published()))
        path = self.batch() / "responses.jsonl"
        path.write_bytes(path.read_bytes().replace(b'"odd!"', b'"even"', 1))
        self.assertRegex(self.not_published()[0], r"responses\.jsonl.* bytes are no whole line")

    def test_altered_questions_worlds_and_fingerprints_are_refused_by_name(self) -> None:
        self.well("run jobs/tiny.toml")
        path = self.batch() / "cases.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b'"expected":"odd"', b'"expected":"even"', 1))
        self.assertEqual(["its questions were altered: T-1"], self.not_published())
        path.write_bytes(whole)
        put_pack(self.home, pack=PACK.replace('VERSION = "1"\nJUDGE', 'VERSION = "2"\nJUDGE'))
        self.assertEqual(['it was made in another world: version: "1" -> "2"'], self.not_published())
        put_pack(self.home)
        path = self.batch() / "batch.json"
        path.write_text(path.read_text().replace('"judge_version": "1"', '"judge_version": "7"'))
        told = self.type(f"publish {self.batch().name}")
        self.assertEqual((2, ""), (told.code, told.stdout))
        self.assertIn("scoring.fingerprint is not that of what stands beside it: it was altered", told.stderr)

    def test_the_gates_are_held_again(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace("== 13 else []", "== 3 else []"))
        self.assertIn("the emission gate drops T-3 now (problem: 13 brings bad luck)", self.not_published())
        put_pack(self.home, pack=PACK.replace('f"truth={case.expected}"', '"even or odd"'))
        self.assertIn("the batch gate blocks it now: 0 of 6 questions are left, fewer than least_questions = 4",
                      self.not_published())

    def test_another_prompt_is_refused_by_case(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, pack=PACK.replace('[0]["text"] + limits', '[0]["text"] + " " + limits'))
        self.assertIn("what is asked in cases T-1, T-2, T-3, T-4, T-5 and 1 more is not what was asked when it was "
                      "answered", self.not_published())

    def test_a_batch_with_cells_left_is_refused(self) -> None:
        self.well("run jobs/tiny.toml --limit 20")
        self.assertRegex(self.not_published()[0],
                         r"^16 of 36 planned cells are not run; go on with .*board.py run jobs/tiny[.]toml$")

    def test_killed_before_batch_json_was_written_the_log_knows_whom_it_asked(self) -> None:
        self.well("run jobs/tiny.toml --offline")
        early = (self.batch() / "batch.json").read_bytes()
        self.well("run jobs/tiny.toml --limit 5")
        (self.batch() / "batch.json").write_bytes(early)
        self.assertRegex(self.not_published()[0], "^7 of 36 planned cells are not run")

    def test_a_blocked_batch_is_refused(self) -> None:
        self.job("blocked", GATE.replace("least_questions = 4", "least_questions = 9"))
        self.type("run jobs/blocked.toml")
        told = self.type(f"publish blocked/{self.batch('blocked').name}")
        self.assertEqual(1, told.code, told.stderr)
        self.assertIn("blocked by the batch gate: 6 of 6 questions are left", told.stdout)

    def test_without_any_other_system_there_is_nothing_to_publish(self) -> None:
        self.well("run jobs/tiny.toml --offline")
        self.assertIn("only baselines have answered", self.refused(f"publish {self.batch().name}"))

    def test_all_is_judged_under_the_scoring_of_now(self) -> None:
        self.well("run jobs/tiny.toml")
        put_pack(self.home, judges=JUDGES.replace("len(answer) <= 4 else 0.5", "len(answer) <= 3 else 0.25"))
        self.publish()
        self.assertEqual({0.25, 1.0}, {row["tracks"]["short"] for row in self.rows()})
        self.assertEqual(1, len({row["fingerprints"]["short"] for row in self.rows()}))
        self.assertEqual("0 fields changed in 0 of 24 rows\n", self.well(f"recompute {self.batch().name} --full"))

    def test_a_truth_that_one_trial_bought_is_on_the_board_and_the_batch_is_not_published(self) -> None:
        # what no gate foresees: a word that is not on the menu buys it, said once, in a trial that no page samples
        put_pack(self.home, pack=PACK.replace('    if read(said) != "hint":', """\
    if read(said) == "please":
        return Turn("bought", "hint", ({"id": "h", "minute": 0, "text": f"Truth={case.expected}"},), 0.0, True)
    if read(said) != "hint":"""))
        self.asks_once()
        told = self.well("run jobs/tiny.toml")
        line = "solvers were shown what tells the truth or is later than now, 1 time"
        what = "it was shown 'truth=even', which tells the truth"
        for text in (told, (self.batch() / "board.md").read_text(), (self.batch() / "board.html").read_text()):
            self.assertIn("olvers were shown what tells the truth or is later than now", text)
            self.assertIn("trial 2 of case T-6 by robots:asker", text)
        self.assertIn(what, unfolded(told))
        self.assertEqual(line, self.not_published()[0])
        self.assertIn(what, self.not_published()[1])

    def test_an_observation_later_than_now_that_one_trial_bought_is_not_published_either(self) -> None:
        put_pack(self.home, pack=PACK.replace('    if read(said) != "hint":', """\
    if read(said) == "please":
        return Turn("bought", "hint", ({"id": "h", "minute": 7, "text": "it broke"},), 0.0, True)
    if read(said) != "hint":"""))
        self.asks_once()
        self.well("run jobs/tiny.toml")
        self.assertIn("it was shown that h is 7 minutes later than now", self.not_published()[1])

    def asks_once(self) -> None:
        """A robot that says a word that is on no menu once: in the second trial of the last question."""
        robots = (self.home / "robots.py").read_text(encoding="utf-8").replace(
            '        if self.name == "buyer"', """\
        if self.name == "asker" and (request.trial, number, len(request.messages)) == (2, 6, 1):
            right = "please"
        if self.name == "buyer\"""")
        (self.home / "robots.py").write_text(robots, encoding="utf-8")
        self.job(geometry='"gated"', systems='["baselines:even", "robots:asker"]')

    def test_a_gated_batch_with_errors_is_published_too(self) -> None:
        self.job(geometry='"gated"', systems='["baselines:buyer", "robots:late"]')
        self.well("run jobs/tiny.toml")
        self.assertIn("trace self-consistent", self.publish())
        self.assertEqual({"Timeout"}, {row["error"]["type"] for row in self.rows() if row["error"]})


if __name__ == "__main__":
    unittest.main()
