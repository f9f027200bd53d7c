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
from typing import TYPE_CHECKING, Any, TypeAlias

from benchkit.basics.clock import Clock, StopRequest
from benchkit.network.address import Address

if TYPE_CHECKING:
    import ssl

SLICE_S = 0.1
CONNECT_S = 2.0
"""So long one endpoint of several is waited for before the next one is tried."""
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY, getattr(errno, "WSAEWOULDBLOCK", -1))


class DeadlinePassed(Exception):
    """The time of a request is over."""


class NotReached(Exception):
    """No connection could be made, and why, in the kit's words. `is_refused`: nothing listens there."""

    def __init__(self, detail: str, *, is_refused: bool = False) -> None:
        super().__init__(detail)
        self.detail, self.is_refused = detail, is_refused


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a request: `at` (monotonic seconds), or a signal. `meanwhile` is called while nothing comes.

    A wait asks for `slice_s` before each piece of it, and calls `meanwhile` where the piece brought nothing.
    """

    clock: Clock
    stop: StopRequest
    at: float
    meanwhile: Callable[[], None]

    def slice_s(self) -> float:
        """Seconds to wait now, more than 0. Raises DeadlinePassed, and Interrupted within a slice of a signal."""
        self.stop.raise_if_wished()
        left = self.at - self.clock.monotonic()
        if left <= 0:
            raise DeadlinePassed
        return min(SLICE_S, left)

    def within(self, seconds: float) -> Deadline:
        """The same, but no later than so many seconds from now."""
        return replace(self, at=min(self.at, self.clock.monotonic() + seconds))


class Connection(io.RawIOBase):
    """An open connection, of one thread: a raw stream whose every read ends in time. What goes wrong is an OSError."""

    def __init__(self, made: socket.socket, deadline: Deadline) -> None:
        self._socket, self._deadline = made, deadline
        self._is_answering = False

    def send(self, data: bytes) -> None:
        """Send all of it. Raises as `Deadline.slice_s` does."""
        view = memoryview(data)
        while view:
            self._socket.settimeout(self._deadline.slice_s())
            try:
                view = view[self._socket.send(view):]
            except TimeoutError:
                self._deadline.meanwhile()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what comes next, and say how many bytes; 0 at the end. Raises as `Deadline.slice_s` does."""
        if self._is_answering:
            _acknowledge(self._socket)
        self._is_answering = True
        while True:
            self._socket.settimeout(self._deadline.slice_s())
            try:
                return self._socket.recv_into(buffer)
            except TimeoutError:
                self._deadline.meanwhile()

    def close(self) -> None:
        """Let go of it; a server that still sends notices."""
        super().close()
        self._socket.close()


SocketAddress: TypeAlias = tuple[Any, ...]
"""As the socket library has it: (host, port), and two more for IPv6."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One of the places that a name stands for: the family of addresses, and the address."""

    family: int
    address: SocketAddress


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
        try:
            made = self._connected(address, deadline)
            if address.scheme == "https":
                made = self._secured(made, address, deadline)
            return Connection(made, deadline)
        except ConnectionRefusedError:
            found = NotReached("connection refused", is_refused=True)
        except (socket.gaierror, UnicodeError):
            found = NotReached("the host name is unknown")
        except OSError as error:
            found = NotReached(_why_unreachable(error))
        self._endpoints.clear()
        raise found

    def numeric_addresses(self, address: Address) -> tuple[str, ...]:
        """The numeric addresses of a name, the one that answered last first; empty where none was looked up yet."""
        return tuple(str(one.address[0]) for one in self._endpoints.get((address.host, address.port), ()))

    def _connected(self, address: Address, deadline: Deadline) -> socket.socket:
        """A connection to the first endpoint that can be reached. Raises the first one's error if none can."""
        place = address.host, address.port
        found = self._endpoints[place] = self._endpoints.get(place) or resolve(address, deadline)
        errors: list[OSError] = []
        for one in found:
            try:
                made = _connected(one, deadline if one is found[-1] else deadline.within(CONNECT_S))
            except OSError as error:
                errors.append(error)
            except DeadlinePassed:
                if one is found[-1]:
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
            secured = self._tls.wrap_socket(made, server_hostname=address.host, do_handshake_on_connect=False)
        except BaseException:
            made.close()
            raise
        _shake_hands(secured, deadline)
        return secured


def resolve(address: Address, deadline: Deadline) -> tuple[Endpoint, ...]:
    """The endpoints to try in turn. Raises OSError or ValueError for a name that has none, and as `Deadline` does.

    Numbers and `localhost` are known here. Any other name is asked of the system, which may take as long as it likes,
    so a thread of its own does that.
    """
    try:
        return tuple(one for host in address.candidates for one in _looked_up(host, address.port, is_number=True))
    except OSError:
        return _asked(address, deadline)


def _looked_up(host: str, port: int, *, is_number: bool) -> tuple[Endpoint, ...]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST if is_number else 0)
    return tuple(Endpoint(family, address) for family, _kind, _protocol, _name, address in found)


def _asked(address: Address, deadline: Deadline) -> tuple[Endpoint, ...]:
    told: queue.SimpleQueue[tuple[Endpoint, ...] | Exception] = queue.SimpleQueue()

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
            found = told.get(timeout=deadline.slice_s())
        except queue.Empty:
            deadline.meanwhile()
            continue
        if isinstance(found, Exception):
            raise found
        return found


def _acknowledge(made: socket.socket) -> None:
    """Acknowledge what has come at once, where the system can.

    A server may hold back its next small packet until the last one is acknowledged (Nagle: llama-server does), and
    Linux likes to do that 40 ms late.
    """
    if _QUICK_ACK is not None:
        made.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)


def _connected(endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    made = socket.socket(endpoint.family, socket.SOCK_STREAM)
    try:
        made.settimeout(deadline.slice_s())
        code = made.connect_ex(endpoint.address)
        if code in _UNDER_WAY:
            deadline.meanwhile()
            _wait_until_writable(made, deadline)
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "no connection")
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        made.close()
        raise
    return made


def _wait_until_writable(made: socket.socket, deadline: Deadline) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(made, selectors.EVENT_WRITE)
        while not selector.select(deadline.slice_s()):
            deadline.meanwhile()


def _shake_hands(secured: ssl.SSLSocket, deadline: Deadline) -> None:
    try:
        while True:
            secured.settimeout(deadline.slice_s())
            try:
                secured.do_handshake()
                return
            except TimeoutError:
                deadline.meanwhile()
    except BaseException:
        secured.close()
        raise


def _why_unreachable(error: OSError) -> str:
    import ssl
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate could not be verified"
    if isinstance(error, ssl.SSLError):
        return "it does not speak https"
    if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL):
        return "there is no way to that address"
    return "the connection could not be made"
