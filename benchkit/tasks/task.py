"""The user's task and its cases as values, and the prompt that a task makes of a case."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import ask_of, canonical, digest, sha256_hex
from benchkit.basics.texts import first_alike, shown, shown_line, unseen_in
from benchkit.basics.values import JSON, Case, Message, TaskName
from benchkit.disk.file_kinds import FileKind, refuse_another_kind
from benchkit.disk.whole_files import read_json, shown_path
from benchkit.tasks.modules import Made, Raised, called, load_module, source_of, told

MOST_BYTES = 256 * 2**20
MOST_PARTS = 8_000_000
"""A case of five fields and two tags is some 30 parts (basics/json_text.py)."""
MOST_LETTERS = 300
"""Of an id, a split or a tag: they stand in every table."""
MOST_TAGS = 100
ROLES = ("system", "user", "assistant")


def read_cases(path: Path, named_by: str = "--cases FILE") -> tuple[Case, ...]:
    """All cases of a file `{"cases": [{"id", "split", "input", "expected", "tags"}, ...]}`, in its order.

    Raises Unusable with file, case and field; `named_by` is where another file can be named. `tags` may be left out.
    """
    if not path.exists():
        raise Unusable(f"{shown_path(path)}: there is no such file; name the file of cases with {named_by}")
    refuse_another_kind(path, FileKind.CASES)
    try:
        fields = Fields(read_json(path, MOST_BYTES, MOST_PARTS))
        fields.has_exactly(("cases",))
        cases = tuple(_case_of(case) for case in fields.objects("cases"))
        if not cases:
            raise ValueError("cases is empty: there is nothing to ask")
        if found := first_alike(case.id for case in cases):
            number, first, but_for = found
            raise ValueError(f"cases[{number}] ({cases[number].id}).id is the same as cases[{first}] "
                             f"({cases[first].id}).id{but_for}")
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
    if unseen := unseen_in(text):
        raise ValueError(f"{fields.at(name)} is \"{shown_line(text, 60)}\" and holds {unseen}, which nobody sees: two "
                         "names that look the same could not be told apart; leave it out")
    if shown(text) != text or "\n" in text or "\t" in text or text != text.strip():
        raise ValueError(f"{fields.at(name)} is \"{shown_line(text, 60)}\": no control characters, line breaks "
                         "or spaces around it")
    return text


@dataclass(frozen=True, slots=True)
class Task:
    """How a case becomes a prompt and how an output is checked: the functions of one module.

    `source_sha256` is over the module's text, line ends as "\\n". `sees_labels` names the baselines that use
    labels; `problems` says what is wrong with the labels of a case. All functions are the user's: they may
    raise anything, and give anything.
    """

    module: str
    name: str
    version: str
    source_sha256: str
    messages: Callable[[Case], Sequence[Message]]
    schema: Callable[[], Mapping[str, JSON] | None]
    check: Callable[[Case, str], Mapping[str, bool]]
    explain: Callable[[Case, str], Mapping[str, str]] | None
    baselines: Mapping[str, Callable[[Case, int], str]]
    sees_labels: tuple[str, ...]
    problems: Callable[[Case], Sequence[str]] | None = None

    @property
    def title(self) -> TaskName:
        """What a plan says of its task."""
        return TaskName(self.module, self.name, self.version)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked for one case, whoever answers; `ask` is 16 hex over messages and schema."""

    messages: tuple[Message, ...]
    schema: Mapping[str, JSON] | None
    ask: str


def load_task(module_name: str, folders: Sequence[Path]) -> Task:
    """The task in a module. Raises Unusable with what the module lacks."""
    module = load_module(module_name, folders)

    def text(name: str) -> str:
        value = getattr(module, name, None)
        if not isinstance(value, str) or not value or shown_line(value) != value:
            raise Unusable(f"{module.__file__}: {name} must be a text of one line")
        return value

    def function(name: str) -> Any:
        value = getattr(module, name, None)
        if not callable(value):
            raise Unusable(f"{module.__file__}: a task needs a function {name}; README.md shows all of them")
        return value

    def function_or_none(name: str) -> Any:
        return function(name) if hasattr(module, name) else None

    baselines: Any = {}
    make_baselines = function_or_none("baselines")
    if make_baselines:
        try:
            baselines = called(make_baselines)
        except Raised as raised:
            raise Unusable(f"{module.__file__}: baselines() {told(raised.error, make_baselines)}") from raised.error
    if not isinstance(baselines, dict) or not all(
            isinstance(name, str) and callable(baselines[name]) for name in baselines):
        raise Unusable(f"{module.__file__}: baselines() must give {{name: function(case, seed)}}")
    sees_labels = getattr(module, "SEES_LABELS", ())
    if isinstance(sees_labels, str) or not isinstance(sees_labels, list | tuple | set | frozenset):
        raise Unusable(f"{module.__file__}: SEES_LABELS must be a list of names of baselines")
    for name in sees_labels:
        if name not in baselines:
            raise Unusable(f"{module.__file__}: SEES_LABELS names {shown_line(str(name), 60)}, "
                           "which baselines() does not have")
    return Task(
        module_name, text("NAME"), text("VERSION"), sha256_hex(source_of(module).encode("utf-8")),
        function("messages"), function("schema"), function("check"), function_or_none("explain"), baselines,
        tuple(sorted(sees_labels)), function_or_none("problems"))


def prompt_of(task: Task, case: Case) -> Prompt:
    """The prompt of a case. The task is handed the case without its labels: no prompt can give them away.

    Raises Unusable with task, case and field if messages or schema are not what they should be.
    """
    return checked_prompt(f"task {task.module}, case {shown_line(case.id, 80)}",
                          partial(task.messages, without_labels(case)), task.schema)


def checked_prompt(place: str, messages: Callable[[], object], schema: Callable[[], object]) -> Prompt:
    """The prompt that two functions of the user make. Raises Unusable, `place` first, where they make none."""
    given = _made(f"{place}: messages", messages, _checked_messages, " (it sees no labels)")
    shape = _made(f"{place}: schema", schema, _checked_schema)
    return Prompt(given, shape, ask_of(given, shape))


def _made(what: str, make: Callable[[], object], checked: Callable[[object], Made], hint: str = "") -> Made:
    try:
        return called(lambda: checked(make()), passing=(_WrongShapeError, MemoryError))
    except _WrongShapeError as error:
        raise Unusable(f"{what}{error}") from error
    except Raised as raised:
        raise Unusable(f"{what} {told(raised.error, getattr(make, 'func', make))}{hint}") from raised.error


def without_labels(case: Case) -> Case:
    """The case as a prompt may see it."""
    return replace(case, expected=None, tags=())


class _WrongShapeError(ValueError):
    """What a function of the task gave is not what it should be: words that go on behind its name."""


def _checked_messages(given: object) -> tuple[Message, ...]:
    if not isinstance(given, list | tuple) or not given:
        raise _WrongShapeError(" is not a list of at least one message")
    found: list[Message] = []
    for number, message in enumerate(given):
        if not isinstance(message, Mapping) or message.keys() != {"role", "content"}:
            raise _WrongShapeError(f"[{number}] is not {{\"role\", \"content\"}}")
        role, content = message["role"], message["content"]
        if role not in ROLES:
            raise _WrongShapeError(f"[{number}].role is not one of {', '.join(ROLES)}")
        if not isinstance(content, str) or any("\ud800" <= letter <= "\udfff" for letter in content):
            raise _WrongShapeError(f"[{number}].content is not a text (or holds a lone surrogate)")
        found.append({"role": role, "content": content})
    return tuple(found)


def _checked_schema(given: object) -> Mapping[str, JSON] | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise _WrongShapeError(" is neither a JSON object nor None")
    try:
        canonical(given)
    except (TypeError, ValueError, RecursionError):
        raise _WrongShapeError(" holds something that is not JSON") from None
    return given
