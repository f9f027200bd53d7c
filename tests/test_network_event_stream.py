"""Server-sent events: where one ends, what belongs to it, and what says nothing."""
from __future__ import annotations

import unittest

from benchkit.network.event_stream import EventStream


class Events(unittest.TestCase):
    def data_of(self, *lines: bytes) -> list[bytes]:
        stream = EventStream()
        return [data for data in [*map(stream.take, lines), stream.rest()] if data is not None]

    def test_an_event_is_its_data_lines_up_to_an_empty_line(self) -> None:
        for lines, data in (
                ((b"data: a", b""), [b"a"]), ((b"data:a", b"data:  b", b""), [b"a\n b"]),
                ((b"data: a", b"", b"data: b", b""), [b"a", b"b"]), ((b"data: a", b"", b"", b"data: b"), [b"a", b"b"]),
                ((b"\xef\xbb\xbfdata: a", b""), [b"a"]), ((b"data: \xef\xbb\xbfa", b""), [b"\xef\xbb\xbfa"]),
                ((b": hello", b"event: x", b"id: 7", b"retry: 1", b"data: a", b"foo: bar", b"bare", b""), [b"a"]),
                ((b"data", b"data: a", b""), [b"\na"]), ((b"data:", b"", b"id: 7", b""), []),
                ((b" data: a", b"Data: a", b"datas: a", b""), []), ((), [])):
            with self.subTest(lines):
                self.assertEqual(self.data_of(*lines), data)

    def test_a_body_that_begins_like_json_is_one_thing_to_its_end(self) -> None:
        self.assertEqual(self.data_of(b"", b" {", b"", b'"data": 1', b"}"), [b' {\n\n"data": 1\n}'])
        self.assertEqual(self.data_of(b"\xef\xbb\xbf[1]"), [b"[1]"])

    def test_the_first_line_that_is_no_field_is_kept_and_what_waits_is_counted(self) -> None:
        stream = EventStream()
        for line in (b"data: 1234", b"<html>", b"upstream timed out", b": a comment"):
            stream.take(line)
        self.assertEqual((stream.unknown, stream.size), (b"<html>", 5))
        stream.take(b"")
        self.assertEqual(stream.size, 0)


if __name__ == "__main__":
    unittest.main()
