"""The cases of a task: read from a file of strangers, chosen by split, and their digests.

What does not live here: what a case means (the task), and the value itself (basics/values.py).
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchkit.basics.canonical import digest
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.names import first_alike, shown, shown_line, unseen_in
from benchkit.basics.values import Case
from benchkit.disk.file_kinds import Kind, refuse_another_kind
from benchkit.disk.whole_files import read_json, shown_path

MOST_BYTES = 256 * 2**20
MOST_PARTS = 8_000_000
"""A case of five fields and two tags is some 30 parts (basics/strict_json.py)."""
MOST_LETTERS = 300
"""Of an id, a split or a tag: they stand in every table."""
MOST_TAGS = 100


def read_cases(path: Path, named_by: str = "--cases FILE") -> tuple[Case, ...]:
    """All cases of a file `{"cases": [{"id", "split", "input", "expected", "tags"}, ...]}`, in its order.

    Raises Unusable with file, case and field; `named_by` is where another file can be named. `tags` may be left out.
    """
    if not path.exists():
        raise Unusable(f"{shown_path(path)}: there is no such file; name the file of cases with {named_by}")
    refuse_another_kind(path, Kind.CASES)
    try:
        fields = Fields(read_json(path, MOST_BYTES, MOST_PARTS))
        fields.has_exactly(("cases",))
        cases = tuple(_case_of(case) for case in fields.objects("cases"))
        _check_ids(cases)
    except ValueError as error:
        raise Unusable(f"{path}: {error}") from None
    return cases


def in_split(cases: Sequence[Case], split: str, given_as: str = "--split") -> tuple[Case, ...]:
    """The cases of one split, in file order. Raises Unusable with the splits there are."""
    chosen = tuple(case for case in cases if case.split == split)
    if not chosen:
        known = ", ".join(dict.fromkeys(shown_line(case.split, 60) for case in cases))
        raise Unusable(f"{given_as} {shown_line(split, 60)}: no case has it; there are {known}")
    return chosen


def case_sha256(case: Case) -> str:
    """What binds a verdict to its case: 64 hex over {id, input, expected, tags}."""
    return digest({"id": case.id, "input": case.input, "expected": case.expected, "tags": list(case.tags)})


def _case_of(fields: Fields) -> Case:
    name = _label(fields, "id", fields.text("id"))
    named = Fields(fields.values, f"{fields.place} ({name})")
    named.has_exactly(("id", "split", "input", "expected"), optional=("tags",))
    tags = named.texts("tags") if "tags" in named.values else ()
    if len(set(tags)) != len(tags) or len(tags) > MOST_TAGS:
        raise ValueError(f"{named.at('tags')} holds a tag twice, or more than {MOST_TAGS}")
    for tag in tags:
        _label(named, "tags", tag)
    return Case(name, _label(named, "split", named.text("split")), named.json("input"),
                named.json("expected"), tags)


def _label(fields: Fields, name: str, text: str) -> str:
    if not 0 < len(text) <= MOST_LETTERS:
        raise ValueError(f"{fields.at(name)} has {len(text)} letters, not 1 to {MOST_LETTERS}")
    if shown(text) != text or "\n" in text or "\t" in text or text != text.strip():
        raise ValueError(f"{fields.at(name)} is \"{shown_line(text, 60)}\": no control characters, line breaks "
                         "or spaces around it")
    if unseen := unseen_in(text):
        raise ValueError(f"{fields.at(name)} is \"{shown_line(text, 60)}\" and holds {unseen}, which nobody sees: two "
                         "names that look the same could not be told apart; leave it out")
    return text


def _check_ids(cases: Sequence[Case]) -> None:
    if not cases:
        raise ValueError("cases is empty: there is nothing to ask")
    found = first_alike(case.id for case in cases)
    if found is not None:
        number, first, but_for = found
        raise ValueError(f"cases[{number}] ({cases[number].id}).id is the same as cases[{first}] "
                         f"({cases[first].id}).id{but_for}")
