"""Reading a run record fast: what was accepted before is read quickly, and nothing passes that care would refuse."""
from __future__ import annotations

import copy
import json
import unittest
from typing import Any
from unittest.mock import patch

from benchkit.basics import json_text
from benchkit.basics.fields import Fields, KnownRows, all_in_bounds
from benchkit.basics.values import JSON
from benchkit.recordings import run_record_reading
from benchkit.recordings.run_record import RunRecord, run_record_bytes
from benchkit.recordings.run_record_reading import run_record_of_fields
from tests.reports_samples import record

VALUES: tuple[JSON, ...] = (
    None, True, False, 0, 1, -1, 2, 1002, 0.5, -0.5, "", "pass", "fail", "incomplete", [], {}, {"label": 1},
    {"label": True}, {"label": False}, {"parses": True, "label": False}, {"label": "why"},
    {"type": "Timeout", "message": "late", "partial": None},
    {"prompt_tokens": 1, "output_tokens": None, "cached_tokens": 0},
    {"prompt_tokens": 1, "output_tokens": -2, "cached_tokens": 0},
    {"prompt_tokens": 1, "output_tokens": 2.0, "cached_tokens": 0},
    {"load_s": 0.1, "prompt_s": 1, "output_s": -0.1, "first_token_s": None, "other_s": 0},
    {"load_s": 0.1, "prompt_s": 1, "output_s": 0.1, "first_token_s": None, "other_s": 0})


def answer(value: Any) -> RunRecord | str:
    """The record, or the refusal."""
    try:
        return run_record_of_fields(Fields(value))
    except ValueError as error:
        return str(error)


def careful(value: Any) -> RunRecord | str:
    """The same with every field of every result looked at by name."""
    with patch.object(run_record_reading.ResultReader, "_quick", lambda self, value: None):
        return answer(value)


class TheFastWay(unittest.TestCase):
    def setUp(self) -> None:
        text = b"".join(run_record_bytes(record({"A": "+-+-", "B": "--++", "C": "+tn-"})))
        self.value = json.loads(text)

    def changed(self, place: int, change: Any) -> Any:
        value = copy.deepcopy(self.value)
        change(value["results"][place])
        return value

    def check(self, value: Any) -> None:
        self.assertEqual(careful(value), answer(value))

    def test_it_reads_what_the_careful_way_reads(self) -> None:
        self.assertIsInstance(answer(self.value), RunRecord)
        self.check(self.value)

    def test_most_results_are_read_fast(self) -> None:
        with patch.object(run_record_reading, "_result_of", wraps=run_record_reading._result_of) as looked_at:
            answer(self.value)
        # trials 1 to 4, one failure with its explanation among them, and two errors
        self.assertLessEqual(looked_at.call_count, 7)

    def test_any_value_in_any_field_gets_the_same_answer(self) -> None:
        for name in self.value["results"][6]:
            for wrong in VALUES:
                for place in (6, 7):
                    with self.subTest(name=name, wrong=wrong, place=place):
                        self.check(self.changed(place, lambda row, n=name, w=wrong: row.update({n: w})))

    def test_any_value_in_any_inner_field_gets_the_same_answer(self) -> None:
        for outer in ("checks", "usage", "timings"):
            for name in self.value["results"][6][outer]:
                for wrong in VALUES:
                    with self.subTest(outer=outer, name=name, wrong=wrong):
                        self.check(self.changed(
                            6, lambda row, o=outer, n=name, w=wrong: row[o].update({n: w})))

    def test_a_missing_field_and_one_too_many_are_refused(self) -> None:
        for name in self.value["results"][6]:
            with self.subTest(name=name):
                value = self.changed(6, lambda row, n=name: row.pop(n))
                self.assertEqual(f"results[6].{name} is missing", answer(value))
                value = self.changed(6, lambda row, n=name: (row.pop(n), row.update(more=1)))
                self.check(value)
        self.assertEqual("results[6].more is no field that is known",
                         answer(self.changed(6, lambda row: row.update(more=1))))
        self.assertEqual("results[6].usage.more is no field that is known",
                         answer(self.changed(6, lambda row: row["usage"].update(more=1))))

    def test_a_result_of_a_machine_that_slept_is_read_with_care(self) -> None:
        self.check(self.changed(6, lambda row: row.update(slept_s=7.5)))
        self.assertEqual("results[6].slept_s is -1, not seconds of at least 0, or null",
                         answer(self.changed(6, lambda row: row.update(slept_s=-1))))


class RowsThatAreKnown(unittest.TestCase):
    def test_only_types_that_were_accepted_are_known(self) -> None:
        rows = KnownRows(("a", "b"))
        self.assertIsNone(rows.row({"a": 1, "b": "x"}))
        rows.accept({"b": "y", "a": 2})
        self.assertEqual((1, "x"), rows.row({"b": "x", "a": 1}))
        for other in ({"a": True, "b": "x"}, {"a": 1, "b": None}, {"a": 1}, {"a": 1, "c": "x"},
                      {"a": 1, "b": "x", "c": 1}, [1, "x"], None, "ab"):
            with self.subTest(other=other):
                self.assertIsNone(rows.row(other))

    def test_an_object_with_other_fields_is_not_remembered(self) -> None:
        rows = KnownRows(("a", "b"))
        rows.accept({"a": 1, "b": 2, "c": 3})
        self.assertIsNone(rows.row({"a": 1, "b": 2}))

    def test_counts_and_seconds_are_in_bounds(self) -> None:
        for numbers, holds in (((), True), ((None,), True), ((0, 0.0, None), True), ((1, 0.5), True),
                               ((1, -1), False), ((None, -0.001), False),
                               ((2**53 - 1, 0), True), ((2**53, 0), False), ((1e300, None), False)):
            with self.subTest(numbers=numbers):
                self.assertIs(holds, all_in_bounds(numbers))


class KeysThatStandTwice(unittest.TestCase):
    """In a file with many objects the keys are counted; the answer is that of looking at each object."""

    FILLING = '{"x": [' + ", ".join(['{"a": "{[:", "b\\\\\\":": ""}'] * 40) + "]"

    def test_they_are_refused_by_name_wherever_they_stand(self) -> None:
        for tail in (', "x": 1}', ', "y": {"k:k": 1, "k:k": 2}}', ', "y": [[{"": 1, "": 1}]]}',
                     ', "y": {"\\u0061": 1, "a": 2}}'):
            with self.subTest(tail=tail), self.assertRaisesRegex(ValueError, "stands twice"):
                json_text.parse((self.FILLING + tail).encode())

    def test_colons_in_texts_and_keys_count_for_nothing(self) -> None:
        for tail in ("}", ', "y": ":"}', ', "y:": {":": "\\":"}}', ', "y": ["\\\\", ":", "", {"": ""}]}'):
            with self.subTest(tail=tail):
                text = self.FILLING + tail
                self.assertEqual(json.loads(text), json_text.parse(text.encode()))

    def test_what_is_no_json_keeps_its_line_and_column(self) -> None:
        with self.assertRaisesRegex(ValueError, "it is not JSON: .* at line 1, column"):
            json_text.parse((self.FILLING + ', "y": :}').encode())


if __name__ == "__main__":
    unittest.main()
