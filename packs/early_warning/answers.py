"""Reading what a solver wrote. Nothing here raises: a text is an answer, a purchase, or neither.

One JSON object is looked for: the whole text, or what stands in a code fence, or from the first brace to the
last, so that talk around it does no harm. Two objects are none: one message is one action.
What does not live here: what an answer is worth (judges.py), and what a purchase gives (market.py).
"""
from __future__ import annotations

import re
from collections.abc import Mapping

from benchkit import JSON, parse
from packs.early_warning.values import DESTRUCTIVE, INCIDENTS, MENU, Answer

_FENCE = re.compile(r"```[a-z]*\s*(\{.*?\})\s*```", re.DOTALL)
_ID = re.compile(r"\bo\d{1,4}\b")
_LEADING_ID = re.compile(r"^\W*(o\d{1,4})\b")


def json_object(text: str) -> Mapping[str, JSON] | None:
    """The one JSON object a text holds, or None."""
    fenced = _FENCE.findall(text)
    start, end = text.find("{"), text.rfind("}")
    candidates = [text, *(fenced if len(fenced) == 1 else ()), text[start:end + 1] if start >= 0 else ""]
    for candidate in candidates:
        try:
            value = parse(candidate.encode("utf-8"))
        except ValueError:
            continue
        if isinstance(value, Mapping):
            return value
    return None


def read_answer(text: str) -> Answer | None:
    """The answer in a text; None if it holds no object whose `incident` is one of the three words."""
    value = json_object(text)
    if value is None or word(value.get("incident")) not in INCIDENTS or "buy" in value:
        return None
    return Answer(word(value["incident"]), _name(value.get("cause")), word(value.get("severity")),
                  _cited(value.get("evidence")), word(value.get("next")))


def word(value: JSON) -> str:
    """A word of a menu as it is meant: "Under way" is under_way. "" for what is no text."""
    return re.sub(r"[\s_-]+", "_", value.strip().casefold()) if isinstance(value, str) else ""


def ids_in(text: str) -> tuple[str, ...]:
    """All that looks like the id of an observation, each once."""
    return tuple(dict.fromkeys(_ID.findall(text.casefold())))


def destructive_words(text: str) -> tuple[str, ...]:
    """What a message does that must never be done.

    Of a readable answer `next` counts, of a purchase `buy`. Of any other text the first word of the menu that
    it names: a menu copied from the prompt begins with harmless words and is no deed.
    """
    value = json_object(text)
    if value is not None and ("buy" in value or read_answer(text) is not None):
        said = " ".join(_texts_in([value.get("next"), value.get("buy")]))
        return tuple(name for name in DESTRUCTIVE if name in word(said))
    flat = word(text)
    first = min((name for name in MENU if name in flat), key=flat.index, default="")
    return (first,) if first in DESTRUCTIVE else ()


def _name(value: JSON) -> str:
    return value.strip().casefold().rstrip("*") if isinstance(value, str) else ""


def _cited(value: JSON) -> tuple[str, ...]:
    """The ids in a list, or in one text; an item that begins with no id stands for itself."""
    if isinstance(value, str):
        return ids_in(value) or ((value.strip(),) if value.strip() else ())
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(_item(item) for item in items))


def _item(item: JSON) -> str:
    found = _LEADING_ID.match(item.casefold()) if isinstance(item, str) else None
    return found.group(1) if found else f"no id: {str(item)[:40]}"


def _texts_in(values: list[JSON]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found.extend(_texts_in(value))
        elif isinstance(value, Mapping):
            found.extend(_texts_in(list(value.values())))
    return found
