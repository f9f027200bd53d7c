#!/usr/bin/env python3
"""Digests of recorded outputs: keep them, check them, compare two recordings.

    python3 outputs_digest.py LOG ...                              print the digest of every log
    python3 outputs_digest.py LOG ... --update FILE --label TEXT   add them to FILE as one entry
    python3 outputs_digest.py --check recorded/recordings.json     does every log beside FILE equal an entry?
    python3 outputs_digest.py --compare A B                        trial by trial; each a log, a recording or FILE#LABEL

A digest is made of outputs alone, so two machines that gave the same answers give the same digest. An entry's logs
go by their file names: a run made to be compared uses the same file name in another folder.

exit codes: 0 done and equal, 1 a check or comparison found a difference, 2 bad flags or files: nothing was changed,
3 the surroundings (disk full, ...), 141 stdout was closed
"""
import sys

if sys.version_info < (3, 11):
    sys.stderr.write("outputs_digest.py needs Python 3.11 or newer; this is %d.%d\n" % sys.version_info[:2])
    sys.exit(3)

try:
    import argparse
    import os

    HERE = os.path.dirname(os.path.abspath(__file__))
    if HERE not in sys.path:
        sys.path.insert(0, HERE)

    from benchkit import cli
except MemoryError:
    sys.stderr.write("outputs_digest.py: there is not enough memory to start (ulimit -v)\n")
    sys.exit(3)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from benchkit.recordings.recording import Recording


def parser() -> cli.Parser:
    """The flags of this command."""
    flags = cli.Parser("outputs_digest.py", __doc__)
    flags.add_argument("logs", metavar="LOG", nargs="*", help="trial logs (NAME.jsonl)")
    flags.add_argument("--system", metavar="MODULE:NAME", help="which system, where a log holds several")
    modes = flags.add_mutually_exclusive_group()
    modes.add_argument("--update", metavar="FILE", help="add the logs' digests to FILE, made if it is not there")
    modes.add_argument("--check", metavar="FILE", help="hold the logs beside FILE against its entries")
    modes.add_argument("--compare", nargs=2, metavar=("A", "B"), help="compare two recordings")
    flags.add_argument("--accept-damage", action="store_true", help="take a damaged log without its damaged lines")
    flags.add_argument("--label", metavar="TEXT", help="the name of the new entry of --update")
    return flags


def main(argv: "list[str] | None" = None) -> int:
    """Parse the flags, and tell the story that they ask for."""
    flags = parser()
    options = flags.parse_args(argv)
    if (options.update is None) != (options.label is None):
        flags.error("--update FILE and --label TEXT go together")
    if (options.check or options.compare) and options.logs:
        flags.error("--check and --compare take no further logs")
    if not (options.check or options.compare or options.logs):
        flags.error("name a log, or give --check FILE or --compare A B")
    story = check if options.check else compare if options.compare else update if options.update else show
    return cli.run("outputs_digest.py", lambda: story(options))


def show(options: argparse.Namespace) -> int:
    """`LOG ...`: a digest a line."""
    from benchkit.basics.texts import count_of
    from benchkit.recordings.digests import digests_of
    for name, recording in recordings_of(options).items():
        digests = digests_of(recording)
        (ran, sha256), planned = digests.total(), len(recording.cases) * recording.trials
        cli.put(f"{sha256}  {name}  {ran:,} of {count_of(planned, 'trial')}, "
                f"settings {digests.settings_sha256[:16]}\n")
    return cli.DONE


def update(options: argparse.Namespace) -> int:
    """`--update FILE --label TEXT`: one more entry."""
    from benchkit.basics.errors import Unusable
    from benchkit.basics.texts import shown_line
    from benchkit.disk.appending import alone
    from benchkit.recordings.digest_book import added, entry_of, keep_book, read_book
    if not options.label.strip() or shown_line(options.label) != options.label:
        raise Unusable("--label: give a text of one line, at most 200 letters, without control characters")
    book = cli.path(options.update)
    entry = entry_of(options.label, recordings_of(options))
    with alone(book.with_name(f"{book.name}.lock"), lambda: cli.say(f"{book}: waiting for another --update of it")):
        before = read_book(book) if book.exists() else ()
        keep_book(book, added(book, before, entry))
    cli.put(f"{book}: entry {len(before) + 1}, {entry.label}: {', '.join(entry.logs)}\n")
    apart = [name for name in entry.logs if not (book.parent / f"{name}.jsonl").is_file()]
    if apart:
        cli.say(f"{book}: --check looks for logs beside it, and in {book.resolve().parent} there is no "
                f"{', '.join(f'{name}.jsonl' for name in apart)}")
    return cli.DONE


def recordings_of(options: argparse.Namespace) -> "dict[str, Recording]":
    """The recordings of the logs by name: the file's name without `.jsonl`."""
    from benchkit.basics.errors import Unusable
    from benchkit.disk.file_kinds import FileKind, refuse_another_kind
    found: "dict[str, Recording]" = {}
    for text in options.logs:
        path = cli.path(text)
        if path.suffix != ".jsonl" and path.is_file():
            refuse_another_kind(path, FileKind.LOG)
        if path.suffix != ".jsonl":
            raise Unusable(f"{text}: give trial logs, whose names end in .jsonl")
        if path.stem in found:
            raise Unusable(f"{text}: two logs of the name {path.stem}; an entry holds each name once")
        found[path.stem] = recording_in(path, options)
    return found


def recording_in(path: "Path", options: argparse.Namespace) -> "Recording":
    """The recording of the wanted system of a log."""
    from benchkit.recordings.recording import recording_of
    from benchkit.trial_log.reader import read_log
    return recording_of(read_log(path, accept_damage=options.accept_damage), options.system)


def check(options: argparse.Namespace) -> int:
    """`--check FILE`: exit code 1 if a log beside it equals no entry; logs without an entry are counted, and named."""
    import contextlib

    from benchkit.basics.command import shell_word
    from benchkit.basics.errors import Unusable
    from benchkit.basics.texts import are, count_of
    from benchkit.disk.whole_files import shown_path
    from benchkit.recordings.digest_book import check_log, check_text, names_in, read_book
    from benchkit.recordings.digests import digests_of
    from benchkit.recordings.replay import is_log
    book = cli.path(options.check)
    entries = read_book(book)
    if not names_in(entries):
        raise Unusable(f"{book}: it holds no entry yet; add one: python3 outputs_digest.py LOG --update "
                       f"{shell_word(str(book))} --label TEXT")
    checks = []
    for name in names_in(entries):
        path = book.parent / f"{name}.jsonl"
        if not path.exists():
            raise Unusable(f"{path}: there is no such file; --check looks for the logs of {book} beside it, in "
                           f"{book.resolve().parent}; put the log there, or compare it where it is: "
                           f"python3 outputs_digest.py --compare {shell_word(f'{book}#LABEL')} LOG")
        digests = digests_of(recording_in(path, options))
        checks.append(check_log(name, digests, entries))
        cli.put(check_text(checks[-1]) + "\n")
    others = []
    for path in sorted(book.parent.glob("*.jsonl")):
        if path.stem not in names_in(entries) and path.is_file() and not path.is_symlink() and path.stat().st_size:
            with contextlib.suppress(Unusable):  # what cannot be read is not checked, and no fault of the check
                others += [path] * is_log(path)
    if others:
        beside = count_of(len(others), "log beside it has", "logs beside it have")
        cli.say(f"{book}: {beside} no entry and {are(len(others))} not checked; the first is {shown_path(others[0])} "
                f"(python3 outputs_digest.py LOG --update {shell_word(str(book))} --label TEXT)")
    return cli.DONE if all(one.equal for one in checks) else cli.NO


def compare(options: argparse.Namespace) -> int:
    """`--compare A B`: exit code 1 if a trial that both have differs: in its output, or in how it ended."""
    from benchkit.basics.errors import Unusable
    from benchkit.disk.file_kinds import is_same_file
    from benchkit.recordings.digest_comparison import compare as compared
    from benchkit.recordings.digest_comparison import comparison_text, sides_of
    first, second = sides_of(options.compare, options.system, options.accept_damage)
    if options.compare[0] == options.compare[1] or is_same_file(*options.compare):
        cli.say(f"{first.name} and {second.name} are one recording, given twice: they can only be equal")
    comparison = compared(first, second)
    if not comparison.compared + comparison.errors.counted:
        raise Unusable(f"{first.name} and {second.name} have no trial in common"
                       f"{' that was asked the same' if comparison.other_asks else ''}; there is nothing to compare")
    for line in comparison_text(comparison, first.name, second.name):
        cli.put(line + "\n")
    return cli.NO if comparison.different else cli.DONE


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
