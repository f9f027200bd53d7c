"""A log becomes a recording: every planned cell, the last attempt, and why what did not run did not run."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.values import Reply
from benchkit.recordings.recording import Recording, recording_bytes, recording_of
from benchkit.recordings.replay import recording_from, reference_of
from benchkit.trial_log.reader import read_log
from tests.logs_samples import SYSTEM, Session, broken, put_log
from tests.recordings_samples import failure, mixed_outcomes, reply, toy
from tests.test_tasks_task import InAFolder

ROOT = Path(__file__).resolve().parent.parent


def messages_of(recording: Recording) -> dict[tuple[str, int], str]:
    """Why trials did not run, by case and trial."""
    return {(case.id, trial.trial): trial.outcome.error.message for case in recording.cases for trial in case.trials
            if not isinstance(trial.outcome, Reply) and not trial.is_run}


class WithALog(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.task, self.cases = toy(self.folder)
        self.path = self.folder / "robot.jsonl"

    def session(self, trials: int = 2, systems: tuple[str, ...] = (SYSTEM,)) -> Session:
        return Session(self.path, self.task, self.cases, trials, systems)

    def recording(self, system: str | None = None, accept_damage: bool = False) -> Recording:
        return recording_of(read_log(self.path, accept_damage=accept_damage), system)


class Converting(WithALog):
    def test_every_planned_cell_is_there_in_order(self) -> None:
        put_log(self.path, self.task, self.cases, mixed_outcomes(), "budget")
        made = self.recording()
        self.assertEqual(["two", "three"], [case.id for case in made.cases])
        self.assertEqual([[1, 2, 3, 4]] * 2, [[trial.trial for trial in case.trials] for case in made.cases])
        self.assertEqual(("1.0.0", "Parity", "development", SYSTEM, 4),
                         (made.kit, made.task.name, made.split, made.system, made.trials))
        self.assertEqual("budget", made.sessions[0].stop)
        self.assertEqual(1.5, made.sessions[0].load_s)

    def test_what_came_of_a_trial_is_as_the_log_has_it(self) -> None:
        outcomes = mixed_outcomes()
        put_log(self.path, self.task, self.cases, outcomes, "budget")
        for case in self.recording().cases:
            self.assertEqual([outcome for outcome in outcomes[case.id] if outcome],
                             [trial.outcome for trial in case.trials if trial.is_run])

    def test_the_first_trial_of_a_case_in_a_session_is_cold(self) -> None:
        for trial in (1, 2):
            with self.session() as session:
                session.trial("two", trial, reply("yes"))
                session.trial("three", trial, reply("no"))
        self.assertEqual([[True, True]] * 2, [[trial.cold for trial in case.trials] for case in self.recording().cases])

    def test_a_cell_with_several_attempts_carries_the_last(self) -> None:
        with self.session() as session:
            session.trial("two", 1, failure())
            session.trial("two", 1, reply("yes"), attempt=2)
            session.stop("error")
        trial = self.recording().cases[0].trials[0]
        self.assertEqual((2, reply("yes")), (trial.attempts, trial.outcome))

    def test_what_did_not_run_says_how_the_last_session_ended(self) -> None:
        for stop, words in (
            ("budget", "the budget ended first"), ("selection", "only some cases were asked for"),
            ("interrupted", "stopped by a person"), ("error", "the run stopped on an error"),
            (None, "the log ends here"),
        ):
            with self.subTest(stop=stop):
                self.path.unlink(missing_ok=True)
                with self.session() as session:
                    session.trial("two", 1, reply("yes"))
                    if stop:
                        session.stop(stop)
                expected = dict.fromkeys((("three", 1), ("two", 2), ("three", 2)), f"not run: {words}")
                self.assertEqual(expected, messages_of(self.recording()))

    def test_the_last_session_has_the_last_word(self) -> None:
        put_log(self.path, self.task, self.cases, {"two": [reply("yes")], "three": [None]}, "budget")
        with self.session(trials=1) as session:
            session.stop("interrupted")
        self.assertEqual({("three", 1): "not run: stopped by a person"}, messages_of(self.recording()))

    def test_a_damaged_line_before_a_recorded_cell_is_named_as_such(self) -> None:
        outcomes = {"two": [reply("yes"), reply("yes"), None], "three": [reply("no"), reply("no"), None]}
        put_log(self.path, self.task, self.cases, outcomes, "budget")
        broken(self.path, 5)
        with self.assertRaisesRegex(Unusable, "robot.jsonl.*line 6"):
            self.recording()
        expected = {("three", 1): "not run: its line is damaged", ("two", 3): "not run: the budget ended first",
                    ("three", 3): "not run: the budget ended first"}
        self.assertEqual(expected, messages_of(self.recording(accept_damage=True)))

    def test_a_cell_whose_request_has_changed_did_not_run(self) -> None:
        put_log(self.path, self.task, self.cases, {"two": [reply("yes")], "three": [reply("no")]})
        with Session(self.path, self.task, self.cases, 1, settings={"model": "other"}) as session:
            session.trial("two", 1, reply("yes"), attempt=2)
            session.stop("budget")
        made = self.recording()
        self.assertEqual({("three", 1): "not run: its request has changed"}, messages_of(made))
        self.assertEqual({"model": "other"}, made.settings)

    def test_nothing_recorded_yet_is_refused(self) -> None:
        self.path.write_bytes(b"")
        with self.assertRaisesRegex(Unusable, "nothing recorded yet"):
            self.recording()

    def test_a_log_of_several_systems_needs_a_name(self) -> None:
        with self.session(1, ("toys:robot", "toys:doll")) as session:
            session.trial("two", 1, reply("yes"))
            session.trial("two", 1, reply("no"), system="toys:doll")
            session.stop("interrupted")
        with self.assertRaisesRegex(Unusable, "--system: toys:robot, toys:doll"):
            self.recording()
        with self.assertRaisesRegex(Unusable, "no toys:bear, but toys:robot, toys:doll"):
            self.recording("toys:bear")
        made = self.recording("toys:doll")
        self.assertEqual("toys:doll", made.system)
        self.assertEqual(reply("no"), made.cases[0].trials[0].outcome)
        self.assertEqual(made, recording_from(reference_of(f"{self.path}#toys:doll")))


class SameBytes(WithALog):
    def test_the_same_log_gives_the_same_bytes_on_any_hash_seed_and_locale(self) -> None:
        put_log(self.path, self.task, self.cases, mixed_outcomes(), "budget")
        program = ("import sys; from pathlib import Path; "
                   "from benchkit.recordings.recording import recording_bytes, recording_of; "
                   "from benchkit.trial_log.reader import read_log; "
                   "sys.stdout.buffer.writelines(recording_bytes(recording_of(read_log(Path(sys.argv[1])), None)))")
        expected = b"".join(recording_bytes(self.recording()))
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("random", "tr_TR.UTF-8")):
            with self.subTest(seed=seed, locale=locale):
                environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": str(ROOT)}
                found = subprocess.run([sys.executable, "-c", program, str(self.path)], env=environment,
                                       capture_output=True, check=True, cwd=self.folder)
                self.assertEqual(expected, found.stdout)
