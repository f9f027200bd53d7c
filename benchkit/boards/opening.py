"""What a trial opens with, and the one definition of what is asked at each of its steps.

A step asks: messages so far and schema, and in `gated` also what is for sale. In `single` that is the ask of any
task; in `gated` a changed payload, menu or price is another question, even where no prompt shows it.
What does not live here: making these (game.py), and the trace that keeps them (trace_events.py).
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.canonical import ask_of, request_of, short_digest
from benchkit.basics.values import JSON, Message


@dataclass(frozen=True, slots=True)
class Opening:
    """What a solver is handed, the schema of its messages, and in `gated` the menu and the price list with limits.

    `tools` and `prices` are None in `single`.
    """

    payload: JSON
    schema: Mapping[str, JSON] | None
    tools: Sequence[JSON] | None = None
    prices: Mapping[str, JSON] | None = None

    @property
    def parts(self) -> Sequence[JSON]:
        """All of it as JSON."""
        return [self.payload, self.schema, self.tools, self.prices]

    def ask(self, messages: Sequence[Message]) -> str:
        """What is asked with these messages, whoever answers: 16 hex digits."""
        if self.tools is None:
            return ask_of(messages, self.schema)
        return short_digest({"messages": messages, "schema": self.schema, "payload": self.payload,
                             "tools": self.tools, "prices": self.prices})

    def request(self, messages: Sequence[Message], settings: Mapping[str, JSON], seed: int) -> str:
        """What binds a message of the solver to all that it could see: 16 hex digits."""
        return request_of(self.ask(messages), settings, seed)
