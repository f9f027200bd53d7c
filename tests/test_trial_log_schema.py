"""The schema: what is read fast is what care would read, whatever stands in whichever field of whichever table."""
from __future__ import annotations

import copy
import json
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from unittest.mock import patch

from benchkit.basics.fields import Fields
from benchkit.basics.values import JSON
from benchkit.recordings.recording import recording_bytes, recording_of_fields
from benchkit.recordings.run_record import run_record_bytes, run_record_of_fields
from benchkit.trial_log.lines import LinePosition, bytes_of, line_of
from benchkit.trial_log.schema import FieldTable
from tests.recordings_samples import mixed_outcomes, recording, toy
from tests.reports_samples import record
from tests.test_trial_log_lines import EVERY_KIND

VALUES: tuple[JSON, ...] = (
    None, True, False, 0, 1, -1, 2, 1002, 0.5, -0.5, 2**53, "", "pass", "fail", "incomplete", "NotRun", "0" * 16, [],
    {}, [[1, 2]], {"label": 1}, {"label": True}, {"label": False}, {"parses": True, "label": False}, {"label": "why"},
    {"type": "Timeout", "message": "late", "partial": None},
    {"prompt_tokens": 1, "output_tokens": None, "cached_tokens": 0},
    {"prompt_tokens": 1, "output_tokens": 2.0, "cached_tokens": 0},
    {"load_s": 0.1, "prompt_s": 1, "output_s": -0.1, "first_token_s": None, "other_s": 0},
    {"load_s": 0.1, "prompt_s": 1, "output_s": 0.1, "first_token_s": None, "other_s": 0})
LEFT_OUT = ("slept_s", "asked_letters", "shard", "trace_damage")
Read: TypeAlias = Callable[[Any], object]


def answer(read: Read, value: Any) -> object:
    """What is read, or the refusal."""
    try:
        return read(value)
    except ValueError as error:
        return str(error)


def careful(read: Read, value: Any) -> object:
    """The same with every field of every object looked at by name."""
    with patch.object(FieldTable, "_picked", lambda self, value: None):
        return answer(read, value)


def samples() -> Iterator[tuple[Read, Any]]:
    """An object of every table inside a value that is read, and how it is read."""
    for line in EVERY_KIND:
        yield line_of, json.loads(bytes_of(line, LinePosition("a" * 16, 1)))
    with TemporaryDirectory() as folder:
        made = recording(*toy(Path(folder)), mixed_outcomes())
    yield lambda value: recording_of_fields(Fields(value)), json.loads(b"".join(recording_bytes(made)))
    run = record({"A": "+-", "B": "-n", "C": "t+"})
    yield lambda value: run_record_of_fields(Fields(value)), json.loads(b"".join(run_record_bytes(run)))


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a value that has fields, itself included."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from objects_in(one)


def changes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The value with one field of one object changed, missing, or too many, an object of each shape; what was done."""
    changed, shapes = copy.deepcopy(value), set()
    for found in list(objects_in(changed)):
        before = dict(found)
        if (shape := str([(name, type(inner)) for name, inner in before.items()])) in shapes:
            continue
        shapes.add(shape)
        for name in (*before, "more", *LEFT_OUT):
            for wrong in VALUES:
                found[name] = wrong
                yield f"{name} = {wrong}", changed
            found.clear()
            found.update({other: kept for other, kept in before.items() if other != name})
            yield f"no {name}", changed
            found.update(before)
        found.clear()
        found.update(before)


class TheFastWay(unittest.TestCase):
    def test_it_reads_what_the_careful_way_reads(self) -> None:
        for read, value in samples():
            with self.subTest(str(value)[:60]):
                self.assertNotIsInstance(answer(read, value), str)
                self.assertEqual(careful(read, value), answer(read, value))

    def test_any_value_in_any_field_gets_the_same_answer_and_so_does_a_field_too_few_or_too_many(self) -> None:
        kinds = [0, 0]
        for read, value in samples():
            for change, changed in changes_of(value):
                found = answer(read, changed)
                kinds[isinstance(found, str)] += 1
                if careful(read, changed) != found:
                    self.fail(f"{change} in {str(value)[:60]}: {found}, with care {careful(read, changed)}")
        self.assertGreater(min(kinds), 1000)

    def test_what_is_wrong_is_named_with_its_place(self) -> None:
        read, value = list(samples())[-1]
        for name in value["results"][1]:
            with self.subTest(name=name):
                changed = copy.deepcopy(value)
                del changed["results"][1][name]
                self.assertEqual(f"results[1].{name} is missing", answer(read, changed))
        changes: list[tuple[Callable[[Any], object], str]] = [
            (lambda row: row.update(more=1), "results[1].more is no field that is known"),
            (lambda row: row["usage"].update(more=1), "results[1].usage.more is no field that is known"),
            (lambda row: row.update(slept_s=-1), "results[1].slept_s is -1, not seconds of at least 0, or null"),
        ]
        for change, words in changes:
            changed = copy.deepcopy(value)
            change(changed["results"][1])
            self.assertEqual(words, answer(read, changed))

    def test_most_objects_are_read_fast(self) -> None:
        for read, value in samples():
            is_odd = any(one.keys() & LEFT_OUT for one in objects_in(value))
            with (
                self.subTest(str(value)[:60]),
                patch.object(
                    FieldTable, "_picked_with_care", autospec=True, side_effect=FieldTable._picked_with_care
                ) as looked_at,
            ):
                read(value)
                self.assertEqual(is_odd, looked_at.call_count > 0)
