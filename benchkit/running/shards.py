"""Which part of a plan this machine runs: `I/N` as given, or `auto` from the variables of a job array.

    Slurm                    SLURM_ARRAY_TASK_ID in the range of SLURM_ARRAY_TASK_MIN, _MAX, _STEP and _COUNT
    Kubernetes Indexed Job   JOB_COMPLETION_INDEX from 0; the manifest repeats its `completions` as JOB_COMPLETIONS

What does not live here: which cells a part holds (plan.py), and putting parts together (trial_log/merging.py).
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from math import gcd

from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import Shard
from benchkit.trial_log.lines import MOST_SHARDS

_NUMBER = re.compile(r"[0-9]{1,9}")


def shard_of(text: str, environ: Mapping[str, str]) -> Shard:
    """The shard that the text of --shard means. Raises Unusable, also where `auto` finds no usable job array."""
    if text == "auto":
        return _shard_of_array(environ)
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not found:
        raise Unusable(f"--shard {shown_line(text, 60)}: a shard is I/N, such as 1/4, or auto")
    return _checked(int(found[1]), int(found[2]), f"--shard {text}")


def _shard_of_array(environ: Mapping[str, str]) -> Shard:
    if "SLURM_ARRAY_TASK_ID" in environ:
        return _shard_of_slurm(environ)
    if "JOB_COMPLETION_INDEX" in environ:
        if "JOB_COMPLETIONS" not in environ:
            raise Unusable("--shard auto: JOB_COMPLETION_INDEX is set, but not how many there are: repeat the job's "
                           "`completions` in the variable JOB_COMPLETIONS")
        return _checked(1 + _number(environ, "JOB_COMPLETION_INDEX"), _number(environ, "JOB_COMPLETIONS"),
                        "--shard auto: JOB_COMPLETION_INDEX + 1 and JOB_COMPLETIONS give")
    raise Unusable("--shard auto: this is no task of a job array (neither SLURM_ARRAY_TASK_ID nor "
                   "JOB_COMPLETION_INDEX is set); give --shard I/N")


def _shard_of_slurm(environ: Mapping[str, str]) -> Shard:
    task, first, last, count = (_number(environ, f"SLURM_ARRAY_TASK_{name}") for name in ("ID", "MIN", "MAX", "COUNT"))
    step = _number(environ, "SLURM_ARRAY_TASK_STEP") if "SLURM_ARRAY_TASK_STEP" in environ else 1
    # a list like --array=1,3,8 has a step, too, but does not follow it
    if step < 1 or (last - first) // step + 1 != count or (task - first) % step:
        raise Unusable(f"--shard auto: the job array from {first} to {last} has {count} tasks, which is no range; "
                       "give --shard I/N, or submit a range like --array=1-8 or --array=0-30:10")
    return _checked((task - first) // step + 1, count, "--shard auto: the variables SLURM_ARRAY_TASK_... give")


def _number(environ: Mapping[str, str], name: str) -> int:
    text = environ.get(name, "")
    if not _NUMBER.fullmatch(text):
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


def better_number(shard: Shard, columns: int) -> int | None:
    """A number of shards in which none holds all trials of some cases; None where this one is such a number.

    `columns` are the cells of one trial: where the shards divide them, a shard has the same of them in every trial.
    """
    if shard.of == 1 or columns % shard.of:
        return None
    return next(number for number in range(shard.of + 1, 2 * columns + 2) if gcd(number, columns) == 1)
