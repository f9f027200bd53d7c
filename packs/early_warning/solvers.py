"""Solvers without a model, in both geometries. Each is called once a message and gives its text.

They read the conversation as any solver does; the view (the payload) is there too. Only `oracle` is handed
the whole case: it shows what full marks look like, and has no place on a board. The text of a function is
its identity for boards, so its numbers and words stand in it. What does not live here: judging (judges.py).
"""
from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from benchkit import JSON, Case, Message, canonical, short_digest
from packs.early_warning.market import for_sale, tools
from packs.early_warning.pages import LAST
from packs.early_warning.values import HARMLESS, INCIDENTS, MENU, SEVERITIES, Truth
from packs.early_warning.wire import question_of, truth_of

_LINE = re.compile(r"^(o\d+) \d\d:\d\d (\w+) (\S+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Line:
    """One observation as it stands in a conversation."""

    id: str
    kind: str
    service: str
    text: str


Solver = Callable[[JSON, int, Sequence[Message]], str]


class Baseline(TypedDict):
    """`answer` takes (view, seed, messages so far); the view is the whole Case if it sees the truth."""

    answer: Callable[..., str]
    sees_truth: bool


def baselines() -> dict[str, Baseline]:
    """All of them, by name."""
    blind: Mapping[str, Solver] = {
        "silent": silent, "alarmist": alarmist, "threshold": threshold, "coin": coin}
    found: dict[str, Baseline] = {
        name: {"answer": solver, "sees_truth": False} for name, solver in blind.items()}
    return {**found, "oracle": {"answer": oracle, "sees_truth": True}}


def silent(view: JSON, seed: int, messages: Sequence[Message]) -> str:
    """Nothing is ever wrong, and nothing shows it."""
    return canonical(
        {"incident": "none", "cause": "none", "severity": "none", "evidence": [], "next": "wait"})


def alarmist(view: JSON, seed: int, messages: Sequence[Message]) -> str:
    """Every alert is a critical incident of the service that has it; the newest one counts."""
    seen = lines_in(messages)
    newest = [line for line in seen if line.kind == "alert"][-1:] or seen[-1:]
    return canonical({"incident": "under_way", "cause": newest[0].service if newest else "none",
                      "severity": "critical", "evidence": [line.id for line in newest], "next": "restart"})


def threshold(view: JSON, seed: int, messages: Sequence[Message]) -> str:
    """A monitoring rule: a reading at 3 times what is usual is an incident, usage of 85 % one that is coming.

    The service with the worst reading is the cause, severity is always high. In `gated` it first buys the
    alerts, then up to 4 readings: of services with an open alert, of what these need, then of what most
    others need.
    """
    seen = lines_in(messages)
    bought = [message["content"] for message in messages if message["role"] == "assistant"]
    if isinstance(view, Mapping) and view.get("geometry") == "gated" and len(bought) < 5 and not is_last(messages):
        if not bought:
            return canonical({"buy": "alerts"})
        services = question_of(view).services
        state = {line.service: "resolved" not in line.text for line in seen if line.kind == "alert"}
        alerted = [name for name, is_open in state.items() if is_open]
        users = {one.name: sum(one.name in other.needs for other in services) for one in services}
        order = [*alerted, *(need for one in services if one.name in alerted for need in one.needs),
                 *sorted(users, key=lambda name: (-users[name], name))]
        offers = [canonical({"buy": "readings", "service": name}) for name in dict.fromkeys(order)]
        return next(offer for offer in offers if offer not in bought)
    worst: dict[str, float] = {}
    cited: dict[str, list[str]] = {}
    for line in seen:
        reading = re.match(r"(?:p95 )?([\d.]+) (?:%|ms).*usual ([\d.]+)", line.text)
        level = re.search(r"(\d+) %", line.text) if line.kind == "usage" else None
        above = float(level[1]) / 85 if level else 0.0
        if reading:
            above = float(reading[1]) / float(reading[2]) / 3
        if above >= 1:
            worst[line.service] = max(above, worst.get(line.service, 0.0))
            cited.setdefault(line.service, []).append(line.id)
    if not worst:
        usual = [line.id for line in seen if "usual" in line.text]
        return canonical({"incident": "none", "cause": "none", "severity": "none", "evidence": usual[-2:],
                          "next": "wait"})
    cause = max(worst, key=lambda name: (worst[name], name))
    # usage ends at 100 %, 1.18 times its limit: what is above that is a reading that hurts already
    incident = "under_way" if worst[cause] > 1.18 else "coming"
    return canonical({"incident": incident, "cause": cause, "severity": "high", "evidence": cited[cause][-3:],
                      "next": "restart"})


def coin(view: JSON, seed: int, messages: Sequence[Message]) -> str:
    """Every field by chance, from what could be said; the seed and the view decide."""
    toss = random.Random(f"{seed}/{short_digest(view)}").random
    services = [one.name for one in question_of(view).services]
    seen = [line.id for line in lines_in(messages)]
    return canonical({
        "incident": INCIDENTS[int(toss() * 3)],
        "cause": [*services, "none"][int(toss() * (len(services) + 1))],
        "severity": SEVERITIES[int(toss() * 4)], "evidence": [seen[int(toss() * len(seen))]] if seen else [],
        "next": MENU[int(toss() * len(MENU))]})


def oracle(view: Case, seed: int, messages: Sequence[Message]) -> str:
    """The truth, with the evidence it has seen; in `gated` it buys until it has seen two pieces of it."""
    truth = truth_of(view)
    seen = frozenset(line.id for line in lines_in(messages))
    has_enough = len(seen & set(truth.supports)) >= 2 or is_last(messages)
    offer = None if has_enough else _best_offer(view, truth, seen)
    if offer is not None:
        return offer
    cited = [name for name in truth.supports if name in seen]
    return canonical({"incident": truth.incident, "cause": truth.cause, "severity": truth.severity,
                      "evidence": cited[-4:], "next": truth.next if truth.next in HARMLESS else "wait"})


def lines_in(messages: Sequence[Message]) -> list[Line]:
    """The observations that a conversation shows, in its order."""
    return [Line(*found) for message in messages if message["role"] == "user"
            for found in _LINE.findall(message["content"])]


def is_last(messages: Sequence[Message]) -> bool:
    """Whether a solver has been told that its next message is its last."""
    return f"{LAST}:" in messages[-1]["content"]


def _best_offer(case: Case, truth: Truth, seen: frozenset[str]) -> str | None:
    """The purchase that shows most of the evidence for its price; None if none shows any."""
    stream = question_of(case.input).observations
    best, text = 0.0, None
    for tool in tools(case):
        for service in tool.services or ("",):
            found = for_sale(stream, tool, service, seen)
            worth = sum(one.id in truth.supports for one in found) / tool.price
            if worth > best:
                call = {"buy": tool.name, "service": service} if tool.services else {"buy": tool.name}
                best, text = worth, canonical(call)
    return text
