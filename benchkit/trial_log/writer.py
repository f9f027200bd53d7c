"""Writing a trial log: one writer, one line at a time, and each is on the disk before the call returns.

A torn tail is closed with a newline and named, never cut.
"""
from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from benchkit.basics import json_text
from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.disk.appending import AppendFile, DiskCalls
from benchkit.disk.locking import LockedElsewhere
from benchkit.disk.whole_files import shown_path
from benchkit.trial_log.lines import MOST_LINE_BYTES, Line, LinePosition, SessionLine, bytes_of, line_of
from benchkit.trial_log.reader import TrialLog, read_log
from benchkit.trial_log.scan import scan_trial_line


class LogWriter:
    """The one writer of a log; made by `open`. Use as a context manager, or `close` it.

    `session` is the id of the session that it begins.
    """

    def __init__(self, path: Path, file: AppendFile, session: str, accept_damage: bool) -> None:
        self._path, self._file, self._accepts = path, file, accept_damage
        self.session = session
        self._n = 0
        self._waiting: bytearray | None = None

    @classmethod
    def open(
        cls, path: Path | str, *, session: str | None = None, accept_damage: bool = False,
        calls: DiskCalls | None = None,
    ) -> LogWriter:
        """Make the log if it is missing, and lock it. Nothing is written.

        `session` is the id of the session to begin (16 hex digits; random if None). Raises EnvironmentFailure: another
        run holds it (its process id is named), no locks, read-only; Unusable: a folder.
        """
        try:
            file = AppendFile.open(path, calls)
        except LockedElsewhere:
            holder = ""
            with suppress(KitError):
                sessions = read_log(path, accept_damage=True).sessions
                # the pid is told, never acted on: the holder is whoever has the lock
                holder = f" (process {sessions[-1].line.pid})" if sessions else ""
            raise EnvironmentFailure(f"{shown_path(path)} is in use by another run{holder}; "
                                     "wait for its end, or record into another log") from None
        return cls(Path(path), file, session or secrets.token_hex(8), accept_damage)

    @property
    def has_failed(self) -> bool:
        """Whether a write or a sync failed: then nothing more can be written, not even a stop line."""
        return self._file.has_failed

    def read(self, known: TrialLog | None = None) -> TrialLog:
        """The log as it is, under the lock. Raises Unusable as `read_log` does.

        `known` is what was read before the lock, in the same way; it is taken where nothing was written since.
        """
        if known is not None and known.is_current:
            return known
        return read_log(self._path, accept_damage=self._accepts)

    def begin(self, line: SessionLine, log: TrialLog | None = None) -> TrialLog:
        """Close a torn tail, and write the first line of the session, which names all damage that may be named.

        `log` is what `read` gave, if it was called. Returns the log the session goes on from; a line that had lost
        only its newline counts in it. Raises EnvironmentFailure when the line is not on the disk.
        """
        log = log or self.read()
        if self._file.size > log.size:
            self._file.append(b"\n")
            log = self.read()
        self.write(replace(line, damage=log.harmless))
        return log

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is written within this is recorded when it ends, and not before: one write, one sync.

        That holds where it ends by an error, too. Raises EnvironmentFailure when the lines are not on the disk.
        """
        self._waiting = bytearray()
        try:
            yield
        finally:
            data, self._waiting = bytes(self._waiting), None
            if data:
                self._file.append(data)

    def write(self, line: Line) -> None:
        """Write a line. When this returns, a trial is recorded, and not before; see `together`.

        Raises EnvironmentFailure when the line is not on the disk, ValueError for one that no reader takes.
        """
        if (self._n == 0) != isinstance(line, SessionLine):
            raise RuntimeError("a session is begun once, and before anything else")
        data = bytes_of(line, LinePosition(self.session, self._n))
        # what is in the log stays there: a line that makes it unreadable must not get in
        if len(data) > MOST_LINE_BYTES:
            raise Unusable(f"{shown_path(self._path)}: a line of {len(data):,} bytes is more than a log takes")
        if scan_trial_line(data[:-1]) is None:
            line_of(json_text.parse(data[:-1]))
        if self._waiting is None:
            self._file.append(data)
        else:
            self._waiting += data
        self._n += 1

    def close(self) -> None:
        """Release the lock. Closing twice does nothing."""
        self._file.close()

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
