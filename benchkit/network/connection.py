"""From an address to one open connection, over TCP or TLS. Every wait on it ends at the deadline or at a signal.

No connection is used again: what a server sends late, or twice, would be read as the answer to the next request, and
one trial would get the text of another.
"""
from __future__ import annotations

import errno
import io
import queue
import selectors
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from benchkit.basics.clock import Clock, StopRequest
from benchkit.network.address import Address

if TYPE_CHECKING:
    import ssl

SLICE_S = 0.1
CONNECT_S = 2.0
"""So long one endpoint of several is waited for before the next one is tried."""
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY, getattr(errno, "WSAEWOULDBLOCK", -1))
Endpoint: TypeAlias = tuple[int, tuple[Any, ...]]
"""One of the places that a name stands for: the family of addresses, and the address as the socket library has it."""
Given = TypeVar("Given")


class DeadlinePassed(Exception):
    """The time of a request is over."""


class NotReached(Exception):
    """No connection could be made; the text says why, in the kit's words."""


class Refused(NotReached):
    """Nothing listens there."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a request: `at` (monotonic seconds), or a signal."""

    clock: Clock
    stop: StopRequest
    at: float

    def slice_s(self) -> float:
        """Seconds to wait now, more than 0. Raises DeadlinePassed, and Interrupted within a slice of a signal."""
        self.stop.raise_if_wished()
        left = self.at - self.clock.monotonic()
        if left <= 0:
            raise DeadlinePassed
        return min(SLICE_S, left)

    def waited(self, made: socket.socket, step: Callable[[], Given]) -> Given:
        """What a step on a socket gives, however many slices that takes. Raises as `slice_s` does."""
        while True:
            made.settimeout(self.slice_s())
            try:
                return step()
            except TimeoutError:
                continue


class Connection(io.RawIOBase):
    """An open connection, of one thread: a raw stream whose every read ends in time. What goes wrong is an OSError."""

    def __init__(self, made: socket.socket, deadline: Deadline) -> None:
        self._socket, self._deadline = made, deadline
        self._is_answering = False

    def send(self, data: bytes) -> None:
        """Send all of it. Raises as `Deadline.slice_s` does."""
        view = memoryview(data)
        while view:
            view = view[self._deadline.waited(self._socket, lambda: self._socket.send(view)):]  # noqa: B023

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what comes next, and say how many bytes; 0 at the end. Raises as `Deadline.slice_s` does."""
        if self._is_answering and _QUICK_ACK is not None:
            # a server may hold back its next small packet until the last one is acknowledged (Nagle: llama-server
            # does), and Linux likes to do that 40 ms late
            self._socket.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)
        self._is_answering = True
        return self._deadline.waited(self._socket, lambda: self._socket.recv_into(buffer))

    def close(self) -> None:
        """Let go of it; a server that still sends notices."""
        super().close()
        self._socket.close()


class Connections:
    """Opens the connections of a client, for all threads that ask.

    The endpoints of a name are looked up once, and again where none of them can be reached any more; the one that was
    reached last is the first to be tried.
    """

    def __init__(self) -> None:
        self._endpoints: dict[tuple[str, int], tuple[Endpoint, ...]] = {}
        self._tls: ssl.SSLContext | None = None

    def open(self, address: Address, deadline: Deadline) -> Connection:
        """A new connection. Raises NotReached, and as `Deadline.slice_s` does."""
        found: NotReached
        try:
            made = self._connected(address, deadline)
            return Connection(self._secured(made, address, deadline) if address.scheme == "https" else made, deadline)
        except ConnectionRefusedError:
            found = Refused("connection refused")
        except (socket.gaierror, UnicodeError):
            found = NotReached("the host name is unknown")
        except OSError as error:
            import ssl
            if isinstance(error, ssl.SSLCertVerificationError):
                found = NotReached("its certificate could not be verified")
            elif isinstance(error, ssl.SSLError):
                found = NotReached("it does not speak https")
            elif error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL):
                found = NotReached("there is no way to that address")
            else:
                found = NotReached("the connection could not be made")
        self._endpoints.clear()
        raise found

    def numeric_addresses(self, address: Address) -> tuple[str, ...]:
        """The numeric addresses of a name, the one that answered last first; empty where none was looked up yet."""
        return tuple(str(numbers[0]) for _, numbers in self._endpoints.get((address.host, address.port), ()))

    def _connected(self, address: Address, deadline: Deadline) -> socket.socket:
        """A connection to the first endpoint that can be reached. Raises the first one's error if none can."""
        place = address.host, address.port
        found = self._endpoints[place] = self._endpoints.get(place) or resolve(address, deadline)
        errors: list[OSError] = []
        for one in found:
            is_last = one is found[-1]
            soon = deadline if is_last else replace(
                deadline, at=min(deadline.at, deadline.clock.monotonic() + CONNECT_S))
            try:
                made = _connected(one, soon)
            except OSError as error:
                errors.append(error)
            except DeadlinePassed:
                if is_last:
                    raise
                errors.append(TimeoutError(errno.ETIMEDOUT, "no connection"))
            else:
                self._endpoints[place] = (one, *(other for other in found if other is not one))
                return made
        raise errors[0]

    def _secured(self, made: socket.socket, address: Address, deadline: Deadline) -> ssl.SSLSocket:
        import ssl
        try:
            self._tls = self._tls or ssl.create_default_context()
            made = self._tls.wrap_socket(made, server_hostname=address.host, do_handshake_on_connect=False)
            deadline.waited(made, made.do_handshake)
        except BaseException:
            made.close()
            raise
        return made


def resolve(address: Address, deadline: Deadline) -> tuple[Endpoint, ...]:
    """The endpoints to try in turn. Raises OSError or ValueError for a name that has none, and as `Deadline` does.

    Numbers and `localhost` are known here. Any other name is asked of the system, which may take as long as it likes,
    so a thread of its own does that.
    """
    # `localhost` may mean ::1 while the server listens on 127.0.0.1 only
    hosts = ("127.0.0.1", "::1") if address.host == "localhost" else (address.host,)
    try:
        return tuple(one for host in hosts for one in _looked_up(host, address.port, socket.AI_NUMERICHOST))
    except OSError:
        pass  # it is a name
    answers: queue.SimpleQueue[tuple[Endpoint, ...] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_looked_up(address.host, address.port))
        except (OSError, ValueError) as error:  # a label too long for a name is a UnicodeError
            answers.put(error)

    try:
        threading.Thread(target=ask, daemon=True, name="name of a server").start()
    except RuntimeError:
        ask()  # no more threads can be started: then it may take as long as the system likes
    while True:
        try:
            found = answers.get(timeout=deadline.slice_s())
        except queue.Empty:
            continue
        if isinstance(found, Exception):
            raise found
        return found


def _looked_up(host: str, port: int, flags: int = 0) -> tuple[Endpoint, ...]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return tuple((family, numbers) for family, _kind, _protocol, _name, numbers in found)


def _connected(endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    family, numbers = endpoint
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(deadline.slice_s())
        code = made.connect_ex(numbers)
        if code in _UNDER_WAY:
            with selectors.DefaultSelector() as selector:
                selector.register(made, selectors.EVENT_WRITE)
                while not selector.select(deadline.slice_s()):
                    continue
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "no connection")
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        made.close()
        raise
    return made
