"""The whole menu of a question, bought: all that a solver can come to see beside its first messages. Pure.

What does not live here: what is for sale and what it brings (the pack), and what must not be shown (exposure.py).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchkit.basics.canonical import canonical
from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.boards.game import Game, market_of, observations_in, reply_of, turn_of
from benchkit.boards.pack import Step, Tool, Turn

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
