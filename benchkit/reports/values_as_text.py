"""JSON values as a person reads them: a text as it is, fields line by line, all else as indented JSON.

What does not live here: cutting and escaping.
"""
from __future__ import annotations

import json
from collections.abc import Mapping

from benchkit.basics.values import JSON

_PLAIN = (str, int, float, type(None))


def value_text(value: JSON) -> str:
    """An input or an expected value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and value and all(isinstance(one, _PLAIN) for one in value.values()):
        return "\n".join(_field_text(name, one) for name, one in value.items())
    return json.dumps(value, indent=1, ensure_ascii=False)


def _field_text(name: str, value: JSON) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"
