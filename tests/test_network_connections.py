"""Connections: kept from one request to the next where that is safe, and no request sent twice that costs an answer."""
from __future__ import annotations

import os
import signal
import socket
import ssl
import threading
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit.basics.clock import Clock, StopWish
from benchkit.basics.errors import Interrupted
from benchkit.network.calls import Call, Ending
from benchkit.network.connections import MOST_IDLE_S, Connection, Connections
from benchkit.network.exchange import Answer, Client
from benchkit.network.host import address_of, with_key
from tests import fake_ollama
from tests.fake_ollama import FakeOllama, Fault, Handler, Seen

LOOK = Call("GET", "/api/version")
CHAT = Call("POST", "/api/chat", b'{"model":"smollm2:135m","messages":[{"role":"user","content":"hi"}],"options":'
                                 b'{"seed":1}}')
DONE = b'{"model":"smollm2:135m","message":{"content":"yes"},"done":true}'
OK = b"HTTP/1.1 200 OK\r\n"
PEM = Path(__file__).parent / "tls" / "for_tests_only.pem"
"""A key and a certificate for 127.0.0.1, signed by itself: good for nothing else."""


class WithServer(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(FakeOllama(slots=4))
        self.now = 0.0
        self.stop = StopWish()
        self.client = self.client_of(self.server.host)

    def client_of(self, host: str) -> Client:
        clock = Clock(monotonic=lambda: time.monotonic() + self.now)
        client = Client(address_of(host, "--host"), clock, self.stop)
        self.addCleanup(client.close)
        return client

    def send(self, call: Call = LOOK, limit_s: float = 5.0, client: Client | None = None) -> Answer:
        client = client or self.client
        return client.send(call, client.clock.monotonic() + limit_s, _is_done if call is CHAT else None)

    def ports(self) -> list[int]:
        """The connections that the requests came over, numbered in the order of their first requests."""
        known = list(dict.fromkeys(seen.port for seen in self.server.seen))
        return [known.index(seen.port) for seen in self.server.seen]


def _is_done(line: bytes, at: float) -> bool:
    return b'"done":true' in line.replace(b" ", b"")


class Kept(WithServer):
    def test_requests_follow_each_other_over_one_connection(self) -> None:
        for call in (LOOK, LOOK, CHAT, LOOK, CHAT, CHAT):
            self.assertEqual(200, self.send(call).status)
        self.assertEqual([0] * 6, self.ports())
        self.assertNotIn("Connection", self.server.seen[0].headers)

    def test_a_chat_waits_until_looks_have_shown_that_the_server_keeps_its_side(self) -> None:
        for call in (LOOK, CHAT, LOOK, CHAT):
            self.send(call)
        self.assertEqual([0, 1, 1, 1], self.ports())

    def test_an_answer_that_says_close_is_the_last_on_its_connection(self) -> None:
        self.server.paths["/x"] = fake_ollama.raw_bytes(OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nok")
        for call in (LOOK, Call("GET", "/x"), LOOK):
            self.assertEqual(Ending.WHOLE, self.send(call).ending)
        self.assertEqual([0, 0, 1], self.ports())

    def test_after_a_refusal_a_new_one_is_taken(self) -> None:
        self.server.paths["/x"] = fake_ollama.status(500)
        self.assertEqual([200, 500, 200], [self.send(call).status for call in (LOOK, Call("GET", "/x"), LOOK)])
        self.assertEqual([0, 0, 1], self.ports())

    def test_one_that_waited_long_is_not_used_again(self) -> None:
        self.send()
        self.now += MOST_IDLE_S + 0.1
        self.send()
        self.send()
        self.assertEqual([0, 1, 1], self.ports())

    def test_bytes_that_nobody_asked_for_end_it(self) -> None:
        answer = OK + b"Content-Length: 2\r\n\r\nok"

        def says_more(handler: Handler, seen: Seen) -> None:
            handler.send_bytes(answer)
            handler.go_on()
            handler.wait(0.1)
            handler.send_bytes(b"more")

        self.server.paths["/x"] = says_more
        self.send(Call("GET", "/x"))
        time.sleep(0.2)
        self.assertEqual(200, self.send().status)
        self.assertEqual([0, 1], self.ports())

    def test_a_request_that_is_given_up_closes_its_connection_so_that_the_server_notices(self) -> None:
        noticed = threading.Event()

        def waits(handler: Handler, seen: Seen) -> None:
            noticed.set() if handler.connection.recv(1) == b"" else None

        self.server.paths["/x"] = waits
        self.send()
        self.assertIs(Ending.TIMEOUT, self.send(Call("GET", "/x"), 0.2).ending)
        self.assertTrue(noticed.wait(2.0))
        self.assertEqual(200, self.send().status)
        self.assertEqual([0, 0, 1], self.ports())

    def test_threads_have_a_connection_each_and_no_more(self) -> None:
        self.send()
        self.send()

        def ask() -> None:
            for _ in range(20):
                self.assertEqual([200, 200], [self.send(CHAT).status, self.send().status])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(2 + 4 * 40, len(self.server.seen))
        self.assertLessEqual(max(self.ports()), 4)

    def test_what_was_kept_is_let_go_and_a_later_request_has_one_of_its_own(self) -> None:
        self.send()
        self.client.close()
        self.send()
        self.send()
        self.assertEqual([0, 1, 2], self.ports())
        self.assertEqual("close", self.server.seen[-1].headers["Connection"])

    def test_an_end_that_comes_a_little_later_than_the_last_line_is_waited_for(self) -> None:
        self.server.next(_ends_after(0.01), _ends_after(0.5), fake_ollama.lines(DONE, b"what nobody reads"))
        self.send()
        self.send()
        latencies = [self.send(CHAT).latency_s or 9.9 for _ in range(3)]
        self.assertLess(max(latencies), 0.4)
        self.assertEqual([0, 0, 0, 0, 1], self.ports())
        self.send()
        self.assertEqual("close", self.server.seen[-1].headers["Connection"])  # a server that is slow is not trusted


def _ends_after(seconds: float) -> Fault:
    def fault(handler: Handler, seen: Seen) -> None:
        handler.begin_stream()
        handler.send_chunk(DONE + b"\n")
        handler.wait(seconds)
        handler.send_chunk(b"")
    return fault


class NotKept(WithServer):
    """A server that closes connections and does not say so."""

    def test_one_that_closes_behind_each_answer_is_asked_over_a_new_one_each_time(self) -> None:
        self.server.keeps = False
        for call in (LOOK, LOOK, CHAT, LOOK, CHAT, CHAT):
            self.assertEqual(200, self.send(call).status)
        self.assertEqual(6, len(set(self.ports())))
        self.assertEqual(3, len(self.server.chats()))
        self.assertEqual("close", self.server.seen[-1].headers["Connection"])

    def test_a_look_that_was_lost_is_sent_again(self) -> None:
        self.server.paths["/x"] = fake_ollama.raw_bytes(b"")
        self.send()
        self.assertIs(Ending.CUT, self.send(Call("GET", "/x")).ending)
        self.assertEqual([0, 0, 1], self.ports())  # once

    def test_a_chat_that_was_lost_is_not(self) -> None:
        self.send()
        self.send()
        for fault in (fake_ollama.raw_bytes(b""), fake_ollama.resets()):
            self.server.next(fault)
            answer = self.send(CHAT)
            self.assertEqual((Ending.CUT, None), (answer.ending, answer.status))
        self.assertEqual(2, len(self.server.chats()))
        self.assertEqual(200, self.send(CHAT).status)

    def test_a_server_that_comes_back_is_asked_over_a_new_one(self) -> None:
        self.send()
        self.send()
        self.server.stop()
        self.server.start()
        self.assertEqual(200, self.send(CHAT).status)
        self.assertEqual(1, len(self.server.chats()))


class Elsewhere(WithServer):
    def test_a_key_goes_over_no_connection_to_another_place(self) -> None:
        with FakeOllama() as other:
            self.send()
            address = with_key(address_of(other.host, "--host"), "sesame-sesame", "KEY")
            elsewhere = Client(address, self.client.clock, self.stop, connections=self.client.connections)
            self.assertEqual(200, self.send(client=elsewhere).status)
            self.assertEqual(["Bearer sesame-sesame"], [seen.headers["Authorization"] for seen in other.seen])
        self.assertEqual(1, len(self.server.seen))

    def test_a_name_is_looked_up_once_and_the_wait_for_it_ends_in_time(self) -> None:
        port = int(self.server.host.partition(":")[2])
        asked: list[float] = []

        def looked_up(host: str, wanted: Any, **more: Any) -> list[Any]:
            if more.get("flags"):
                raise socket.gaierror
            asked.append(time.monotonic())
            if len(asked) == 1:
                time.sleep(0.6)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

        client = self.client_of(f"model.example:{port}")
        with mock.patch("socket.getaddrinfo", looked_up):
            start = time.monotonic()
            self.assertIs(Ending.TIMEOUT, self.send(client=client, limit_s=0.3).ending)
            self.assertLess(time.monotonic() - start, 0.55)
            for _ in range(3):
                self.assertEqual(200, self.send(client=client).status)
                self.now += MOST_IDLE_S + 0.1
            self.assertEqual(2, len(asked))
            self.server.stop()
            self.assertIs(Ending.REFUSED, self.send(client=client).ending)
            self.assertIs(Ending.REFUSED, self.send(client=client).ending)
        self.assertEqual(3, len(asked))  # it may have moved

    def test_names_that_are_none_lead_nowhere(self) -> None:
        for host in ("no-such-host.invalid", "a" * 64 + ".example", "a..b"):
            with self.subTest(host):
                answer = self.send(client=self.client_of(host), limit_s=20)
                self.assertEqual((Ending.UNREACHABLE, "the host name is unknown"), (answer.ending, answer.detail))


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

    def test_requests_follow_each_other_over_one_connection(self) -> None:
        for call in (LOOK, LOOK, CHAT, LOOK, CHAT):
            self.assertEqual(200, self.send(call).status)
        self.assertEqual([0] * 5, self.ports())

    def test_a_request_ends_at_its_deadline_and_at_a_signal(self) -> None:
        self.server.paths["/x"] = fake_ollama.drips(OK + b"X-A: a", 0.02)
        self.assertIs(Ending.TIMEOUT, self.send(Call("GET", "/x"), 0.3).ending)
        threading.Timer(0.15, setattr, (self.stop, "signal", signal.SIGINT)).start()
        start = time.monotonic()
        with self.assertRaises(Interrupted):
            self.send(Call("GET", "/x"))
        self.assertLess(time.monotonic() - start, 0.5)

    def test_a_large_answer_is_whole(self) -> None:
        text = "x" * 1_000_000
        self.server.paths["/x"] = fake_ollama.status(200, text)
        self.assertEqual(text.encode(), self.send(Call("GET", "/x")).body)

    def test_a_certificate_that_nobody_signed_is_said(self) -> None:
        with mock.patch.dict(os.environ, {"SSL_CERT_FILE": os.devnull}):
            answer = self.send(client=self.client_of(f"https://{self.server.host}"))
        self.assertEqual((Ending.UNREACHABLE, "its certificate could not be verified"), (answer.ending, answer.detail))

    def test_a_server_that_never_shakes_hands_is_left_in_time(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            start = time.monotonic()
            client = self.client_of(f"https://127.0.0.1:{silent.getsockname()[1]}")
            self.assertIs(Ending.TIMEOUT, self.send(client=client, limit_s=0.3).ending)
            self.assertLess(time.monotonic() - start, 0.8)


class Pieces(unittest.TestCase):
    def test_a_request_larger_than_the_buffers_is_sent_in_pieces_or_given_up_in_time(self) -> None:
        with FakeOllama() as server:
            client = Client(address_of(server.host, "--host"), Clock(), StopWish())
            server.paths["/x"] = fake_ollama.status(200, "ok")
            body = b'"' + b"x" * 20_000_000 + b'"'
            answer = client.send(Call("POST", "/x", body), time.monotonic() + 20)
            self.assertEqual((200, len(body) - 2), (answer.status, len(server.seen[0].body)))
            client.close()
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen()
            client = Client(address_of(f"127.0.0.1:{deaf.getsockname()[1]}", "--host"), Clock(), StopWish())
            start = time.monotonic()
            self.assertIs(Ending.TIMEOUT, client.send(Call("POST", "/x", body), start + 0.3).ending)
            self.assertLess(time.monotonic() - start, 0.8)

    def test_a_connection_is_quiet_while_nothing_has_come(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            connection = Connection(ours)
            self.assertTrue(connection.is_quiet())
            theirs.sendall(b"x")
            self.assertFalse(connection.is_quiet())
            theirs.close()
            self.assertFalse(connection.is_quiet())

    def test_what_waits_is_never_more_than_was_given_back(self) -> None:
        address = address_of("127.0.0.1:1", "--host")
        connections = Connections()
        pairs = [socket.socketpair() for _ in range(3)]
        for ours, _ in pairs:
            connections.give_back(Connection(ours), address, 0.0)
            self.assertIsNone(connections.take(address, 0.0, is_look=False))  # not proven: it makes room
            self.assertEqual(-1, ours.fileno())
        for _, theirs in pairs:
            theirs.close()


if __name__ == "__main__":
    unittest.main()
