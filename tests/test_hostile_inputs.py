"""Damaged and hostile files: refused in one line or read rightly, and in logs and traces nothing altered is believed.

10,000 mutations by a seed, shared by the processors; each that fails says its kind and its number.
"""
from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from unittest import mock

from benchkit.basics.errors import KitError, Unusable
from benchkit.basics.json_text import is_whole
from benchkit.basics.texts import shown_line
from tests.commands import HANGS_S, ROOT
from tests.hostile_board_inputs import KINDS, RESEALED
from tests.mutator import DAMAGES, Mutator
from tests.workflow import Workflow

SEED = 20261130
BY_NAME = {kind.name: kind for kind in (*KINDS, *RESEALED)}
HOW_MANY: Mapping[str, int] = {
    "log": 750, "recording": 2000, "run record": 250, "run record of lines": 500, "cases": 2250, "book": 1750,
    "trace": 500, "job": 750, "env_file": 250, "batch": 250, "questions": 250, "resealed log": 300,
    "resealed trace": 200}
STRETCH = 500
WAYS_OF_READING = (("resealed log", "recording", "job", "questions"),
                   ("resealed trace", "cases", "env_file", "run record of lines"))
"""Kinds that are read in different ways, in two parts, one for each of two processes."""
LONGEST_S = 5
"""Of a processor, for one file."""
MOST_MEMORY = 400_000_000
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Thousands of small files are written; a disk would take most of the time."""
BIG = """
import resource, sys, tempfile, time
from pathlib import Path
from benchkit.basics.errors import Unusable
from tests.hostile_board_inputs import KINDS, RESEALED
from tests.mutator import big_ones
ways_of_reading = sys.argv[3:]
inputs = big_ones()
for kind in (kind for kind in (*RESEALED, *KINDS) if kind.name in ways_of_reading):
    with tempfile.TemporaryDirectory(dir=sys.argv[1] or None) as folder:
        path = Path(folder, kind.file)
        kind.examples(Path(folder))
        for name, data in inputs.items():
            path.write_bytes(data)
            start = time.process_time()
            try:
                kind.look(path, data)
                # of a trace the damage is counted, and nothing refused
                if kind.name != "resealed trace":
                    print(f"{kind.name}, {name}: it was read")
            except Unusable as error:
                if len(str(error)) > 1000:
                    print(f"{kind.name}, {name}: it is told at length")
            if time.process_time() - start > float(sys.argv[2]):
                print(f"{kind.name}, {name}: {time.process_time() - start} s")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """What takes more time of a processor is broken off, where the platform can."""
    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it takes more than {seconds} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def try_all(name: str, start: int) -> tuple[int, int, list[str]]:
    """Damage, write, look: mutations of one kind from a number on. How many, how many were refused, faults in words."""
    kind, mutator, refused, faults = BY_NAME[name], Mutator(SEED + start), 0, []
    numbers = range(start, min(start + STRETCH, HOW_MANY[name]))
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        examples, path = kind.examples(Path(folder)), Path(folder, kind.file)
        for number in numbers:
            original, line = examples[number % len(examples)], ""
            path.write_bytes(mutator.resealed(original) if kind in RESEALED else mutator.mutated(original))
            try:
                with at_most(LONGEST_S):
                    kind.look(path, original)
            except Unusable as error:
                line = str(error)
                refused += 1
            except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
                faults.append(f"{name} number {number}: {traceback.format_exc()}")
            if shown_line(line, 1500) != line:
                faults.append(f"{name} number {number}: not one line: {line!r}")
    return len(numbers), refused, faults


class Mutations(unittest.TestCase):
    def test_10_000_of_them_are_refused_in_one_line_or_read_rightly(self) -> None:
        self.assertGreaterEqual(sum(HOW_MANY.values()), 10_000)
        self.assertEqual(BY_NAME.keys(), HOW_MANY.keys())
        parts = [(name, start) for name, count in HOW_MANY.items() for start in range(0, count, STRETCH)]
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            for part, (count, refused, faults) in zip(parts, pool.map(try_all, *zip(*parts, strict=True)), strict=True):
                with self.subTest(part):
                    self.assertEqual([], faults)
                    self.assertGreater(refused, count // 3)

    def test_what_is_whole_is_read(self) -> None:
        for kind in BY_NAME.values():
            with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
                for original in kind.examples(Path(folder)):
                    with self.subTest(kind.name):
                        path = Path(folder, kind.file)
                        path.write_bytes(original)
                        kind.look(path, original)


class TheMutator(unittest.TestCase):
    """A mutator that damages nothing proves nothing."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(dir=IN_MEMORY)))
        self.example = BY_NAME["log"].examples(self.folder)[0]

    def test_equal_seeds_give_equal_damage_and_others_another(self) -> None:
        first, second, third = ([mutator.mutated(self.example) for _ in range(50)]
                                for mutator in (Mutator(1), Mutator(1), Mutator(2)))
        self.assertEqual(first, second)
        self.assertNotEqual(first, third)

    def test_nearly_all_that_it_gives_is_damaged_and_every_kind_of_damage_does_some(self) -> None:
        mutator = Mutator(3)
        self.assertGreater(sum(mutator.mutated(self.example) != self.example for _ in range(200)), 180)
        for damage in DAMAGES:
            chance = random.Random(4)
            with self.subTest(damage.__name__):
                self.assertTrue(any(damage(self.example, chance) != self.example for _ in range(20)))

    def test_resealed_lines_are_whole(self) -> None:
        mutator = Mutator(5)
        for _ in range(50):
            lines = [line for line in mutator.resealed(self.example).split(b"\n") if line]
            self.assertTrue(all(map(is_whole, lines)))

    def test_a_reader_that_believes_what_was_altered_is_found_out(self) -> None:
        path, mutator, found_out = self.folder / "responses.jsonl", Mutator(SEED), 0
        with mock.patch("benchkit.trial_log.accounting.is_whole", lambda data: data.endswith(b'"}')):
            for _ in range(150):
                path.write_bytes(mutator.mutated(self.example))
                try:
                    BY_NAME["log"].look(path, self.example)
                except AssertionError:
                    found_out += 1
                except KitError:
                    continue
        self.assertGreater(found_out, 5)


@unittest.skipUnless(sys.platform.startswith("linux"), "memory is measured as Linux counts it")
class BigOnes(unittest.TestCase):
    def test_large_and_deep_ones_are_refused_soon_and_in_little_memory(self) -> None:
        with ThreadPoolExecutor() as pool:
            for found in pool.map(self.read_big_ones, WAYS_OF_READING):
                self.assertEqual("", found.stderr)
                *told, memory = found.stdout.splitlines()
                self.assertEqual([], told)
                self.assertLess(int(memory) * 1024, MOST_MEMORY)

    def read_big_ones(self, kinds: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Every big one read as each of these kinds, in a process of its own."""
        return subprocess.run(
            [sys.executable, "-c", BIG, IN_MEMORY or "", str(LONGEST_S), *kinds], cwd=ROOT, capture_output=True,
            text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, timeout=HANGS_S, check=False)


class AtTheCommands(Workflow):
    """A sample through the commands: what a person sees."""

    def setUp(self) -> None:
        super().setUp()
        self.well("bench.py --system baselines:keywords --trials 2")
        self.well("harness.py run --system replay:recorded/keywords.json --out runs/keywords.json")
        self.well("outputs_digest.py recorded/keywords.jsonl --update recorded/recordings.json --label here")

    def test_one_line_or_an_answer_and_never_more(self) -> None:
        log = "bench.py --log recorded/keywords.jsonl"
        kit_commands: Mapping[str, tuple[str, ...]] = {
            "recorded/keywords.jsonl": (
                f"{log} --status", f"{log} --convert other.json", f"{log} --accept-damage --status", f"{log} --dry-run",
                f"{log} --export clean.jsonl", "outputs_digest.py recorded/keywords.jsonl",
                "outputs_digest.py --check recorded/recordings.json", log,
                "harness.py run --system replay:recorded/keywords.jsonl --out runs/other.json"),
            "recorded/keywords.json": (
                "harness.py run --system replay:recorded/keywords.json --out runs/other.json",
                "outputs_digest.py --compare recorded/keywords.json recorded/keywords.jsonl", log),
            "runs/keywords.json": (
                "report.py runs/keywords.json --html a.html --csv a.csv --markdown a.md --junit a.xml --out a.json",
                "harness.py compare runs/keywords.json runs/keywords.json", "report.py runs/keywords.json --case x"),
            "cases.json": ("harness.py check", f"{log} --dry-run", f"harness.py show --case {self.ids[0]}",
                           "bench.py --system baselines:coin --trials 1 --quiet --log recorded/coin.jsonl"),
            "recorded/recordings.json": (
                "outputs_digest.py --check recorded/recordings.json",
                "outputs_digest.py recorded/keywords.jsonl --update recorded/recordings.json --label there"),
        }
        whole, mutator = self.files(), Mutator(SEED)
        for name, commands in kit_commands.items():
            for number in range(5):
                for other in self.files().keys() - whole.keys():
                    (self.folder / other).unlink()
                for kept, data in whole.items():
                    (self.folder / kept).write_bytes(mutator.mutated(data) if kept == name else data)
                for command in commands:
                    with self.subTest(command, number=number), at_most(LONGEST_S):
                        told = self.type(command)
                        self.assertIn(told.code, (0, 1, 2), told)
                        for line in (*told.stdout.split("\n"), *told.stderr.split("\n")):
                            self.assertEqual(shown_line(line, 10_000), line.replace("\t", "\\t"))
                        if told.code == 2 and not command.startswith("harness.py check"):
                            self.assertEqual(("", 1), (told.stdout, told.stderr.count("\n")))
