"""Texts in files: UTF-8 without a byte order mark, or in words what another program made of them.

Editors and shells on Windows write marks and UTF-16. What does not live here: line ends (a text may have any; where
bytes are summed, trial_log/raw_lines.py and boards/questions.py look at them).
"""
from __future__ import annotations

import re

MARK = b"\xef\xbb\xbf"
CRLF = "its line ends are CRLF: it was copied as text; copy it as it is, or turn them back"
"""Of a file whose bytes are summed: a copy or a checkout has changed them, and nothing of it is lost."""
_UTF_16 = re.compile(rb"\xff\xfe|\xfe\xff|(?:[\t\n\r -~]\x00){2}|(?:\x00[\t\n\r -~]){2}")


def encoding_fault(data: bytes) -> str | None:
    """Why the bytes at the beginning of a text are not UTF-8 as it should be, and what to do; None: nothing is seen."""
    if data.startswith(MARK):
        return "it begins with a byte order mark; save it as UTF-8 without one"
    if _UTF_16.match(data):
        return "it is UTF-16; save it as UTF-8"
    return None


def decoded(data: bytes) -> str:
    """The text. Raises ValueError with what is wrong with its bytes."""
    fault = encoding_fault(data)
    if fault:
        raise ValueError(fault)
    return utf_8(data)


def utf_8(data: bytes) -> str:
    """The same for bytes whose beginning was looked at before."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 at byte {error.start}") from None
