"""What a request of /v1/chat/completions says of the kit's own accord, and what of it a server takes.

Servers differ: some refuse a schema, some `stream_options` (Mistral, Databricks), some `max_tokens` (OpenAI's newer
models want `max_completion_tokens`). What is refused at the start is left out of all that follows, and the settings say
so.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchkit.basics.errors import TrialError
from benchkit.basics.values import JSON

FIXED: Mapping[str, JSON] = {"stream": True, "stream_options": {"include_usage": True}}
BY_SCHEMA: Mapping[str, JSON] = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True}}
"""How a schema is asked for; the schema itself stands beside `strict`."""
REFUSED = "refused by the server"
LENGTH, NEW_LENGTH = "max_tokens", "max_completion_tokens"
LENGTHS = (LENGTH, NEW_LENGTH)
_USAGE = "stream_options"
_IS_UNKNOWN = re.compile(
    r"unsupported|not supported|unrecogni[sz]ed|unknown|extra|not permitted|not allowed|unexpected", re.IGNORECASE)
_IN_PASSING = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Takes:
    """What a server takes; `schema` is False as well where the task has none."""

    schema: bool = True
    stream_options: bool = True
    max_tokens: bool = True

    @property
    def fixed(self) -> Mapping[str, JSON]:
        """The fields that are the same in every request."""
        return FIXED if self.stream_options else {key: value for key, value in FIXED.items() if key != _USAGE}

    @property
    def fixed_as_settings(self) -> Mapping[str, JSON]:
        """The same as settings, which name what is left out."""
        return FIXED if self.stream_options else {**FIXED, _USAGE: REFUSED}

    def options(self, options: Mapping[str, JSON]) -> dict[str, JSON]:
        """A model's options, by the names that the server knows."""
        return {NEW_LENGTH if key == LENGTH and not self.max_tokens else key: value for key, value in options.items()}

    def schema_fields(self, schema: Mapping[str, JSON] | None) -> Mapping[str, JSON]:
        """The field that asks for a schema, if one is asked for."""
        if schema is None or not self.schema:
            return {}
        return {"response_format": {
            "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}}

    def less(self, error: TrialError) -> Takes | None:
        """What is left where that was too much; None where the request was not refused, or nothing more can go."""
        said = error.message
        if not refuses_request(error):
            return None
        if self.stream_options and _USAGE in said:
            return replace(self, stream_options=False)
        if self.max_tokens and (NEW_LENGTH in said or (LENGTH in said and _IS_UNKNOWN.search(said))):
            return replace(self, max_tokens=False)
        return replace(self, schema=False) if self.schema else None

    def without(self, other: Takes) -> str:
        """What this leaves out or says otherwise, and the other does not, in words."""
        words = {"takes no schema: none is sent": other.schema and not self.schema,
                 f"takes no {_USAGE}: none are sent": other.stream_options and not self.stream_options,
                 f"takes no {LENGTH}: {NEW_LENGTH} stands in its place": other.max_tokens and not self.max_tokens}
        return ", ".join(text for text, is_so in words.items() if is_so)


def taken_before(recorded: Mapping[str, JSON], *, has_schema: bool) -> Takes:
    """What the server took when a log was begun, by the settings in it; all, where they do not say."""
    options = recorded.get("options")
    return Takes(
        schema=has_schema and recorded.get("response_format") != REFUSED,
        stream_options=recorded.get(_USAGE) != REFUSED,
        max_tokens=not isinstance(options, Mapping) or NEW_LENGTH not in options)


def refuses_request(error: TrialError) -> bool:
    """Whether the server refuses what it was sent. A fault in passing, or no entry at all, teaches nothing of that."""
    status = error.status or 0
    return error.type == "ServerError" and not error.stops and (
        status == 501 or (400 <= status < 500 and status not in _IN_PASSING))
