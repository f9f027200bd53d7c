"""One request: it ends in time whatever the server does, at a signal at once, and nothing is sent elsewhere."""
from __future__ import annotations

import os
import signal
import socket
import threading
import time
import unittest
from unittest import mock

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import Interrupted
from benchkit.network.address import address_of
from benchkit.network.http_client import MOST_LINE_BYTES, Call, Client, Ending, LineReader, Response
from tests import fake_ollama
from tests.commands import HANGS_S, LATE_S
from tests.fake_ollama import FakeOllama, Fault

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Exchanges(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(FakeOllama())
        self.stop = StopRequest()

    def client(self, host: str | None = None) -> Client:
        return Client(address_of(host or self.server.host, "--host"), Clock(), self.stop)

    def get(self, fault: Fault, limit_s: float = 2 * LATE_S, read_line: LineReader | None = None) -> Response:
        self.server.paths["/x"] = fault
        return self.client().send(Call("GET", "/x"), time.monotonic() + limit_s, read_line)

    def test_a_request_ends_at_its_deadline_whatever_the_server_does(self) -> None:
        faults = {
            "silent": fake_ollama.silent(),
            "a byte of the head now and then": fake_ollama.drips(OK + b"X-A: " + b"a" * 1000, 0.02),
            "a byte of the body now and then": fake_ollama.drips(CHUNKED + b"5\r\nabc", 0.02),
            "an endless header line, slowly": fake_ollama.drips(OK + b"X-A: a", 0.01),
            "interim responses for ever": fake_ollama.endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            "a body shorter than announced": fake_ollama.raw_bytes(OK + b"Content-Length: 9\r\n\r\nabc"),
        }
        for name, fault in faults.items():
            with self.subTest(name):
                start = time.monotonic()
                answer = self.get(fault, 0.4)
                self.assertLess(time.monotonic() - start, LATE_S)
                self.assertIn(answer.ending, (Ending.TIMEOUT, Ending.CUT))
                if answer.ending is Ending.TIMEOUT:
                    self.assertGreater(answer.latency_s or 0.0, 0.3)

    def test_more_than_a_reply_may_have_is_cut_off(self) -> None:
        flood = fake_ollama.endless(CHUNKED, b"10000\r\n" + b"a" * 65536 + b"\r\n")
        lines = fake_ollama.endless(CHUNKED, b"10000\r\n" + (b"a" * 63 + b"\n") * 1024 + b"\r\n")
        for name, fault, read_line in (("body", flood, None), ("a line", flood, lambda line, at: False),
                                       ("lines", lines, lambda line, at: False)):
            with self.subTest(name):
                answer = self.get(fault, 20.0, read_line)
                self.assertIs(answer.ending, Ending.TOO_LARGE)
                self.assertLess(len(answer.body), MOST_LINE_BYTES + 2 * 65536)

    def test_a_signal_ends_the_wait_at_once(self) -> None:
        self.server.paths["/x"] = fake_ollama.silent()
        threading.Timer(0.15, setattr, (self.stop, "signal", signal.SIGINT)).start()
        start = time.monotonic()
        with self.assertRaises(Interrupted):
            self.client().send(Call("GET", "/x"), start + 2 * LATE_S)
        self.assertLess(time.monotonic() - start, LATE_S)

    def test_nobody_there_is_refused_and_an_unknown_name_unreachable(self) -> None:
        self.server.stop()
        answer = self.client().send(Call("GET", "/"), time.monotonic() + 2 * LATE_S)
        self.assertEqual((answer.ending, answer.latency_s), (Ending.REFUSED, None))
        unknown = self.client("no-such-host.invalid").send(Call("GET", "/"), time.monotonic() + 2 * LATE_S)
        self.assertIs(unknown.ending, Ending.UNREACHABLE)

    def test_https_to_a_server_without_it_is_said(self) -> None:
        answer = self.client("https://" + self.server.host).send(Call("GET", "/"), time.monotonic() + 2 * LATE_S)
        self.assertEqual((answer.ending, answer.detail), (Ending.UNREACHABLE, "it does not speak https"))

    def test_localhost_is_found_where_only_one_family_listens(self) -> None:
        port = self.server.host.partition(":")[2]
        answer = self.client(f"localhost:{port}").send(Call("GET", "/api/version"), time.monotonic() + 2 * LATE_S)
        self.assertEqual(answer.status, 200)

    def test_no_proxy_is_used(self) -> None:
        dead = "http://127.0.0.1:9"
        with mock.patch.dict(os.environ, {"http_proxy": dead, "HTTP_PROXY": dead, "all_proxy": dead, "no_proxy": ""}):
            self.assertEqual(self.get(fake_ollama.status(200)).status, 200)

    def test_a_redirect_is_not_followed(self) -> None:
        elsewhere = OK.replace(b"200 OK", b"302 Found") + b"Location: /api/version\r\nContent-Length: 0\r\n\r\n"
        self.assertEqual(self.get(fake_ollama.raw_bytes(elsewhere)).status, 302)
        self.assertEqual([seen.path for seen in self.server.seen], ["/x"])

    def test_lines_are_read_as_they_come_and_the_rest_is_left_when_it_is_enough(self) -> None:
        read: list[bytes] = []

        def read_line(line: bytes, at: float) -> bool:
            read.append(line)
            return line == b"two"

        answer = self.get(fake_ollama.lines(b"one", b"", b"two", b"three"), read_line=read_line)
        self.assertEqual((answer.ending, read), (Ending.ENOUGH, [b"one", b"", b"two"]))
        read.clear()
        answer = self.get(fake_ollama.status(200, "one\nlast"), read_line=read_line)
        self.assertEqual((answer.ending, read), (Ending.WHOLE, [b"one", b"last"]))
        for body in ("a\nb\n\nc\n", "a\rb\r\rc\r", "a\r\nb\r\n\r\nc\r\n", "a\nb\r\r\nc"):
            for fault in (fake_ollama.status(200, body), fake_ollama.raw_bytes(CHUNKED + b"".join(
                    b"1\r\n%c\r\n" % letter for letter in body.encode()) + b"0\r\n\r\n")):
                read.clear()
                self.get(fault, read_line=read_line)
                self.assertEqual(read, [b"a", b"b", b"", b"c"], body)

    def test_user_name_and_password_go_to_the_server_and_no_origin_does(self) -> None:
        client = self.client("user:sesame@" + self.server.host)
        client.send(Call("GET", "/x"), time.monotonic() + 2 * LATE_S)
        headers = self.server.seen[0].headers
        self.assertEqual(headers["Authorization"], "Basic dXNlcjpzZXNhbWU=")
        self.assertEqual(headers["Host"], self.server.host)
        self.assertNotIn("Origin", headers)

    def test_an_abandoned_request_leaves_no_thread_behind(self) -> None:
        before = threading.active_count()
        for _ in range(3):
            self.get(fake_ollama.silent(0.2), 0.1)
        end = time.monotonic() + HANGS_S
        while threading.active_count() > before and time.monotonic() < end:
            time.sleep(0.02)
        self.assertLessEqual(threading.active_count(), before)

    def test_an_abandoned_flood_leaves_no_thread_behind_and_lets_the_server_go(self) -> None:
        before = threading.active_count()
        for name, fault in (
                ("interim responses", fake_ollama.endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
                ("trailers", fake_ollama.endless(CHUNKED + b"0\r\n", b"X-A: a\r\n")),
                ("empty lines", fake_ollama.endless(CHUNKED, b"1\r\n\n\r\n"))):
            with self.subTest(name):
                self.get(fault, 0.2)
                end = time.monotonic() + HANGS_S
                while threading.active_count() > before and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertLessEqual(threading.active_count(), before)

    def test_a_server_that_takes_no_connection_is_a_timeout(self) -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            address = f"127.0.0.1:{full.getsockname()[1]}"
            start = time.monotonic()
            answer = self.client(address).send(Call("GET", "/"), start + 0.4)
        self.assertIs(answer.ending, Ending.TIMEOUT)
        self.assertLess(time.monotonic() - start, LATE_S)
