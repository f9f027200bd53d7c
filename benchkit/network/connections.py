"""Connections to a server: opened, written to and read from in slices. Each carries one request.

Only this module opens sockets. No connection is used again: what a server sends late, or twice, would be read as the
answer to the next request, and one trial would get the text of another.
"""
from __future__ import annotations

import errno
import selectors
import socket
from typing import TYPE_CHECKING

from benchkit.network.calls import Ending
from benchkit.network.host import Address
from benchkit.network.roads import Road, roads_to
from benchkit.network.waiting import DeadlinePassed, Waiting

if TYPE_CHECKING:
    import ssl

CONNECT_S = 2.0
"""So long one address of several is waited for before the next one is tried."""
_PIECE_BYTES = 65536
_QUICK_ACK: int | None = getattr(socket, "TCP_QUICKACK", None)
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY, getattr(errno, "WSAEWOULDBLOCK", -1))


class NotReached(Exception):
    """No connection could be made: REFUSED or UNREACHABLE, and why, in the kit's words."""

    def __init__(self, ending: Ending, detail: str) -> None:
        super().__init__(detail)
        self.ending, self.detail = ending, detail


class Connection:
    """One connection, used by one thread. What goes wrong on it is an OSError."""

    def __init__(self, made: socket.socket) -> None:
        self._socket = made
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

    def close(self) -> None:
        """Let go of it; a server that still sends notices."""
        self._socket.close()


class Connections:
    """Opens the connections of a client, for all threads that ask.

    The ways to a server are looked up once, and again where none of them leads there any more; the one that led there
    last is the first to be tried.
    """

    def __init__(self) -> None:
        self._callbacks: dict[tuple[str, int], tuple[Road, ...]] = {}
        self._tls: ssl.SSLContext | None = None

    def open(self, address: Address, waiting: Waiting) -> Connection:
        """A new connection. Raises NotReached, and as `waiting` does."""
        try:
            made = self._connected(address, waiting)
            return Connection(made) if address.scheme == "http" else self._secured(made, address, waiting)
        except ConnectionRefusedError:
            ending, detail = Ending.REFUSED, "connection refused"
        except (socket.gaierror, UnicodeError):
            ending, detail = Ending.UNREACHABLE, "the host name is unknown"
        except OSError as error:
            ending, detail = Ending.UNREACHABLE, _why_unreachable(error)
        self._callbacks.clear()
        raise NotReached(ending, detail)

    def numbers_of(self, address: Address) -> tuple[str, ...]:
        """The numeric addresses that a name led to, the one that answered last first; empty where none did yet."""
        return tuple(str(way.address[0]) for way in self._callbacks.get(_place(address), ()))

    def _connected(self, address: Address, waiting: Waiting) -> socket.socket:
        """A connection over the first way that leads there. Raises the first one's error if none does."""
        place = _place(address)
        ways = self._callbacks[place] = self._callbacks.get(place) or roads_to(address, waiting)
        errors: list[OSError] = []
        for way in ways:
            try:
                made = _connected(way, waiting if way is ways[-1] else waiting.at_most(CONNECT_S))
            except OSError as error:
                errors.append(error)
            except DeadlinePassed:
                if way is ways[-1]:
                    raise
                errors.append(TimeoutError(errno.ETIMEDOUT, "no connection"))
            else:
                self._callbacks[place] = (way, *(other for other in ways if other is not way))
                return made
        raise errors[0]

    def _secured(self, made: socket.socket, address: Address, waiting: Waiting) -> Connection:
        import ssl
        try:
            self._tls = self._tls or ssl.create_default_context()
            secured = self._tls.wrap_socket(made, server_hostname=address.host, do_handshake_on_connect=False)
        except BaseException:
            made.close()
            raise
        _shake_hands(secured, waiting)
        return Connection(secured)


def _acknowledge(made: socket.socket) -> None:
    """Acknowledge what has come at once, where the system can.

    A server may hold back its next small packet until the last one is acknowledged (Nagle: llama-server does), and
    Linux likes to do that 40 ms late.
    """
    if _QUICK_ACK is not None:
        made.setsockopt(socket.IPPROTO_TCP, _QUICK_ACK, 1)


def _place(address: Address) -> tuple[str, int]:
    return address.host, address.port


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
