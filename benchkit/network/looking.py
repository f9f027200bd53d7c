"""Looking at a server before anything is asked of a model: what it says of itself, as JSON, or in words why not."""
from __future__ import annotations

from collections.abc import Mapping

from benchkit.basics.json_text import mended, parse
from benchkit.basics.values import JSON
from benchkit.network.calls import Ending, quoted
from benchkit.network.exchange import Answer


class NoAnswer(Exception):
    """The server did not say what it was asked, in the kit's words."""


def json_fields(answer: Answer) -> Mapping[str, JSON]:
    """The JSON object of a 200; empty where there is none."""
    if answer.status != 200 or answer.ending not in (Ending.WHOLE, Ending.CLOSED):
        return {}
    try:
        value = mended(parse(answer.body, keep_surrogates=True))
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def what_came(answer: Answer) -> str:
    """What a server sent, or how it did not, for a message."""
    if answer.status is not None and answer.ending in (Ending.WHOLE, Ending.CLOSED):
        said = quoted(answer.body)
        return f"HTTP {answer.status}, {said}" if said else f"HTTP {answer.status}, an empty body"
    if answer.ending is Ending.TIMEOUT:
        return "no answer in time"
    return answer.detail or answer.ending.value


def tokens_of(value: JSON) -> int | None:
    """A number of tokens that a server gives; None where it gives another thing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
