"""The logs of a large run as one, on paper: bytes, levels and time of merges, and what copies of growing logs cost.

All of it is arithmetic over rates that merge_rate.py measures.
"""
from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """What logs and merges cost, as measured (merge_rate.py).

    trials_per_s     merged by one process
    bytes_per_trial  of a log
    bytes_per_case   of the line in which each log names the whole plan
    bytes_per_cell   of memory, for each planned cell of the run, in a merge
    bytes_per_own    of memory, for each cell that a log being read has room for: those of its shard, or all
    start_s          of a process
    """

    trials_per_s: float
    bytes_per_trial: float
    bytes_per_case: float
    bytes_per_cell: float
    bytes_per_own: float
    start_s: float


@dataclass(frozen=True, slots=True)
class Merging:
    """What a way to merge costs.

    `bytes_read` in all, `memory_bytes` of the largest merge, `took_s` if the merges of a level run side by side.
    """

    levels: int
    merges: int
    bytes_read: float
    memory_bytes: float
    took_s: float


def log_bytes(costs: Costs, trials: float, cases: int) -> float:
    """Size of a log that holds so many trials of a plan of so many cases."""
    return trials * costs.bytes_per_trial + cases * costs.bytes_per_case


def merging(costs: Costs, logs: int, trials: int, cases: int, fan_in: int, machines: int) -> Merging:
    """Merge so many logs, which hold `trials` together, at most `fan_in` at a time, on so many machines.

    Raises ValueError for a fan-in below two. A single log is still made: nothing is merged then.
    """
    if fan_in < 2:
        raise ValueError("a merge takes two logs at least")
    levels, merges, read, took = 0, 0, 0.0, 0.0
    memory = 0.0
    while logs > 1:
        # a merged log is of no shard, so whoever reads it has room for all cells
        memory = trials * (costs.bytes_per_cell + costs.bytes_per_own * (1 if levels else 1 / logs))
        made = math.ceil(logs / fan_in)
        largest = trials * min(1.0, fan_in / logs)
        read += trials * costs.bytes_per_trial + logs * cases * costs.bytes_per_case
        took += math.ceil(made / machines) * (costs.start_s + largest / costs.trials_per_s)
        levels, merges, logs = levels + 1, merges + made, made
    return Merging(levels, merges, read, memory, took)


def uploaded_bytes(final_bytes: float, lasts_s: float, every_s: float) -> float:
    """Bytes that whole copies of a log take, made every so often while it grows evenly, and once at its end."""
    times = math.ceil(lasts_s / every_s) - 1
    growing = math.fsum(final_bytes * step * every_s / lasts_s for step in range(1, times + 1))
    return growing + final_bytes
