"""Files that are large, or say that they are: refused in one line before they take the memory or time they ask for.

Memory and processor time are measured, never the clock on the wall.
"""
from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
import tracemalloc
import unittest
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

from benchkit.basics import json_text
from benchkit.basics.errors import Unusable
from benchkit.basics.texts import shown_line
from benchkit.basics.values import Shard
from benchkit.boards.scores import read_rows
from benchkit.disk.whole_files import MOST_LINES
from benchkit.trial_log.lines import MOST_SHARDS, SystemLine
from benchkit.trial_log.reader import read_log
from benchkit.trial_log.schema import MOST_CELLS
from tests import trial_logs as logs
from tests.costs import MB, Cost, cost_of
from tests.workflow import Workflow

CASE = '{"id":"a","split":"development","input":"x","expected":"y"}'


def cpu_s(work: Callable[[], object]) -> float:
    """The seconds of a processor that some work takes; what it raises is what it should."""
    start = time.process_time()
    with contextlib.suppress(ValueError):
        work()
    return time.process_time() - start


class Json(unittest.TestCase):
    def test_a_key_that_stands_twice_is_found_as_soon_as_all_are_read(self) -> None:
        keys = [b'"%d":1' % number for number in range(60_000)]
        whole, twice = (b"{%s}" % b",".join([*keys, last]) for last in (b'"x":1', keys[-1]))
        with self.assertRaisesRegex(ValueError, 'the key "59999" stands twice'):
            json_text.parse(twice)
        # 3,600 million comparisons took minutes
        self.assertLess(cpu_s(lambda: json_text.parse(twice)), 20 * cpu_s(lambda: json_text.parse(whole)) + 0.1)

    def test_many_values_of_any_kind_take_little_more_memory_than_their_text(self) -> None:
        for filling in (b"{},", b'{"a":[]},', b"1.5,", b'"[",', b'"{:,","",'):
            data = b"[" + filling * (3 * MB // len(filling)) + b"1]"
            with self.subTest(filling), contextlib.suppress(ValueError):
                tracemalloc.start()
                self.addCleanup(tracemalloc.stop)
                json_text.parse(data, most_parts=json_text.MOST_PARTS // 10)
            self.assertLess(tracemalloc.get_traced_memory()[1], 14 * len(data))
            tracemalloc.stop()

    def test_marks_inside_texts_are_no_parts(self) -> None:
        text = "[{,:" * 3_000_000
        self.assertEqual([text, 1], json_text.parse(json.dumps([text, 1]).encode()))

    def test_texts_that_hold_quotes_and_marks_are_told_from_what_stands_around_them(self) -> None:
        values = ['"', "[" * 70, '\\"[', "a", "", {'"': '\\'}] * 40_000
        self.assertEqual(values, json_text.parse(json.dumps(values).encode()))


@unittest.skipUnless(sys.platform.startswith("linux"), "memory is measured as Linux counts it")
class Files(Workflow):
    def cost(self, command: str) -> Cost:
        """What a command costs that refuses a file: one line and exit code 2."""
        name, *flags = command.split()
        cost = cost_of(self.folder, name, *flags)
        self.assertEqual((2, ""), (cost.told.code, cost.told.stdout), cost.told.stderr)
        self.assertRegex(cost.told.stderr, r"\A[^\n]{1,1500}\n\Z")
        return cost

    def put(self, name: str, pieces: Iterator[bytes]) -> None:
        """Write a file piece by piece: it need not be held here."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            for piece in pieces:
                file.write(piece)

    def test_values_beyond_all_measure_are_counted_before_they_are_made(self) -> None:
        heads = {"cases.json": b'{"cases":[', "r.json": b'{"recording":1,"cases":[',
                 "recordings.json": b'{"recordings":1,"entries":[', "run.json": b'{"run_record":1,"cases":['}
        commands = {"cases.json": "harness.py check", "r.json": "harness.py run --system replay:r.json",
                    "recordings.json": "outputs_digest.py --check recordings.json", "run.json": "report.py run.json"}
        for name, head in heads.items():
            with self.subTest(name):
                self.put(name, iter([head, *[b"{}," * (MB // 3)] * 30, b"1]}"]))
                cost = self.cost(commands[name])
                # the file itself, and what is made of its bytes without the texts
                self.assertLess(cost.peak, 450 * MB)
                self.assertLess(cost.cpu_s, 20)
                (self.folder / name).unlink()
                self.put_cases(self.cases)

    def test_a_file_larger_than_any_is_refused_by_its_size_alone(self) -> None:
        for name, command in (
                ("cases.json", "harness.py check"), ("recordings.json", "outputs_digest.py --check recordings.json"),
                ("r.json", "report.py r.json"), ("r.json", "harness.py run --system replay:r.json")):
            with self.subTest(command):
                (self.folder / name).write_bytes(b"")
                with (self.folder / name).open("r+b") as file:
                    file.truncate(3_000 * MB)
                cost = self.cost(command)
                self.assertLess(cost.peak, 60 * MB)
                (self.folder / name).unlink()
                self.put_cases(self.cases)

    def test_a_declared_number_of_trials_takes_no_memory(self) -> None:
        self.well("bench.py --system baselines:keywords --trials 1")
        self.well("harness.py run --system replay:recorded/keywords.json --out runs/keywords.json")
        for name, command in (("recorded/keywords.json", "harness.py run --system replay:recorded/keywords.json"),
                              ("runs/keywords.json", "report.py runs/keywords.json")):
            whole = self.json(name)
            for trials in (MOST_CELLS, 2**53 - 1):
                for name_of_list in ("sessions", "cases"):
                    with self.subTest(command, trials=trials, empty=name_of_list):
                        text = json.dumps({**whole, "trials": trials, name_of_list: []})
                        (self.folder / name).write_text(text, encoding="utf-8")
                        tracemalloc.start()
                        self.addCleanup(tracemalloc.stop)
                        self.refused(command, 2)
                        self.assertLess(tracemalloc.get_traced_memory()[1], 20 * MB)
                        tracemalloc.stop()

    def test_more_lines_than_a_run_has_trials_are_not_read_on(self) -> None:
        self.assertEqual(20_000_001, MOST_LINES)
        self.put("run.jsonl", iter([b"\n" * (2 * MB)]))
        with mock.patch("benchkit.disk.whole_files.MOST_LINES", MB):
            self.refused("report.py run.jsonl", 2, "has more than 1,000,000 lines")


class Rows(unittest.TestCase):
    def test_empty_lines_take_no_more_memory_than_the_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "eval.jsonl")
            path.write_bytes(b"\n" * 10 * MB)
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            self.assertRaisesRegex(Unusable, "line 1: ", read_rows, path)
            self.assertLess(tracemalloc.get_traced_memory()[1], 30 * MB)


class Texts(unittest.TestCase):
    def test_a_line_of_a_long_text_costs_no_more_than_what_is_shown(self) -> None:
        long = "\x01" * 5_000_000
        self.assertEqual("\\x01" * 49 + "\\...", shown_line(long))
        # a thousand times as long, all of it would take a thousand times as long
        few, many = (min(cpu_s(partial(shown_line, text)) for _ in range(20)) for text in (long[:5000], long))
        self.assertLess(many, 20 * few + 0.005)


class Logs(unittest.TestCase):
    def log_before_its_plan(self, cases: int) -> Path:
        """A log whose plan grew behind the trials of most of its cases."""
        ids = [f"case-{number}" for number in range(cases)]
        lines = logs.Lines().begin().add(logs.plan_line(ids[:1], 1), SystemLine(logs.SYSTEM, logs.SETTINGS))
        lines.add(*(logs.trial_line(case) for case in ids), logs.plan_line(ids, 1))
        path = Path(self.enterContext(tempfile.TemporaryDirectory()), f"{cases}.jsonl")
        return logs.written(path, bytes(lines))

    def test_trials_that_stand_before_their_plan_are_looked_up_and_not_searched(self) -> None:
        def looked_at(path: Path) -> float:
            return cpu_s(lambda: self.assertEqual(int(path.stem), sum(1 for _ in read_log(path).cells())))

        few, many = (self.log_before_its_plan(cases) for cases in (2_000, 16_000))
        # in proportion they are 8 times; where each was searched for, 34
        self.assertLess(looked_at(many), 16 * looked_at(few))

    def test_a_shard_of_more_than_any_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for of, is_read in ((MOST_SHARDS, True), (MOST_SHARDS + 1, False), (2**53 - 1, False)):
                line = replace(logs.session_line(), shard=Shard(1, of))
                path = logs.written(Path(folder, "log.jsonl"), bytes(
                    logs.Lines().begin(line=line).add(logs.plan_line())))
                with self.subTest(of):
                    if is_read:
                        self.assertEqual(Shard(1, of), read_log(path).shard)
                    else:
                        self.assertRaisesRegex(Unusable, "shard is", read_log, path)
