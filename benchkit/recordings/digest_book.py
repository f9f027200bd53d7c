"""`recorded/recordings.json`: the digests of recordings made on several machines, and whether a log equals one.

The kit writes it with a digest a line. In that layout it is read line by line, and no list of digests is ever there as
text; any other JSON of the same content is read whole.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from benchkit.basics import json_text
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import pieces_of_list, pieces_of_object, text_of
from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import JSON
from benchkit.disk.file_kinds import FileKind, refuse_another_kind
from benchkit.disk.whole_files import MOST_BYTES, open_to_read, read_json, refusal, write_whole
from benchkit.recordings import digests as made
from benchkit.recordings.digests import DIGEST, LogDigests, TrialOf
from benchkit.recordings.recording import Recording

BOOK_VERSION = 1
_BEGINNING = re.compile(rb'\s*\{\s*"recordings"')
_DIGEST = re.compile(DIGEST)
_LIST_OPENS = re.compile(rb' {6}"(?:[^"\\]|\\.)*": \[\n')
_LIST_LINE = re.compile(rb' {7}(?:"(' + DIGEST.encode("ascii") + rb')"|null)(,?)\n')
_LIST_CLOSES = re.compile(rb" {6}\](,?\n)")
_MOST_LINE_BYTES = 64 * 1024
_NO_FILE_NAME = re.compile(r'[/\\:*?"<>|]')


@dataclass(frozen=True, slots=True)
class Entry:
    """One run of the recordings on one machine: digests by the log's file name without suffix."""

    label: str
    recorded_at: str
    machine: str | None
    server: str | None
    logs: Mapping[str, LogDigests]


@dataclass(frozen=True, slots=True)
class DigestDifference:
    """How far a log is from one entry: how many trials differ (or are on one side only), and the first of them."""

    label: str
    different: int
    first: TrialOf | None


@dataclass(frozen=True, slots=True)
class LogCheck:
    """A log held against all entries of its name. It passes if it equals one. `errors` of `ran` gave no output."""

    name: str
    ran: int
    errors: int
    differences: tuple[DigestDifference, ...]

    @property
    def equal(self) -> tuple[str, ...]:
        """The labels of the entries that it equals."""
        return tuple(difference.label for difference in self.differences if not difference.different)

    @property
    def nearest(self) -> DigestDifference:
        """The entry with the fewest differences; of several, the first."""
        return min(self.differences, key=lambda difference: difference.different)


def entry_of(label: str, recordings: Mapping[str, Recording]) -> Entry:
    """The entry of recordings by name; time, machine and server are those of the first one's first session."""
    def words(*parts: JSON) -> str | None:
        return ", ".join(str(part) for part in parts if part) or None

    first = next(iter(recordings.values())).sessions[0]
    known = first.environment
    machine = first.hardware or words(known.get("processor"), known.get("platform"))
    return Entry(label, first.started_at, machine, words(known.get("server"), known.get("server_version")),
                 {name: made.digests_of(recording) for name, recording in recordings.items()})


def check_log(name: str, digests: LogDigests, entries: Sequence[Entry]) -> LogCheck:
    """Hold a log against every entry that has its name, in one pass over all; there is at least one."""
    labels = [entry.label for entry in entries if name in entry.logs]
    sides = [digests.trials, *(entry.logs[name].trials for entry in entries if name in entry.logs)]
    places = [{case: place for place, case in enumerate(side)} for side in sides]
    ran = errors = 0
    different = [0] * len(labels)
    firsts: dict[int, tuple[int, bool, int, TrialOf]] = {}
    for case in dict.fromkeys(case for side in sides for case in side):
        for number, (here, *others) in enumerate(zip_longest(*(side.get(case, ()) for side in sides)), 1):
            ran += here is not None
            errors += here is not None and here.startswith(made.ERROR)
            for at, there in enumerate(others):
                if here != there:
                    different[at] += 1
                    if at not in firsts or number <= firsts[at][0]:
                        # the entry's trials stand in the entry's order, and before those that only the log has
                        place = places[0 if there is None else at + 1][case]
                        ranked = number, there is None, place, TrialOf(number, case)
                        firsts[at] = min(firsts.get(at, ranked), ranked)
    return LogCheck(name, ran, errors, tuple(
        DigestDifference(label, different[at], firsts[at][3] if at in firsts else None)
        for at, label in enumerate(labels)))


def check_text(found: LogCheck) -> str:
    """Which entry a log equals, and how far it is from the others."""
    def told(one: DigestDifference) -> str:
        return f"{shown_line(one.label)}: {count_of(one.different, 'trial differs', 'trials differ')}"

    errors = f" ({found.errors:,} ended in an error)" if found.errors else ""
    ran = f"{found.name}: {count_of(found.ran, 'trial')}{errors}"
    if found.equal:
        others = "".join(f"; {told(one)}" for one in found.differences if one.different)
        return f"{ran}, equal to {', '.join(map(shown_line, found.equal))}{others}"
    return f"{ran}, equal to no entry; nearest {told(found.nearest)}, the first is {found.nearest.first}"


def names_in(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The names of all logs, in order of first appearance."""
    return tuple(dict.fromkeys(name for entry in entries for name in entry.logs))


def entry_named(path: Path, entries: Sequence[Entry], label: str) -> Entry:
    """The entry of that label. Raises Unusable with the labels there are."""
    for entry in entries:
        if entry.label == label:
            return entry
    known = ", ".join(shown_line(entry.label, 60) for entry in entries) or "none"
    raise Unusable(f"{path}: no entry has the label {shown_line(label, 60)}; there are: {known}")


def added(path: Path, entries: Sequence[Entry], entry: Entry) -> tuple[Entry, ...]:
    """The entries and one more. Raises Unusable if its label is there, or a name could be no file's."""
    if any(other.label == entry.label for other in entries):
        raise Unusable(f"{path}: the label {shown_line(entry.label, 60)} is there already; an entry is never "
                       "replaced: give another --label")
    for name in entry.logs:
        if not _is_file_name(name):
            raise Unusable(f"{shown_line(name, 60)}.jsonl: rename the log; its name must be possible on any system")
    return (*entries, entry)


def is_book(path: Path) -> bool:
    """Whether a file holds digests: it begins with the key `recordings`. Raises Unusable if it cannot be read."""
    with os.fdopen(open_to_read(path), "rb") as file:
        return _BEGINNING.match(file.read(200)) is not None


def read_book(path: Path) -> tuple[Entry, ...]:
    """The entries of a file. Raises Unusable with file and field."""
    refuse_another_kind(path, FileKind.DIGESTS)
    outline = _outline_of(path)
    if outline is not None:
        try:
            return _entries_of(Fields(outline[0]), iter(outline[1]))
        except ValueError:
            pass  # said below, in the words for what really stands there
    try:
        return _entries_of(Fields(read_json(path)), iter(()))
    except ValueError as error:
        raise Unusable(f"{path}: {error}; put the file back, or begin a new one: python3 outputs_digest.py LOG "
                       "--update NEW --label TEXT") from None


def _outline_of(path: Path) -> tuple[JSON, list[Sequence[str | None]]] | None:
    """A file in the layout that the kit writes: its JSON, false in place of every list of digests, and these lists.

    None for any other layout: whoever reads that whole says what is wrong, and where. Raises Unusable: unreadable.
    """
    kept, lists = bytearray(), []
    with os.fdopen(open_to_read(path), "rb") as file:
        try:
            while line := file.readline(_MOST_LINE_BYTES):
                kept += line
                if line[-1:] != b"\n" or len(kept) > MOST_BYTES:
                    return None
                if _LIST_OPENS.fullmatch(line):
                    packed, found = bytearray(), None
                    while found is None or found[2]:
                        found = _LIST_LINE.fullmatch(file.readline(_MOST_LINE_BYTES))
                        if found is None:
                            return None
                        packed += made.packed(None if found[1] is None else found[1].decode("ascii"))
                    closing = _LIST_CLOSES.fullmatch(file.readline(_MOST_LINE_BYTES))
                    if closing is None:
                        return None
                    lists.append(made.digests_in(bytes(packed)))
                    kept[-2:] = b"false" + closing[1]
            return json_text.parse(bytes(kept)), lists
        except OSError as error:
            raise refusal(path, "read", error) from None
        except ValueError:
            return None


def keep_book(path: Path, entries: Sequence[Entry]) -> None:
    """Write the file, whole or not at all; every trial is taken twice, for the digest of all stands first."""
    listed = pieces_of_list(map(_entry_pieces, entries), 1)
    pieces = pieces_of_object([("recordings", [str(BOOK_VERSION)]), ("entries", listed)])
    write_whole(path, (piece.encode("ascii") for piece in chain(pieces, "\n")))


def _entry_pieces(entry: Entry) -> Iterator[str]:
    def log_pieces(digests: LogDigests) -> Iterator[str]:
        trials = pieces_of_object((
            (case, pieces_of_list(([text_of(text)] for text in made.without_tail(texts)), 6))
            for case, texts in digests.trials.items()), 5)
        return pieces_of_object([
            ("settings_sha256", [text_of(digests.settings_sha256)]), ("sha256", [text_of(digests.sha256)]),
            ("trials", trials)], 4)

    known = {"label": entry.label, "recorded_at": entry.recorded_at, "machine": entry.machine, "server": entry.server}
    logs = pieces_of_object(((name, log_pieces(digests)) for name, digests in entry.logs.items()), 3)
    return pieces_of_object([*((name, [text_of(text)]) for name, text in known.items()), ("logs", logs)], 2)


def _entries_of(fields: Fields, lists: Iterator[Sequence[str | None]]) -> tuple[Entry, ...]:
    """The entries; `lists` are those that false stands in place of."""
    fields.version("recordings", BOOK_VERSION)
    fields.has_exactly(("recordings", "entries"))
    entries: list[Entry] = []
    for entry in fields.objects("entries"):
        entry.has_exactly(("label", "recorded_at", "machine", "server", "logs"))
        logs = entry.inner("logs")
        entries.append(Entry(
            entry.text("label"), entry.stamp("recorded_at"), entry.text_or_none("machine"),
            entry.text_or_none("server"), {name: _log_of(logs, name, lists) for name in logs.values}))
    labels = [entry.label for entry in entries]
    for number, label in enumerate(labels):
        if label in labels[:number]:
            raise ValueError(f"entries[{number}].label stands twice")
    return tuple(entries)


def _log_of(logs: Fields, name: str, lists: Iterator[Sequence[str | None]]) -> LogDigests:
    def list_of(case: str) -> Sequence[str | None]:
        found = next(lists, None) if trials.values[case] is False else None
        if found is not None:
            return found
        digests = trials.sequence(case)
        if not all(text is None or (isinstance(text, str) and _DIGEST.fullmatch(text)) for text in digests):
            raise ValueError(f"{trials.at(shown_line(case, 60))} holds what is no digest")
        return tuple(text if isinstance(text, str) else None for text in digests)

    if not _is_file_name(name):
        raise ValueError(f"{logs.at(shown_line(name, 60))} is no name of a log")
    fields = logs.inner(name)
    fields.has_exactly(("settings_sha256", "sha256", "trials"))
    trials = fields.inner("trials")
    digests = LogDigests(fields.hex_digits("settings_sha256", 64), {case: list_of(case) for case in trials.values})
    if fields.text("sha256") != digests.sha256:
        raise ValueError(f"{fields.at('sha256')} is not the digest of its trials: one of both was altered")
    return digests


def _is_file_name(name: str) -> bool:
    return bool(name) and shown_line(name) == name and name not in (".", "..") and not _NO_FILE_NAME.search(name)
