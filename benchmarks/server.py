"""A server that speaks as much of Ollama's protocol as a run needs, and thinks for a set time over each answer.

    python3 -m benchmarks.server SECONDS

It prints its port, and at the end of its standard input how long it was at work: seconds from the first byte of each
request to the last byte of its answer, summed over chats, and over all other requests.
"""
from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

TAG, DIGEST = "benchmark:latest", "b" * 64
OUTPUT = json.dumps({"category": "bug", "priority": "normal", "needs_reply": True, "summary": "Something is wrong."})
LINES = [{"model": TAG, "message": {"role": "assistant", "content": OUTPUT}, "done": False},
         {"model": TAG, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop",
          "total_duration": 1, "load_duration": 1, "prompt_eval_count": 400, "prompt_eval_duration": 1,
          "eval_count": 40, "eval_duration": 1}]
CHAT = b"".join(json.dumps(line).encode() + b"\n" for line in LINES)
DETAILS = {"family": "benchmark", "parameter_size": "0", "quantization_level": "none"}
LOOKS = {
    "/api/version": {"version": "0.13.0"},
    "/api/tags": {"models": [{"name": TAG, "model": TAG, "digest": DIGEST, "details": DETAILS}]},
    "/api/ps": {"models": [{"name": TAG, "model": TAG, "digest": DIGEST, "context_length": 4096, "size": 1,
                            "size_vram": 0, "details": DETAILS}]},
}


class AnsweringServer:
    """Answers chats after `seconds`, everything else at once; adds up how long it was at work."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.chat_s, self.look_s = seconds, 0.0, 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, with as many requests as it brings."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                start = time.perf_counter()
                length = next((int(line.partition(":")[2]) for line in head.lower().split("\r\n")
                               if line.startswith("content-length:")), 0)
                await reader.readexactly(length)
                is_last = "connection: close" in head.lower()
                path = head.split(" ", 2)[1]
                await self._answer(path, writer, is_last)
                self._count(path, time.perf_counter() - start)
                if is_last:
                    break
        writer.close()

    async def _answer(self, path: str, writer: asyncio.StreamWriter, is_last: bool) -> None:
        if path == "/api/chat":
            await asyncio.sleep(self.seconds)
        body = CHAT if path == "/api/chat" else json.dumps(LOOKS[path]).encode()
        closing = "Connection: close\r\n" if is_last else ""
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{closing}\r\n".encode() + body)
        await writer.drain()

    def _count(self, path: str, seconds: float) -> None:
        if path == "/api/chat":
            self.chat_s += seconds
        else:
            self.look_s += seconds


async def serve_until_told(seconds: float) -> None:
    """Serve until standard input ends."""
    answering = AnsweringServer(seconds)
    server = await asyncio.start_server(answering.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(f"{answering.chat_s} {answering.look_s}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the flag, and serve."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.server", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("seconds", type=float, help="from a question to its answer")
    asyncio.run(serve_until_told(flags.parse_args(argv).seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
