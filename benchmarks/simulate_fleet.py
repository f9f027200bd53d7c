"""10^8 trials on 1,000 machines, simulated: balance, interruptions, what a cut leaves, merges, files.

    python3 -m benchmarks.simulate_fleet                       all tables, within a minute on one core
    python3 -m benchmarks.simulate_fleet --only cut            one table
    python3 -m benchmarks.simulate_fleet --mtbf-h 500 --slow-share 0.1

A log plans 20 million trials at most, so the trials are those of several runs (--runs), each over a file of cases of
its own; the shards of all runs stand in one queue. What is aggregated: trials are counted between two events of a
machine, not played one by one, and their durations are the mean of a shard. The tables show medians over the seeds, and
their ranges. Same flags, same tables. Rates of merging come from `python3 -m benchmarks.merge_rate`.
Exit code 0; 2 for bad flags.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from benchmarks.cuts import Known, Plan, case_major_counts, known_after, trial_major_counts
from benchmarks.fleet import NEVER, Fleet, Interruptions, Job, Outcome, simulate
from benchmarks.measuring import ratio_text, spread, table
from benchmarks.merge_tree import Costs, log_bytes, merging, uploaded_bytes

HOUR = 3600.0
MOST_TIMES_IDEAL = 20
"""What is not done by then counts as never done."""
KS = (1, 100)
CASES_OF_A_RUN = 10_000
MEASURED = Costs(trials_per_s=39_000, bytes_per_trial=700, bytes_per_case=35, bytes_per_cell=2, bytes_per_own=11,
                 start_s=0.2)
"""By benchmarks/merge_rate.py, on 30 November 2026, 2 x AMD EPYC, Linux 6.18, CPython 3.11.7."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What all tables are about: machines, trials, the number of runs they are shared out over, and the seeds."""

    fleet: Fleet
    trials: int
    runs: int
    seeds: tuple[int, ...]
    costs: Costs

    @property
    def ideal_s(self) -> float:
        """How long it takes at best, if every machine has speed 1."""
        return self.trials * self.fleet.trial_s / self.fleet.machines

    def outcomes(self, fleet: Fleet, job: Job) -> list[Outcome]:
        """One for each seed."""
        return [simulate(fleet, job, Random(seed)) for seed in self.seeds]


def balance(scene: Scene) -> str:
    """How many times the ideal a run takes, by shards a machine, on three fleets."""
    spreading = replace(scene.fleet, interruptions=Interruptions())
    fleets = (replace(spreading, speed_spread=0.0, slow=0.0), spreading, scene.fleet)
    rows = []
    for shards_each, pinned in ((1, True), (1, False), (2, False), (10, False), (50, False)):
        job = Job(scene.trials, shards_each * scene.fleet.machines, pinned)
        cells = [_ratios([one.times_ideal for one in scene.outcomes(fleet, job)]) for fleet in fleets]
        rows.append([f"{shards_each} a machine, {'its own' if pinned else 'from a queue'}", f"{job.shards:,}", *cells])
    return table(["shards", "logs", "equal machines", "unequal", "unequal, interrupted"], rows)


def interruptions(scene: Scene) -> str:
    """What interruptions cost, by what they leave."""
    rows = []
    for shards_each in (10, 1):
        for every_s, what in ((0.0, "each trial as it ends"), (600.0, "a copy every 10 minutes"),
                              (HOUR, "a copy every hour"), (NEVER, "shards that came to an end")):
            job = Job(scene.trials, shards_each * scene.fleet.machines, kept_every_s=every_s,
                      until_s=MOST_TIMES_IDEAL * scene.ideal_s)
            found = scene.outcomes(scene.fleet, job)
            repeated = spread([one.repeated / scene.trials * 100 for one in found])
            rows.append([f"{what}, {shards_each} shard{'s' * (shards_each > 1)} a machine",
                         f"{spread([one.interruptions for one in found]).middle:,.0f}",
                         ratio_text(repeated, 3), _ratios([one.times_ideal for one in found])])
    return table(["what an interruption leaves", "interruptions", "% run again", "times the ideal"], rows)


def cut(scene: Scene) -> str:
    """What is known after half of the budget, in one run, by order and by shards."""
    plan = Plan(CASES_OF_A_RUN, scene.trials // scene.runs // CASES_OF_A_RUN)
    fleet = replace(scene.fleet, machines=max(2, scene.fleet.machines // scene.runs))
    half_s = plan.cells * fleet.trial_s / fleet.machines / 2
    each, many = fleet.machines, fleet.machines * 10
    jobs = {
        f"{each} shards": Job(plan.cells, each, True, until_s=half_s),
        f"{each - 1} shards": Job(plan.cells, each - 1, True, until_s=half_s),
        f"{many:,} in a queue": Job(plan.cells, many, until_s=half_s),
        f"{many - 1:,} in a queue": Job(plan.cells, many - 1, until_s=half_s),
        f"{many:,}, a budget each": Job(plan.cells, many, budget_s=half_s / 10, until_s=half_s * 2),
        f"{many - 1:,}, a budget each": Job(plan.cells, many - 1, budget_s=half_s / 10, until_s=half_s * 2),
    }
    case_major = (f"{each} shards", f"{many - 1:,} in a queue")
    rows = [["trial-major", name, *_known_cells(scene, fleet, plan, job, trial_major_counts)]
            for name, job in jobs.items()]
    rows += [["case-major", name, *_known_cells(scene, fleet, plan, jobs[name], case_major_counts)]
             for name in case_major]
    titles = ["order", "shards", "done %", "fewest trials", *(f"pass^{k} %" for k in KS), "width", "error"]
    return table(titles, rows)


def _known_cells(
    scene: Scene, fleet: Fleet, plan: Plan, job: Job, counts_of: Callable[[Plan, Sequence[int]], list[int]],
) -> list[str]:
    """The cells of a row of `cut`: medians over the seeds."""
    known, done = list[Known](), list[float]()
    for seed in scene.seeds:
        outcome = simulate(fleet, job, Random(seed))
        done.append(sum(outcome.done) / plan.cells * 100)
        known.append(known_after(plan, counts_of(plan, outcome.done), KS, Random(seed)))
    shares = [spread([one.at_least[place] / plan.cases * 100 for one in known]) for place in range(len(KS))]
    return [f"{spread(done).middle:.1f}", ratio_text(spread([one.fewest for one in known]), 0),
            *(ratio_text(share, 0) for share in shares),
            f"{spread([one.width for one in known]).middle:.2f}",
            f"{spread([one.error for one in known]).middle * 100:+.1f}"]


def merge(scene: Scene) -> str:
    """A merge of one run at once, and as trees."""
    trials = scene.trials // scene.runs
    rows = []
    for logs, fan_in in ((1_000, 1_000), (1_000, 100), (1_000, 32), (1_000, 10), (5_000, 5_000), (5_000, 71)):
        found = merging(scene.costs, logs, trials, CASES_OF_A_RUN, fan_in, scene.fleet.machines)
        rows.append([f"{logs:,} logs, {'all at once' if fan_in >= logs else f'{fan_in:,} at a time'}",
                     str(found.levels), f"{found.merges:,}", f"{found.bytes_read / 1e9:.1f}",
                     f"{found.took_s / 60:.1f}", f"{found.memory_bytes / 1e6:.0f}"])
    return table(["one run", "levels", "merges", "GB read", "minutes", "MB of memory"], rows)


def files(scene: Scene) -> str:
    """Logs, their sizes, and what whole copies of growing logs take."""
    rows = []
    for shards_each in (1, 10, 50):
        logs = shards_each * scene.fleet.machines
        trials = scene.trials / logs
        size = log_bytes(scene.costs, trials, CASES_OF_A_RUN)
        lasts_s = trials * scene.fleet.trial_s
        copied = [uploaded_bytes(size, lasts_s, every_s) * logs / 1e12 for every_s in (600.0, HOUR)]
        rows.append([f"{shards_each} shard{'s' * (shards_each > 1)} a machine", f"{logs:,}", f"{trials:,.0f}",
                     f"{size / 1e6:.1f}", f"{size * logs / 1e9:.0f}",
                     f"{CASES_OF_A_RUN * scene.costs.bytes_per_case / size * 100:.1f}",
                     *(f"{one:.2f}" for one in copied)])
    return table(["layout", "logs", "trials each", "MB each", "GB in all", "% plan lines", "TB each 10 min",
                  "hourly"], rows)


def _ratios(figures: Sequence[float]) -> str:
    """Median and range of how many times the ideal; in words where some never came to an end."""
    if NEVER in figures:
        return f"over {MOST_TIMES_IDEAL} in {figures.count(NEVER)} of {len(figures)}"
    return ratio_text(spread(figures))


TABLES: dict[str, tuple[str, Callable[[Scene], str]]] = {
    "balance": ("How many times the ideal it takes, by how it is shared out", balance),
    "interruptions": ("What interruptions cost, by what they leave (unequal machines, any free one goes on)",
                      interruptions),
    "cut": (f"What half of the budget leaves of one run of {CASES_OF_A_RUN:,} cases (a tenth of the machines)", cut),
    "merge": ("The logs of one run as one log", merge),
    "files": ("Files, and whole copies of growing logs", files),
}
NOTES = {
    "cut": "fewest trials: of the case that has the fewest; pass^k: cases for which it is known; width: of the 95 % "
           "interval\nof a case whose rate is 1/2, nine of ten have none wider; error: of the mean rate over the cases "
           "with a trial,\nin points, where the file is sorted (the first half passes 80 %, the other 40 %)",
    "merge": "merges of one level run side by side, one a machine",
}


def parser() -> argparse.ArgumentParser:
    """The flags."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.simulate_fleet", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--only", choices=TABLES, help="this table only")
    for name, kind, default, words in (
        ("seed", int, 1, "the first seed"), ("seeds", int, 5, "how many, from there on"),
        ("machines", int, 1_000, "machines"), ("trials", int, 10**8, "trials in all"),
        ("runs", int, 10, "runs that the trials are shared out over"),
        ("trial-s", float, 2.0, "seconds for each trial that a machine ends"),
        ("at-once", int, 8, "trials under way on a machine (--parallel)"),
        ("start-s", float, 60.0, "seconds from taking up a shard to its first trial"),
        ("mtbf-h", float, 5_000.0, "hours between two failures of a machine"),
        ("repair-h", float, 4.0, "hours of a repair"),
        ("preempted-h", float, 48.0, "hours between two preemptions of a machine"),
        ("replaced-h", float, 0.2, "hours until another machine takes its place"),
        ("speed-spread", float, 0.1, "spread of the logarithm of speeds"),
        ("slow-share", float, 0.02, "share of slow machines"),
        ("slow-speed", float, 0.5, "speed of a slow machine"),
        ("merge-rate", float, MEASURED.trials_per_s, "merged trials a second"),
    ):
        flags.add_argument(f"--{name}", type=kind, default=default, metavar="N", help=f"{words} (default %(default)s)")
    return flags


def scene_of(options: argparse.Namespace) -> Scene:
    """The scene that the flags describe."""
    found = Interruptions(options.mtbf_h * HOUR, options.repair_h * HOUR, options.preempted_h * HOUR,
                          options.replaced_h * HOUR)
    fleet = Fleet(options.machines, options.trial_s, options.at_once, 1.0, options.speed_spread, options.slow_share,
                  options.slow_speed, options.start_s, found)
    return Scene(fleet, options.trials, options.runs, tuple(range(options.seed, options.seed + options.seeds)),
                 replace(MEASURED, trials_per_s=options.merge_rate))


def problem_of(options: argparse.Namespace) -> str | None:
    """Why the flags cannot be meant, in words; None if they can."""
    for name in ("seeds", "machines", "trials", "runs", "trial_s", "at_once", "mtbf_h", "preempted_h", "slow_speed",
                 "merge_rate"):
        if not getattr(options, name) > 0:
            return f"--{name.replace('_', '-')} {getattr(options, name)}: it is more than 0"
    if not 0 <= options.slow_share <= 1:
        return f"--slow-share {options.slow_share}: it is a share, from 0 to 1"
    if min(options.start_s, options.repair_h, options.replaced_h, options.speed_spread) < 0:
        return "--start-s, --repair-h, --replaced-h and --speed-spread are not negative"
    if options.trials < options.runs * CASES_OF_A_RUN:
        return f"--trials {options.trials}: {options.runs} runs of {CASES_OF_A_RUN:,} cases have more"
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = parser().parse_args(words)
    problem = problem_of(options)
    if problem:
        print(f"simulate_fleet: {problem}", file=sys.stderr)
        return 2
    scene = scene_of(options)
    given = [word for word in words if word not in ("--only", options.only)]
    print(f"{scene.trials:,} trials in {scene.runs} runs on {scene.fleet.machines:,} machines: "
          f"{scene.ideal_s / HOUR:.1f} h at best. Medians (ranges) over {len(scene.seeds)} seeds.\n"
          "Aggregated: trials are counted between the events of a machine, their durations are the mean of a shard.")
    for name, (title, made) in TABLES.items():
        if options.only in (None, name):
            print(f"\n{title}\n\n{made(scene)}\n")
            if name in NOTES:
                print(NOTES[name])
            print(f"again: python3 -m benchmarks.simulate_fleet {' '.join(['--only', name, *given])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
