"""Who answers on a board: the baselines of its pack, and any system that bench.py can ask, each as a player.

What does not live here: playing (playing.py), and how a system is found by its name (systems/loading.py).
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Case
from benchkit.boards.baseline_solvers import baseline_solver
from benchkit.boards.env_file import read_env_file
from benchkit.boards.game import Game
from benchkit.boards.job import Job
from benchkit.boards.pack import Pack
from benchkit.boards.playing import Player, Timing, Trace
from benchkit.running.live import Edges
from benchkit.systems.loading import is_baseline, load_system, split_name
from benchkit.systems.system import System, SystemOptions


def chosen_systems(job: Job, models: str | None, offline: bool) -> tuple[str, ...]:
    """Who is to answer: those of --models, or those of the job; offline only the baselines among them.

    Raises Unusable for a name that is none, and where nobody is left.
    """
    names = job.systems if models is None else tuple(dict.fromkeys(name.strip() for name in models.split(",")))
    given_as = "--models" if models is not None else named_in(job)
    for name in names:
        split_name(name, given_as)
    needing = [name for name in names if not is_baseline(name)]
    if offline and models is not None and needing:
        raise Unusable(f"--models {shown_line(needing[0], 80)}: --offline runs baselines only; leave one of them out")
    kept = tuple(name for name in names if not (offline and name in needing))
    if not kept:
        raise Unusable(f"job {job.name} names no baseline, and --offline runs nothing else; name one with --models "
                       "baselines:NAME")
    return kept


def named_in(job: Job, key: str = "systems") -> str:
    """How an error names a key of a job."""
    return f"{key} in the job {job.name}:"


def take_env_file(job: Job, systems: Iterable[str], environment: MutableMapping[str, str] | None = None) -> None:
    """Put the values of the job's env_file into the environment, if one of the systems may need them.

    What is set there already holds. Raises Surroundings where the file is missing, Unusable for a bad line.
    """
    if job.env_file is not None and not all(map(is_baseline, systems)):
        target = os.environ if environment is None else environment
        target.update(read_env_file(Path(job.env_file)).beside(target))


def check_systems(names: Sequence[str], pack: Pack, job: Job, edges: Edges) -> None:
    """Raise Unusable for a system that cannot be made, before anything is begun for it."""
    for name in names:
        _solver(name, pack, (), job, options_of(edges, ()), edges.folders).close()


def solvers_of(
    names: Sequence[str], pack: Pack, games: Mapping[str, Game], job: Job, edges: Edges,
    recorded: Callable[[str], Mapping[str, JSON] | None],
) -> dict[str, System]:
    """The systems of these names, made and not opened. `recorded` gives what a log holds of one. Raises Unusable."""
    cases = tuple(game.case for game in games.values())
    options = options_of(edges, cases)
    return {name: _solver(name, pack, cases, job, replace(options, recorded=recorded(name)), edges.folders)
            for name in names}


def players_of(
    solvers: Mapping[str, System], games: Mapping[str, Game], trace: Trace, timing: Timing,
) -> dict[str, System]:
    """The same systems, each playing the games with every word in the trace."""
    return {name: Player(solver, name, games, trace, timing) for name, solver in solvers.items()}


def _solver(
    name: str, pack: Pack, cases: tuple[Case, ...], job: Job, options: SystemOptions, folders: Sequence[Path],
) -> System:
    if is_baseline(name):
        return baseline_solver(pack, name.removeprefix("baselines:"), cases, job.geometry)
    return load_system(name, options, folders, named_in(job) if name in job.systems else "--models")


def options_of(edges: Edges, cases: tuple[Case, ...]) -> SystemOptions:
    """What a board hands to a system."""
    return SystemOptions(clock=edges.clock, stop=edges.stop, say=edges.say, task=None, cases=cases, has_flags=False)
