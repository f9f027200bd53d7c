"""A fake server of /v1/chat/completions for tests: a llama-server, or with other fields vLLM, Ollama or a service.

    with FakeOpenAI() as server:
        ... --system openai:toy.gguf --host server.host ...
        server.chats()                    those that ask a model something, the tokens asked for at the start included
        server.key = "sesame-sesame"      401 for whoever does not bring it
        server.takes_schema = False       400 for a response_format
        server.refused = "seed"           400, with `refusal` as its words, for a request with that field
        server.opening = [...]            what comes in place of the first answers to what is asked at the start
        server.model, server.fingerprint  how it signs a reply
        server.listed = None              404 for /v1/models; server.props = None: for /props

Everything else (faults to order, delays, `on_chat`) is as with the fake Ollama, which this is one of.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.fake_ollama import FakeOllama, Fault, Handler, Seen

MODEL = "toy.gguf"
BUILD = "b5576-c9bbc775"
CHAT = "/v1/chat/completions"
PROPS: Mapping[str, Any] = {
    "default_generation_settings": {"n_ctx": 4096, "params": {"top_k": 40, "min_p": 0.05, "seed": 7}},
    "model_path": "/home/someone/models/toy.gguf", "chat_template": "{{ messages }}", "build_info": BUILD,
    "total_slots": 1}


class FakeOpenAI(FakeOllama):
    """The server. Its public fields may be changed while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.key: str | None = None
        self.takes_schema = True
        self.refused, self.refusal = "", "Unsupported parameter"
        self.opening: list[Fault] = []
        self.model: str | None = MODEL
        self.fingerprint: str | None = BUILD
        self.listed: list[Mapping[str, Any]] | None = [
            {"id": MODEL, "object": "model", "owned_by": "llamacpp", "meta": {"n_params": 7, "size": 99}}]
        self.props: Mapping[str, Any] | None = PROPS

    def __enter__(self) -> FakeOpenAI:
        self.start()
        return self

    def chats(self) -> list[Seen]:
        """The requests that asked a model something."""
        return [seen for seen in self.seen if seen.path == CHAT]

    def trials(self) -> list[Seen]:
        """Those of them that are trials."""
        return [seen for seen in self.chats() if seen.body["seed"] > 1000]

    def handle(self, handler: Handler, seen: Seen) -> None:
        """Answer one request."""
        self.seen.append(seen)
        if seen.path in self.paths:
            self.paths[seen.path](handler, seen)
        elif self.key is not None and seen.headers.get("Authorization") != f"Bearer {self.key}":
            handler.send_text(401, error("no such key"))
        elif seen.path == CHAT:
            self._complete(handler, seen)
        elif seen.path == "/v1/models" and self.listed is not None:
            handler.send_text(200, json.dumps({"object": "list", "data": self.listed}))
        elif seen.path == "/props" and self.props is not None:
            handler.send_text(200, json.dumps(self.props))
        else:
            handler.send_text(404, error("File Not Found"))

    def _complete(self, handler: Handler, seen: Seen) -> None:
        self.on_chat(seen)
        is_trial = seen.body["seed"] > 1000
        faults = self._faults if is_trial else self.opening
        fault = faults.pop(0) if faults else self._completed
        fault(handler, seen)

    def _completed(self, handler: Handler, seen: Seen) -> None:
        if self.refused and self.refused in seen.body:
            handler.send_text(400, error(self.refusal))
        elif not self.takes_schema and "response_format" in seen.body:
            handler.send_text(400, error("'response_format' is not supported"))
        elif handler.wait(self.delay_s):
            send_completion(handler, self, self.text_of(seen))

    def text_of(self, seen: Seen) -> str:
        """The answer to a chat: by `answer`, or one that fits the schema."""
        body = seen.body
        wanted = body.get("response_format", {}).get("json_schema", {}).get("schema")
        return self.text_for(body["model"], body["messages"], body["seed"], wanted)


def error(message: str, code: str | int | None = None) -> str:
    """The body of a refusal."""
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "code": code}})


def data(**fields: Any) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps(fields).encode("ascii")


def delta(finish: str | None = None, **said: Any) -> bytes:
    """A piece of the answer (`content="Hel"`), or its end."""
    return data(choices=[{"index": 0, "delta": said, "finish_reason": finish}])


def send_completion(handler: Handler, server: FakeOpenAI, text: str) -> None:
    """A whole streamed reply of 4 letters an event, with usage and llama-server's timings behind it."""
    signed = {"model": server.model, "system_fingerprint": server.fingerprint}
    tokens = len(text) // 4 + 1
    handler.begin_stream()
    for start in range(0, len(text), 4):
        choice = {"index": 0, "delta": {"content": text[start:start + 4]}, "finish_reason": None}
        handler.send_chunk(data(choices=[choice], **signed) + b"\n\n")
    handler.send_chunk(data(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], **signed) + b"\n\n")
    handler.send_chunk(data(
        choices=[], usage={"prompt_tokens": 40, "completion_tokens": tokens, "prompt_tokens_details": {
            "cached_tokens": 30}}, timings={"prompt_ms": 10.0, "predicted_ms": 5.0 * tokens}, **signed) + b"\n\n")
    handler.send_chunk(b"data: [DONE]\n\n")
    handler.send_chunk(b"")


def completes(text: str) -> Fault:
    """This text, whole."""
    def fault(handler: Handler, seen: Seen) -> None:
        fake = handler.server.fake
        assert isinstance(fake, FakeOpenAI)
        send_completion(handler, fake, text)
    return fault


def refuses(code: int, message: str, head: str = "") -> Fault:
    """A whole response with this status; `head` is a header line more."""
    def fault(handler: Handler, seen: Seen) -> None:
        body = error(message).encode("utf-8")
        handler.send_bytes(f"HTTP/1.1 {code} X\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body)
    return fault
