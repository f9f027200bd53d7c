"""A question pack as a value, and how the module behind it is found and read, run anew from its text.

The contract of that module stands in packs/__init__.py. The functions are the pack's own: they may raise anything,
and give anything.
"""
from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol

from benchkit.basics.errors import KitError, Unusable
from benchkit.basics.json_text import digest, sha256_hex
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.disk.whole_files import read_whole, shown_path
from benchkit.systems.baselines import source_sha256
from benchkit.tasks.modules import Raised, called, load_module

GEOMETRIES = ("single", "gated")
Reword = Callable[[str], str]
"""Prompt -> text: what may reword a question, and nothing else."""
Handed = JSON | Case
"""What a baseline is handed as its view: the payload, or a case."""
HOME = "packs"
_CACHE = "_llm_cache"
_NAME = re.compile(r"[a-z0-9_]{1,60}")
_MOST_SOURCE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Step:
    """What a solver said, verbatim, and what it was shown for it. `said` is None where it was only shown."""

    said: str | None
    observations: Sequence[Mapping[str, JSON]] = ()
    cost: float = 0.0
    grounded: bool = False
    error: str | None = None


class Tool(Protocol):
    """One item of the menu. `services` are those it may be asked for; empty: it takes none."""

    name: str
    says: str
    price: float
    kinds: Sequence[str]
    services: Sequence[str]


class Turn(Protocol):
    """What one message of a solver amounts to; `kind` is answer, bought, refused or unreadable."""

    kind: str
    tool: str | None
    observations: Sequence[Mapping[str, JSON]]
    cost: float
    grounded: bool
    error: str | None


@dataclass(frozen=True, slots=True)
class PriceList:
    """What there is to spend, in `unit`, and the cost of each item; `steps` counts the solver's messages."""

    unit: str
    budget: float
    steps: int
    prices: Mapping[str, float]

    def limited(self, budget: float | None, steps: int | None) -> PriceList:
        """The same with the limits of a job, where it has them."""
        return replace(self, budget=self.budget if budget is None else budget,
                       steps=self.steps if steps is None else steps)


@dataclass(frozen=True, slots=True)
class PackMarket:
    """What a pack has for the geometry `gated`. `purchase` gives the message that buys a tool (of a service, or None).

    Where it is None, one of the usual messages does (question_gates.py).
    """

    prices: PriceList
    tools: Callable[[Case], Sequence[Tool]]
    turn: Callable[[Case, str, Sequence[Step], float], Turn]
    reply: Callable[[Turn, float, int], str]
    purchase: Callable[[Tool, str | None], str] | None = None


@dataclass(frozen=True, slots=True)
class Track:
    """One judge: `capability` gives a number from 0 to 1, `gate` whether it held.

    `fingerprint` is 64 hex over all the text that its verdicts depend on.
    """

    name: str
    kind: Literal["capability", "gate"]
    measures: str
    measures_not: str
    judge: Callable[[Case, str, Sequence[Step]], float | bool]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class PackBaseline:
    """A solver without a model, called once a message as `answer(handed(case, geometry), seed, messages)`.

    `handed` gives the payload, or the case where it may see more. `sees_truth`: never on a published board.
    """

    name: str
    answer: Callable[[Handed, int, Sequence[Message]], str]
    sees_truth: bool
    source_sha256: str
    handed: Callable[[Case, str], Handed]


@dataclass(frozen=True, slots=True)
class Pack:
    """All that a board asks of a pack; `module` is its folder's name, or the task's module.

    build      (seed, count, llm) -> cases, the same for a seed
    payload    (case, geometry) -> what a solver is handed, never the truth
    messages   (payload, budget, steps) -> the first messages; limits of `gated` only (None: those of the price list)
    schema     (payload) -> the JSON schema of one message of the solver, or None
    pack_sha256, judge_sha256
               of all the texts behind it, and of the module that judges with its helpers
    market     None where questions can be asked in `single` only
    synthetic  one line that stands wherever a question is shown; None if all is real
    is_timed   its payloads say when now is, and its observations when they were made; those of a task do not
    """

    module: str
    name: str
    version: str
    judge_version: str
    synthetic: str | None
    pack_sha256: str
    judge_sha256: str
    build: Callable[[int, int, Reword | None], Sequence[Case]]
    truth_terms: Callable[[Case], Sequence[str]]
    problems: Callable[[Case], Sequence[str]]
    answer_key: Callable[[Case], str]
    said_key: Callable[[str], str]
    payload: Callable[[Case, str], JSON]
    messages: Callable[[JSON, float | None, int | None], Sequence[Message]]
    schema: Callable[[JSON], Mapping[str, JSON] | None]
    market: PackMarket | None
    tracks: tuple[Track, ...]
    baselines: Mapping[str, PackBaseline]
    is_timed: bool = True

    @property
    def geometries(self) -> tuple[str, ...]:
        """In which geometries its questions can be asked."""
        return GEOMETRIES if self.market is not None else GEOMETRIES[:1]


def load_pack(name: str, folders: Sequence[Path]) -> Pack:
    """The pack in packs/<name>/ of the first folder that has it. Raises Unusable with what is missing."""
    home = _folder_of(name, folders)
    for loaded in [one for one in sys.modules if (one + ".").startswith(f"{HOME}.{name}.")]:
        # modules that the module imports would else be those of an earlier text, or of another folder
        del sys.modules[loaded]
    module = load_module(f"{HOME}.{name}", [home.parent.parent])
    try:
        return called(_Reading(module, home).pack, passing=(KitError,))
    except Raised as raised:
        raise Unusable(f"{shown_path(home)}: the pack raised {type(raised.error).__name__} while it was read: "
                       f"{shown_line(str(raised.error))}") from raised.error


def cache_folder(name: str, folders: Sequence[Path]) -> Path:
    """Where the rewording model's answers for a pack are kept."""
    return _folder_of(name, folders) / _CACHE


def _folder_of(name: str, folders: Sequence[Path]) -> Path:
    """Where a pack lives. Raises Unusable with the packs there are."""
    if not _NAME.fullmatch(name):
        raise Unusable(f"pack {shown_line(name, 80)!r}: a pack is named of a-z, 0-9 and underscore, as its folder "
                       f"below {HOME}/ is")
    for folder in folders:
        if (folder / HOME / name / "__init__.py").is_file():
            return folder / HOME / name
    found = {path.parent.name for folder in folders for path in (folder / HOME).glob("*/__init__.py")}
    known = ", ".join(sorted(name for name in found if _NAME.fullmatch(name))) or "none"
    raise Unusable(f"there is no pack {name} (looked for {HOME}/{name}/__init__.py in "
                   f"{' or '.join(str(folder) for folder in dict.fromkeys(folders))}); there are: {known}")


def folder_sha256(folder: Path) -> str:
    r"""64 hex over the texts of a folder of source, line ends as "\n"; caches and what was made have no part in it."""
    paths = sorted(path for pattern in ("*.py", "*.toml") for path in folder.rglob(pattern)
                   if not any(part.startswith((_CACHE, "__pycache__", ".")) for part in path.relative_to(folder).parts))
    return digest([[path.relative_to(folder).as_posix(),
                    sha256_hex(read_whole(path, _MOST_SOURCE_BYTES).replace(b"\r\n", b"\n"))] for path in paths])


def whole_case(case: Case, geometry: str) -> Case:
    """What a baseline that sees the truth is handed."""
    return case


@dataclass(frozen=True, slots=True)
class _Reading:
    """One module, read as a pack; every method raises Unusable that names what it lacks."""

    module: ModuleType
    home: Path

    def pack(self) -> Pack:
        payload = self.function("payload")
        judge_text = self.source_of(self.text("JUDGE_MODULE"), "JUDGE_MODULE")
        helpers = self.value("JUDGE_HELPERS", "a list of names of modules", lambda value: isinstance(
            value, tuple | list) and all(isinstance(name, str) for name in value))
        helper_texts = [self.source_of(name, "JUDGE_HELPERS") for name in helpers]
        if not hasattr(self.module, "SYNTHETIC"):
            raise self.wrong("SYNTHETIC", "a text of one line, or None where all is real")
        return Pack(
            self.home.name, self.text("NAME"), self.text("VERSION"), self.text("JUDGE_VERSION"),
            None if self.module.SYNTHETIC is None else self.text("SYNTHETIC"),
            folder_sha256(self.home), digest([judge_text, helper_texts]),
            self.function("build"), self.function("truth_terms"), self.function("problems"),
            self.function("answer_key"), self.function("said_key"), payload, self.function("messages"),
            self.function("schema"), self.market(), self.tracks(judge_text, helper_texts), self.baselines(payload))

    def wrong(self, name: str, wanted: str) -> Unusable:
        return Unusable(f"{shown_path(self.home / '__init__.py')}: {name} must be {wanted}; {HOME}/__init__.py has "
                        "all that a pack needs")

    def value(self, name: str, wanted: str, is_right: Callable[[Any], object]) -> Any:
        value = getattr(self.module, name, None)
        if not is_right(value):
            raise self.wrong(name, wanted)
        return value

    def text(self, name: str) -> str:
        return str(self.value(name, "a text of one line", lambda value: isinstance(
            value, str) and value and shown_line(value) == value))

    def function(self, name: str) -> Any:
        return self.value(name, "a function", callable)

    def market(self) -> PackMarket | None:
        if not hasattr(self.module, "prices"):
            return None
        listed = self.function("prices")()
        prices = PriceList(str(listed.unit), float(listed.budget), int(listed.steps),
                           {str(name): float(cost) for name, cost in listed.prices.items()})
        purchase = self.function("purchase") if hasattr(self.module, "purchase") else None
        return PackMarket(prices, self.function("tools"), self.function("turn"), self.function("reply"), purchase)

    def source_of(self, name: str, constant: str) -> str:
        r"""The text of one module of the pack, line ends as "\n"."""
        inside = name.removeprefix(f"{HOME}.{self.home.name}.")
        path = self.home.joinpath(*inside.split(".")).with_suffix(".py")
        if inside == name or not path.is_file():
            raise self.wrong(constant, f"a module of the pack, which {shown_line(name, 80)} is not")
        return read_whole(path, _MOST_SOURCE_BYTES).decode("utf-8").replace("\r\n", "\n")

    def tracks(self, judge_text: str, helper_texts: list[str]) -> tuple[Track, ...]:
        """The judges, each with a digest of its own text and of what all of them rest on."""
        given = self.value("tracks", "a list of judges", lambda value: isinstance(value, tuple | list) and value)
        shared, own = judge_text, []
        for one in given:
            try:
                own.append(inspect.getsource(one.judge).replace("\r\n", "\n"))
            except (OSError, TypeError):
                raise self.wrong("tracks", "functions whose text can be read: it is their identity") from None
            shared = shared.replace(own[-1], "", 1)
        common = digest([shared, helper_texts])
        found = tuple(self.track(one, digest([text, common])) for one, text in zip(given, own, strict=True))
        if len({track.name for track in found}) != len(found) or not any(
                track.kind == "capability" for track in found):
            raise self.wrong("tracks", "judges of different names, one of them a capability at least")
        return found

    def track(self, given: Any, fingerprint: str) -> Track:
        words = (given.name, given.measures, given.measures_not)
        if not all(isinstance(word, str) and word and "\n" not in word for word in words):
            raise self.wrong("tracks", "judges with a name, and a sentence on what each measures and what not")
        if given.kind not in ("capability", "gate") or not callable(given.judge):
            raise self.wrong(f"track {shown_line(given.name, 60)}", "a capability or a gate with a judge")
        return Track(given.name, given.kind, given.measures, given.measures_not, given.judge, fingerprint)

    def baselines(self, payload: Callable[[Case, str], JSON]) -> Mapping[str, PackBaseline]:
        given = self.function("baselines")()
        if not isinstance(given, dict) or not all(
                isinstance(name, str) and isinstance(one, dict) and callable(one.get("answer"))
                and isinstance(one.get("sees_truth"), bool) for name, one in given.items()):
            raise self.wrong("baselines()", '{name: {"answer": function, "sees_truth": bool}}')
        return {name: PackBaseline(name, one["answer"], one["sees_truth"], source_sha256(one["answer"]),
                                   whole_case if one["sees_truth"] else payload)
                for name, one in given.items()}
