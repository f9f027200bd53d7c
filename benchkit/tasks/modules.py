"""Finding and running the modules of the user: tasks and systems, by the name given on the command line.

A module is looked for in the working folder, then beside the command; it is never imported by a name that stands in
a log, a recording or a record.
"""
from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from benchkit.basics.errors import KitError, Unusable
from benchkit.basics.texts import shown_line

OWN_NAMES = ("bench", "harness", "report", "outputs_digest", "board", "benchkit", "tests", "test_bench")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+\b")
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
Made = TypeVar("Made")


def load_module(name: str, folders: Sequence[Path]) -> ModuleType:
    """The module of that name, run anew from its text. Its folder can be imported from, behind all others.

    Raises Unusable with file and line if it is not there, does not parse, or raises while it is imported.
    """
    first, *inner = name.split(".")
    if not _DOTTED.fullmatch(name) or name.endswith(".py"):
        wanted = module_name_of(name) or "triage_task for triage_task.py, or folder.module"
        raise Unusable(f"{shown_line(name, 80)} is no name of a module: give {wanted}")
    if first in OWN_NAMES or first in sys.stdlib_module_names:
        owner = "the kit" if first in OWN_NAMES else "Python"
        raise Unusable(f"{name} is a module of {owner} itself; give your module another name")
    folder, spec = next(((folder, spec) for folder in folders if (spec := _spec_in(folder, name))), (None, None))
    if spec is None:
        places = " or ".join(str(folder) for folder in dict.fromkeys(folders))
        raise Unusable(f"there is no module {name} (looked for {name.replace('.', '/')}.py in {places})")
    if str(folder) not in sys.path:
        # behind all others: a file of the user never stands in for a module of the kit or of Python
        sys.path.append(str(folder))
    module, dotted = _run(spec), first
    for part in inner:
        dotted += f".{part}"
        found = PathFinder.find_spec(dotted, getattr(module, "__path__", []))
        if found is None or found.origin is None:
            raise Unusable(f"there is no module {dotted} in {module.__file__}")
        outer, module = module, _run(found)
        setattr(outer, part, module)
    return module


def source_of(module: ModuleType) -> str:
    r"""The text of a module, line ends as "\n"."""
    loader = module.__loader__
    text = loader.get_source(module.__name__) if isinstance(loader, SourceFileLoader) else None
    if text is None:
        raise Unusable(f"{module.__name__}: its text cannot be read; a task is a file of Python source")
    return text


def module_name_of(file: str) -> str:
    """The name by which a module in a file of Python is given: `tasks.date` for `tasks/date.py`; "" if it has none."""
    name = re.sub(r"[/\\\\]+", ".", file.removesuffix(".py")).lstrip(".")
    return name if _DOTTED.fullmatch(name) else ""


def raised_at(error: BaseException, function: object = None) -> str:
    """Where in a file of the user an error came up: `date_task.py, line 12`; "" where that is not known.

    An error that is raised before the first line of `function` runs has the place where that begins.
    """
    kit = str(Path(__file__).resolve().parent.parent)
    theirs = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(kit)]
    if theirs:
        line = [frame.lineno for frame in theirs if frame.filename == theirs[0].filename][-1]
        return f"{Path(theirs[0].filename).name}, line {line}"
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename.startswith(kit):
        return ""
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"


def told(error: BaseException, function: object = None) -> str:
    """What a function of the user raised, and where: `raised KeyError: 'due' (date_task.py, line 12)`."""
    place = raised_at(error, function)
    return what_came(error) + (f" ({place})" if place else "")


def what_came(error: BaseException, redact: Callable[[str], str] = str) -> str:
    """What a function of the user raised, in words: `raised KeyError: 'due'`; the same in every process.

    `redact` takes secrets out of the error's own words.
    """
    if isinstance(error, SystemExit):
        return f"called sys.exit({shown_line(redact(_text_of(error.code, repr)), 40)})"
    text = shown_line(redact(_text_of(error, str)))
    return f"raised {type(error).__name__}" + (f": {text}" if text else "")


class Raised(Exception):
    """Code of the user raised `error`, which can be anything; `told(error, function)` says it in words."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def called(function: Callable[..., Made], *given: Any, passing: tuple[type[BaseException], ...] = ()) -> Made:
    """What code of the user gives. What it raises comes out as Raised; Ctrl-C, and what is `passing`, as it is."""
    passing = (KeyboardInterrupt, *passing)
    try:
        return function(*given)
    except passing:
        raise
    except BaseException as error:
        raise Raised(error) from error


@contextmanager
def named(place: str) -> Iterator[None]:
    """What a function of the user raises inside is one line for a person. Raises Unusable that begins with `place`."""
    try:
        yield
    except (KitError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Unusable(f"{place} {what_came(error)}") from error


def _text_of(value: object, make: Callable[[object], str]) -> str:
    try:
        return _ADDRESS.sub(" at 0x...", make(value))
    except Exception:  # noqa: BLE001 - the text of the user's own class can raise anything; its name is told
        return ""


def _spec_in(folder: Path, name: str) -> ModuleSpec | None:
    """What is run first for a name: its file, or the folder that it is in, with an __init__.py or without."""
    first, *inner = name.split(".")
    spec = PathFinder.find_spec(first, [str(folder)])
    if spec is None or spec.origin is not None or not inner:
        return None if spec is None or spec.origin is None else spec
    found = PathFinder.find_spec(f"{first}.{inner[0]}", list(spec.submodule_search_locations or ()))
    return spec if found is not None and found.origin is not None else None


def _run(spec: ModuleSpec) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    if spec.origin is None:
        # a folder without __init__.py: it is this one, whatever else of that name can be imported
        module.__path__ = list(spec.submodule_search_locations or ())
        return module
    file, loader = spec.origin, spec.loader

    def execute() -> None:
        if not isinstance(loader, SourceFileLoader):
            raise ImportError("it is no file of Python source")
        # not exec_module: it trusts a .pyc of the same second and size, and runs another text than the one digested
        exec(loader.source_to_code(loader.get_data(file), file), module.__dict__)

    try:
        called(execute)
    except Raised as raised:
        error = raised.error
        if before is None:
            del sys.modules[spec.name]
        else:
            sys.modules[spec.name] = before
        if isinstance(error, MemoryError):
            raise error from None  # which says nothing of the module
        if isinstance(error, SyntaxError):
            raise Unusable(f"{error.filename or file}, line {error.lineno}: it is not Python: {error.msg}") from error
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        place = f"{file}, line {lines[-1]}" if lines else file
        raise Unusable(f"{place}: it cannot be imported: {type(error).__name__}: {shown_line(str(error))}") from error
    return module
