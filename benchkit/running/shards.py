"""Which part of a plan this machine runs: `I/N` as given, or from the variables of a job array.

    auto      Slurm                    SLURM_ARRAY_TASK_ID in the range of SLURM_ARRAY_TASK_MIN, _MAX, _STEP and _COUNT
              Kubernetes Indexed Job   JOB_COMPLETION_INDEX from 0; its `completions` repeated as JOB_COMPLETIONS
    auto/N    Slurm                    I is SLURM_ARRAY_TASK_ID, whichever tasks this array has
              Kubernetes Indexed Job   I is JOB_COMPLETION_INDEX + 1

`auto` takes N from this array, so it fits a whole one; `auto/N` fits a part of one that is run again.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from math import gcd
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import is_whole
from benchkit.basics.texts import count_of, file_stem, shown_line
from benchkit.basics.values import Shard
from benchkit.disk.whole_files import shown_path
from benchkit.systems.loading import split_name
from benchkit.trial_log.lines import MOST_SHARDS, Line, PlanLine, SessionLine
from benchkit.trial_log.scan import LineSource, line_and_place

AUTO = "auto"


def shard_of(text: str, environ: Mapping[str, str]) -> Shard:
    """The shard that the text of --shard means. Raises Unusable, also where `auto` finds no usable job array."""
    if text == AUTO:
        return _shard_of_array(environ)
    found = re.fullmatch(r"([0-9]{1,9}|auto)/([0-9]{1,9})", text)
    if not found:
        raise Unusable(f"--shard {shown_line(text, 60)}: a shard is I/N, such as 1/4, or auto, or auto/N")
    if found[1] == AUTO:
        return _shard_of_task(environ, int(found[2]))
    return _checked(int(found[1]), int(found[2]), f"--shard {text}")


def shards_beside(log: Path, plan: PlanLine) -> Iterator[tuple[Path, Shard]]:
    """The logs in the folder of a log that are of shards of this plan, and their shards."""
    for path in sorted(log.parent.glob("*.jsonl")):
        lines: list[Line] = []
        with suppress(Unusable):  # whatever it is, it is no log of this run
            lines += [line_and_place(str(path), data)[0] for _, _, data in islice(LineSource(path).lines(), 2)
                      if data is not None and is_whole(data)]
        match lines:
            case [SessionLine(shard=Shard() as shard), PlanLine() as other] if path != log and (
                    replace(other, kit=plan.kit) == plan):
                yield path, shard


def refuse_part_of_array(shard: Shard, others: Iterable[tuple[Path, Shard]]) -> None:
    """Raise Unusable if `auto` gave another number of shards than all others of the same run have.

    Then part of an array is run again, and would be taken for a whole one.
    """
    found = list(others)
    if found and shard.of not in {other.of for _, other in found}:
        path, other = found[0]
        raise Unusable(
            f"--shard auto: this job array has {count_of(shard.of, 'task')}, but {shown_path(path)} is of shard "
            f"{other} of the same run; to run part of an array again, give --shard auto/{other.of} (its tasks are "
            f"numbered from 1 to {other.of}); if this is another whole one, give --shard {shard}")


def _shard_of_array(environ: Mapping[str, str]) -> Shard:
    if "SLURM_ARRAY_TASK_ID" in environ:
        task, first, last, count = (_number(environ, f"SLURM_ARRAY_TASK_{name}")
                                    for name in ("ID", "MIN", "MAX", "COUNT"))
        step = _number(environ, "SLURM_ARRAY_TASK_STEP") if "SLURM_ARRAY_TASK_STEP" in environ else 1
        # a list like --array=1,3,8 has a step, too, but does not follow it
        if step < 1 or (last - first) // step + 1 != count or (task - first) % step:
            raise Unusable(f"--shard auto: the job array from {first} to {last} has {count} tasks, which is no range; "
                           "submit a range like --array=1-8 or --array=0-30:10, or give --shard I/N; for part of an "
                           "array from 1 to N, give --shard auto/N")
        return _checked((task - first) // step + 1, count, "--shard auto: the variables SLURM_ARRAY_TASK_... give")
    if "JOB_COMPLETION_INDEX" not in environ:
        raise _no_array("--shard auto")
    if "JOB_COMPLETIONS" not in environ:
        raise Unusable("--shard auto: JOB_COMPLETION_INDEX is set, but not how many there are: repeat the job's "
                       "`completions` in the variable JOB_COMPLETIONS")
    return _checked(1 + _number(environ, "JOB_COMPLETION_INDEX"), _number(environ, "JOB_COMPLETIONS"),
                    "--shard auto: JOB_COMPLETION_INDEX + 1 and JOB_COMPLETIONS give")


def _shard_of_task(environ: Mapping[str, str], of: int) -> Shard:
    """The shard of this task of an array whose tasks are numbered from 1, or of an Indexed Job."""
    if "SLURM_ARRAY_TASK_ID" in environ:
        index, named = _number(environ, "SLURM_ARRAY_TASK_ID"), "SLURM_ARRAY_TASK_ID"
        lowest = _number(environ, "SLURM_ARRAY_TASK_MIN") if "SLURM_ARRAY_TASK_MIN" in environ else index
        if lowest < 1 <= index:
            raise Unusable(f"--shard auto/{of}: the tasks of this array are numbered from {lowest}; submit it as "
                           f"--array=1-{of}, so that a task has the same shard whenever it is run again")
    elif "JOB_COMPLETION_INDEX" in environ:
        index, named = 1 + _number(environ, "JOB_COMPLETION_INDEX"), "JOB_COMPLETION_INDEX + 1"
    else:
        raise _no_array(f"--shard auto/{of}")
    return _checked(index, of, f"--shard auto/{of}: {named} gives")


def _no_array(given_as: str) -> Unusable:
    return Unusable(f"{given_as}: this is no task of a job array (neither SLURM_ARRAY_TASK_ID nor "
                    "JOB_COMPLETION_INDEX is set); give --shard I/N")


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Unusable(f"--shard auto: the variable {name} is {shown_line(text, 40) or 'empty or not set'}, no number")
    return int(text)


def _checked(index: int, of: int, given_as: str) -> Shard:
    if not 1 <= index <= of <= MOST_SHARDS:
        told = given_as if given_as.endswith(f"{index}/{of}") else f"{given_as} {index}/{of}"
        raise Unusable(f"{told}: I goes from 1 to N, and N to {MOST_SHARDS:,} at most")
    return Shard(index, of)


def mark_of(shard: Shard | None) -> str:
    """What stands in the name of a shard's log before `.jsonl`, if it is not named by a person; "" for no shard."""
    return "" if shard is None else f".shard-{shard.index}-of-{shard.of}"


def log_path(given: str | None, system: str, shard: Shard | None) -> Path:
    """--log, or recorded/NAME.jsonl after the system; recorded/NAME.shard-I-of-N.jsonl for a shard."""
    if given is None:
        return Path("recorded", f"{file_stem(split_name(system)[1])}{mark_of(shard)}.jsonl")
    if not given.endswith(".jsonl"):
        raise Unusable(f"--log {given}: the name of a log ends in .jsonl; its recording lies beside it in .json")
    return Path(given)


def better_number(shard: Shard, columns: int) -> int | None:
    """A number of shards in which none holds all trials of some cases; None where this one is such a number.

    `columns` are the cells of one trial: where the shards divide them, a shard has the same of them in every trial.
    """
    if shard.of == 1 or columns % shard.of:
        return None
    return next(number for number in range(shard.of + 1, 2 * columns + 2) if gcd(number, columns) == 1)
