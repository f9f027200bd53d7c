"""Who answers on a board: the baselines of its pack, and any other system, each with the secrets it may have.

No value reaches an error: what is wrong is said by the file and the number of the line, and by the variable's name.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchkit.basics.errors import EnvironmentFailure, TrialError, Unusable
from benchkit.basics.texts import MARK, encoding_fault, shown_line
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.boards.job import Job
from benchkit.boards.pack import Pack, PackBaseline
from benchkit.disk.whole_files import read_whole, shown_path
from benchkit.running.workload import RunContext
from benchkit.systems.loading import is_baseline, load_system, split_name
from benchkit.systems.system import SERVERS, Loaded, System, SystemOptions
from benchkit.tasks.modules import Raised, called

MOST_BYTES = 64 * 1024
_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]{0,99})[ \t]*=[ \t]*(.*)")
_COMMENT_BEHIND = re.compile(r"[ \t]+#.*")


@dataclass(frozen=True, slots=True)
class Secrets:
    """Values by name; they do not show when this is printed."""

    values: Mapping[str, str] = field(repr=False)


def read_env_file(path: Path) -> Secrets:
    """The values of KEY=VALUE lines: comments, empty lines, `export` and quotes are known, `$` is a letter.

    A name that stands twice has its last value. Raises EnvironmentFailure if the file is missing, Unusable with file
    and line.
    """
    where = shown_path(path)
    if not path.exists():
        raise EnvironmentFailure(f"{where}: the job's env_file is not there, and a chosen system may need it; write it "
                                 "(KEY=VALUE lines), or choose baselines only with --offline")
    data = read_whole(path, MOST_BYTES)
    fault = encoding_fault(data.removeprefix(MARK))
    if fault:
        raise Unusable(f"{where}: {fault}")
    found: dict[str, str] = {}
    for number, raw in enumerate(data.removeprefix(MARK).split(b"\n"), 1):
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise Unusable(f"{where}, line {number}: it is not UTF-8") from None
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise Unusable(f"{where}, line {number}: it is not KEY=VALUE")
        name, value = match.groups()
        if value[:1] in ("'", '"'):
            value, quote, behind = value[1:].partition(value[0])
            if not quote or (behind.strip() and not behind.strip().startswith("#")):
                raise Unusable(f"{where}, line {number}: the value of {name} begins with a quote and does not end "
                               "with it")
        else:
            value = _COMMENT_BEHIND.sub("", value).strip()
        # a key with a line break or a typographic quote in it fails in a header, far from here
        if not all(" " <= letter <= "~" for letter in value):
            raise Unusable(f"{where}, line {number}: the value of {name} holds something else than printable ASCII")
        found[name] = value
    return Secrets(found)


def not_set_in(environment: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """The values that an environment does not have: what is set there already holds.

    An address that stands here with its key is taken with it or not at all: no key goes to another host.
    """
    taken = {name: value for name, value in values.items() if name not in environment}
    for address, key in ((kind.address, kind.key) for kind in SERVERS.values() if kind.key):
        if address in values and key in values:
            if address not in environment:
                taken[key] = values[key]
            elif environment[address] != values[address]:
                taken.pop(key, None)
    return taken


def take_env_file(job: Job, systems: Iterable[str]) -> None:
    """Put the values of the job's env_file into the environment, if one of the systems may need them.

    Raises EnvironmentFailure where the file is missing, Unusable for a bad line.
    """
    if job.env_file is not None and not all(map(is_baseline, systems)):
        os.environ.update(not_set_in(os.environ, read_env_file(Path(job.env_file)).values))


@dataclass(frozen=True, slots=True)
class BaselineSolver:
    """A baseline as a System. It is handed the payload, or the whole case where the pack lets it see the truth."""

    baseline: PackBaseline
    cases: Mapping[str, Case]
    geometry: str

    def open(self) -> Mapping[str, JSON]:
        """No server."""
        return {"server": None, "server_version": None}

    def settings(self) -> Mapping[str, JSON]:
        """The digest of the function's source text: another rule is another system."""
        return {"baseline_sha256": self.baseline.source_sha256}

    def warm(self) -> Loaded:
        """Nothing to load."""
        return Loaded(load_s=0.0)

    def answer(self, request: Request) -> Reply:
        """The function's text for the conversation so far. An exception in it is a ServerError of this trial."""
        try:
            handed = called(self.baseline.handed, self.cases[request.case], self.geometry)
            text = called(self.baseline.answer, handed, request.seed, request.messages)
        except Raised as raised:
            message = f"the baseline raised {type(raised.error).__name__}"
            raise TrialError("ServerError", message) from raised.error
        if not isinstance(text, str):
            raise TrialError("BadReply", f"the baseline gave {type(text).__name__}, not text")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise TrialError("BadReply", "the baseline gave a text with a lone surrogate")
        return Reply(output=text)

    def close(self) -> None:
        """Nothing to let go of."""


def chosen_systems(job: Job, models: str | None, offline: bool) -> tuple[str, ...]:
    """Who is to answer: those of --models, or those of the job; offline only the baselines among them.

    Raises Unusable for a name that is none, and where nobody is left.
    """
    names = job.systems if models is None else tuple(dict.fromkeys(name.strip() for name in models.split(",")))
    given_as = "--models" if models is not None else named_in(job)
    for name in names:
        split_name(name, given_as)
    if not offline:
        return names
    kept = tuple(filter(is_baseline, names))
    if models is not None and kept != names:
        other = next(name for name in names if not is_baseline(name))
        raise Unusable(f"--models {shown_line(other, 80)}: --offline runs baselines only; leave one of them out")
    if not kept:
        raise Unusable(f"job {job.name} names no baseline, and --offline runs nothing else; name one with --models "
                       "baselines:NAME")
    return kept


def named_in(job: Job, key: str = "systems") -> str:
    """How an error names a key of a job."""
    return f"{key} in the job {job.name}:"


def check_systems(names: Sequence[str], pack: Pack, job: Job, context: RunContext) -> None:
    """Raise Unusable for a system that cannot be made, before anything is begun for it."""
    for name in names:
        solvers_of([name], pack, (), job, context, lambda name: None)[name].close()


def solvers_of(
    names: Sequence[str], pack: Pack, cases: tuple[Case, ...], job: Job, context: RunContext,
    recorded: Callable[[str], Mapping[str, JSON] | None],
) -> dict[str, System]:
    """The systems of these names, made and not opened. `recorded` gives what a log holds of one. Raises Unusable."""
    options, found = options_of(context, cases), dict[str, System]()
    for name in names:
        if is_baseline(name):
            found[name] = baseline_solver(pack, name.removeprefix("baselines:"), cases, job.geometry)
        else:
            found[name] = load_system(name, replace(options, recorded=recorded(name)), context.folders,
                                      named_in(job) if name in job.systems else "--models")
    return found


def baseline_solver(pack: Pack, name: str, cases: Iterable[Case], geometry: str) -> BaselineSolver:
    """The pack's baseline of that name (without `baselines:`). Raises Unusable with the list."""
    if name not in pack.baselines:
        known = ", ".join(sorted(pack.baselines)) or "none"
        raise Unusable(f"baselines:{shown_line(name, 60)}: pack {pack.module} has no such baseline; there are {known}")
    return BaselineSolver(pack.baselines[name], {case.id: case for case in cases}, geometry)


def options_of(context: RunContext, cases: tuple[Case, ...]) -> SystemOptions:
    """What a board hands to a system."""
    return SystemOptions(
        clock=context.clock, stop=context.stop, say=context.say, task=None, cases=cases, has_flags=False)
