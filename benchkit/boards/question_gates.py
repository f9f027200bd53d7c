"""The gates that questions pass before anybody is asked: one for each question, and one for the batch. Pure.

The emission gate drops a question that has no answer, repeats another, or shows its truth or the future to a solver,
be it in what is bought: the whole menu is. The batch gate blocks a batch with too few questions left, with too many
of one answer, or that a baseline which does not see the truth already solves.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import SHARE, Fields
from benchkit.basics.json_text import canonical, digest
from benchkit.basics.texts import are, as_given, count_of, percent, shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.boards.game import Game, GameRules, game_of, observations_in, play, step_of
from benchkit.boards.job import BatchGate
from benchkit.boards.pack import Pack, PackBaseline, Step, Turn
from benchkit.boards.scores import Scores, UnjudgedError, scores_of
from benchkit.statistics.estimators import figure
from benchkit.statistics.intervals import headline
from benchkit.tasks.modules import named

PROBLEM, NO_ANSWER, LEAK, REPEAT = "problem", "no answer", "leak", "repeat"
REASONS = (PROBLEM, NO_ANSWER, LEAK, REPEAT)
SEED = 1001
"""Of the blind baselines: that of a first trial."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A question that is not asked: why, as one of REASONS and in words."""

    case: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class GateFigures:
    """What the gates saw. `made` questions were made, `kept` of them passed the emission gate.

    answers   how many of those kept have each answer, most first
    blind     the headline of each baseline that does not see the truth, over those kept
    blocked   why the batch must not be asked, a sentence each; empty: it can be
    """

    made: int
    kept: int
    dropped: tuple[Dropped, ...] = ()
    answers: Mapping[str, int] = field(default_factory=dict)
    blind: Mapping[str, float] = field(default_factory=dict)
    blocked: tuple[str, ...] = ()


def emission_gate(
    pack: Pack, cases: Sequence[Case], rules: GameRules,
) -> tuple[tuple[Game, ...], tuple[Dropped, ...]]:
    """The games of the questions that may be asked, in their order, and the questions that may not.

    Raises Unusable where the pack itself fails at one.
    """
    games: list[Game] = []
    dropped: list[Dropped] = []
    payloads: dict[str, str] = {}
    asks: dict[str, str] = {}
    for case in cases:
        with _of(pack, case, "problems"):
            problems = list(pack.problems(case))
        answer: object = None if problems else right_word(pack, case)
        if problems:
            dropped.append(Dropped(case.id, PROBLEM, shown_line(str(problems[0]))))
        elif not isinstance(answer, str) or not answer:
            dropped.append(Dropped(case.id, NO_ANSWER, "it has no answer"))
        else:
            game = game_of(pack, case, rules)
            wrong = next(_wrong_as_shown(pack, game, payloads, asks), None)
            if wrong is not None:
                dropped.append(Dropped(case.id, *wrong))
            else:
                games.append(game)
                payloads[digest(game.opening.payload)] = asks[game.prompt.ask] = case.id
    return tuple(games), tuple(dropped)


def _wrong_as_shown(
    pack: Pack, game: Game, payloads: Mapping[str, str], asks: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    """(reason, in words) why what a solver is shown, or can buy, must not be asked."""
    opening = game.opening
    if pack.is_timed:
        if not isinstance(opening.payload, Mapping) or opening.payload.get("now") in (None, ""):
            yield PROBLEM, "the payload does not say when now is"
        yield from ((PROBLEM, what) for what in untimely(observations_in(opening.payload)))
    shown = all_texts_of([opening.payload, list(game.prompt.messages), opening.schema, list(opening.tools or ())])
    for term in leaked_terms(pack, game.case, shown):
        yield LEAK, f"a solver is shown {shown_line(term, 100)!r}"
    for sold, turn, told in _sold_in(game):
        item = shown_line(sold, 60)
        yield from ((PROBLEM, f"{what}, for who buys {item}") for what in untimely(turn.observations))
        for term in leaked_terms(pack, game.case, all_texts_of([*turn.observations, *told])):
            yield LEAK, f"a solver that buys {item} is shown {shown_line(term, 100)!r}"
    payload = digest(opening.payload)
    if payload in payloads:
        yield REPEAT, f"its payload is that of {payloads[payload]}"
    if game.prompt.ask in asks:
        yield REPEAT, f"it asks what {asks[game.prompt.ask]} asks"


def _sold_in(game: Game) -> Iterator[tuple[str, Turn, Sequence[str]]]:
    """Every item bought one after another, with the whole budget each time, again and again while something is new:
    (what was asked for, in words; what it amounts to; what the solver is told).

    Each is bought as often as the messages and the budget allow for it alone. A message that buys nothing comes first.
    Raises Unusable where the pack fails, or no message that is known buys an item.
    """
    if game.messages_left < 2:
        return  # the only message is the answer
    steps = [Step(None, observations_in(game.opening.payload))]

    def sold(said: str) -> tuple[Turn, Sequence[str]]:
        turn = game.turn(said, steps, game.budget)
        left = max(0.0, game.budget - turn.cost)
        return turn, () if turn.kind == "answer" else [
            game.reply(turn, left, steps_left) for steps_left in (game.messages_left - 1, 1)]

    yield "a message that buys nothing", *sold("")
    items = list(_items(game, steps))
    seen: set[str] = set()
    for times in range(1, game.messages_left):
        before = len(seen)
        for item, said, price in items:
            if times == 1 or times * price <= game.budget:
                turn, told = sold(said)
                yield item, turn, told
                steps.append(step_of(said, turn))
                seen.update(map(canonical, turn.observations))
        if len(seen) == before:
            return


def _items(game: Game, steps: Sequence[Step]) -> Iterator[tuple[str, str, float]]:
    """(item in words, the message that buys it, its price) of all that is on the menu.

    A message that buys is what the pack says, or else one of the usual forms.
    """
    market = game.for_sale
    for tool in market.tools(game.case):
        for service in tool.services or (None,):
            item, words = (tool.name, tool.name) if service is None else (
                f"{tool.name} of {service}", f"{tool.name} {service}")
            call = {"buy": tool.name} | ({} if service is None else {"service": service})
            forms = (canonical(call), words, f"buy {words}") if market.purchase is None else (
                market.purchase(tool, service),)
            said = next((said for said in forms
                         if game.turn(said, steps, game.budget).kind not in ("unreadable", "answer")), None)
            if said is None:
                raise Unusable(f"{game.place}: no message that is known buys {shown_line(item, 80)}, so it cannot be "
                               "looked at for the truth; give the pack a function purchase(tool, service) that says it")
            yield item, said, tool.price


def _of(pack: Pack, case: Case, what: str) -> AbstractContextManager[None]:
    """Whatever a function of the pack raises is an Unusable that names pack, case and function."""
    return named(f"pack {pack.module}, case {shown_line(case.id, 80)}: {what}")


def right_word(pack: Pack, case: Case) -> str:
    """The answer of a case in one word. Raises Unusable where the pack has none."""
    with _of(pack, case, "answer_key"):
        return pack.answer_key(case)


def leaked_terms(pack: Pack, case: Case, text: str) -> tuple[str, ...]:
    """The truth terms of a case that stand in a text, however cased."""
    folded = text.casefold()
    with _of(pack, case, "truth_terms"):
        terms = pack.truth_terms(case)
    return tuple(term for term in terms if term.casefold() in folded)


def all_texts_of(value: JSON) -> str:
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


def untimely(observations: Sequence[Mapping[str, JSON]]) -> Iterator[str]:
    """Which observations are later than now, or do not say when they were made."""
    for one in observations:
        minute, name = one.get("minute"), shown_line(str(one.get("id", "an observation")), 40)
        if isinstance(minute, bool) or not isinstance(minute, int | float):
            yield f"{name} has no time: its minute is no number"
        elif minute > 0:
            yield f"{name} is {minute:g} minutes later than now"


def gate_figures(
    pack: Pack, games: Sequence[Game], dropped: tuple[Dropped, ...], gate: BatchGate,
) -> GateFigures:
    """The figures of a batch and the verdict on it. Raises Unusable where a baseline or a judge fails."""
    answers = dict(Counter(pack.answer_key(game.case) for game in games).most_common())
    blind = {one.name: _blind_score(pack, one, games) for one in pack.baselines.values()
             if answers and not one.sees_truth}
    figures = GateFigures(len(games) + len(dropped), len(games), dropped, answers, blind)
    return replace(figures, blocked=tuple(_reasons_to_block(figures, gate)))


def _reasons_to_block(figures: GateFigures, gate: BatchGate) -> Iterator[str]:
    if figures.kept < gate.least_questions:
        yield (f"{figures.kept} of {count_of(figures.made, 'question')} {are(figures.kept)} left, fewer than "
               f"least_questions = {gate.least_questions}")
    for answer, count in figures.answers.items():
        if count > gate.most_one_answer * figures.kept:
            yield (f"{count} of {count_of(figures.kept, 'question')} {'has' if count == 1 else 'have'} the answer "
                   f"{shown_line(answer, 60)!r}, more than most_one_answer = {gate.most_one_answer:g} of them")
    for name, score in figures.blind.items():
        if score > gate.most_blind_score:
            yield (f"baselines:{name} solves it without seeing the truth: its headline is "
                   f"{percent(score, gate.most_blind_score)} %, more than the {as_given(gate.most_blind_score)} % of "
                   f"most_blind_score = {gate.most_blind_score:g}")


def _blind_score(pack: Pack, baseline: PackBaseline, games: Sequence[Game]) -> float:
    """The headline of a baseline: mean of the capability tracks x (1 - share of answers that broke a hard gate)."""
    scores = [_scores(pack, baseline, game) for game in games]
    failed = sum(not one.held for one in scores)
    return cast("float", figure(headline([one.capability for one in scores], failed, len(scores)).value))


def _scores(pack: Pack, baseline: PackBaseline, game: Game) -> Scores:
    place = f"{game.place}: baselines:{shown_line(baseline.name, 60)}"

    def say(number: int, talk: Sequence[Message]) -> str:
        with named(place):
            said: object = baseline.answer(baseline.handed(game.case, game.geometry), SEED, talk)
        if not isinstance(said, str):
            raise Unusable(f"{place} gave {type(said).__name__}, not text")
        return said

    played = play(game, say)
    try:
        return scores_of(pack.tracks, game.case, played.answer, played.steps)
    except UnjudgedError as error:
        raise Unusable(f"{place} cannot be judged: {error}") from error


def figures_to_wire(figures: GateFigures) -> dict[str, Any]:
    """The figures as they stand in batch.json."""
    return asdict(figures) | {"dropped": list(map(asdict, figures.dropped)), "blocked": list(figures.blocked)}


def figures_of(fields: Fields) -> GateFigures:
    """The figures in batch.json. Raises ValueError naming the field."""
    fields.has_exactly(("made", "kept", "dropped", "answers", "blind", "blocked"))
    answers, blind = fields.inner("answers"), fields.inner("blind")
    return GateFigures(
        fields.integer("made"), fields.integer("kept"),
        tuple(Dropped(one.text("case"), one.one_of("reason", REASONS), one.text("detail"))
              for one in fields.objects("dropped")),
        {name: answers.integer(name) for name in answers.values},
        {name: float(blind.take(name, SHARE)) for name in blind.values},
        fields.texts("blocked"))
