"""A job: what a person wants a board of, read from jobs/<name>.toml.

A batch keeps its job as read, in the same form: one function reads both.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.texts import decoded, file_stem, shown_line
from benchkit.basics.values import JSON
from benchkit.boards.pack import GEOMETRIES
from benchkit.disk.whole_files import read_whole, shown_path

MOST_BYTES = 64 * 1024
MOST_COUNT, MOST_TRIALS, MOST_STEPS, MOST_SEED = 10_000, 1_000, 100, 2**31 - 1
LONGEST_TIMEOUT_S, LARGEST_BUDGET = 24 * 3600.0, 1e9
DEFAULT_SPLIT = "development"
_Default = TypeVar("_Default")


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
    split: str = DEFAULT_SPLIT
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
    needed, optional = (("pack", "count"), ("seed", "reword")) if "pack" in keys else (
        ("task", "cases"), ("split", "count", "gates"))
    keys.has_exactly(("systems", *needed),
                     optional=(*optional, "geometry", "trials", "limits", "batch_gate", "env_file"))
    asks = _from_pack(keys) if "pack" in keys else _from_task(keys)
    systems = tuple(_system_name(keys, "systems", system) for system in keys.texts("systems"))
    if not systems or len(set(systems)) != len(systems):
        raise keys.wrong("systems", "a list of at least one system, none of them twice")
    geometry = keys.one_of("geometry", GEOMETRIES) if "geometry" in keys else "single"
    trials = _whole(keys, "trials", 3, MOST_TRIALS)
    limits = _table(keys, "limits", ("timeout_s", "steps", "budget"))
    own_limits = JobLimits(_number(limits, "timeout_s", 120.0, LONGEST_TIMEOUT_S),
                           _whole(limits, "steps", None, MOST_STEPS), _number(limits, "budget", None, LARGEST_BUDGET))
    gate, usual = _table(keys, "batch_gate", ("least_questions", "most_one_answer", "most_blind_score")), BatchGate()
    own_gate = BatchGate(_whole(gate, "least_questions", usual.least_questions, MOST_COUNT),
                         _number(gate, "most_one_answer", usual.most_one_answer, 1.0),
                         _number(gate, "most_blind_score", usual.most_blind_score, 1.0))
    return Job(name, asks, systems, geometry, trials, own_limits, own_gate, _line(keys, "env_file", None))


def job_to_wire(job: Job) -> dict[str, JSON]:
    """The keys of a job, defaults filled in; what is None is left out, as TOML has no word for it."""
    return _without_none({
        **asdict(job.asks), "geometry": job.geometry, "trials": job.trials, "systems": job.systems,
        "limits": asdict(job.limits), "batch_gate": asdict(job.batch_gate), "env_file": job.env_file})


def _without_none(values: dict[str, Any]) -> dict[str, JSON]:
    return {name: _without_none(one) if isinstance(one, dict) else list(one) if isinstance(one, tuple) else one
            for name, one in values.items() if one is not None}


def _from_pack(keys: Fields) -> FromPack:
    return FromPack(
        _line(keys, "pack", ""), _whole(keys, "count", 0, MOST_COUNT), _whole(keys, "seed", 1, MOST_SEED, least=0),
        _system_name(keys, "reword", keys.text("reword")) if "reword" in keys else None)


def _from_task(keys: Fields) -> FromTask:
    gates = keys.texts("gates") if "gates" in keys else ()
    if len(set(gates)) != len(gates):
        raise keys.wrong("gates", "a list in which no check stands twice")
    return FromTask(_line(keys, "task", ""), _line(keys, "cases", ""), _line(keys, "split", DEFAULT_SPLIT),
                    _whole(keys, "count", None, MOST_COUNT), gates)


def _system_name(keys: Fields, key: str, name: str) -> str:
    module, colon, rest = name.partition(":")
    if not (module and colon and rest) or shown_line(name) != name:
        raise ValueError(f"{keys.at(key)} has {shown_line(name, 60)!r}: a system is named module:name, such as "
                         "model_triage:gemma or baselines:silent")
    return name


def _table(keys: Fields, name: str, known: Sequence[str]) -> Fields:
    table = keys.inner(name) if name in keys else Fields({}, keys.at(name))
    table.has_exactly((), optional=known)
    return table


def _line(keys: Fields, name: str, default: _Default) -> str | _Default:
    """A text of one line; where the key is missing the default."""
    if name not in keys:
        return default
    text = keys.text(name)
    if not text or shown_line(text, 300) != text:
        raise keys.wrong(name, "a text of one line")
    return text


def _whole(keys: Fields, name: str, default: _Default, most: int, least: int = 1) -> int | _Default:
    """A whole number from `least` to `most`; where the key is missing the default."""
    if name not in keys:
        return default
    number = keys.integer(name, least)
    if number > most:
        raise keys.wrong(name, f"a whole number of at most {most:,}")
    return number


def _number(keys: Fields, name: str, default: _Default, most: float) -> float | _Default:
    """A number above 0 and at most `most`; where the key is missing the default."""
    if name not in keys:
        return default
    value = keys.json(name)
    is_number = isinstance(value, int | float) and type(value) is not bool
    if not is_number or not 0 < cast("float", value) <= most:  # NaN is in no range
        raise keys.wrong(name, f"a number above 0 and at most {most:g}")
    return float(cast("float", value))
