"""`recorded/recordings.json`: the digests of recordings made on several machines, and whether a log equals one.

The kit writes it with a digest a line. In that layout it is read line by line, and no list of digests is ever there as
text; any other JSON of the same content is read whole.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

from benchkit.basics import json_text
from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import pieces_of_list, pieces_of_object, text_of
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON
from benchkit.disk.file_kinds import FileKind, refuse_another_kind
from benchkit.disk.whole_files import MOST_BYTES, open_to_read, read_json, refusal, write_whole
from benchkit.recordings.digests import (
    DIGEST,
    ERROR,
    LogDigests,
    TrialOf,
    digests_in,
    digests_of,
    packed,
    without_tail,
)
from benchkit.recordings.recording import Recording

BOOK_VERSION = 1
_BEGINNING = re.compile(rb'\s*\{\s*"recordings"')
_DIGEST = re.compile(DIGEST)
_LIST_OPENS = re.compile(rb' {6}"(?:[^"\\]|\\.)*": \[\n')
_LIST_LINE = re.compile(rb' {7}(?:"(' + DIGEST.encode("ascii") + rb')"|null)(,?)\n')
_LIST_CLOSES = re.compile(rb" {6}\](,?\n)")
_MOST_LINE_BYTES = 64 * 1024
_IN_PLACE = b"false"
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
    first = next(iter(recordings.values())).sessions[0]
    known = first.environment
    machine = first.hardware or _words(known.get("processor"), known.get("platform"))
    return Entry(label, first.started_at, machine, _words(known.get("server"), known.get("server_version")),
                 {name: digests_of(recording) for name, recording in recordings.items()})


def check_log(name: str, digests: LogDigests, entries: Sequence[Entry]) -> LogCheck:
    """Hold a log against every entry that has its name, in one pass over all; there is at least one."""
    distances = [_Distance(entry.label, entry.logs[name], digests) for entry in entries if name in entry.logs]
    kept = [distance.kept.trials for distance in distances]
    ran = errors = 0
    for case in dict.fromkeys(case for trials in (digests.trials, *kept) for case in trials):
        all_sides = (trials.get(case, ()) for trials in (digests.trials, *kept))
        for number, (here, *others) in enumerate(zip_longest(*all_sides), 1):
            ran += here is not None
            errors += here is not None and here.startswith(ERROR)
            for distance, there in zip(distances, others, strict=True):
                if here != there:
                    distance.take(TrialOf(number, case), there is not None)
    return LogCheck(name, ran, errors, tuple(distance.difference() for distance in distances))


class _Distance:
    """The trials in which a log differs from one entry: how many they are, and the first in the order of running."""

    def __init__(self, label: str, kept: LogDigests, log: LogDigests) -> None:
        self.kept = kept
        self._label, self._different = label, 0
        self._kept_places, self._log_places = _places(kept), _places(log)
        self._first: tuple[tuple[int, bool, int], TrialOf] | None = None

    def take(self, trial: TrialOf, is_kept: bool) -> None:
        """Count a trial that differs."""
        self._different += 1
        if self._first is None or trial.trial <= self._first[1].trial:
            # the entry's trials stand in the entry's order, and before those that only the log has
            place = self._kept_places[trial.case] if is_kept else self._log_places[trial.case]
            ranked = (trial.trial, not is_kept, place), trial
            self._first = ranked if self._first is None else min(self._first, ranked)

    def difference(self) -> DigestDifference:
        """What was counted."""
        return DigestDifference(self._label, self._different, None if self._first is None else self._first[1])


def _places(digests: LogDigests) -> dict[str, int]:
    return {case: place for place, case in enumerate(digests.trials)}


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


# ------------------------------------------------------------------------------------------------- wire

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
            return _entries_of(Fields(outline.value), iter(outline.lists))
        except ValueError:
            pass  # said below, in the words for what really stands there
    try:
        return _entries_of(Fields(read_json(path)), iter(()))
    except ValueError as error:
        raise Unusable(f"{path}: {error}; put the file back, or begin a new one: python3 outputs_digest.py LOG "
                       "--update NEW --label TEXT") from None


@dataclass(frozen=True, slots=True)
class _Outline:
    """A file of digests: its JSON with false in place of every list of digests, and these lists, in order."""

    value: JSON
    lists: tuple[Sequence[str | None], ...]


def _outline_of(path: Path) -> _Outline | None:
    """The outline of a file in the layout that the kit writes; None for any other. Raises Unusable: unreadable."""
    with os.fdopen(open_to_read(path), "rb") as file:
        try:
            return _outline_in(file)
        except OSError as error:
            raise refusal(path, "read", error) from None
        except ValueError:
            return None  # whoever reads it whole then says what is wrong, and where


def _outline_in(file: BinaryIO) -> _Outline | None:
    kept, lists = bytearray(), []
    while line := file.readline(_MOST_LINE_BYTES):
        kept += line
        if line[-1:] != b"\n" or len(kept) > MOST_BYTES:
            return None
        if _LIST_OPENS.fullmatch(line):
            found = _list_from_here(file)
            if found is None:
                return None
            lists.append(found[0])
            kept[-2:] = _IN_PLACE + found[1]
    return _Outline(json_text.parse(bytes(kept)), tuple(lists))


def _list_from_here(file: BinaryIO) -> tuple[Sequence[str | None], bytes] | None:
    """The digests from here on, and what stands behind the bracket after them; None for another layout."""
    kept, has_more = bytearray(), True
    while has_more:
        found = _LIST_LINE.fullmatch(file.readline(_MOST_LINE_BYTES))
        if found is None:
            return None
        kept += packed(None if found[1] is None else found[1].decode("ascii"))
        has_more = bool(found[2])
    closing = _LIST_CLOSES.fullmatch(file.readline(_MOST_LINE_BYTES))
    return None if closing is None else (digests_in(bytes(kept)), closing[1])


def keep_book(path: Path, entries: Sequence[Entry]) -> None:
    """Write the file, whole or not at all; every trial is taken twice, for the digest of all stands first."""
    write_whole(path, (piece.encode("ascii") for piece in _book_pieces(entries)))


def _book_pieces(entries: Sequence[Entry]) -> Iterator[str]:
    listed = pieces_of_list((_entry_pieces(entry) for entry in entries), 1)
    yield from pieces_of_object([("recordings", [str(BOOK_VERSION)]), ("entries", listed)])
    yield "\n"


def _entry_pieces(entry: Entry) -> Iterator[str]:
    known = {"label": entry.label, "recorded_at": entry.recorded_at, "machine": entry.machine, "server": entry.server}
    logs = pieces_of_object(((name, _log_pieces(digests)) for name, digests in entry.logs.items()), 3)
    return pieces_of_object([*((name, [text_of(text)]) for name, text in known.items()), ("logs", logs)], 2)


def _log_pieces(digests: LogDigests) -> Iterator[str]:
    trials = pieces_of_object((
        (case, pieces_of_list(([text_of(text)] for text in without_tail(texts)), 6))
        for case, texts in digests.trials.items()), 5)
    return pieces_of_object([
        ("settings_sha256", [text_of(digests.settings_sha256)]), ("sha256", [text_of(digests.sha256)]),
        ("trials", trials)], 4)


def _entries_of(fields: Fields, lists: Iterator[Sequence[str | None]]) -> tuple[Entry, ...]:
    """The entries; `lists` are those that false stands in place of."""
    fields.version("recordings", BOOK_VERSION)
    fields.has_exactly(("recordings", "entries"))
    entries = tuple(_entry_of_fields(entry, lists) for entry in fields.objects("entries"))
    _check_labels(entries)
    return entries


def _entry_of_fields(fields: Fields, lists: Iterator[Sequence[str | None]]) -> Entry:
    fields.has_exactly(("label", "recorded_at", "machine", "server", "logs"))
    logs = fields.inner("logs")
    return Entry(fields.text("label"), fields.stamp("recorded_at"), fields.text_or_none("machine"),
                 fields.text_or_none("server"), {name: _log_of(logs, name, lists) for name in logs.values})


def _log_of(logs: Fields, name: str, lists: Iterator[Sequence[str | None]]) -> LogDigests:
    if not _is_file_name(name):
        raise ValueError(f"{logs.at(shown_line(name, 60))} is no name of a log")
    fields = logs.inner(name)
    fields.has_exactly(("settings_sha256", "sha256", "trials"))
    trials = fields.inner("trials")
    digests = LogDigests(fields.hex_digits("settings_sha256", 64), {
        case: _list_of(trials, case, lists) for case in trials.values})
    if fields.text("sha256") != digests.sha256:
        raise ValueError(f"{fields.at('sha256')} is not the digest of its trials: one of both was altered")
    return digests


def _list_of(trials: Fields, case: str, lists: Iterator[Sequence[str | None]]) -> Sequence[str | None]:
    found = next(lists, None) if trials.values[case] is False else None
    if found is not None:
        return found
    return tuple(_digest(trials, case, text) for text in trials.sequence(case))


def _digest(trials: Fields, case: str, text: JSON) -> str | None:
    if text is not None and not (isinstance(text, str) and _DIGEST.fullmatch(text)):
        raise ValueError(f"{trials.at(shown_line(case, 60))} holds what is no digest")
    return text


def _check_labels(entries: Sequence[Entry]) -> None:
    labels = [entry.label for entry in entries]
    for number, label in enumerate(labels):
        if label in labels[:number]:
            raise ValueError(f"entries[{number}].label stands twice")


def _is_file_name(name: str) -> bool:
    return bool(name) and shown_line(name) == name and name not in (".", "..") and not _NO_FILE_NAME.search(name)


def _words(*parts: JSON) -> str | None:
    return ", ".join(str(part) for part in parts if part) or None
