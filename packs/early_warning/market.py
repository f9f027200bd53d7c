"""The gated geometry: what may be bought, for how much, and what one message of a solver gets it.

`turn` is pure: the whole state of a game is the steps so far and what is left of the budget. Whoever runs the
game subtracts `Turn.cost`, counts messages, and stops at an answer or at the last one.
What does not live here: the words around it (pages.py), and the log of it (the machinery of boards).
"""
from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchkit import JSON, Case, Fields, Unusable
from packs.early_warning.answers import json_object, read_answer, word
from packs.early_warning.values import Observation, Service, Step, Tool, Turn
from packs.early_warning.wire import observation_to_wire, question_of, seen_ids

UNIT = "minutes"
PRICE_LIST = Path(__file__).with_name("prices.toml")
MOST_AT_ONCE = 5
"""Observations in one purchase, the newest first; buying again gives older ones."""
_SOLD: Mapping[str, tuple[str, bool, tuple[str, ...]]] = {
    "alerts": ("alerts", False, ("alert",)),
    "people": ("tickets, chat", False, ("ticket", "chat")),
    "changes": ("deploys, notices", False, ("deploy", "notice")),
    "readings": ("readings", True, ("latency", "errors", "usage")),
    "logs": ("logs", True, ("log",)),
}


@dataclass(frozen=True, slots=True)
class Prices:
    """The price list: `budget` in `unit`, `steps` in messages of the solver; a job may give other limits.

    The unit is always minutes: `timeliness` counts it against the minutes there are.
    """

    unit: str
    budget: float
    steps: int
    prices: Mapping[str, float]


def prices(path: Path = PRICE_LIST) -> Prices:
    """The price list, read anew at every call. Raises Unusable with file and field."""
    try:
        fields = Fields(tomllib.loads(path.read_text(encoding="utf-8")))
        fields.has_exactly(("unit", "budget", "steps", "prices"))
        listed = fields.inner("prices")
        listed.has_exactly(tuple(_SOLD))
        found = {name: float(listed.integer(name, least=1)) for name in _SOLD}
        return Prices(fields.one_of("unit", (UNIT,)), float(fields.integer("budget", least=1)),
                      fields.integer("steps", least=1), found)
    except OSError as error:
        raise Unusable(f"{path}: it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Unusable(f"{path}: {error}") from error


def tools(case: Case) -> tuple[Tool, ...]:
    """What may be bought in this question, cheapest first."""
    return tools_for(question_of(case.input).services)


def tools_for(services: Sequence[Service]) -> tuple[Tool, ...]:
    """The menu of a service map."""
    listed, names = prices().prices, tuple(one.name for one in services)
    return tuple(Tool(name, says, listed[name], kinds, names if takes_service else ())
                 for name, (says, takes_service, kinds) in _SOLD.items())


def turn(case: Case, said: str, steps: Sequence[Step], left: float) -> Turn:
    """What one message of a solver amounts to; `steps` are those before it, the first being the start page.

    Something that costs more than is left is refused and costs nothing; so is anything that is not sold.
    """
    if read_answer(said) is not None:
        return Turn("answer")
    call = json_object(said)
    if call is None or "buy" not in call:
        return Turn("unreadable", error="that is not one JSON object that buys or answers")
    tool = next((tool for tool in tools(case) if tool.name == word(call["buy"])), None)
    if tool is None:
        return Turn("refused", error="that is not on the menu")
    wanted = call.get("service")
    service = wanted.strip().casefold().rstrip("*") if isinstance(wanted, str) and tool.services else ""
    if tool.services and service not in tool.services:
        return Turn("refused", tool.name, error=f"{tool.name} needs a service of the map")
    is_grounded = not tool.services or _is_known(service, steps)
    if tool.price > left:
        return Turn("refused", tool.name, grounded=is_grounded, error=f"{tool.name} costs more than is left")
    found = for_sale(question_of(case.input).observations, tool, service, seen_ids(steps))
    shown = tuple(observation_to_wire(one) for one in found)
    return Turn("bought", tool.name, shown, tool.price, is_grounded)


def for_sale(
    stream: Sequence[Observation], tool: Tool, service: str, seen: frozenset[str],
) -> tuple[Observation, ...]:
    """What a purchase gives now: the newest of its kinds not seen before, in order of time."""
    wanted = [one for one in stream if one.kind in tool.kinds and one.minute <= 0 and one.id not in seen
              and (not tool.services or one.service == service)]
    return tuple(wanted[-MOST_AT_ONCE:])


def _is_known(service: str, steps: Sequence[Step]) -> bool:
    shown: list[Mapping[str, JSON]] = [one for step in steps for one in step.observations]
    return any(one["service"] == service or service in str(one["text"]).split() for one in shown)
