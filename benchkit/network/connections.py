"""Connections to a server: opened, written to and read from in slices, and kept from one request to the next.

Only this module opens sockets. A kept connection may have been closed at the other end without a word, and a request
that is lost in it must not be sent twice if it costs an answer. So such a request goes over a kept connection only
where looks have shown that the server keeps its side, and soon after the last one.
What does not live here: what the bytes mean (responses.py), and when a connection may be kept (exchange.py).
"""
from __future__ import annotations

import errno
import selectors
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchkit.network.calls import Ending
from benchkit.network.host import Address
from benchkit.network.roads import Road, roads_to
from benchkit.network.waiting import Waiting

if TYPE_CHECKING:
    import ssl

MOST_IDLE_S = 1.0
"""A connection that waited longer is not used again: servers close idle ones, the hastiest after 2 s (gunicorn)."""
_PIECE_BYTES = 65536
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY, getattr(errno, "WSAEWOULDBLOCK", -1))


class NotReached(Exception):
    """No connection could be made: REFUSED or UNREACHABLE, and why, in the kit's words."""

    def __init__(self, ending: Ending, detail: str) -> None:
        super().__init__(detail)
        self.ending, self.detail = ending, detail


class Connection:
    """One connection, used by one thread at a time. What goes wrong on it is an OSError."""

    def __init__(self, made: socket.socket, nothing_yet: type[OSError] = BlockingIOError) -> None:
        """`nothing_yet` is what the socket raises where it would have to wait."""
        self._socket, self._nothing_yet = made, nothing_yet
        self.was_used = False
        self._is_answering = False

    def send(self, data: bytes, waiting: Waiting) -> None:
        """Send all of it. Raises as `waiting` does."""
        view, self._is_answering = memoryview(data), False
        while view:
            self._socket.settimeout(waiting.slice_s())
            try:
                view = view[self._socket.send(view):]
            except TimeoutError:
                waiting.meanwhile()

    def receive(self, waiting: Waiting) -> bytes:
        """What comes next; empty at the end. Raises as `waiting` does."""
        if self._is_answering:
            _acknowledge(self._socket)
        self._is_answering = True
        while True:
            self._socket.settimeout(waiting.slice_s())
            try:
                return self._socket.recv(_PIECE_BYTES)
            except TimeoutError:
                waiting.meanwhile()

    def is_quiet(self) -> bool:
        """Whether it is open, and nothing came that nobody asked for."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except OSError as error:
            return isinstance(error, self._nothing_yet)
        return False

    def close(self) -> None:
        """Let go of it; a server that still sends notices."""
        self._socket.close()


@dataclass(frozen=True, slots=True)
class _Idle:
    """A connection that waits: where it leads, and since when."""

    connection: Connection
    origin: tuple[str, str, int]
    since: float


class Connections:
    """The connections of a client, for all threads that ask: at most one for each of them waits for its next request.

    The ways to the server are looked up once, and again where none of them leads there any more. Without `are_kept`
    each request has a connection of its own.
    """

    def __init__(self, *, are_kept: bool = True) -> None:
        self._idle: list[_Idle] = []
        self._are_kept, self._is_proven = are_kept, False
        self._roads: dict[tuple[str, str, int], tuple[Road, ...]] = {}
        self._tls: ssl.SSLContext | None = None

    @property
    def are_kept(self) -> bool:
        """Whether a connection is kept at all."""
        return self._are_kept

    def take(self, address: Address, now: float, *, is_look: bool) -> Connection | None:
        """A connection that waits, if one may be used: for what is no look, only where looks have come back so."""
        try:
            idle = self._idle.pop()
        except IndexError:
            return None
        may_be_used = idle.origin == _origin(address) and now - idle.since <= MOST_IDLE_S
        if may_be_used and (is_look or self._is_proven):
            if idle.connection.is_quiet():
                return idle.connection
            self.distrust()
        idle.connection.close()
        return None

    def open(self, address: Address, waiting: Waiting) -> Connection:
        """A new connection. Raises NotReached, and as `waiting` does."""
        try:
            made = _first_of(self._roads_to(address, waiting), waiting)
            return Connection(made) if address.scheme == "http" else self._secured(made, address, waiting)
        except ConnectionRefusedError:
            ending, detail = Ending.REFUSED, "connection refused"
        except (socket.gaierror, UnicodeError):
            ending, detail = Ending.UNREACHABLE, "the host name is unknown"
        except OSError as error:
            ending, detail = Ending.UNREACHABLE, _why_unreachable(error)
        self._roads.clear()
        raise NotReached(ending, detail)

    def prove(self) -> None:
        """A look has come back over a connection that was kept."""
        self._is_proven = True

    def give_back(self, connection: Connection, address: Address, now: float) -> None:
        """The connection waits for the next request, if any are kept."""
        connection.was_used = True
        if self._are_kept:
            self._idle.append(_Idle(connection, _origin(address), now))
        else:
            connection.close()

    def distrust(self) -> None:
        """Keep none from now on: the server has closed one without a word, or left an answer without its end."""
        self.close()

    def close(self) -> None:
        """Let go of those that wait, and keep none from now on."""
        self._are_kept = False
        while self._idle:
            self._idle.pop().connection.close()

    def _roads_to(self, address: Address, waiting: Waiting) -> tuple[Road, ...]:
        origin = _origin(address)
        if origin not in self._roads:
            self._roads[origin] = roads_to(address, waiting)
        return self._roads[origin]

    def _secured(self, made: socket.socket, address: Address, waiting: Waiting) -> Connection:
        import ssl
        try:
            self._tls = self._tls or ssl.create_default_context()
            secured = self._tls.wrap_socket(made, server_hostname=address.host, do_handshake_on_connect=False)
        except BaseException:
            made.close()
            raise
        _shake_hands(secured, waiting)
        return Connection(secured, ssl.SSLWantReadError)


def _acknowledge(made: socket.socket) -> None:
    """Acknowledge what has come at once, where the system can.

    A server may hold back its next small packet until the last one is acknowledged (Nagle: llama-server does), and on
    a connection that was used before Linux likes to do that 40 ms late.
    """
    if _QUICK_ACK is not None:
        made.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)


def _origin(address: Address) -> tuple[str, str, int]:
    """Where an address leads, whatever is asked there: a key goes nowhere else."""
    return address.scheme, address.host, address.port


def _first_of(roads: tuple[Road, ...], waiting: Waiting) -> socket.socket:
    """A connection over the first way that leads there; the first one's error if none does."""
    errors: list[OSError] = []
    for road in roads:
        try:
            return _connected(road, waiting)
        except OSError as error:
            errors.append(error)
    raise errors[0]


def _connected(road: Road, waiting: Waiting) -> socket.socket:
    made = socket.socket(road.family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        code = made.connect_ex(road.address)
        if code in _UNDER_WAY:
            _wait_until_writable(made, waiting)
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "no connection")
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        made.close()
        raise
    return made


def _wait_until_writable(made: socket.socket, waiting: Waiting) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(made, selectors.EVENT_WRITE)
        while not selector.select(waiting.slice_s()):
            waiting.meanwhile()


def _shake_hands(secured: ssl.SSLSocket, waiting: Waiting) -> None:
    try:
        while True:
            secured.settimeout(waiting.slice_s())
            try:
                secured.do_handshake()
                return
            except TimeoutError:
                waiting.meanwhile()
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
