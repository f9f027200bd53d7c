"""From the name of a server to the socket addresses that lead there.

Numbers and `localhost` are known here; any other name is asked of the system, which may take as long as it likes, so
a thread of its own does that.
"""
from __future__ import annotations

import queue
import socket
import threading
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchkit.network.host import Address
from benchkit.network.waiting import Waiting

SocketAddress: TypeAlias = tuple[Any, ...]
"""As the socket library has it: (host, port), and two more for IPv6."""


@dataclass(frozen=True, slots=True)
class Road:
    """One way to a server: the family of addresses, and the address."""

    family: int
    address: SocketAddress


def roads_to(address: Address, waiting: Waiting) -> tuple[Road, ...]:
    """The ways to try in turn. Raises OSError or ValueError for a name that leads nowhere, and as `waiting` does."""
    try:
        return tuple(road for host in address.candidates for road in _looked_up(host, address.port, is_number=True))
    except OSError:
        return _asked(address, waiting)


def _looked_up(host: str, port: int, *, is_number: bool) -> tuple[Road, ...]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST if is_number else 0)
    return tuple(Road(family, address) for family, _kind, _protocol, _name, address in found)


def _asked(address: Address, waiting: Waiting) -> tuple[Road, ...]:
    told: queue.SimpleQueue[tuple[Road, ...] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            told.put(_looked_up(address.host, address.port, is_number=False))
        except (OSError, ValueError) as error:  # a label too long for a name is a UnicodeError
            told.put(error)

    try:
        threading.Thread(target=ask, daemon=True, name="name of a server").start()
    except RuntimeError:
        ask()  # no more threads can be started: then it may take as long as the system likes
    while True:
        try:
            found = told.get(timeout=waiting.slice_s())
        except queue.Empty:
            waiting.meanwhile()
            continue
        if isinstance(found, Exception):
            raise found
        return found
