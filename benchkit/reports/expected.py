"""What was expected of a case, on one line, for a place where its outputs are told.

What does not live here: the expected value whole (text_case.py, page_details.py).
"""
from __future__ import annotations

import json
from collections.abc import Mapping

from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON

LONGEST = 200
_PLAIN = (str, int, float, type(None))


def expected_line(expected: JSON, most: int = LONGEST) -> str:
    """`category: outage, needs_reply: true`, at most `most` characters; nothing where nothing is expected by name."""
    if isinstance(expected, Mapping) and all(isinstance(value, _PLAIN) for value in expected.values()):
        return shown_line(", ".join(f"{name}: {_text(value)}" for name, value in expected.items()), most)
    return "" if expected is None else shown_line(_text(expected), most)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
