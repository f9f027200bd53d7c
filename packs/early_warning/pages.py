"""What a solver reads: the payload of a question, and the messages and schema made of it.

Prompts are short because small models with short contexts must be able to play: the page of `single` stays
below 800 tokens, the start page of `gated` is about 350 and the page after a purchase below 150 (counted with
the tokenizers of smollm2:135m and gemma3:270m; both need a token for each digit).
What does not live here: what is true (never read here), and how messages are sent.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchkit import JSON, Case
from packs.early_warning.market import UNIT, Prices, prices, tools_for
from packs.early_warning.values import (
    GEOMETRIES,
    INCIDENTS,
    MENU,
    NONE,
    SEVERITIES,
    Observation,
    Question,
    Tool,
    Turn,
)
from packs.early_warning.wire import question_of, question_to_wire

SYNTHETIC = "SYNTHETIC: made by a seeded generator; no real system, company or person"
ON_THE_START_PAGE = 2
"""Alerts that the start page of `gated` shows, the newest."""
MOST_EVIDENCE = 4
LAST = "Last message"

_FIELDS = f"""\
incident: none, coming (nobody hurt yet) or under_way
cause: the service where it starts, or none
severity: critical = every entry (*) needs the cause, also through others; high = some do; low = none does; \
none = no incident
evidence: ids of what you saw (o...), 1 to {MOST_EVIDENCE}
next: {', '.join(MENU)}"""
_SINGLE = f"""\
You are on call. Is there an incident? Planned work, healed trouble and noise are none.
Answer with one JSON object:
{_FIELDS}"""


def payload(case: Case, geometry: str = "single") -> dict[str, JSON]:
    """Exactly what a solver is handed: `{"synthetic", "geometry", "now", "services", "observations"}`.

    `single`: all observations up to now; `gated`: the newest alerts only, the rest is for sale. Never what
    came later, never the truth, never the id or the tags. Raises ValueError if the input is no question.
    """
    if geometry not in GEOMETRIES:
        raise ValueError(f"geometry is {geometry!r}, not one of {', '.join(GEOMETRIES)}")
    question = question_of(case.input)
    known = [one for one in question.observations if one.minute <= 0]
    if geometry == "gated":
        known = [one for one in known if one.kind == "alert"][-ON_THE_START_PAGE:]
    shown = Question(question.now, question.services, tuple(known))
    return {"synthetic": SYNTHETIC, "geometry": geometry, **question_to_wire(shown)}


def messages(view: JSON, budget: float | None = None, steps: int | None = None) -> list[dict[str, str]]:
    """The first messages of a game, from a payload: rules, then page.

    `budget` and `steps` are the limits of `gated` (None: those of prices.toml); `single` has none.
    """
    question = question_of(view)
    if _is_gated(view):
        listed = prices()
        menu = tools_for(question.services)
        limits = Prices(listed.unit, listed.budget if budget is None else budget,
                        listed.steps if steps is None else steps, listed.prices)
        return _conversation(_gated_rules(menu, limits), _page(question, "Newest alerts:", limits))
    return _conversation(_SINGLE, _page(question, "Observations:", None))


def schema(view: JSON) -> dict[str, JSON]:
    """The JSON schema of one message: an answer; in `gated` an answer or a purchase."""
    question = question_of(view)
    names = [one.name for one in question.services]
    answer = _object({
        "incident": {"type": "string", "enum": list(INCIDENTS)},
        "cause": {"type": "string", "enum": [*names, NONE]},
        "severity": {"type": "string", "enum": list(SEVERITIES)},
        "evidence": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": MOST_EVIDENCE},
        "next": {"type": "string", "enum": list(MENU)},
    })
    if not _is_gated(view):
        return answer
    menu = tools_for(question.services)
    for_all = _object({"buy": {"type": "string", "enum": [tool.name for tool in menu if not tool.services]}})
    for_one = _object({"buy": {"type": "string", "enum": [tool.name for tool in menu if tool.services]},
                       "service": {"type": "string", "enum": list(names)}})
    return {"anyOf": [for_all, for_one, answer]}


def reply(turn: Turn, left: float, steps_left: int) -> str:
    """What a solver is told after a message that was no answer.

    `left` is the budget after that message's cost, `steps_left` the messages it may still write, at least 1.
    """
    lines = [f"Refused: {turn.error}."] if turn.error else []
    if turn.kind == "bought":
        found = [_observation_of_wire(one) for one in turn.observations]
        lines = [line_of(one) for one in found] or ["Nothing new."]
    return "\n".join([*lines, limits_line(left, steps_left)])


def limits_line(left: float, steps_left: int) -> str:
    """What is left to a solver: `9 minutes left. 4 messages left.`, the last one announced as such."""
    end = f"{LAST}: answer now." if steps_left <= 1 else f"{steps_left} messages left."
    return f"{left:g} {UNIT} left. {end}"


def line_of(one: Observation) -> str:
    """An observation as a solver reads it: `o7 09:31 latency cart: p95 840 ms, usual 210`."""
    return f"{one.id} {one.at} {one.kind} {one.service}: {one.text}"


def _observation_of_wire(wire: Mapping[str, JSON]) -> Observation:
    return question_of({"now": "", "services": [], "observations": [wire]}).observations[0]


def _gated_rules(menu: Sequence[Tool], limits: Prices) -> str:
    for_all = ", ".join(_offer(tool) for tool in menu if not tool.services)
    for_one = ", ".join(_offer(tool) for tool in menu if tool.services)
    return f"""\
You are on call. Is there an incident? Planned work, healed trouble and noise are none.
Each message: one JSON object. Buy, in {limits.unit}: {for_all}; of one service: {for_one}.
{{"buy":"alerts"}} or {{"buy":"logs","service":"..."}}
Or answer, once:
{_FIELDS}"""


def _offer(tool: Tool) -> str:
    says = "" if tool.says == tool.name else f" ({tool.says})"
    return f"{tool.name} {tool.price:g}{says}"


def _page(question: Question, heading: str, limits: Prices | None) -> str:
    services = [f"{one.name}{'*' if one.is_entry else ''}{': ' if one.needs else ''}{', '.join(one.needs)}"
                for one in question.services]
    budget = f" {limits_line(limits.budget, limits.steps)}" if limits else ""
    lines = [line_of(one) for one in question.observations] or ["none"]
    first = f"SYNTHETIC. It is {question.now}.{budget}"
    return "\n".join([first, "Service: needs", *services, heading, *lines])


def _conversation(rules: str, page: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": rules}, {"role": "user", "content": page}]


def _is_gated(view: JSON) -> bool:
    return isinstance(view, Mapping) and view.get("geometry") == "gated"


def _object(properties: dict[str, JSON]) -> dict[str, JSON]:
    return {"type": "object", "properties": properties, "required": list(properties),
            "additionalProperties": False}
