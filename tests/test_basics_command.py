"""A command as a value: what an error offers can be typed as it stands."""
from __future__ import annotations

import shlex
import unittest

from benchkit.basics.command import Command


class Commands(unittest.TestCase):
    def test_it_reads_as_it_is_to_be_typed(self) -> None:
        command = Command("bench.py", ("--hardware", "a desk, 8 GB", "--case", "it's"))
        self.assertEqual(["python3", "bench.py", "--hardware", "a desk, 8 GB", "--case", "it's"],
                         shlex.split(str(command)))

    def test_a_flag_takes_the_place_of_what_was_said_for_it(self) -> None:
        for words, expected in (
            ((), "--trials 5"),
            (("--trials", "3"), "--trials 5"),
            (("--trials=3", "--quiet"), "--quiet --trials 5"),
            (("--quiet", "--trials", "3", "--log", "a.jsonl"), "--quiet --log a.jsonl --trials 5"),
            (("--trials", "3", "--trials", "4"), "--trials 5"),
            (("--trials-of", "3"), "--trials-of 3 --trials 5"),
        ):
            with self.subTest(words=words):
                command = Command("bench.py", words).having("--trials", "5")
                self.assertEqual(f"python3 bench.py {expected}", str(command))

    def test_a_flag_can_be_left_out_or_added_once(self) -> None:
        command = Command("bench.py", ("--case", "a", "--quiet"))
        self.assertEqual("python3 bench.py --quiet", str(command.without("--case")))
        self.assertEqual(command, command.without("--limit"))
        self.assertEqual("python3 bench.py --case a --quiet --retry-errors", str(command.plus("--retry-errors")))
        self.assertEqual(command, command.plus("--quiet"))

    def test_another_command_stands_in_the_same_folder(self) -> None:
        for prog, expected in (("bench.py", "python3 report.py a"), ("../kit/bench.py", "python3 ../kit/report.py a"),
                               ("/k it/bench.py", "python3 '/k it/report.py' a")):
            with self.subTest(prog=prog):
                self.assertEqual(expected, str(Command(prog, ("--quiet",)).beside("report.py", "a")))

    def test_a_password_in_an_address_is_no_part_of_the_line(self) -> None:
        for words in (("--host", "http://user:pa55word@box:1", "--quiet"), ("--host=user:pa55word@box:1", "--quiet")):
            command = str(Command("bench.py", words))
            self.assertNotIn("pa55word", command)
            self.assertIn("[secret]@box:1", command)
            self.assertTrue(command.endswith("--quiet"))


if __name__ == "__main__":
    unittest.main()
