"""Where a server is: the text of --host, OLLAMA_HOST or OPENAI_BASE_URL as an address, by Ollama's own rules."""
from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field, replace

from benchkit.basics.errors import Unusable
from benchkit.basics.secrets import Redactor
from benchkit.basics.texts import shown_line

DEFAULT_PORT = 11434
SCHEME_PORTS = {"http": 80, "https": 443}
_MEANT = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # an address to listen on is none to call
_PRINTABLE = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A server. `host` is without brackets, `prefix` is "" or begins with "/" and ends without one.

    `userinfo` ("user:password") and `key` are for the server alone: they are in no text of the kit, and `redactor`
    finds them in what a server sends.
    """

    scheme: str
    host: str
    port: int
    prefix: str = ""
    userinfo: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    redactor: Redactor = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make once what every line of every reply is held against."""
        _, _, sent = (self.authorization or "").partition(" ")
        _, _, password = (self.userinfo or "").partition(":")
        object.__setattr__(self, "redactor", Redactor((sent, self.userinfo or "", password)))

    @property
    def host_and_port(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """For a person: scheme, host, port and prefix; never the userinfo."""
        return f"{self.scheme}://{self.host_and_port}{self.prefix}"

    @property
    def is_loopback(self) -> bool:
        """Whether what is sent stays on this machine, for certain: a name but `localhost` may lead anywhere."""
        from ipaddress import IPv4Address, ip_address
        try:
            number = ip_address(self.host)
        except ValueError:
            return self.host == "localhost"
        return number.is_loopback if isinstance(number, IPv4Address) else number.compressed == "::1"

    @property
    def authorization(self) -> str | None:
        """The value of the Authorization header; None: none is sent."""
        if self.key is not None:
            return f"Bearer {self.key}"
        if self.userinfo is not None:
            return "Basic " + base64.b64encode(self.userinfo.encode("utf-8")).decode("ascii")
        return None


def address_of(text: str, given_as: str, default_port: int = DEFAULT_PORT) -> Address:
    """The address a text means; "" is the default one. `given_as` names where the text came from.

    `default_port` is that of a text without scheme and port.

    Raises Unusable for a bad port, an unknown scheme, spaces or control characters inside, a query, and for a
    password that would cross a network in the clear.
    """
    text = text.strip().strip("\"'").strip()
    scheme, _, rest = text.rpartition("://")
    authority, _, path = rest.partition("/")
    userinfo, _, authority = authority.rpartition("@")
    shown = re.split("[?#]", rest.rpartition("@")[2])[0]  # what is before an @ or in a query may be a password
    refused = f"{given_as} {shown_line(shown, 100)}: "
    if not _PRINTABLE.fullmatch(authority + path) or any(mark in text for mark in "?#") or "@" in path:
        raise Unusable(refused + "an address is host, host:port or a URL without spaces, ?, # and @ in its path")
    scheme = scheme.lower()
    if scheme and scheme not in SCHEME_PORTS:
        raise Unusable(refused + "the scheme must be http or https")
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        port = port.removeprefix(":")
    elif authority.count(":") > 1:
        host, port = authority, ""  # IPv6 without brackets
    else:
        host, _, port = authority.partition(":")
    if port and not (re.fullmatch(r"[0-9]{1,5}", port) and 0 < int(port) < 65536):
        raise Unusable(refused + "the port must be a number from 1 to 65535")
    prefix = "/" + path.strip("/") if path.strip("/") else ""
    address = Address(scheme or "http", _MEANT.get(host, host).lower(),
                      int(port or SCHEME_PORTS.get(scheme, default_port)), prefix, userinfo or None)
    if userinfo and address.scheme == "http" and not address.is_loopback:
        raise Unusable(refused + "a user name and password are sent over https or to this machine only")
    return address


def with_key(address: Address, key: str, given_as: str) -> Address:
    """The address with a key for it; "" is none. `given_as` names where the key came from.

    Raises Unusable, without the key in it, where it would cross a network in the clear or fits in no header.
    """
    key = key.strip()
    if not key:
        return address
    if not _PRINTABLE.fullmatch(key):
        raise Unusable(f"{given_as} holds something else than printable ASCII: it is no key")
    if address.scheme == "http" and not address.is_loopback:
        raise Unusable(f"{given_as} is not sent to {address.url}: a key goes over https or to this machine only; write "
                       f"https://..., or unset {given_as} if that server wants none")
    if address.userinfo is not None:
        raise Unusable(f"{given_as} is set, and {address.url} was given with a user name: a request has one of them")
    return replace(address, key=key)
