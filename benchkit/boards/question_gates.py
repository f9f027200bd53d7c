"""The gates that questions pass before anybody is asked: one for each question, and one for the batch.

The emission gate drops a question that leaks its truth, has no answer, or repeats another. The batch gate blocks a
batch with too few questions left, with too many of one answer, or that a baseline which does not see the truth
already solves. Pure.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import digest
from benchkit.basics.texts import are, as_given, count_of, percent, shown_line
from benchkit.basics.values import JSON, Case, Message
from benchkit.boards.exposure import leaked_terms, of_pack, sold_in, text_of, untimely, untimely_payload
from benchkit.boards.game import Game, GameRules, game_of, play
from benchkit.boards.job import BatchGate
from benchkit.boards.pack import Pack, PackBaseline
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

    @property
    def dropped_by_reason(self) -> Mapping[str, int]:
        """How many were dropped for each reason."""
        return dict(Counter(one.reason for one in self.dropped))


@dataclass(frozen=True, slots=True)
class Emitted:
    """The games of the questions that passed, in their order, and the questions that did not."""

    games: tuple[Game, ...]
    dropped: tuple[Dropped, ...]


def emission_gate(pack: Pack, cases: Sequence[Case], rules: GameRules) -> Emitted:
    """The questions that may be asked. Raises Unusable where the pack itself fails at one."""
    games: list[Game] = []
    dropped: list[Dropped] = []
    payloads: dict[str, str] = {}
    asks: dict[str, str] = {}
    for case in cases:
        wrong = next(_wrong_by_itself(pack, case), None)
        if wrong is None:
            game = game_of(pack, case, rules)
            wrong = next(_wrong_as_shown(pack, game, payloads, asks), None)
            if wrong is None:
                games.append(game)
                payloads[digest(game.opening.payload)] = asks[game.prompt.ask] = case.id
        if wrong is not None:
            dropped.append(wrong)
    return Emitted(tuple(games), tuple(dropped))


def right_word(pack: Pack, case: Case) -> str:
    """The answer of a case in one word. Raises Unusable where the pack has none."""
    return of_pack(pack, case, "answer_key", lambda: pack.answer_key(case))


def gate_figures(pack: Pack, emitted: Emitted, gate: BatchGate) -> GateFigures:
    """The figures of a batch and the verdict on it. Raises Unusable where a baseline or a judge fails."""
    answers = dict(Counter(pack.answer_key(game.case) for game in emitted.games).most_common())
    blind = {one.name: _blind_score(pack, one, emitted.games) for one in pack.blind_baselines} if answers else {}
    kept = len(emitted.games)
    figures = GateFigures(kept + len(emitted.dropped), kept, emitted.dropped, answers, blind)
    return GateFigures(figures.made, kept, emitted.dropped, answers, blind, tuple(_reasons_to_block(figures, gate)))


def _wrong_by_itself(pack: Pack, case: Case) -> Iterator[Dropped]:
    problems = of_pack(pack, case, "problems", lambda: list(pack.problems(case)))
    answer = None if problems else right_word(pack, case)
    yield from (Dropped(case.id, PROBLEM, shown_line(str(problem))) for problem in problems)
    if not isinstance(answer, str) or not answer:
        yield Dropped(case.id, NO_ANSWER, "it has no answer")


def _wrong_as_shown(
    pack: Pack, game: Game, payloads: Mapping[str, str], asks: Mapping[str, str],
) -> Iterator[Dropped]:
    case = game.case.id
    untimely_ones = untimely_payload(game.opening.payload) if pack.is_timed else ()
    yield from (Dropped(case, PROBLEM, what) for what in untimely_ones)
    for term in leaked_terms(pack, game.case, _shown(game)):
        yield Dropped(case, LEAK, f"a solver is shown {shown_line(term, 100)!r}")
    if game.market is not None:
        yield from _wrong_for_sale(pack, game)
    payload = digest(game.opening.payload)
    if payload in payloads:
        yield Dropped(case, REPEAT, f"its payload is that of {payloads[payload]}")
    if game.prompt.ask in asks:
        yield Dropped(case, REPEAT, f"it asks what {asks[game.prompt.ask]} asks")


def _wrong_for_sale(pack: Pack, game: Game) -> Iterator[Dropped]:
    """What must not be shown, and can be bought."""
    for sold in sold_in(game):
        item = shown_line(sold.item, 60)
        yield from (Dropped(game.case.id, PROBLEM, f"{what}, for who buys {item}")
                    for what in untimely(sold.turn.observations))
        for term in leaked_terms(pack, game.case, text_of([*sold.turn.observations, *sold.told])):
            yield Dropped(game.case.id, LEAK, f"a solver that buys {item} is shown {shown_line(term, 100)!r}")


def _shown(game: Game) -> str:
    """All that a solver is handed at the start."""
    opening = game.opening
    return text_of([opening.payload, list(game.prompt.messages), opening.schema, list(opening.tools or ())])


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


# ------------------------------------------------------------------------------------------------- wire

def figures_to_wire(figures: GateFigures) -> dict[str, JSON]:
    """The figures as they stand in batch.json."""
    return {
        "made": figures.made, "kept": figures.kept,
        "dropped": [{"case": one.case, "reason": one.reason, "detail": one.detail} for one in figures.dropped],
        "answers": dict(figures.answers), "blind": dict(figures.blind), "blocked": list(figures.blocked)}


def figures_of(fields: Fields) -> GateFigures:
    """The figures in batch.json. Raises ValueError naming the field."""
    fields.has_exactly(("made", "kept", "dropped", "answers", "blind", "blocked"))
    answers, blind = fields.inner("answers"), fields.inner("blind")
    return GateFigures(
        fields.integer("made"), fields.integer("kept"),
        tuple(Dropped(one.text("case"), one.one_of("reason", REASONS), one.text("detail"))
              for one in fields.objects("dropped")),
        {name: answers.integer(name) for name in answers.values}, {name: _score(blind, name) for name in blind.values},
        fields.texts("blocked"))


def _score(fields: Fields, name: str) -> float:
    value = fields.json(name)
    if type(value) not in (int, float) or not 0 <= cast("float", value) <= 1:
        raise fields.wrong(name, "a number from 0 to 1")
    return float(cast("float", value))
