"""A question as a game: the solver writes messages, and each but the last may buy it something to see. Pure.

Whoever plays hands in a function that gives the next message for a conversation, be it a baseline (the batch gate) or
a model whose every word is logged (playing.py). `single` is the game of one message.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import ask_of, canonical, request_of, short_digest
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.boards.pack import Pack, PackMarket, Step, Turn
from benchkit.tasks.modules import named
from benchkit.tasks.task import Prompt, checked_prompt


@dataclass(frozen=True, slots=True)
class PromptState:
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
        """What is asked with these messages, whoever answers: 16 hex digits.

        In `single` that is the ask of any task; in `gated` a changed payload, menu or price is another question, even
        where no prompt shows it.
        """
        if self.tools is None:
            return ask_of(messages, self.schema)
        return short_digest({"messages": messages, "schema": self.schema, "payload": self.payload,
                             "tools": self.tools, "prices": self.prices})

    def request(self, messages: Sequence[Message], settings: Mapping[str, JSON], seed: int) -> str:
        """What binds a message of the solver to all that it could see: 16 hex digits."""
        return request_of(self.ask(messages), settings, seed)


Say = Callable[[int, Sequence[Message]], str]
"""(number of the message, from 1; the conversation so far) -> the solver's text."""
Note = Callable[[int, str, Turn], None]
"""Told of each message that was no answer: its number, its text, and what it amounts to."""


@dataclass(frozen=True, slots=True)
class GameRules:
    """How questions are asked; `budget` and `steps` are the limits of `gated` (None: those of the price list)."""

    geometry: str
    budget: float | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Game:
    """One question, ready to be played. `messages_left` is how many messages the solver has in all.

    `prompt.ask` is what is asked by the first step. `market` is None in `single`.
    """

    case: Case
    geometry: str
    opening: PromptState
    prompt: Prompt
    budget: float
    messages_left: int
    market: PackMarket | None
    place: str

    @property
    def for_sale(self) -> PackMarket:
        """What the pack has for `gated`. Raises RuntimeError in `single`, where nothing is for sale."""
        if self.market is None:
            raise RuntimeError("nothing is for sale in this geometry")
        return self.market

    def turn(self, said: str, steps: Sequence[Step], left: float) -> Turn:
        """What one message amounts to, with so much budget left. Raises Unusable where the pack fails."""
        with named(f"{self.place}: turn"):
            return self.for_sale.turn(self.case, said, tuple(steps), left)

    def reply(self, turn: Turn, left: float, steps_left: int) -> str:
        """The message that follows what was no answer. Raises Unusable where the pack fails."""
        with named(f"{self.place}: reply"):
            return self.for_sale.reply(turn, left, steps_left)


@dataclass(frozen=True, slots=True)
class Played:
    """A game at its end: the last message, and the steps that judges read. `is_answer`: it was taken for an answer,
    and not only the last there could be. `cost` is what was spent.
    """

    answer: str
    is_answer: bool
    steps: tuple[Step, ...]
    cost: float


def game_of(pack: Pack, case: Case, rules: GameRules) -> Game:
    """The game of a question. Raises Unusable that names pack and case where the pack cannot make it."""
    place = f"pack {pack.module}, case {shown_line(case.id, 80)}"
    if rules.geometry not in pack.geometries:
        raise Unusable(f"pack {pack.module}: its questions cannot be asked in {rules.geometry}; they can be in "
                       f"{' and '.join(pack.geometries)}")
    payload = _json(place, "payload", lambda: pack.payload(case, rules.geometry))
    market = pack.market
    if rules.geometry == "single" or market is None:
        prompt = checked_prompt(place, lambda: pack.messages(payload, None, None), lambda: pack.schema(payload))
        return Game(case, rules.geometry, PromptState(payload, prompt.schema), prompt, 0.0, 1, None, place)
    prices = market.prices.limited(rules.budget, rules.steps)
    prompt = checked_prompt(
        place, lambda: pack.messages(payload, prices.budget, prices.steps), lambda: pack.schema(payload))
    tools = _json(place, "tools", lambda: [
        {"name": tool.name, "says": tool.says, "price": tool.price, "kinds": list(tool.kinds),
         "services": list(tool.services)} for tool in market.tools(case)])
    opening = PromptState(payload, prompt.schema, cast("list[JSON]", tools), asdict(prices))
    return Game(case, rules.geometry, opening, replace(prompt, ask=opening.ask(prompt.messages)), prices.budget,
                prices.steps, market, place)


def games_of(pack: Pack, cases: Iterable[Case], rules: GameRules) -> dict[str, Game]:
    """The games by case id. Raises Unusable as `game_of` does."""
    return {case.id: game_of(pack, case, rules) for case in cases}


def play(game: Game, say: Say, note: Note = lambda number, said, turn: None) -> Played:
    """Play a game to its end. What `say` raises passes through; Unusable where the pack itself fails.

    Every message but the last that is no answer costs a step; what it bought is shown in the next user message.
    """
    talk: list[Message] = list(game.prompt.messages)
    steps = [Step(None, observations_in(game.opening.payload))]
    cost = 0.0
    for number in range(1, game.messages_left):
        said = say(number, tuple(talk))
        turn = game.turn(said, steps, game.budget - cost)
        if turn.kind == "answer":
            return Played(said, True, tuple(steps), cost)
        note(number, said, turn)
        cost += turn.cost
        steps.append(step_of(said, turn))
        talk += [{"role": "assistant", "content": said},
                 {"role": "user", "content": game.reply(turn, game.budget - cost, game.messages_left - number)}]
    said = say(game.messages_left, tuple(talk))
    return Played(said, game.market is None or game.turn(said, steps, game.budget - cost).kind == "answer",
                  tuple(steps), cost)


def step_of(said: str, turn: Turn) -> Step:
    """What a message and what it brought are to a judge."""
    return Step(said, turn.observations, turn.cost, turn.grounded, turn.error)


def observations_in(payload: JSON) -> tuple[Mapping[str, JSON], ...]:
    """What a payload shows, as far as it lists observations; a task's payload lists none."""
    found = payload.get("observations") if isinstance(payload, Mapping) else None
    return tuple(one for one in found if isinstance(one, Mapping)) if isinstance(found, list | tuple) else ()


def _json(place: str, what: str, make: Callable[[], JSON]) -> JSON:
    with named(f"{place}: {what}"):
        value = make()
    try:
        canonical(value)
    except (TypeError, ValueError, RecursionError):
        raise Unusable(f"{place}: {what} gives something that is not JSON") from None
    return value
