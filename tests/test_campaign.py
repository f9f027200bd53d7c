"""The campaign in small: every part once, and the proof that its judges and its table can say no."""
from __future__ import annotations

import contextlib
import io
import os
import random
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from benchkit.basics.json_text import close_line
from tests import campaign
from tests.campaign import Outcome, line_of, summary_of, table_of
from tests.faults import oracle
from tests.faults.cut import offsets, sound_log
from tests.faults.found import KINDS, Found, Missing, Part, Problem, Turn, holds, one_in
from tests.faults.oracle import Place, Said
from tests.faults.parts import BY_NAME, PARTS
from tests.faults.scene import scene
from tests.mutants import MUTANTS, ROOT

HERE = Place("toys:robot", "a", 1)
SAID = Said("yes", "stop", None)


def trial(place: Place = HERE, output: str | None = "yes", attempt: int = 1, error: str | None = None) -> bytes:
    """A trial line, as far as the judge looks at it."""
    outcome = {"error": {"type": error}} if error else {"output": output, "finish": "stop"}
    return close_line({"kind": "trial", "system": place.system, "case": place.case, "trial": place.trial,
                       "attempt": attempt, **outcome})


@unittest.skipUnless(os.name == "posix", "it kills, mounts and signals as POSIX does")
class EveryPartOnce(unittest.TestCase):
    def test_no_promise_breaks(self) -> None:
        for outcome in campaign.campaign(PARTS, rounds=1, seed=20261130):
            with self.subTest(outcome.name):
                self.assertEqual((), outcome.found.problems)
                self.assertTrue(outcome.skipped or outcome.found.faults)


class TheJudges(unittest.TestCase):
    def test_what_was_acknowledged_and_is_not_there_is_lost(self) -> None:
        self.assertEqual((), oracle.lost([HERE], trial(), "now"))
        for data in (b"", trial(Place("toys:robot", "b", 1)), trial()[:-2], trial().replace(b"yes", b"yet")):
            with self.subTest(data):
                self.assertEqual(["lost"], [problem.kind for problem in oracle.lost([HERE], data, "now")])

    def test_a_line_that_lost_only_its_newline_is_there(self) -> None:
        self.assertEqual((), oracle.lost([HERE], trial()[:-1], "now"))

    def test_a_cell_that_is_there_again_is_there_twice(self) -> None:
        self.assertEqual((), oracle.twice(trial() + trial(Place("toys:robot", "a", 2)), "now"))
        self.assertEqual(["twice"], [problem.kind for problem in oracle.twice(trial() + trial(attempt=2), "now")])

    def test_bytes_that_changed_or_went_are_seen(self) -> None:
        self.assertEqual((), oracle.grown(b"ab", b"abc", "now"))
        for after in (b"a", b"xbc", b""):
            self.assertEqual(["changed"], [problem.kind for problem in oracle.grown(b"ab", after, "now")])

    def test_a_cell_that_never_ran_or_says_something_else_is_not_as_wanted(self) -> None:
        table = [(trial(), []), (b"", ["lost"]), (trial(output="no"), ["changed"]),
                 (trial(error="Timeout"), ["changed"]), (trial() + trial(attempt=2), ["twice"])]
        for data, kinds in table:
            with self.subTest(data):
                self.assertEqual(kinds, [problem.kind for problem in oracle.as_wanted({HERE: SAID}, data, "now")])

    def test_the_kit_and_the_judge_agree_on_a_log_that_nothing_disturbed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            sound = sound_log(Path(folder))
        said = {(place.case, place.trial): said.output for place, said in sound.wanted.items()}
        self.assertEqual({("a", 1): "a 1", ("b", 1): "b 1"}, said)
        lines = sound.data.splitlines(keepends=True)
        self.assertEqual([*range(len(b"".join(lines[:4])) + 1),
                          *range(len(sound.data) - len(lines[-1]) - len(lines[-2]), len(sound.data) + 1)],
                         offsets(sound.data))

    def test_a_scene_sees_a_run_that_lost_a_trial_and_one_that_asked_too_often(self) -> None:
        with tempfile.TemporaryDirectory() as folder, scene(Path(folder)) as one:
            self.assertEqual(0, one.resume().code)
            one.acknowledged = oracle.places_in(one.log.read_bytes())
            lines = one.log.read_bytes().splitlines(keepends=True)
            one.log.write_bytes(b"".join(lines[:6]))
            one.goes_on("with trials taken away", one.resume)
            self.assertEqual({"lost"}, {problem.kind for problem in one.problems})
            one.problems.clear()
            one.acknowledged.clear()
            one.log.write_bytes(b"".join(lines[:6]))

            def too_often() -> object:
                told = one.resume()
                one.server.seen.append(one.server.chats()[-1])
                return told
            one.goes_on("with a call too many", too_often)  # type: ignore[arg-type]
            self.assertEqual(["calls"], [problem.kind for problem in one.problems])


class TheTable(unittest.TestCase):
    BROKEN = Outcome("kills", 3, 1.5, Found(4, 9, (Problem("lost", "it is gone"), Problem("wrong", "it is odd"))))
    WHOLE = Outcome("cuts", 16, 2.0, Found(1000, 200))
    SKIPPED = Outcome("power cuts (device)", skipped="no losetup here")

    def test_a_part_that_held_one_that_broke_and_one_that_was_skipped_are_told_apart(self) -> None:
        self.assertIn("1,000 faults", line_of(self.WHOLE))
        self.assertTrue(line_of(self.WHOLE).endswith("all held"))
        broken = line_of(self.BROKEN)
        self.assertIn("2 PROMISES BROKEN\n    lost: it is gone\n    wrong: it is odd", broken)
        self.assertEqual("power cuts (device): skipped, no losetup here", line_of(self.SKIPPED))

    def test_the_table_counts_every_kind_in_a_column_of_its_own(self) -> None:
        head, *rows = table_of([self.BROKEN, self.WHOLE, self.SKIPPED]).splitlines()
        self.assertEqual(2, len(rows))
        self.assertEqual(["3", "4", "9", "1", "0", "0", "0", "1", "1.5"], rows[0].split()[1:])
        self.assertEqual({len(head)}, {len(row) for row in rows})

    def test_the_summary_is_what_was_lost_of_what_was_acknowledged(self) -> None:
        self.assertEqual("1 of 209 acknowledged trials lost in 1,004 faults; 0 twice, 0 calls too many, 0 changed, "
                         "1 wrong; parts skipped: power cuts (device)",
                         summary_of([self.BROKEN, self.WHOLE, self.SKIPPED]))

    def test_any_broken_promise_is_exit_code_1(self) -> None:
        for outcome, code in ((self.BROKEN, 1), (self.WHOLE, 0), (self.SKIPPED, 0)):
            stdout = io.StringIO()
            with self.subTest(outcome.name), contextlib.redirect_stdout(stdout), mock.patch.object(
                    campaign, "campaign", return_value=iter([outcome])):
                self.assertEqual(code, campaign.main([]))
                self.assertEqual(summary_of([outcome]), stdout.getvalue().splitlines()[-1])


class Turns(unittest.TestCase):
    def taken(self, run: object, seed: int = 1, number: int = 0) -> Outcome:
        part = Part("toy", "a toy", one_in(1), run)  # type: ignore[arg-type]
        with mock.patch.dict(BY_NAME, {"toy": part}):
            return campaign.take_turn("toy", number, 15, seed)

    def test_the_dice_follow_from_seed_part_and_turn_alone(self) -> None:
        thrown: list[float] = []

        def throw(turn: Turn) -> Found:
            thrown.append(turn.dice.random())
            return Found(1)
        for seed, number in ((1, 0), (1, 0), (2, 0), (1, 1)):
            random.seed(len(thrown))
            self.taken(throw, seed, number)
        self.assertEqual(thrown[0], thrown[1])
        self.assertEqual(3, len(set(thrown)))

    def test_a_part_without_its_tool_is_skipped_by_name(self) -> None:
        def missing(turn: Turn) -> Found:
            raise Missing("no losetup here")
        self.assertEqual("no losetup here", self.taken(missing).skipped)

    def test_a_turn_has_a_folder_of_its_own_that_is_gone_afterwards(self) -> None:
        folders: list[Path] = []

        def look(turn: Turn) -> Found:
            folders.append(turn.folder)
            return Found(1, 0, holds(turn.folder.is_dir() and not any(turn.folder.iterdir()), "no fresh folder"))
        for _ in range(2):
            self.assertEqual((), self.taken(look).found.problems)
        self.assertEqual(2, len(set(folders)))
        self.assertFalse(any(folder.exists() for folder in folders))

    def test_more_rounds_are_more_of_every_part_that_has_no_fixed_places(self) -> None:
        for part in PARTS:
            with self.subTest(part.name):
                self.assertGreaterEqual(part.turns(1), 1)
                self.assertGreaterEqual(part.turns(1000), part.turns(15))
                self.assertTrue(part.turns(1000) > part.turns(15) or part.name == "cuts")

    def test_the_document_names_every_part_and_every_mutant_in_the_order_they_are_tried(self) -> None:
        text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
        names = [part.name for part in PARTS]
        self.assertEqual(names, [row for row in rows if row in names])
        breaks = [mutant.breaks for mutant in MUTANTS]
        self.assertEqual(breaks, [row for row in rows if row in breaks])

    def test_every_kind_of_problem_has_a_heading(self) -> None:
        self.assertEqual(list(KINDS), list(campaign.HEADINGS))
