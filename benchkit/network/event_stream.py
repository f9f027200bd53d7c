"""Server-sent events, as the standard reads them: lines in, the data of an event out (WHATWG HTML, section 9.2.6).

An event ends at an empty line, its `data` lines belong together, and comments and unknown fields say nothing. A body
that begins like JSON is no event stream: a server that does not stream sends its one object, on however many lines.
"""
from __future__ import annotations

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FIELDS = (b"", b"data", b"event", b"id", b"retry")
"""The fields that the standard knows; a comment has an empty name."""


class EventStream:
    """One body. `unknown` is its first line that is no known field: where no answer came, it may say why."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._has_begun = False
        self.is_json = False
        self.size = 0
        self.unknown = b""

    def take(self, line: bytes) -> bytes | None:
        """Take a line, without its end; the data of the event that it ends, if it ends one that has any."""
        if not self._has_begun:
            line = line.removeprefix(_BYTE_ORDER_MARK)
            self._has_begun = bool(line.strip())
            self.is_json = line.lstrip()[:1] in (b"{", b"[")
        name, _, value = line.partition(b":")
        if self.is_json:
            self._keep(line)
        elif not line:
            return self.rest()
        elif name == b"data":
            self._keep(value.removeprefix(b" "))
        elif name not in _FIELDS:
            self.unknown = self.unknown or line
        return None

    def rest(self) -> bytes | None:
        """The data of the event, or of the JSON, that nothing has ended yet."""
        data = b"\n".join(self._data)
        self._data, self.size = [], 0
        return data or None

    def _keep(self, data: bytes) -> None:
        self._data.append(data)
        self.size += len(data) + 1
