"""What differs on Windows, with stand-ins for it: signals, binary files, the console's encoding and line ends.

Locks and syncs of both platforms are in test_disk_locking.py, patience with virus scanners in
test_disk_whole_files.py, names of files in test_hostile_names.py. Nothing of it was tried on the real systems.
"""
from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from benchkit import cli
from benchkit.basics.clock import StopRequest, signals_as_stop_request
from benchkit.basics.errors import Interrupted, Unusable
from benchkit.disk.appending import AppendFile
from benchkit.disk.whole_files import read_whole, write_whole

BREAK = 21


class Signals(unittest.TestCase):
    """Windows has no SIGHUP, and SIGBREAK (Ctrl-Break) besides."""

    def setUp(self) -> None:
        self.handlers: dict[int, Any] = {signal.SIGINT: "python's", signal.SIGTERM: "none", BREAK: "none"}
        windows = SimpleNamespace(
            SIGINT=signal.SIGINT, SIGTERM=signal.SIGTERM, SIGBREAK=BREAK, SIG_IGN=signal.SIG_IGN,
            getsignal=self.handlers.__getitem__, signal=self.handlers.__setitem__)
        self.enterContext(mock.patch("benchkit.basics.clock.signal", windows))

    def test_break_is_a_request_to_stop_as_the_others_are(self) -> None:
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (BREAK, 143)):
            stop, left = StopRequest(), list[int]()
            with signals_as_stop_request(stop, left.append):
                self.handlers[number](number, None)
                self.assertEqual(([], number), (left, stop.signal))
                self.handlers[number](number, None)
            self.assertEqual([code], left)
            with self.assertRaises(Interrupted) as stopped:
                stop.raise_if_wished()
            self.assertEqual(code, stopped.exception.exit_code)

    def test_what_was_there_is_put_back(self) -> None:
        before = dict(self.handlers)
        with signals_as_stop_request(StopRequest(), lambda code: None):
            self.assertNotEqual(before, self.handlers)
        self.assertEqual(before, self.handlers)


class BinaryFiles(unittest.TestCase):
    """Windows turns line ends into two bytes, and ends files at Ctrl-Z, unless a file is opened as binary."""

    def test_every_file_that_is_read_or_written_is_opened_as_binary(self) -> None:
        binary, really_open = 1 << 30, os.open
        asked: list[int] = []

        def opened(path: Any, flags: int, *more: int) -> int:
            asked.append(flags)
            return really_open(path, flags & ~binary, *more)

        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        with mock.patch.object(os, "O_BINARY", binary, create=True), mock.patch.object(os, "open", opened):
            write_whole(folder / "a", [b"1\n2\x1a3\n"])
            with AppendFile.open(folder / "b") as file:
                file.append(b"1\n2\x1a3\n")
            self.assertEqual(read_whole(folder / "a"), read_whole(folder / "b"))
        files = [flags for flags in asked if flags & (os.O_WRONLY | os.O_RDWR)]
        self.assertEqual(2, len(files))
        self.assertTrue(all(flags & binary for flags in files))
        self.assertGreaterEqual(sum(bool(flags & binary) for flags in asked), 4)


class TheConsole(unittest.TestCase):
    """A console of code page 437 or 1252 has few letters, and a pipe gets its line ends as two bytes."""

    def printed(self, encoding: str, text: str, line: str) -> tuple[bytes, bytes]:
        """What a command that prints a text and fails with a line sends to stdout and stderr."""
        def story() -> int:
            cli.put(text)
            raise Unusable(line)

        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\r\n") for _ in range(2)]
        with mock.patch.object(sys, "stdout", streams[0]), mock.patch.object(sys, "stderr", streams[1]):
            self.assertEqual(2, cli.run("x.py", story))
        for stream in streams:
            stream.flush()
        out, err = (stream.detach() for stream in streams)
        assert isinstance(out, io.BytesIO)
        assert isinstance(err, io.BytesIO)
        return out.getvalue(), err.getvalue()

    def test_any_text_is_printed_with_what_it_cannot_show_written_out(self) -> None:
        for encoding, shown in (("cp437", rb"\u65e5\U0001f600 " + b"\x81"), ("cp1252", rb"\u65e5\U0001f600 " + b"\xfc"),
                                ("utf-8", "日😀 ü".encode())):
            with self.subTest(encoding):
                self.assertEqual((shown + b"\r\n" + shown + b"\r\n", b"x.py: " + shown + b"\r\n"),
                                 self.printed(encoding, "日😀 ü\n日😀 ü\n", "日😀 ü"))
