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
    from collections.abc import Iterator
    from fractions import Fraction
    from pathlib import Path

    from benchkit.basics.fields import LeafDifference as NamedDifference
    from benchkit.recordings.digest_book import Difference, LogCheck
    from benchkit.recordings.digest_comparison import DigestComparison, Side
    from benchkit.recordings.digests import LogDigests, TrialOf
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
    return cli.run("outputs_digest.py", lambda: story(options))


def story(options: argparse.Namespace) -> int:
    """What the flags ask for."""
    if options.check:
        return check(options)
    if options.compare:
        return compare(options)
    return update(options) if options.update else show(options)


# ----------------------------------------------------------------------------------------- digests of logs

def show(options: argparse.Namespace) -> int:
    """`LOG ...`: a digest a line."""
    from benchkit.basics.texts import count_of
    from benchkit.recordings.digests import digests_of

    for name, recording in recordings_of(options).items():
        digests = digests_of(recording)
        total, planned = digests.total(), len(recording.cases) * recording.trials
        cli.put(f"{total.sha256}  {name}  {total.ran:,} of {count_of(planned, 'trial')}, "
                f"settings {digests.settings_sha256[:16]}\n")
    return cli.DONE


def update(options: argparse.Namespace) -> int:
    """`--update FILE --label TEXT`: one more entry."""
    from pathlib import Path

    from benchkit.disk.appending import alone
    from benchkit.recordings.digest_book import added, entry_of, keep_book, read_book

    book = Path(options.update)
    entry = entry_of(one_line_label(options.label), recordings_of(options))
    with alone(book.with_name(f"{book.name}.lock"), lambda: cli.say(f"{book}: waiting for another --update of it")):
        before = read_book(book) if book.exists() else ()
        keep_book(book, added(book, before, entry))
    cli.put(f"{book}: entry {len(before) + 1}, {entry.label}: {', '.join(entry.logs)}\n")
    apart = [name for name in entry.logs if not log_beside(book, name).is_file()]
    if apart:
        cli.say(f"{book}: --check looks for logs beside it, and in {book.resolve().parent} there is no "
                f"{', '.join(f'{name}.jsonl' for name in apart)}")
    return cli.DONE


def log_beside(book: "Path", name: str) -> "Path":
    """Where `--check` looks for the log of an entry."""
    return book.parent / f"{name}.jsonl"


def recordings_of(options: argparse.Namespace) -> "dict[str, Recording]":
    """The recordings of the logs by name: the file's name without `.jsonl`."""
    from pathlib import Path

    from benchkit.basics.errors import Unusable
    from benchkit.disk.file_kinds import Kind, refuse_another_kind

    found: "dict[str, Recording]" = {}
    for text in options.logs:
        path = Path(text)
        if path.suffix != ".jsonl" and path.is_file():
            refuse_another_kind(path, Kind.LOG)
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


def one_line_label(label: str) -> str:
    """A label that can stand in a table. Raises Unusable."""
    from benchkit.basics.errors import Unusable
    from benchkit.basics.texts import shown_line

    if not label.strip() or shown_line(label) != label:
        raise Unusable("--label: give a text of one line, at most 200 letters, without control characters")
    return label


# -------------------------------------------------------------------------------------------------- check

def check(options: argparse.Namespace) -> int:
    """`--check FILE`: exit code 1 if a log beside it equals no entry."""
    from pathlib import Path

    from benchkit.basics.command import shell_word
    from benchkit.basics.errors import Unusable
    from benchkit.recordings.digest_book import check_log, names_in, read_book
    from benchkit.recordings.digests import digests_of

    book = Path(options.check)
    entries = read_book(book)
    if not names_in(entries):
        raise Unusable(f"{book}: it holds no entry yet; add one: python3 outputs_digest.py LOG --update "
                       f"{shell_word(str(book))} --label TEXT")
    checks = []
    for name in names_in(entries):
        path = log_beside(book, name)
        if not path.exists():
            raise Unusable(f"{path}: there is no such file; --check looks for the logs of {book} beside it, in "
                           f"{book.resolve().parent}; put the log there, or compare it where it is: "
                           f"python3 outputs_digest.py --compare {shell_word(f'{book}#LABEL')} LOG")
        digests = digests_of(recording_in(path, options))
        checks.append(check_log(name, digests, entries))
        cli.put(check_text(checks[-1]) + "\n")
    return cli.DONE if all(one.equal for one in checks) else cli.NO


def check_text(found: "LogCheck") -> str:
    """Which entry a log equals, and how far it is from the others."""
    from benchkit.basics.texts import count_of, shown_line

    def told(one: "Difference") -> str:
        return f"{shown_line(one.label)}: {count_of(one.different, 'trial differs', 'trials differ')}"

    equal = ", ".join(map(shown_line, found.equal))
    others = [f"; {told(one)}" for one in found.differences if one.different]
    errors = f" ({found.errors:,} ended in an error)" if found.errors else ""
    ran = f"{found.name}: {count_of(found.ran, 'trial')}{errors}"
    if found.equal:
        return f"{ran}, equal to {equal}{''.join(others)}"
    return f"{ran}, equal to no entry; nearest {told(found.nearest)}, the first is {trial_text(found.nearest.first)}"


def trial_text(trial: "TrialOf | None") -> str:
    """`case B-01, trial 3`."""
    from benchkit.basics.texts import shown_line

    return "none" if trial is None else f"case {shown_line(trial.case, 80)}, trial {trial.trial}"


# ------------------------------------------------------------------------------------------------ compare

def compare(options: argparse.Namespace) -> int:
    """`--compare A B`: exit code 1 if a trial that both have differs: in its output, or in how it ended."""
    from benchkit.basics.errors import Unusable
    from benchkit.disk.file_kinds import is_same_file
    from benchkit.recordings.digest_comparison import compare as compared

    first, second = sides_of(options.compare, options)
    if options.compare[0] == options.compare[1] or is_same_file(*options.compare):
        cli.say(f"{first.name} and {second.name} are one recording, given twice: they can only be equal")
    comparison = compared(first, second)
    if not comparison.compared + comparison.errors.counted:
        raise Unusable(f"{first.name} and {second.name} have no trial in common"
                       f"{' that was asked the same' if comparison.other_asks else ''}; there is nothing to compare")
    for line in comparison_text(comparison, first.name, second.name):
        cli.put(line + "\n")
    return cli.NO if comparison.different else cli.DONE


def sides_of(texts: "list[str]", options: argparse.Namespace) -> "tuple[Side, Side]":
    """Both sides; where an entry holds several logs, the one that has the other side's file name."""
    from pathlib import Path

    stems = [Path(text.rpartition("#")[0] or text).stem for text in texts]
    return side_of(texts[0], stems[1], options), side_of(texts[1], stems[0], options)


def side_of(text: str, other_stem: str, options: argparse.Namespace) -> "Side":
    """A log, a recording, or `FILE#LABEL`, an entry of a file of digests; `LOG#SYSTEM` as at `replay:`."""
    from pathlib import Path

    from benchkit.recordings.digest_book import entry_named, is_book, read_book
    from benchkit.recordings.digest_comparison import Side
    from benchkit.recordings.digests import digests_of
    from benchkit.recordings.replay import Reference, recording_from, reference_of

    reference = reference_of(text)
    if reference.system is not None and is_book(reference.path):
        entry = entry_named(reference.path, read_book(reference.path), reference.system)
        return Side(text, log_of(text, dict(entry.logs), other_stem), None)
    recording = recording_from(Reference(Path(reference.path), reference.system or options.system),
                               options.accept_damage)
    return Side(text, digests_of(recording), recording)


def log_of(text: str, logs: "dict[str, LogDigests]", other_stem: str) -> "LogDigests":
    """The log of an entry that is meant: the only one, or the one that the other side is named after."""
    from benchkit.basics.errors import Unusable

    if len(logs) == 1:
        return next(iter(logs.values()))
    if other_stem not in logs:
        raise Unusable(f"{text}: the entry holds {', '.join(logs)}, and the other side is called {other_stem}; "
                       "compare it with a log of one of these names")
    return logs[other_stem]


def comparison_text(found: "DigestComparison", first: str, second: str) -> "Iterator[str]":
    """What was found, a line each."""
    from benchkit.basics.texts import count_of, shown_line

    a, b = shown_line(first), shown_line(second)
    equal = count_of(found.compared, "output that both have is equal", "outputs that both have are equal")
    yield f"{a} and {b}: {sum(group.equal for group in found.groups.values()):,} of {equal}"
    for name, group in found.groups.items():
        yield f"  {name}: {group.equal} of {group.compared} equal{in_brackets(group.share)}"
    yield from (f"  {text}" for text in found.errors.texts(a, b))
    if found.only_first or found.only_second:
        yield f"  on one side only: {count_of(found.only_first, 'trial')} of {a}, {found.only_second:,} of {b}"
    if found.other_asks:
        yield f"  left out, as they were asked something else: {', '.join(map(shown_line, found.other_asks))}"
    if not found.same_settings and not found.settings:
        yield "  the settings of the two differ; which do is not known"
    yield from differences_text("settings", found.settings)
    yield from differences_text("circumstances", found.circumstances)
    yield from parting_text(found)
    yield (f"  equal pairs of outputs inside a case, without cold trials: {a}{in_brackets(found.self_first)}, "
           f"{b}{in_brackets(found.self_second)}")


def differences_text(what: str, found: "tuple[NamedDifference, ...]") -> "Iterator[str]":
    """What differs by name, a line each."""
    if found:
        yield f"  {what} that differ:"
        yield from (f"    {one.place}: {one.one} and {one.other}" for one in found)


def parting_text(found: "DigestComparison") -> "Iterator[str]":
    """Where the first two outputs that differ part, and where the others do."""
    from benchkit.basics.texts import shown_line

    parting = found.parting
    if parting is None:
        return
    where = f"  the first that differs: {trial_text(parting.trial)} ({parting.group})"
    if parting.character is None:
        yield where
    else:
        yield (f"{where}, from character {parting.character + 1} on: \"{shown_line(parting.first_text or '')}\" and "
               f"\"{shown_line(parting.second_text or '')}\"")
    if found.parted_at.total() > 1:
        places = sorted(found.parted_at.elements())
        yield (f"  outputs that differ part at character {places[0] + 1} to {places[-1] + 1}, "
               f"half of them by character {places[(len(places) - 1) // 2] + 1}")


def in_brackets(share: "Fraction | None") -> str:
    """` (98.3 %)`; ` n/a` where nothing could be compared."""
    from benchkit.basics.texts import percent

    return " n/a" if share is None else f" ({percent(share)} %)"


if __name__ == "__main__":
    sys.exit(cli.as_process(main))
