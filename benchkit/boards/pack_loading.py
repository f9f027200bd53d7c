"""Finding a pack by its name and making a value of its module, run anew from its text."""
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from benchkit.basics.errors import KitError, Unusable
from benchkit.basics.json_text import digest
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case
from benchkit.boards.fingerprints import folder_sha256
from benchkit.boards.pack import Pack, PackBaseline, PackMarket, PriceList, Sources, Track
from benchkit.disk.whole_files import read_whole, shown_path
from benchkit.systems.baselines import source_sha256
from benchkit.tasks.modules import Raised, called, load_module

HOME = "packs"
CACHE = "_llm_cache"
_NAME = re.compile(r"[a-z0-9_]{1,60}")
_MOST_SOURCE_BYTES = 4 * 1024 * 1024


def load_pack(name: str, folders: Sequence[Path]) -> Pack:
    """The pack in packs/<name>/ of the first folder that has it. Raises Unusable with what is missing."""
    home = pack_folder(name, folders)
    for loaded in [one for one in sys.modules if (one + ".").startswith(f"{HOME}.{name}.")]:
        # modules that the module imports would else be those of an earlier text, or of another folder
        del sys.modules[loaded]
    module = load_module(f"{HOME}.{name}", [home.parent.parent])
    try:
        return called(_Reading(module, home).pack, passing=(KitError,))
    except Raised as raised:
        raise Unusable(f"{shown_path(home)}: the pack raised {type(raised.error).__name__} while it was read: "
                       f"{shown_line(str(raised.error))}") from raised.error


def pack_folder(name: str, folders: Sequence[Path]) -> Path:
    """Where a pack lives. Raises Unusable with the packs there are."""
    if not _NAME.fullmatch(name):
        raise Unusable(f"pack {shown_line(name, 80)!r}: a pack is named of a-z, 0-9 and underscore, as its folder "
                       f"below {HOME}/ is")
    for folder in folders:
        if (folder / HOME / name / "__init__.py").is_file():
            return folder / HOME / name
    known = ", ".join(packs_in(folders)) or "none"
    raise Unusable(f"there is no pack {name} (looked for {HOME}/{name}/__init__.py in "
                   f"{' or '.join(str(folder) for folder in dict.fromkeys(folders))}); there are: {known}")


def packs_in(folders: Sequence[Path]) -> tuple[str, ...]:
    """The names of all packs that can be found, sorted."""
    found = {path.parent.name for folder in folders for path in (folder / HOME).glob("*/__init__.py")}
    return tuple(sorted(name for name in found if _NAME.fullmatch(name)))


class _Reading:
    """One module, read as a pack; every method raises Unusable that names what it lacks."""

    def __init__(self, module: ModuleType, home: Path) -> None:
        self.module, self.home = module, home

    def pack(self) -> Pack:
        """The whole of it."""
        payload = self.function("payload")
        judge_text, helper_texts = self.source("JUDGE_MODULE"), self.helper_sources()
        return Pack(
            self.home.name, self.text("NAME"), self.text("VERSION"), self.text("JUDGE_VERSION"), self.synthetic(),
            Sources(folder_sha256(self.home), digest([judge_text, helper_texts])),
            self.function("build"), self.function("truth_terms"), self.function("problems"),
            self.function("answer_key"), self.function("said_key"), payload, self.function("messages"),
            self.function("schema"), self.market(), self.tracks(judge_text, helper_texts),
            self.baselines(payload))

    def wrong(self, name: str, wanted: str) -> Unusable:
        """The error for something that is missing or not what it should be."""
        return Unusable(f"{shown_path(self.home / '__init__.py')}: {name} must be {wanted}; {HOME}/__init__.py has "
                        "all that a pack needs")

    def text(self, name: str) -> str:
        """A text of one line."""
        value = getattr(self.module, name, None)
        if not isinstance(value, str) or not value or shown_line(value) != value:
            raise self.wrong(name, "a text of one line")
        return value

    def synthetic(self) -> str | None:
        """What says that nothing is real; it has to be said, be it with None."""
        if not hasattr(self.module, "SYNTHETIC"):
            raise self.wrong("SYNTHETIC", "a text of one line, or None where all is real")
        return None if self.module.SYNTHETIC is None else self.text("SYNTHETIC")

    def function(self, name: str) -> Any:
        """A function of the contract."""
        value = getattr(self.module, name, None)
        if not callable(value):
            raise self.wrong(name, "a function")
        return value

    def market(self) -> PackMarket | None:
        """What `gated` needs; None for a pack without a price list."""
        if not hasattr(self.module, "prices"):
            return None
        listed = self.function("prices")()
        prices = PriceList(str(listed.unit), float(listed.budget), int(listed.steps),
                           {str(name): float(cost) for name, cost in listed.prices.items()})
        purchase = self.function("purchase") if hasattr(self.module, "purchase") else None
        return PackMarket(prices, self.function("tools"), self.function("turn"), self.function("reply"), purchase)

    def source(self, name: str) -> str:
        """The text of the module that a constant names."""
        return self.source_of(self.text(name), name)

    def helper_sources(self) -> list[str]:
        """The texts of the modules in JUDGE_HELPERS, in its order."""
        names = getattr(self.module, "JUDGE_HELPERS", None)
        if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
            raise self.wrong("JUDGE_HELPERS", "a list of names of modules")
        return [self.source_of(name, "JUDGE_HELPERS") for name in names]

    def source_of(self, name: str, constant: str) -> str:
        r"""The text of one module of the pack, line ends as "\n"."""
        inside = name.removeprefix(f"{HOME}.{self.home.name}.")
        path = self.home.joinpath(*inside.split(".")).with_suffix(".py")
        if inside == name or not path.is_file():
            raise self.wrong(constant, f"a module of the pack, which {shown_line(name, 80)} is not")
        return read_whole(path, _MOST_SOURCE_BYTES).decode("utf-8").replace("\r\n", "\n")

    def tracks(self, judge_text: str, helper_texts: list[str]) -> tuple[Track, ...]:
        """The judges, each with a digest of its own text and of what all of them rest on."""
        given = getattr(self.module, "tracks", None)
        if not isinstance(given, tuple | list) or not given:
            raise self.wrong("tracks", "a list of judges")
        own = [self.source_text(one.judge, "tracks") for one in given]
        shared = judge_text
        for text in own:
            shared = shared.replace(text, "", 1)
        common = digest([shared, helper_texts])
        found = tuple(self.track(one, digest([text, common])) for one, text in zip(given, own, strict=True))
        names = [track.name for track in found]
        if len(set(names)) != len(names) or not any(track.kind == "capability" for track in found):
            raise self.wrong("tracks", "judges of different names, one of them a capability at least")
        return found

    def track(self, given: Any, fingerprint: str) -> Track:
        """One judge, its words checked."""
        words = (given.name, given.measures, given.measures_not)
        if not all(isinstance(word, str) and word and "\n" not in word for word in words):
            raise self.wrong("tracks", "judges with a name, and a sentence on what each measures and what not")
        if given.kind not in ("capability", "gate") or not callable(given.judge):
            raise self.wrong(f"track {shown_line(given.name, 60)}", "a capability or a gate with a judge")
        kind: Literal["capability", "gate"] = given.kind
        return Track(*words[:1], kind, *words[1:], given.judge, fingerprint)

    def source_text(self, function: Callable[..., object], where: str) -> str:
        """The text of a function."""
        import inspect
        try:
            return inspect.getsource(function).replace("\r\n", "\n")
        except (OSError, TypeError):
            raise self.wrong(where, "functions whose text can be read: it is their identity") from None

    def baselines(self, payload: Callable[[Case, str], JSON]) -> Mapping[str, PackBaseline]:
        """The solvers without a model, by name."""
        given = self.function("baselines")()
        if not isinstance(given, dict) or not all(
                isinstance(name, str) and isinstance(one, dict) and callable(one.get("answer"))
                and isinstance(one.get("sees_truth"), bool) for name, one in given.items()):
            raise self.wrong("baselines()", '{name: {"answer": function, "sees_truth": bool}}')
        return {name: PackBaseline(name, one["answer"], one["sees_truth"], source_sha256(one["answer"]),
                                   _whole_case if one["sees_truth"] else payload)
                for name, one in given.items()}


def _whole_case(case: Case, geometry: str) -> Case:
    return case


def cache_folder(name: str, folders: Sequence[Path]) -> Path:
    """Where the rewording model's answers are kept."""
    return pack_folder(name, folders) / CACHE
