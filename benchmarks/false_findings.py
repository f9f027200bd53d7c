"""How often identical systems are called different: by a comparison, by the gate, by the ranks of a board.

    python3 -m benchmarks.false_findings                 all rows, 2,000 draws each: about 8 minutes of one core
    python3 -m benchmarks.false_findings --runs 200      a tenth of that

Trials are drawn, never asked; then the comparison, the gate and the ranking of the kit are called, at 5 %. "judged
alone" is what the sign-flip test says of the trials that were judged, and nothing else: on a board with each system's
values times the share of its answers that held the gates. Same flags, same table.
Exit code 0; 2 for bad flags.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from benchkit.basics.values import Cell, TaskName
from benchkit.boards.job_pack import pack_of_task
from benchkit.boards.pack import Pack
from benchkit.boards.scores import RowError, ScoreRow
from benchkit.boards.standings import Record, ranking_of, records_of
from benchkit.recordings.run_record import Judge, JudgedCase, RunRecord, Totals
from benchkit.reports.comparison import SideBySide, side_by_side
from benchkit.reports.failures import Failures
from benchkit.reports.run_report import RunReport, report_of
from benchkit.reports.tally import CaseRow, interval_of
from benchkit.reports.verdicts import Finding, GateRules, gate_of, verdict_of
from benchkit.statistics.estimators import Counts
from benchkit.statistics.permutation import ALPHA, OpenValue, sign_flip_p
from benchkit.statistics.ranking import open_pair_tests, rank_sets
from benchkit.tasks.task import load_task, read_cases
from benchmarks.measuring import ROOT, table

GATE, TRACK = "parses", "category"


@dataclass(frozen=True, slots=True)
class Side:
    """A run: trials of each case, how often one passes, and which share of those that fail is never judged."""

    trials: int
    passes: float
    lost: float = 0.0

    def draw(self, rng: Random) -> Counts:
        """One case."""
        passed = failed = 0
        for _ in range(self.trials):
            if rng.random() < self.passes:
                passed += 1
            elif rng.random() >= self.lost:
                failed += 1
        return Counts(self.trials, passed, failed)

    def run(self, name: str, cases: int, rng: Random) -> RunReport:
        """The report of a run over so many cases, as far as comparisons need it."""
        judged = [JudgedCase(f"case {number}", "0" * 16, "0" * 64, "", None, ()) for number in range(cases)]
        record = RunRecord("1", TaskName("drawn", "Drawn", "1"), Judge("Drawn", "1", "0" * 64), "drawn", name, {},
                           self.trials, "2026-12-01T00:00:00.000Z", {}, (), (), ())
        none = Failures(0, 0, (), (), False)
        drawn = [self.draw(rng) for _ in judged]
        rows = tuple(CaseRow(case, counts, interval_of(counts), "", none, False, True, None)
                     for case, counts in zip(judged, drawn, strict=True))
        totals = Totals(self.trials * cases, *(sum(getattr(one, part) for one in drawn)
                                               for part in ("passed", "failed", "incomplete")))
        return replace(report_of(record, name), record=replace(record, cases=tuple(judged)), cases=rows, totals=totals)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two runs over the same cases. `finds` says what is wrong to say of them."""

    base: Side
    candidate: Side
    cases: int = 20
    max_drop: Fraction = Fraction(0)
    same_within: Fraction | None = None

    def draw(self, rng: Random) -> SideBySide:
        """The two, compared."""
        return side_by_side([self.base.run("base", self.cases, rng), self.candidate.run("candidate", self.cases, rng)],
                            self.same_within)

    def judged_alone(self, side: SideBySide) -> bool:
        """What is concluded of the judged trials, without regard to their numbers and to those that are missing."""
        found = side.pairs[0].comparison
        if found is None or found.difference is None:
            return False
        if self.same_within is not None:
            return max(-found.interval.low, found.interval.high) <= self.same_within
        is_fall = not self.max_drop or -found.difference > self.max_drop
        return is_fall and sign_flip_p(found.differences) < ALPHA

    def found(self, side: SideBySide) -> bool:
        """Whether the comparison finds what is not so."""
        finding = verdict_of(side, side.pairs[0]).finding
        return finding in ((Finding.SAME_WITHIN_MARGIN,) if self.same_within else (Finding.BETTER, Finding.WORSE))

    def refused(self, side: SideBySide) -> bool:
        """Whether the gate refuses the candidate."""
        found = side.pairs[0].comparison
        rules = GateRules(max_drop=self.max_drop, allow_incomplete=True)
        return found is not None and bool(gate_of(found, side.runs[1].totals, rules).broken)

    def shares(self, runs: int, rng: Random) -> tuple[float, float | None, float | None]:
        """How often each is wrong: judged alone, the comparison, the gate; None where it says nothing wrong."""
        sides = [self.draw(rng) for _ in range(runs)]
        found = None if self.max_drop else share(map(self.found, sides), runs)
        refused = None if self.same_within is not None else share(map(self.refused, sides), runs)
        return share(map(self.judged_alone, sides), runs), found, refused


@dataclass(frozen=True, slots=True)
class Boards:
    """Identical systems on a board: how often an answer is right, holds the gate, and is lost if it is wrong."""

    right: float
    held: float
    lost: tuple[float, ...] = (0.0, 0.0)
    cases: int = 12
    trials: int = 3

    def draw(self, rng: Random) -> dict[str, Record]:
        """The rows of all systems."""
        return records_of(self._row(Cell(f"system {place}", f"case {case}", trial), lost, rng)
                          for place, lost in enumerate(self.lost) for case in range(self.cases)
                          for trial in range(1, self.trials + 1))

    def _row(self, cell: Cell, lost: float, rng: Random) -> ScoreRow:
        right, held = rng.random() < self.right, rng.random() < self.held
        if not (right and held) and rng.random() < lost:
            return ScoreRow(cell, 1, "", None, {}, {}, RowError("Timeout", "no reply"), "1", {})
        return ScoreRow(cell, 1, "", "", {TRACK: float(right)}, {GATE: held}, None, "1", {})

    def judged_alone(self, records: Mapping[str, Record]) -> bool:
        """Whether ranks separate of which each system's values were scaled as a whole."""
        values = {}
        for name, record in records.items():
            held = [row.held for row in record.judged()]
            rights = record.values(lambda row: Fraction(row.capabilities[TRACK]))
            scaled = {case: one.judged * Fraction(sum(held), len(held)) for case, one in rights.items()
                      if one.judged is not None}
            values[name] = {case: OpenValue(value, value, value) for case, value in scaled.items()}
        return any(rank.best > 1 for rank in rank_sets(list(values), open_pair_tests(values)).values())

    def shares(self, runs: int, rng: Random) -> tuple[float, float | None, float | None]:
        """How often a rank separates identical systems: judged alone, and on the board."""
        pack = gated_pack()
        drawn = [self.draw(rng) for _ in range(runs)]
        ranked = (any(one.rank is not None and one.rank.best > 1 for one in ranking_of(records, pack))
                  for records in drawn)
        return share(map(self.judged_alone, drawn), runs), share(ranked, runs), None


def share(found: Iterable[bool], of: int) -> float:
    """The share of those that are true."""
    return sum(found) / of


def gated_pack() -> Pack:
    """A pack of the triage task whose check `parses` is a hard gate, with one track besides."""
    pack = pack_of_task(load_task("triage_task", [ROOT]), read_cases(ROOT / "cases.json"), [GATE])
    return replace(pack, tracks=tuple(one for one in pack.tracks if one.name in (GATE, TRACK)))


FIVE_POINTS = Fraction(1, 20)
ROWS: dict[str, Pairs | Boards] = {
    "20 cases, 10 trials against 10, .95": Pairs(Side(10, .95), Side(10, .95)),
    "20 cases, 1 trial against 10, .95": Pairs(Side(1, .95), Side(10, .95)),
    "20 cases, 10 trials against 1, .95": Pairs(Side(10, .95), Side(1, .95)),
    "20 cases, 1 trial against 100, .99": Pairs(Side(1, .99), Side(100, .99)),
    "64 cases, 3 trials against 10, .97": Pairs(Side(3, .97), Side(10, .97), 64),
    "64 cases x 10, .9, base loses half of its failures": Pairs(Side(10, .9, .5), Side(10, .9), 64),
    "64 cases x 10, .9, candidate loses half": Pairs(Side(10, .9), Side(10, .9, .5), 64),
    "20 cases x 10, .6, base loses all of its failures": Pairs(Side(10, .6, 1.0), Side(10, .6)),
    "20 cases, 10 against 3, .95, base loses nine tenths": Pairs(Side(10, .95, .9), Side(3, .95)),
    "20 cases x 10, true fall 5, --max-drop .05": Pairs(Side(10, .95), Side(10, .9), max_drop=FIVE_POINTS),
    "64 cases x 10, true fall 5, --max-drop .05": Pairs(Side(10, .95), Side(10, .9), 64, max_drop=FIVE_POINTS),
    "64 cases, 1 against 10, true fall 5, --max-drop .05": Pairs(Side(1, .95), Side(10, .9), 64, FIVE_POINTS),
    "64 cases x 10, true fall 8, \"the same within 5\"": Pairs(
        Side(10, .99), Side(10, .91, 1.0), 64, same_within=FIVE_POINTS),
    "board, 2 systems, 12 cases x 3, right 1, gate .03": Boards(1.0, .97),
    "board, 2 systems, 24 cases x 3, right .9, gate .05": Boards(.9, .95, cases=24),
    "board, 3 systems, 24 cases x 3, right .9, gate .05": Boards(.9, .95, (0.0, 0.0, 0.0), 24),
    "board, 2 systems, 24 cases x 3, .7, one loses half": Boards(.7, 1.0, (0.0, .5), 24),
    "board, 3 systems, 24 cases x 5, .7 .95, two lose": Boards(.7, .95, (0.0, .5, .9), 24, 5),
}
TITLES = ["what is drawn; nothing differs, but for the true falls", "judged alone", "comparison, board", "gate"]


def rows_of(runs: int, seed: int) -> list[list[str]]:
    """The rows of the table, each with draws of its own."""
    return [[name, *("" if one is None else f"{one:.3f}" for one in what.shares(runs, Random(f"{seed} {name}")))]
            for name, what in ROWS.items()]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.false_findings", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--runs", type=int, default=2_000, metavar="N", help="draws of each row (default %(default)s)")
    flags.add_argument("--seed", type=int, default=1, metavar="N", help="of all draws (default %(default)s)")
    options = flags.parse_args(list(sys.argv[1:] if argv is None else argv))
    if options.runs < 1:
        flags.error(f"--runs {options.runs}: it is at least 1")
    print(table(TITLES, rows_of(options.runs, options.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
