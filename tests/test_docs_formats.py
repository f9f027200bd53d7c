"""docs/formats.md is true: its tables are those of the schema, its versions those that are written."""
from __future__ import annotations

import json
import re
import tempfile
import unittest
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchkit.basics.values import JSON
from benchkit.recordings.recording import _FAILURE as RECORDED_FAILURE
from benchkit.recordings.recording import HEAD_FIELDS, RECORDING_VERSION, SESSIONS_FIELD
from benchkit.recordings.run_record import CASE_FIELDS, JUDGE_FIELDS, RECORD_FIELDS, RUN_RECORD_VERSION
from benchkit.reports.trials_csv import COLUMNS
from benchkit.trial_log.lines import LOADED_FIELDS, PLAN_FIELDS, SESSION_LINE_FIELDS, STOP_FIELDS, SYSTEM_FIELDS
from benchkit.trial_log.schema import (
    ERROR_FIELDS,
    LOG_FAILURE,
    LOG_REPLY,
    RECORDED_REPLY,
    RECORDING,
    RESULT,
    SESSION_FIELDS,
    TASK_FIELDS,
    TIMINGS_FIELDS,
    TRIAL_FIELDS,
    USAGE_FIELDS,
    Field,
    fields_in,
)
from tests.commands import ROOT, cli

PAGE = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
REPORTS = "## The JSON of a report"
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
TABLES: Mapping[str, Sequence[Field]] = {
    "session": SESSION_LINE_FIELDS, "plan": PLAN_FIELDS, "system": SYSTEM_FIELDS, "loaded": LOADED_FIELDS,
    "stop": STOP_FIELDS, "task": TASK_FIELDS, "error": ERROR_FIELDS, "usage": USAGE_FIELDS, "timings": TIMINGS_FIELDS,
    "recording": (*HEAD_FIELDS, SESSIONS_FIELD), "sessions": fields_in(SESSION_FIELDS, RECORDING),
    "run record": RECORD_FIELDS, "judge": JUDGE_FIELDS, "cases": CASE_FIELDS,
}
IN_FILES = ((*LOG_REPLY, *LOG_FAILURE), (*RECORDED_REPLY, *RECORDED_FAILURE.fields), RESULT)


def rows_of(listed: Iterable[Field]) -> list[str]:
    """The rows of a table of fields."""
    return [f"| `{one.name}` | {one.type.words} | {one.meaning}{mark(one)} |" for one in listed]


def mark(one: Field) -> str:
    """What is said of a field that is not always written."""
    return " (only where there is something to say)" if one.is_left_out else ""


def trial_rows() -> list[str]:
    """The rows of the table of trials: what each file holds of a field, where it is not the same as in the others."""
    titles: dict[str, list[str]] = {}
    for title, name, inner in COLUMNS:
        titles.setdefault(name, []).append(f"`{title}`" if inner in ("", "type", "message", "partial") else "")
    rows = []
    for one in TRIAL_FIELDS:
        cells = [held(one, listed) for listed in IN_FILES]
        columns = ", ".join(filter(None, titles.get(one.name, ()))) or ("by name" if one.name in titles else "")
        rows.append(f"| `{one.name}` | {one.type.words} | {' | '.join(cells)} | {columns} | "
                    f"{one.meaning}{mark(one)} |".replace("|  |", "| |").replace("|  |", "| |"))
    return rows


def held(one: Field, listed: Iterable[Field]) -> str:
    """`yes`, or what the file holds in place of it; nothing where it has no such field."""
    words = dict.fromkeys(field.type.words for field in listed if field.name == one.name)
    return "yes" if [*words] == [one.type.words] else " or ".join(word.partition(", as ")[0] for word in words)


def shown_tables() -> dict[str, list[str]]:
    """The rows of every table of the page, by the heading before it."""
    parts = re.split(r"^#+ (.*)$", PAGE.partition(REPORTS)[0], flags=re.MULTILINE)
    tables = {title.strip("`"): re.findall(r"^\| `.*$", text, re.MULTILINE)
              for title, text in zip(parts[1::2], parts[2::2], strict=True)}
    return {title: rows for title, rows in tables.items() if rows}


def names_in(value: JSON) -> set[str]:
    """The names of all fields, but for those that a run brings: settings, checks, tags and types of error."""
    if isinstance(value, list):
        return set[str]().union(*map(names_in, value))
    if not isinstance(value, dict):
        return set()
    found = set(value)
    for name, inner in value.items():
        if name in ("checks", "tags", "by_error") and isinstance(inner, dict):
            found |= names_in([*inner.values()])
        elif name != "settings":
            found |= names_in(inner)
    return found


class Page(unittest.TestCase):
    def test_its_tables_are_the_fields_that_are_read_and_written(self) -> None:
        self.assertEqual({"Trials": trial_rows(), **{title: rows_of(listed) for title, listed in TABLES.items()}},
                         shown_tables())

    def test_its_versions_are_those_that_are_written_and_stand_in_the_changelog(self) -> None:
        for name, version in (("recording", RECORDING_VERSION), ("run record", RUN_RECORD_VERSION)):
            with self.subTest(name):
                self.assertIn(f"| {name} | {version} |", CHANGES)
                self.assertIn(f'"{name.replace(" ", "_")}": {version}', PAGE)

    def test_every_field_of_reports_and_gates_stands_in_it(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        runs = [ROOT / f"tests/version1/{name}-run.json" for name in ("robot", "smollm2", "smollm2")]
        told = cli(folder, "report.py", *runs, "--out", "report.json")
        self.assertEqual(0, told.code, told.stderr)
        told = cli(folder, "harness.py", "compare", *runs[1:], "--out", "gate.json")
        self.assertEqual(0, told.code, told.stderr)
        described = set(re.findall(r"`(\w+)`", PAGE.partition(REPORTS)[2]))
        for name in ("report.json", "gate.json"):
            with self.subTest(name):
                self.assertEqual([], sorted(names_in(json.loads((folder / name).read_text("ascii"))) - described))

    def test_its_examples_are_json(self) -> None:
        examples = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
        self.assertEqual(["recording", "run_record"], [next(iter(json.loads(one))) for one in examples])
