"""All that a solver can come to see of a question, bought whole; and what it must not be shown. Pure."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case
from benchkit.boards.game import Game, market_of, observations_in, reply_of, turn_of
from benchkit.boards.pack import Pack, Step, Tool, Turn
from benchkit.tasks.modules import named

NOT_UNDERSTOOD = ("unreadable", "answer")


@dataclass(frozen=True, slots=True)
class Sold:
    """What one message brought: what was asked for, in words, what it amounts to, and what the solver is told."""

    item: str
    turn: Turn
    told: tuple[str, ...]


def sold_in(game: Game) -> Iterator[Sold]:
    """Every item bought one after another, with the whole budget each time, again and again while something is new.

    Each is bought as often as the messages and the budget allow for it alone. A message that buys nothing comes first.
    Raises Unusable where the pack fails, or no message that is known buys an item.
    """
    if game.messages_left < 2:
        return  # the only message is the answer
    steps = [Step(None, observations_in(game.opening.payload))]
    yield _sold(game, "a message that buys nothing", "", steps)
    items = list(_items(game, steps))
    seen: set[str] = set()
    for times in range(1, game.messages_left):
        before = len(seen)
        for item, said, price in items:
            if times > 1 and times * price > game.budget:
                continue
            sold = _sold(game, item, said, steps)
            yield sold
            steps.append(Step(said, sold.turn.observations, sold.turn.cost, sold.turn.grounded, sold.turn.error))
            seen.update(map(canonical, sold.turn.observations))
        if len(seen) == before:
            return


def _sold(game: Game, item: str, said: str, steps: Sequence[Step]) -> Sold:
    turn = turn_of(game, said, steps, game.budget)
    left = max(0.0, game.budget - turn.cost)
    if turn.kind == "answer":
        return Sold(item, turn, ())  # nothing follows an answer
    return Sold(item, turn, tuple(reply_of(game, turn, left, steps_left) for steps_left in (game.messages_left - 1, 1)))


def _items(game: Game, steps: Sequence[Step]) -> Iterator[tuple[str, str, float]]:
    """(item in words, the message that buys it, its price) of all that is on the menu."""
    for tool in market_of(game).tools(game.case):
        for service in tool.services or (None,):
            item = tool.name if service is None else f"{tool.name} of {service}"
            said = next((said for said in _messages(game, tool, service)
                         if turn_of(game, said, steps, game.budget).kind not in NOT_UNDERSTOOD), None)
            if said is None:
                raise Unusable(f"{game.place}: no message that is known buys {shown_line(item, 80)}, so it cannot be "
                               "looked at for the truth; give the pack a function purchase(tool, service) that says it")
            yield item, said, tool.price


def _messages(game: Game, tool: Tool, service: str | None) -> tuple[str, ...]:
    """What a solver may say to buy it: what the pack says, or else the usual forms."""
    purchase = market_of(game).purchase
    if purchase is not None:
        return (purchase(tool, service),)
    words = tool.name if service is None else f"{tool.name} {service}"
    call = {"buy": tool.name} if service is None else {"buy": tool.name, "service": service}
    return canonical(call), words, f"buy {words}"


_Made = TypeVar("_Made")


def of_pack(pack: Pack, case: Case, what: str, make: Callable[[], _Made]) -> _Made:
    """What a function of the pack gives for a case. Raises Unusable that names pack, case and function."""
    with named(f"pack {pack.module}, case {shown_line(case.id, 80)}: {what}"):
        return make()


def leaked_terms(pack: Pack, case: Case, text: str) -> tuple[str, ...]:
    """The truth terms of a case that stand in a text, however cased."""
    folded = text.casefold()
    return tuple(term for term in of_pack(pack, case, "truth_terms", lambda: pack.truth_terms(case))
                 if term.casefold() in folded)


def text_of(value: JSON) -> str:
    """All that a value says: as JSON, in which a term can span names and values, and each text as it is read."""
    return "\n".join([canonical(value), *_texts_in(value)])


def _texts_in(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from _texts_in(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts_in(inner)


def untimely_payload(payload: JSON) -> Iterator[str]:
    """What is wrong with the times of a payload, a text each: it says when now is, and nothing in it is later."""
    if not isinstance(payload, Mapping) or payload.get("now") in (None, ""):
        yield "the payload does not say when now is"
    yield from untimely(observations_in(payload))


def untimely(observations: Sequence[Mapping[str, JSON]]) -> Iterator[str]:
    """Which observations are later than now, or do not say when they were made."""
    for one in observations:
        minute, name = one.get("minute"), shown_line(str(one.get("id", "an observation")), 40)
        if isinstance(minute, bool) or not isinstance(minute, int | float):
            yield f"{name} has no time: its minute is no number"
        elif minute > 0:
            yield f"{name} is {minute:g} minutes later than now"
