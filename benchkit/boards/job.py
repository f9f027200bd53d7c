"""A job: what a person wants a board of, read from jobs/<name>.toml.

A batch keeps its job as read, in the same form: one function reads both.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields, type_of
from benchkit.basics.texts import decoded, file_stem, shown_line
from benchkit.basics.values import JSON
from benchkit.boards.pack import GEOMETRIES
from benchkit.disk.whole_files import read_whole, shown_path

MOST_BYTES = 64 * 1024
MOST_COUNT = 10_000


@dataclass(frozen=True, slots=True)
class FromPack:
    """Questions made by packs/<pack>: `count` of them from `seed`; `reword` names the system that may reword."""

    pack: str
    count: int
    seed: int = 1
    reword: str | None = None


@dataclass(frozen=True, slots=True)
class FromTask:
    """The cases of a task: of one split, the first `count` (None: all). `gates` are checks that are hard gates."""

    task: str
    cases: str
    split: str = "development"
    count: int | None = None
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobLimits:
    """`timeout_s` of one request; `steps` and `budget` of a game in `gated` (None: those of the price list)."""

    timeout_s: float = 120.0
    steps: int | None = None
    budget: float | None = None


@dataclass(frozen=True, slots=True)
class BatchGate:
    """When a batch of questions is not worth asking.

    least_questions    fewer are left after the emission gate
    most_one_answer    a larger share of them has one and the same answer
    most_blind_score   a baseline that does not see the truth has a higher headline
    """

    least_questions: int = 6
    most_one_answer: float = 0.6
    most_blind_score: float = 0.7


@dataclass(frozen=True, slots=True)
class Job:
    """A job as read. `name` is that of its file, and of its folder below runs/."""

    name: str
    asks: FromPack | FromTask
    systems: tuple[str, ...]
    geometry: str = "single"
    trials: int = 3
    limits: JobLimits = JobLimits()
    batch_gate: BatchGate = BatchGate()
    env_file: str | None = None


def usual_file(name: str) -> str:
    """Where the job of a name usually lies: a batch keeps the job, and not where its file was."""
    return f"jobs/{name}.toml"


def read_job(path: Path) -> Job:
    """The job in a TOML file. Raises Unusable with file and key."""
    import tomllib
    if path.suffix != ".toml" and not path.exists():
        raise Unusable(f"{shown_path(path)}: there is no such file; a job is named by its file, as in "
                       + usual_file(shown_line(path.name, 60)))
    data = read_whole(path, MOST_BYTES)
    name = path.name.removesuffix(".toml")
    if file_stem(name) != name:
        raise Unusable(f"{shown_path(path)}: a job's file is named of a-z, 0-9, dot, dash and underscore, and .toml: "
                       "the name becomes a folder")
    try:
        return job_of(name, cast("JSON", tomllib.loads(decoded(data))))
    except RecursionError:
        raise Unusable(f"{shown_path(path)}: it is nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise Unusable(f"{shown_path(path)}: it is not TOML: {shown_line(str(error))}") from None
    except ValueError as error:
        raise Unusable(f"{shown_path(path)}: {shown_line(str(error))}") from None


def job_of(name: str, values: JSON, place: str = "") -> Job:
    """The job with these keys. Raises ValueError naming the key that is unknown, missing or wrong."""
    keys = Fields(values, place)
    if ("pack" in keys) == ("task" in keys):
        raise ValueError(f"{keys.at('pack')} or {keys.at('task')} must be there, and only one of them: a job asks "
                         "the questions of a pack, or the cases of a task")
    asks, needed, readers = (FromPack, ("pack", "count"), _PACK) if "pack" in keys else (
        FromTask, ("task", "cases"), _TASK)
    keys.has_exactly(("systems", *needed), optional=(*readers, *_JOB, "limits", "batch_gate"))
    return Job(name, asks(**_read(keys, readers)), **_read(keys, _JOB),
               limits=JobLimits(**_table(keys, "limits", _LIMITS)),
               batch_gate=BatchGate(**_table(keys, "batch_gate", _BATCH_GATE)))


def job_to_wire(job: Job) -> dict[str, JSON]:
    """The keys of a job, defaults filled in; what is None is left out, as TOML has no word for it."""
    return _without_none({
        **asdict(job.asks), "geometry": job.geometry, "trials": job.trials, "systems": job.systems,
        "limits": asdict(job.limits), "batch_gate": asdict(job.batch_gate), "env_file": job.env_file})


def _without_none(values: dict[str, Any]) -> dict[str, JSON]:
    return {name: _without_none(one) if isinstance(one, dict) else list(one) if isinstance(one, tuple) else one
            for name, one in values.items() if one is not None}


def _read(keys: Fields, readers: Readers) -> dict[str, Any]:
    """The keys that are there; the others have the defaults of their class."""
    return {name: read(keys, name) for name, read in readers.items() if name in keys}


def _table(keys: Fields, name: str, readers: Readers) -> dict[str, Any]:
    table = keys.inner(name) if name in keys else Fields({}, keys.at(name))
    table.has_exactly((), optional=readers)
    return _read(table, readers)


def _line(keys: Fields, name: str) -> str:
    text = keys.text(name)
    if not text or shown_line(text, 300) != text:
        raise keys.wrong(name, "a text of one line")
    return text


def _whole(most: int, least: int = 1) -> Callable[[Fields, str], int]:
    def read(keys: Fields, name: str) -> int:
        number = keys.integer(name, least)
        if number > most:
            raise keys.wrong(name, f"a whole number of at most {most:,}")
        return number
    return read


def _number(most: float) -> Callable[[Fields, str], float]:
    wanted = type_of(f"a number above 0 and at most {most:g}", int, float, holds=lambda value: 0 < value <= most)
    return lambda keys, name: float(keys.take(name, wanted))


def _gates(keys: Fields, name: str) -> tuple[str, ...]:
    gates = keys.texts(name)
    if len(set(gates)) != len(gates):
        raise keys.wrong(name, "a list in which no check stands twice")
    return gates


def _systems(keys: Fields, name: str) -> tuple[str, ...]:
    systems = tuple(_system(keys, name, system) for system in keys.texts(name))
    if not systems or len(set(systems)) != len(systems):
        raise keys.wrong(name, "a list of at least one system, none of them twice")
    return systems


def _system(keys: Fields, name: str, system: str) -> str:
    module, colon, rest = system.partition(":")
    if not (module and colon and rest) or shown_line(system) != system:
        raise ValueError(f"{keys.at(name)} has {shown_line(system, 60)!r}: a system is named module:name, such as "
                         "model_triage:gemma or baselines:silent")
    return system


Readers = Mapping[str, Callable[[Fields, str], object]]
_JOB: Readers = {"systems": _systems, "geometry": lambda keys, name: keys.one_of(name, GEOMETRIES),
                 "trials": _whole(1_000), "env_file": _line}
_PACK: Readers = {"pack": _line, "count": _whole(MOST_COUNT), "seed": _whole(2**31 - 1, 0),
                 "reword": lambda keys, name: _system(keys, name, keys.text(name))}
_TASK: Readers = {"task": _line, "cases": _line, "split": _line, "count": _whole(MOST_COUNT), "gates": _gates}
_LIMITS: Readers = {"timeout_s": _number(24 * 3600), "steps": _whole(100), "budget": _number(1e9)}
_BATCH_GATE: Readers = {"least_questions": _whole(MOST_COUNT), "most_one_answer": _number(1.0),
                        "most_blind_score": _number(1.0)}
