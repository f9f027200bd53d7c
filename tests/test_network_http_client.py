"""One request, on a connection of its own: it ends in time whatever the server does, at a signal at once."""
from __future__ import annotations

import os
import signal
import socket
import ssl
import threading
import time
import unittest
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure, Interrupted
from benchkit.network.address import address_of
from benchkit.network.http_client import Call, Client, Ending, LineReader, Response
from benchkit.network.ollama_protocol import version_of
from tests import fake_ollama
from tests.commands import HANGS_S, LATE_S
from tests.fake_ollama import FakeOllama, Fault, Handler, Seen

LOOK = Call("GET", "/api/version")
CHAT = Call("POST", "/api/chat", b'{"model":"smollm2:135m","messages":[{"role":"user","content":"hi"}],"options":'
                                 b'{"seed":1}}')
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PEM = Path(__file__).parent / "tls" / "for_tests_only.pem"
"""A key and a certificate for 127.0.0.1, signed by itself: good for nothing else."""


class WithServer(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(FakeOllama(slots=4))
        self.stop = StopRequest()
        self.client = self.client_of(self.server.host)

    def client_of(self, host: str) -> Client:
        return Client(address_of(host, "--host"), Clock(), self.stop)

    def send(self, call: Call = LOOK, limit_s: float = 2 * LATE_S, client: Client | None = None,
             read_line: LineReader | None = None) -> Response:
        read_line = (lambda line, at: b'"done": true' in line) if call is CHAT else read_line
        return (client or self.client).send(call, time.monotonic() + limit_s, read_line)

    def get(self, fault: Fault, limit_s: float = 2 * LATE_S, read_line: LineReader | None = None) -> Response:
        self.server.paths["/x"] = fault
        return self.send(Call("GET", "/x"), limit_s, read_line=read_line)

    def assert_interrupted(self) -> None:
        """A signal ends the wait for what the server does at /x."""
        threading.Timer(0.1, setattr, (self.stop, "signal", signal.SIGINT)).start()
        start = time.monotonic()
        with self.assertRaises(Interrupted):
            self.send(Call("GET", "/x"))
        self.assertLess(time.monotonic() - start, LATE_S)

    def assert_timeout(self, client: Client, call: Call = LOOK) -> None:
        """A server that does nothing is left in time."""
        start = time.monotonic()
        self.assertIs(Ending.TIMEOUT, self.send(call, 0.2, client).ending)
        self.assertLess(time.monotonic() - start, LATE_S)


class Exchanges(WithServer):
    def test_a_signal_ends_the_wait_at_once(self) -> None:
        self.server.paths["/x"] = fake_ollama.silent()
        self.assert_interrupted()

    def test_nobody_there_is_refused_and_an_unknown_name_unreachable(self) -> None:
        self.server.stop()
        answer = self.send()
        self.assertEqual((answer.ending, answer.latency_s), (Ending.REFUSED, None))
        for host in ("no-such-host.invalid", "a" * 64 + ".example", "a..b"):
            with self.subTest(host):
                answer = self.send(client=self.client_of(host))
                self.assertEqual((Ending.UNREACHABLE, "the host name is unknown"), (answer.ending, answer.detail))

    def test_https_to_a_server_without_it_is_said(self) -> None:
        answer = self.send(client=self.client_of("https://" + self.server.host))
        self.assertEqual((answer.ending, answer.detail), (Ending.UNREACHABLE, "it does not speak https"))

    def test_localhost_is_found_where_only_one_family_listens(self) -> None:
        port = self.server.host.partition(":")[2]
        self.assertEqual(200, self.send(client=self.client_of(f"localhost:{port}")).status)

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
        self.send(client=self.client_of("user:sesame@" + self.server.host))
        headers = self.server.seen[0].headers
        self.assertEqual(headers["Authorization"], "Basic dXNlcjpzZXNhbWU=")
        self.assertEqual(headers["Host"], self.server.host)
        self.assertNotIn("Origin", headers)

    def test_an_abandoned_request_leaves_no_thread_behind_and_lets_the_server_go(self) -> None:
        before = threading.active_count()
        for name, fault in (
                ("silence", fake_ollama.silent(0.1)),
                ("interim responses", fake_ollama.endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
                ("trailers", fake_ollama.endless(CHUNKED + b"0\r\n", b"X-A: a\r\n")),
                ("empty lines", fake_ollama.endless(CHUNKED, b"1\r\n\n\r\n"))):
            with self.subTest(name):
                self.get(fault, 0.1)
                end = time.monotonic() + HANGS_S
                while threading.active_count() > before and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertLessEqual(threading.active_count(), before)

    def test_a_server_that_takes_no_connection_or_never_reads_or_shakes_hands_is_a_timeout(self) -> None:
        large = Call("POST", "/x", b'"' + b"x" * 20_000_000 + b'"')
        for backlog, scheme, call in ((0, "http", LOOK), (9, "http", large), (9, "https", LOOK)):
            with self.subTest(backlog=backlog, scheme=scheme), socket.socket() as deaf:
                deaf.bind(("127.0.0.1", 0))
                deaf.listen(backlog)
                self.assert_timeout(self.client_of(f"{scheme}://127.0.0.1:{deaf.getsockname()[1]}"), call)

    def test_a_request_larger_than_the_buffers_is_sent_in_pieces(self) -> None:
        self.server.paths["/x"] = fake_ollama.status(200, "ok")
        self.assertEqual(200, self.send(Call("POST", "/x", b'"' + b"x" * 5_000_000 + b'"'), HANGS_S).status)
        self.assertEqual(5_000_000, len(self.server.seen[0].body))


class OneEach(WithServer):
    def test_each_request_has_a_connection_of_its_own_and_says_so(self) -> None:
        for call in (LOOK, LOOK, CHAT, LOOK, CHAT, CHAT):
            self.assertEqual(200, self.send(call).status)
        self.assertEqual(6, len({seen.port for seen in self.server.seen}))
        self.assertEqual({"close"}, {seen.headers["Connection"] for seen in self.server.seen})

    def test_a_request_that_is_lost_is_sent_once(self) -> None:
        for fault in (fake_ollama.raw_bytes(b""), fake_ollama.resets()):
            self.server.next(fault)
            answer = self.send(CHAT)
            self.assertEqual((Ending.CUT, None), (answer.ending, answer.status))
        self.assertEqual(2, len(self.server.chats()))

    def test_a_request_that_is_given_up_closes_its_connection_so_that_the_server_notices(self) -> None:
        noticed = threading.Event()

        def waits(handler: Handler, seen: Seen) -> None:
            noticed.set() if handler.connection.recv(1) == b"" else None

        self.server.paths["/x"] = waits
        self.assertIs(Ending.TIMEOUT, self.send(Call("GET", "/x"), 0.2).ending)
        self.assertTrue(noticed.wait(HANGS_S))


class Names(WithServer):
    def lead_to(self, *places: tuple[str, int], first_takes_s: float = 0.0) -> list[float]:
        """From now on a name leads to these places. When it was looked up."""
        asked: list[float] = []

        def looked_up(host: str, wanted: Any, **more: Any) -> list[Any]:
            if more.get("flags"):
                raise socket.gaierror
            asked.append(time.monotonic())
            time.sleep(first_takes_s if len(asked) == 1 else 0.0)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]

        self.enterContext(mock.patch("socket.getaddrinfo", looked_up))
        return asked

    def test_a_name_is_looked_up_once_and_the_wait_for_it_ends_in_time(self) -> None:
        port = int(self.server.host.partition(":")[2])
        client = self.client_of(f"model.example:{port}")
        asked = self.lead_to(("127.0.0.1", port), first_takes_s=3.0)
        start = time.monotonic()
        self.assertIs(Ending.TIMEOUT, self.send(client=client, limit_s=0.3).ending)
        self.assertLess(time.monotonic() - start, 3.0)
        for _ in range(3):
            self.assertEqual(200, self.send(client=client).status)
        self.assertEqual(2, len(asked))
        self.server.stop()
        self.assertIs(Ending.REFUSED, self.send(client=client).ending)
        self.assertIs(Ending.REFUSED, self.send(client=client).ending)
        self.assertEqual(3, len(asked))  # it may have moved

    def test_of_two_addresses_a_dead_one_is_left_soon_and_not_waited_for_again(self) -> None:
        port = int(self.server.host.partition(":")[2])
        with taking_no_connection() as dead:
            self.enterContext(mock.patch("benchkit.network.connection.CONNECT_S", 1.0))
            self.lead_to(("127.0.0.2", dead), ("127.0.0.1", port))
            client = self.client_of("model.example")
            for least_s, most_s in ((1.0, LATE_S), (0.0, 1.0)):
                start = time.monotonic()
                self.assertEqual(200, self.send(client=client).status)
                self.assertTrue(least_s <= time.monotonic() - start <= most_s, time.monotonic() - start)
        self.assertIn("(127.0.0.1 answers; the name is 127.0.0.2 as well)", client.where)

    def test_where_another_server_answers_at_the_first_address_the_line_says_which_address_that_was(self) -> None:
        port = int(self.server.host.partition(":")[2])
        self.server.version = None
        self.lead_to(("127.0.0.1", port), ("127.0.0.2", port))
        with self.assertRaises(EnvironmentFailure) as caught:
            version_of(self.client_of(f"model.example:{port}"))
        self.assertIn(f"at http://model.example:{port} (127.0.0.1 answers; the name is 127.0.0.2 as well) is not "
                      f"Ollama", str(caught.exception))


@contextmanager
def taking_no_connection() -> Iterator[int]:
    """The port of a listener at 127.0.0.2 whose queue is full: what is sent there is dropped, as by a dead machine."""
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.2", 0))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        yield full.getsockname()[1]


class WithTLS(WithServer):
    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.dict(os.environ, {"SSL_CERT_FILE": str(PEM)}))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
        server = self.server._server
        assert server is not None
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.client = self.client_of(f"https://{self.server.host}")

    def test_requests_follow_each_other(self) -> None:
        for call in (LOOK, CHAT, CHAT):
            self.assertEqual(200, self.send(call).status)

    def test_a_request_ends_at_its_deadline_and_at_a_signal(self) -> None:
        self.server.paths["/x"] = fake_ollama.drips(OK + b"X-A: a", 0.02)
        self.assert_timeout(self.client, Call("GET", "/x"))
        self.assert_interrupted()

    def test_a_large_answer_is_whole(self) -> None:
        text = "x" * 1_000_000
        self.server.paths["/x"] = fake_ollama.status(200, text)
        self.assertEqual(text.encode(), self.send(Call("GET", "/x")).body)

    def test_a_certificate_that_nobody_signed_is_said(self) -> None:
        with mock.patch.dict(os.environ, {"SSL_CERT_FILE": os.devnull}):
            answer = self.send(client=self.client_of(f"https://{self.server.host}"))
        self.assertEqual((Ending.UNREACHABLE, "its certificate could not be verified"), (answer.ending, answer.detail))
