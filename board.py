#!/usr/bin/env python3
"""Put several systems to the questions of a pack, and show who can be told apart, and by what.

    python3 board.py run jobs/example.toml --offline            no model needed
    python3 board.py run jobs/example.toml --models model_triage:gemma
    python3 board.py run jobs/example.toml --shard 1/3          part 1 of 3, on this machine
    python3 board.py merge BATCH [COPY ...]                     the shards of a batch as one, and its board
    python3 board.py begin jobs/example.toml                    another batch; nobody is asked yet
    python3 board.py report jobs/example.toml                   judge and draw again, ask nobody
    python3 board.py estimate jobs/example.toml                 what is still to come
    python3 board.py trace BATCH --case ID --system SYSTEM      one trial as a story
    python3 board.py recompute BATCH [--full] [--apply]         judge again after a judge has changed
    python3 board.py publish BATCH                              verify all, judge all, close the batch
    python3 board.py list                                       the batches there are

A batch is a folder, runs/JOB/STAMP; it is named by its path, by JOB/STAMP or by STAMP. The same command goes on with
the newest batch that is not published: each answer is kept the moment it is there, and none is asked for twice.

exit codes: 0 done (also when the budget ended the run), 1 the trace does not hold, or the batch must not be
published, 2 bad flags or files: nothing was changed, 3 the surroundings (no server, disk full, missing env_file),
130 and 143 after a signal, 141 stdout was closed
"""
import sys

if sys.version_info < (3, 11):
    sys.stderr.write("board.py needs Python 3.11 or newer; this is %d.%d\n" % sys.version_info[:2])
    sys.exit(3)

try:
    import argparse
    import os

    HERE = os.path.dirname(os.path.abspath(__file__))
    if HERE not in sys.path:
        sys.path.insert(0, HERE)

    from benchkit import cli
except MemoryError:
    sys.stderr.write("board.py: there is not enough memory to start (ulimit -v)\n")
    sys.exit(3)


def parser() -> cli.Parser:
    """The flags of this command."""
    flags = cli.Parser("board.py", __doc__)
    commands = flags.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, says: str, of: str = "") -> argparse.ArgumentParser:
        one = commands.add_parser(name, prog=f"board.py {name}", help=says)
        if of == "job":
            one.add_argument("job", metavar="JOB", help="the job, such as jobs/example.toml")
        elif of == "batch":
            one.add_argument("batch", metavar="BATCH", help="the batch: its path, JOB/STAMP or STAMP")
        return one

    run = command("run", "ask what is left of a job, judge it, and draw the board", "job")
    models = "these systems (default: those of the job)"
    run.add_argument("--models", metavar="A,B", help=models)
    run.add_argument("--offline", action="store_true", help="baselines only: no key, no server, no network")
    run.add_argument("--limit", type=cli.whole_number, metavar="N", help="run at most N cells in this session")
    run.add_argument("--shard", metavar="I/N", help=f"run part I of N only, into files of its own in the batch "
                     f"{cli.PART_OF_AN_ARRAY}")
    which = run.add_mutually_exclusive_group()
    which.add_argument("--fresh", action="store_true", help="begin another batch")
    which.add_argument("--batch", metavar="STAMP", help="go on with this batch (default: the newest not published)")
    run.add_argument("--rebuild", action="store_true", help="make the questions of the batch anew")
    run.add_argument("--regen", action="store_true", help="ask the rewording model again, and make the questions anew")
    run.add_argument("--retry-errors", action="store_true", help="run cells again whose last attempt is an error")
    run.add_argument("--accept-damage", action="store_true",
                     help="go on with damaged answers or a damaged trace, and run again what is lost")
    run.add_argument("--budget-s", type=cli.seconds, metavar="S", help="start no cell after this many seconds")
    begin = command("begin", "begin another batch; nobody is asked", "job")
    begin.add_argument("--offline", action="store_true", help="take rewordings from the cache only: no network")
    # without a default argparse calls what may be left out required, too
    command("merge", "the shards of a batch as one, and its board", "batch").add_argument(
        "copies", metavar="COPY", nargs="*", default=[], help="the same batch as it stands on another disk")
    report = command("report", "judge and draw again; nobody is asked", "job")
    report.add_argument("--batch", metavar="STAMP", help="this batch (default: the newest)")
    report.add_argument("--accept-altered", action="store_true", help="report on altered questions; the board says so")
    command("estimate", "tokens and seconds still to come", "job").add_argument(
        "--models", metavar="A,B", help=models)
    trace = command("trace", "one trial as a story, in the order of time", "batch")
    trace.add_argument("--case", metavar="ID", required=True, help="which question")
    trace.add_argument("--system", metavar="S", required=True, help="whose answer")
    trace.add_argument("--trial", type=cli.whole_number, metavar="N", default=1, help="which (default %(default)s)")
    again = command("recompute", "judge again, and list what changes", "batch")
    again.add_argument("--full", action="store_true", help="all tracks, not only those whose judge changed")
    again.add_argument("--apply", action="store_true", help="write the changes, and draw the board")
    command("publish", "verify and judge all, and close the batch", "batch")
    command("list", "the batches there are")
    return flags


def main(argv: "list[str] | None" = None) -> int:
    """Parse the flags, and tell the story that they ask for (benchkit/boards/stories.py)."""
    options = cli.parsed(parser(), argv)
    return cli.run("board.py", lambda: tell(options))


def tell(options: argparse.Namespace) -> int:
    """The story of a command; exit code 1 where its answer is no."""
    from benchkit.boards.stories import BoardCommand, tell_story

    typed = BoardCommand(options, cli.run_context(options), cli.command_of(options), os.environ, cli.put, cli.placed)
    return cli.DONE if tell_story(typed) else cli.NO


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
