"""The least that a client of this kind can do in Python: a question, a look, and a line that is written and synced.

    python3 -m benchmarks.bare_client PORT TRIALS FILE

One kept connection to a server on this machine (server.py), nothing read but lengths, nothing judged, shown or checked.
What a kit takes beyond this is its own.
"""
from __future__ import annotations

import argparse
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

QUESTION_BYTES, LINE_BYTES = 1500, 900
"""What the example's questions and lines have."""
CHAT = b"POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % QUESTION_BYTES + b"x" * QUESTION_BYTES
LOOK = b"GET /api/tags HTTP/1.1\r\nHost: x\r\n\r\n"


def ask(connection: socket.socket, request: bytes) -> bytes:
    """The body of a whole answer of an announced length. Raises ConnectionError where it ends before."""
    connection.sendall(request)
    came = b""
    while b"\r\n\r\n" not in came:
        came += _more(connection)
    head, _, body = came.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += _more(connection)
    return body


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the server hung up")
    return data


def run(port: int, trials: int, path: Path) -> None:
    """So many trials, one after the other."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sync = getattr(os, "fdatasync", os.fsync)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(trials):
            ask(connection, CHAT)
            ask(connection, LOOK)
            os.write(file, b"x" * (LINE_BYTES - 1) + b"\n")
            sync(file)
    os.close(file)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the words, and run."""
    flags = argparse.ArgumentParser(prog="python3 -m benchmarks.bare_client", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("port", type=int)
    flags.add_argument("trials", type=int)
    flags.add_argument("file", type=Path)
    options = flags.parse_args(argv)
    run(options.port, options.trials, options.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
