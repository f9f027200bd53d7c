"""A fake Ollama server for tests: real HTTP on a free loopback port, deterministic replies, faults to order.

    with FakeOllama({"smollm2:135m": "a" * 64}) as server:
        ... --host server.host ...
        server.seen                       every request so far: Seen(at, method, path, body)
        server.chats()                    those that ask a model something: the witness of calls made
        server.answer = function          (model, messages, seed) -> text; the default fits the schema asked for
        server.delay_s = 0.2              how long an answer takes
        server.on_chat = function         called with a Seen before it is answered (look at the log, change the server)
        server.models["smollm2:135m"] = "b" * 64      the tag is re-pointed; del: it is gone
        server.next(status(503), silent(), played("runner_killed_stream"))
                                          the next chats meet these faults, one each; then it answers again
        server.stop(), server.start()     nothing listens; it listens again on the same port

Loading (`messages: []`), /api/version, /api/tags and /api/ps meet no faults of `next`; `server.paths["/api/tags"] =
status(500)` replaces what a path does. One chat is answered at a time, unless it is made with more `slots`.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias

EXCHANGES = Path(__file__).parent / "exchanges"
DIGEST = "5a" * 32
VERSION = "0.32.15"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request: when it came (monotonic seconds), its JSON body (None: none), and over which connection (a port)."""

    at: float
    method: str
    path: str
    body: Any
    headers: Mapping[str, str]
    port: int


class Handler(BaseHTTPRequestHandler):
    """One connection. `send_text`, `send_bytes` and `hang_up` are what faults are made of."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def handle_request(self) -> None:
        fake = self.server.fake
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        with contextlib.suppress(ValueError):
            text = json.loads(text)
        self.close_connection = True
        with contextlib.suppress(OSError):  # a client that left
            fake.handle(self, Seen(time.monotonic(), self.command, self.path, text or None, dict(self.headers),
                                   self.client_address[1]))

    do_GET = do_POST = do_HEAD = handle_request  # noqa: N815 - the base class's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def send_text(self, status: int, body: str, content_type: str = "application/json") -> None:
        """A whole response."""
        data = body.encode("utf-8", "surrogatepass")
        self.send_bytes(f"HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\n"
                        f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        self.go_on()

    def begin_stream(self) -> None:
        """The head of a response in chunks."""
        self.send_bytes(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")

    def send_chunk(self, data: bytes) -> None:
        """One chunk; an empty one ends the response."""
        self.send_bytes(b"%x\r\n%s\r\n" % (len(data), data))
        if not data:
            self.go_on()

    def go_on(self) -> None:
        """The response is whole: the connection may bring another request."""
        self.close_connection = self.server.fake.closing.is_set()

    def send_bytes(self, data: bytes) -> None:
        """Bytes as they are."""
        self.wfile.write(data)
        self.wfile.flush()

    def hang_up(self, *, reset: bool = False) -> None:
        """End the connection at once; with `reset` as a crash does."""
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def wait(self, seconds: float) -> bool:
        """Let time pass; False if the fake is being stopped meanwhile."""
        return not self.server.fake.closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    fake: FakeOllama

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves is no news."""


Fault: TypeAlias = Callable[[Handler, Seen], None]
Answer: TypeAlias = Callable[[str, Sequence[Mapping[str, str]], int], str]


class FakeOllama:
    """The server. Its public fields may be changed while it runs."""

    def __init__(self, models: Mapping[str, str] | None = None, version: str | None = VERSION,
                 slots: int = 1) -> None:
        self.models = dict(models if models is not None else {"smollm2:135m": DIGEST})
        self.remote: set[str] = set()
        self.version = version
        self.answer: Answer | None = None
        self.on_chat: Callable[[Seen], None] = lambda seen: None
        self.delay_s = 0.0
        self.paths: dict[str, Fault] = {}
        self.seen: list[Seen] = []
        self.closing = threading.Event()
        self._faults: list[Fault] = []
        self._slot = threading.BoundedSemaphore(slots)
        self._server: _Server | None = None
        self._port = 0

    @property
    def host(self) -> str:
        """`127.0.0.1:PORT`, for --host and OLLAMA_HOST."""
        return f"127.0.0.1:{self._port}"

    def next(self, *faults: Fault) -> None:
        """What the next chats meet, one each."""
        self._faults += faults

    def chats(self) -> list[Seen]:
        """The requests that asked a model something."""
        return [seen for seen in self.seen if _is_chat(seen)]

    def start(self) -> None:
        """Listen: on a free port the first time, then on the same one."""
        self.closing.clear()
        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._server.fake = self
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more; connections that wait for an answer are let go."""
        if self._server is not None:
            self.closing.set()
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> FakeOllama:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def forget_faults(self) -> None:
        """Answer as usual again."""
        self._faults.clear()

    def handle(self, handler: Handler, seen: Seen) -> None:
        """Answer one request."""
        self.seen.append(seen)
        if seen.path in self.paths:
            self.paths[seen.path](handler, seen)
        elif (seen.method, seen.path) == ("POST", "/api/chat"):
            self._chat(handler, seen)
        elif seen.path == "/api/version" and self.version is not None:
            handler.send_text(200, json.dumps({"version": self.version}))
        elif seen.path in ("/api/tags", "/api/ps"):
            handler.send_text(200, json.dumps({"models": [self._listed(tag) for tag in self.models]}))
        else:
            handler.send_text(404, "404 page not found", "text/plain")

    def _listed(self, tag: str) -> dict[str, Any]:
        remote = {"remote_host": "https://ollama.com:443"} if tag in self.remote else {}
        return {"name": tag, "model": tag, "digest": self.models[tag], "size": 1000, "size_vram": 0,
                "context_length": 4096, "details": {"family": "fake", "parameter_size": "1M"}, **remote}

    def _chat(self, handler: Handler, seen: Seen) -> None:
        if not _is_chat(seen):
            loaded = {**_message(seen.body["model"], ""), "done": True, "done_reason": "load"}
            handler.send_text(200, json.dumps(loaded))
            return
        self.on_chat(seen)
        with self._slot:
            fault = self._faults.pop(0) if self._faults else self._answered
            fault(handler, seen)

    def _answered(self, handler: Handler, seen: Seen) -> None:
        model = seen.body["model"]
        if model not in self.models:
            handler.send_text(404, json.dumps({"error": f"model '{model}' not found"}))
            return
        if not handler.wait(self.delay_s):
            return
        send_reply(handler, seen, self.text_of(seen))

    def text_of(self, seen: Seen) -> str:
        """The answer to a chat: by `answer`, or one that fits the schema."""
        body = seen.body
        return self.text_for(body["model"], body["messages"], body["options"]["seed"], body.get("format"))

    def text_for(
        self, model: str, messages: Sequence[Mapping[str, str]], seed: int, schema: Mapping[str, Any] | None,
    ) -> str:
        """The answer to these messages with this seed, in whatever form they came."""
        if self.answer is not None:
            return self.answer(model, messages, seed)
        mark = hashlib.sha256(json.dumps([model, messages, seed]).encode()).hexdigest()
        return json.dumps(_fitting(schema or {"type": "string"}, random.Random(mark)))


def _is_chat(seen: Seen) -> bool:
    return seen.path == "/api/chat" and isinstance(seen.body, dict) and bool(seen.body.get("messages"))


def _fitting(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """A value that fits a JSON schema of objects, enums, booleans, numbers and strings."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: _fitting(inner, chance) for name, inner in schema.get("properties", {}).items()}
        case "array":
            return [_fitting(schema.get("items", {}), chance)]
        case "boolean":
            return chance.random() < 0.5
        case "integer" | "number":
            return chance.randrange(10)
    return " ".join(chance.choice(["The", "customer", "asks", "again", "for", "help"]) for _ in range(5))


def _message(model: str, content: str) -> dict[str, Any]:
    return {"model": model, "created_at": "2026-11-30T10:00:00Z", "message": {"role": "assistant", "content": content}}


def _line(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields).encode("ascii") + b"\n"


def metrics(text: str) -> dict[str, int]:
    """The figures of a last line: 2 ms to load, 10 ms for 40 tokens of prompt, 5 ms for each 4 letters, 3 ms else."""
    tokens = len(text) // 4 + 1
    return {"total_duration": 15_000_000 + tokens * 5_000_000, "load_duration": 2_000_000, "prompt_eval_count": 40,
            "prompt_eval_duration": 10_000_000, "eval_count": tokens, "eval_duration": tokens * 5_000_000}


def send_reply(handler: Handler, seen: Seen, text: str, **last: Any) -> None:
    """A whole streamed reply of 4 letters a line; `last` changes its last line."""
    model = seen.body["model"]
    handler.begin_stream()
    for start in range(0, len(text), 4):
        handler.send_chunk(_line({**_message(model, text[start:start + 4]), "done": False}))
    handler.send_chunk(_line({**_message(model, ""), "done": True, "done_reason": "stop", **metrics(text), **last}))
    handler.send_chunk(b"")


# The faults. Each is a function of (handler, seen) that does what the server does instead of answering.

def says(text: str, **last: Any) -> Fault:
    """This text, whole; `last` changes the last line (done_reason="length", eval_count=0, ...)."""
    return lambda handler, seen: send_reply(handler, seen, text, **last)


def lines(*raw: bytes, ends: bool = True) -> Fault:
    """A stream of these lines as they are; without `ends` the connection is closed in the middle."""
    def fault(handler: Handler, seen: Seen) -> None:
        handler.begin_stream()
        for line in raw:
            handler.send_chunk(line + b"\n")
        if ends:
            handler.send_chunk(b"")
        else:
            handler.hang_up()
    return fault


def status(code: int, body: str = '{"error":"no"}', content_type: str = "application/json") -> Fault:
    """A whole response with this status."""
    return lambda handler, seen: handler.send_text(code, body, content_type)


def raw_bytes(data: bytes) -> Fault:
    """These bytes in place of a response; then the connection is closed."""
    return lambda handler, seen: handler.send_bytes(data)


def silent(seconds: float = 60.0) -> Fault:
    """Not one byte for so long, whether the client waits or not: the slot stays taken."""
    def fault(handler: Handler, seen: Seen) -> None:
        handler.wait(seconds)
    return fault


def stalls(text: str, seconds: float = 60.0) -> Fault:
    """The text comes, but never an end."""
    def fault(handler: Handler, seen: Seen) -> None:
        handler.begin_stream()
        handler.send_chunk(_line({**_message(seen.body["model"], text), "done": False}))
        handler.wait(seconds)
    return fault


def drips(data: bytes, every_s: float = 0.3) -> Fault:
    """One byte at a time; the last one over and over."""
    def fault(handler: Handler, seen: Seen) -> None:
        sent = 0
        while handler.wait(every_s):
            handler.send_bytes(data[sent:sent + 1] or data[-1:])
            sent += 1
    return fault


def endless(start: bytes, again: bytes) -> Fault:
    """A start, then the same bytes for ever, as fast as they go."""
    def fault(handler: Handler, seen: Seen) -> None:
        handler.send_bytes(start)
        while not handler.server.fake.closing.is_set():
            handler.send_bytes(again)
    return fault


def resets(after: str | None = None) -> Fault:
    """The connection is reset: before any byte, or after this text."""
    def fault(handler: Handler, seen: Seen) -> None:
        if after is not None:
            handler.begin_stream()
            handler.send_chunk(_line({**_message(seen.body["model"], after), "done": False}))
            handler.wait(0.1)  # what is sent at the moment of a reset may be lost with it
        handler.hang_up(reset=True)
    return fault


def played(name: str, number: int = 0) -> Fault:
    """A recorded exchange with a real server, byte for byte (one chunk a line); it ends as that one did."""
    def fault(handler: Handler, seen: Seen) -> None:
        exchange = recorded(name, number)
        headers = dict(exchange["headers"])
        head = "".join(f"{key}: {value}\r\n" for key, value in exchange["headers"])
        handler.send_bytes(f"HTTP/1.1 {exchange['status']} X\r\n{head}\r\n".encode())
        body = exchange["body"].encode("utf-8")
        if "Transfer-Encoding" in headers:
            for line in body.splitlines(keepends=True):
                handler.send_chunk(line)
        else:
            handler.send_bytes(body)
        match exchange["ended"]:
            case "chunked-complete":
                handler.send_chunk(b"")
            case "client-timeout":
                handler.wait(60.0)
            case "peer-closed":
                handler.hang_up()
    return fault


def recorded(name: str, number: int = 0) -> dict[str, Any]:
    """A file of exchanges/, read: {"request_raw", "status", "headers", "body", "ended", ...}."""
    exchange: dict[str, Any] = json.loads((EXCHANGES / f"{name}.json").read_text(encoding="utf-8"))
    if "exchanges" in exchange:
        exchange = exchange["exchanges"][number]
    return exchange
