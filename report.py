#!/usr/bin/env python3
"""Say what a system does reliably, sometimes and never: run records in, a report out.

    python3 report.py runs/keywords.json                          the report of one run, as text
    python3 report.py runs/a.json runs/b.json --out report.json   of several, every pair compared; and as JSON
    python3 report.py runs/keywords.json --full                   all of it, not only what comes first
    python3 report.py runs/keywords.json --case ID                all trials of one case, output by output
    python3 report.py runs/keywords.json --html report.html       a page to look at: figures, and every trial
    python3 report.py runs/keywords.json --markdown report.md     for a pull request or a job summary
    python3 report.py runs/keywords.json --junit report.xml       for CI: a case is a test, a flaky one a failure
    python3 report.py runs/keywords.json --csv trials.csv         one row per trial

All these files can be asked for at once. The text always goes to stdout, in colour on a terminal only (never with
NO_COLOR set).

exit codes: 0 done, 2 bad flags or files: nothing was written, 3 the surroundings (disk full, no permission),
141 stdout was closed
"""
import sys

if sys.version_info < (3, 11):
    sys.stderr.write("report.py needs Python 3.11 or newer; this is %d.%d\n" % sys.version_info[:2])
    sys.exit(3)

try:
    import argparse
    import os

    HERE = os.path.dirname(os.path.abspath(__file__))
    if HERE not in sys.path:
        sys.path.insert(0, HERE)

    from benchkit import cli
except MemoryError:
    sys.stderr.write("report.py: there is not enough memory to start (ulimit -v)\n")
    sys.exit(3)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchkit.render.columns import Paint
    from benchkit.reports.run_report import RunReport


OUTPUT_FLAGS = ("--out", "--html", "--markdown", "--junit", "--csv")


def parser() -> cli.Parser:
    """The flags of this command."""
    flags = cli.Parser("report.py", __doc__)
    flags.add_argument("runs", nargs="+", metavar="RUN", help="a run record, as harness.py and bench.py write it")
    flags.add_argument("--out", metavar="JSON", help="write the report as JSON, too")
    flags.add_argument("--html", metavar="FILE", help="write it as a page for a browser, too")
    flags.add_argument("--markdown", metavar="FILE", help="write it as Markdown, too")
    flags.add_argument("--junit", metavar="FILE", help="write it as JUnit XML, too")
    flags.add_argument("--csv", metavar="FILE", help="write all trials as CSV, too")
    flags.add_argument("--margin", type=cli.fraction, metavar="SHARE",
                       help="say of each pair of runs whether they are the same within this (.05: 5 points)")
    flags.add_argument("--full", action="store_true", help="print all of the report, not only what comes first")
    flags.add_argument("--case", metavar="ID", help="show all trials of this case, in place of the report")
    return flags


def main(argv: "list[str] | None" = None) -> int:
    """Parse the flags, and tell the story."""
    options = parser().parse_args(argv)
    return cli.run("report.py", lambda: report(options))


def report(options: argparse.Namespace) -> int:
    """Read the runs, write what was asked for (each file whole or not at all), print the text."""
    from fractions import Fraction
    from pathlib import Path

    from benchkit.basics.errors import Unusable
    from benchkit.recordings.run_record import read_run_record
    from benchkit.render.columns import Paint
    from benchkit.reports.comparison import side_by_side
    from benchkit.reports.documents import text_report
    from benchkit.reports.run_report import report_of
    given = {flag: getattr(options, flag.lstrip("-")) for flag in OUTPUT_FLAGS}
    outputs = {flag: path for flag, path in given.items() if path is not None}
    if outputs:
        refuse_outputs(outputs, options.runs)
    runs = [report_of(read_run_record(Path(path)), Path(path).stem) for path in options.runs]
    if options.margin is not None and len(runs) < 2:
        raise Unusable("--margin: it says when two runs are the same; give at least two")
    # the number as it was typed, not the float nearest to it
    side = side_by_side(runs, None if options.margin is None else Fraction(repr(options.margin)))
    # colour where a person reads a terminal and did not ask for none
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    paint = Paint(sys.stdout.isatty() and not is_plain)
    lines = list(text_report(side, paint, options.full) if options.case is None else
                 case_lines(runs, options.case, paint))
    if outputs:
        from benchkit.disk.whole_files import write_whole
        from benchkit.reports.files import FORMATS
        for flag, path in outputs.items():
            write_whole(path, FORMATS[flag].render(side))
            cli.say(f"written: {path} ({FORMATS[flag].kind})")
    # line by line: an unbuffered stdout takes a part of one large write for the whole when its reader leaves
    sys.stdout.writelines(lines)
    return cli.DONE


def refuse_outputs(outputs: "Mapping[str, str]", runs: "Sequence[str]") -> None:
    """Raise Unusable where a file that was asked for would be written over a run, another output, or a stranger."""
    from benchkit.disk.file_kinds import refuse_misnamed, refuse_shared
    from benchkit.disk.whole_files import refuse_unlike
    from benchkit.reports.files import FORMATS
    refuse_shared(outputs, runs)
    for flag, path in outputs.items():
        refuse_unlike(path, FORMATS[flag].start, FORMATS[flag].kind)
        refuse_misnamed(flag, path)


def case_lines(runs: "Sequence[RunReport]", case_id: str, paint: "Paint") -> "Iterator[str]":
    """All trials of a case in every run that has it. Raises Unusable, naming the nearest ids, if none does."""
    from difflib import get_close_matches

    from benchkit.basics.errors import Unusable
    from benchkit.reports.documents import case_report
    having = [run for run in runs if any(row.id == case_id for row in run.cases)]
    if not having:
        ids = list(dict.fromkeys(row.id for run in runs for row in run.cases))
        near = get_close_matches(case_id, ids, n=3, cutoff=0.5) or ids[:3]
        raise Unusable(f"--case {case_id}: no run has this case; there are {len(ids)}, such as {', '.join(near)}")
    return case_report(having, case_id, paint)


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
