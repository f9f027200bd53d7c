"""What a board says in sentences and in short figures, the same on the page and in Markdown.

Plain texts come out; names of systems, tracks and answers stand in them on one line, and are escaped by whoever draws
them.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchkit import VERSION
from benchkit.basics.texts import count_of, shown_line
from benchkit.boards.batch import BLOCKED, COMPLETE, OPEN, PUBLISHED
from benchkit.boards.board_values import (
    MIXED,
    Banner,
    Board,
    FailedCells,
    Making,
    Readings,
    Score,
    Standing,
    SystemFacts,
)
from benchkit.boards.usage import CACHE_ONLY, NO_REPLY, NOT_REPORTED, TokenUse
from benchkit.reports.figures import NOT_AVAILABLE, each_by_itself, number, percent, spread

LONGEST_NAME, LONGEST_LINE = 80, 400
MOST_WORDS = 4
MOST_FAILURES = 50
"""So many ways in which cells failed are listed, and how many more there are."""
STATUS = {
    OPEN: "cells are left, the figures will change",
    COMPLETE: "every planned cell was asked",
    BLOCKED: "the batch gate blocked it: it must not be asked",
    PUBLISHED: "verified, and judged under one scoring",
}
HEADLINE = ("Headline: the mean of the capability tracks x (1 - the share of answers that broke a hard gate), in "
            "percent, with its 95 % interval. Rank: the places that the data leave possible, over all pairs "
            "(sign-flip tests of what each question's answers are worth, Holm, 5 %; an answer that broke a hard gate "
            "is worth nothing). Listed by the low end of the headline; how the gates stand is shown first, for no "
            "headline makes up for a broken one.")
OF_TASK = ("The tracks are the checks of a task, each by itself: how often all of them hold for one answer, which "
           "bench.py calls pass^1, is another figure.")
GATES = ("Gate failures and their interval (Clopper-Pearson, 95 %) are over answers; repeats of one question are not "
         "independent: for the interval over questions see the track.")
OPEN_READINGS = ("Where cells are incomplete, a range: they are taken as worth nothing, and as worth everything. A "
                 "rank holds however they would have gone.")
OF_TRACKS = "Mean scores in percent; of a hard gate, with a mark, the share of answers that held it."
PLACES = {False: "Cited by: places in the ranking.", True: "Bought by, cited by: places in the ranking."}
SAMPLED = ("The observations in the order of time, then every system's answer with its scores in percent and "
           "its line in eval.jsonl. What solvers were shown stands at the end of each case, word for word from the "
           "trace.")
ABSENT = {CACHE_ONLY: "no call was made", NOT_REPORTED: "the server said nothing",
          NO_REPLY: "no request brought a whole reply"}
AGREEMENT = ("How often a system said the same word as a baseline where both answered. Near 100 % with a baseline "
             "that always says the same, a system says the same, too.")


def words_on_headline(board: Board) -> tuple[str, ...]:
    """What the headline is, a text each."""
    is_whole = all(one.headline.is_whole for one in board.ranking)
    return HEADLINE, *(() if is_whole else (OPEN_READINGS,)), *((OF_TASK,) if is_of_task(board) else ())


def is_of_task(board: Board) -> bool:
    """Whether the questions are the cases of a task."""
    return board.making.source.startswith("task ")


def short_name(text: str) -> str:
    """A name of strangers on one line."""
    return shown_line(text, LONGEST_NAME)


def title_of(board: Board) -> str:
    """The first line: job, batch, status."""
    return f"{short_name(board.title.job)}, batch {short_name(board.title.batch)}: {board.title.status}"


def status_of(board: Board) -> str:
    """The status with what it means."""
    status = board.title.status
    return f"{short_name(status)}: {STATUS[status]}" if status in STATUS else short_name(status)


def banner_text(banner: Banner) -> str:
    """The sentence of a banner, on one line, with a capital."""
    text = shown_line(banner.text, LONGEST_LINE)
    return text[:1].upper() + text[1:]


def footer_of(board: Board) -> str:
    """How the board was made."""
    return (f"Made by board.py report, kit {VERSION}, from the files of batch {short_name(board.title.batch)} alone: "
            "the same files give the same board.")


def share_of(readings: Readings) -> str:
    """A share in percent, or the range that incomplete cells leave open: `41.7 to 83.3`."""
    if readings.is_whole:
        return percent(readings.worst)
    return f"{percent(readings.worst)} to {percent(readings.best)}"


def capability_of(one: Standing) -> str:
    """The capability in percent, with its denominator where some answers have no verdict."""
    return percent(one.capability) + ("" if one.judged in (0, one.planned) else f" over {one.judged} judged")


def interval_of(readings: Readings) -> str:
    """Its 95 % interval in percent."""
    return spread(readings.low, readings.high)


def score_text(score: Score) -> str:
    """One answer under one track: `66.7` percent of a capability, `held` or `broken` of a gate."""
    if score.kind == "gate":
        return "held" if score.value else "broken"
    return percent(score.value)


def kind_of(system: Standing | SystemFacts) -> str:
    """What a system is, where it is no model."""
    if system.sees_truth:
        return "sees the truth: for testing only"
    return "baseline" if system.is_baseline else ""


# --------------------------------------------------------------------------------------------- questions

def source_of(making: Making) -> str:
    """Where the questions come from, and what that calls itself."""
    return f"{making.source} ({making.name} {making.version}), judges of version {making.judge_version}"


def asked_as(making: Making) -> str:
    """How they are asked, and how often."""
    asked = {"single": "single: one prompt, one answer", "gated": "gated: observations are bought, then answered"}
    return f"{asked.get(making.geometry, making.geometry)}; {count_of(making.trials, 'trial')} of each question"


def market_of(making: Making) -> str:
    """What there is to spend, and on what; nothing in `single`."""
    market = making.market
    if market is None:
        return ""
    prices = ", ".join(f"{short_name(price.name)} {price.cost:g}" for price in market.prices)
    return f"{market.budget:g} {short_name(market.unit)} in {count_of(market.steps, 'message')}; prices: {prices}"


def counts_of(counts: Mapping[str, int], most: int = MOST_WORDS * 2) -> str:
    """Words with their counts, and how many are left out: `none 12, under_way 4`."""
    shown = [f"{short_name(word) or '(empty)'} {count}" for word, count in list(counts.items())[:most]]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more > 0 else "") if shown else "none"


def right_words(making: Making) -> str:
    """How often each word would be said if every answer were right."""
    return f"Right would be: {counts_of({word: count * making.trials for word, count in making.answers.items()})}."


def dropped_of(making: Making) -> str:
    """How many questions were made, and what the emission gate did."""
    made = f"{count_of(making.made, 'question')} made, {making.kept} kept"
    if not making.reasons:
        return f"{made}; the emission gate dropped none"
    return f"{made}; dropped for: {counts_of(making.reasons)}"


def absences(facts: Sequence[SystemFacts]) -> dict[str, str]:
    """The words that stand in the place of tokens on this board, with what each means."""
    said = {one.tokens.to_wire() for one in facts if isinstance(one.tokens.to_wire(), str)}
    return {word: meaning for word, meaning in ABSENT.items() if word in said}


def tokens_words(tokens: TokenUse) -> str:
    """Tokens as they were counted, or why there is no count."""
    wire = tokens.to_wire()
    if isinstance(wire, str):
        return f"{wire} ({ABSENT.get(wire, '')})"
    return (f"{number(tokens.prompt_tokens)} in, {number(tokens.output_tokens)} out, over "
            f"{count_of(tokens.calls, 'call')}, {number(tokens.reported)} of which reported them")


# --------------------------------------------------------------------------------------------- ranking

def gate_title(ranking: Sequence[Standing]) -> str:
    """How the hard gates stand, over all systems; nothing where there are none."""
    gated = [one for one in ranking if one.gate is not None]
    broken = [one for one in gated if one.gate and one.gate.failures]
    if not gated:
        return ""
    if broken:
        return f"{len(broken)} of {count_of(len(gated), 'system')} broke a hard gate"
    unknown = sum(1 for one in gated if one.gate and not one.gate.is_clean)
    if unknown:
        return (f"No system broke a hard gate so far; answers of {unknown} of {count_of(len(gated), 'system')} are "
                "missing")
    return "Every hard gate held, in every answer of every system"


def gate_lines(ranking: Sequence[Standing]) -> list[str]:
    """Each system that broke a gate, how often, and whom it stands above all the same."""
    return [f"{short_name(one.system)}: {one.gate.words}{_above(one)}" for one in ranking
            if one.gate is not None and one.gate.failures]


def _above(one: Standing) -> str:
    if not one.overtaken:
        return ""
    names = ", ".join(map(short_name, one.overtaken[:MOST_WORDS]))
    more = len(one.overtaken) - MOST_WORDS
    return f"; stands above {names}{f' and {more} more' if more > 0 else ''}, which broke none"


def in_short(board: Board) -> Iterator[str]:
    """What the ranking says of models, a sentence each."""
    judged = [one for one in board.ranking if one.judged]
    models = [one for one in judged if not one.is_baseline]
    blind = [one for one in judged if one.is_baseline and not one.sees_truth]
    unjudged = [one for one in board.ranking if not one.judged and not one.is_baseline]
    if not judged:
        yield "No answer was judged: there is no ranking yet."
    elif not models and not unjudged:
        yield "Only baselines were asked: no model stands on this board."
    elif not models:
        yield "No answer of a model was judged: there is nothing to hold against the baselines."
    elif any(banner.code == MIXED for banner in board.banners):
        yield "Answers stand here under two scorings: who is ahead of whom is left open."
    elif not blind:
        yield "No baseline that does not see the truth was judged: there is nothing to hold the models against."
    else:
        yield _against(models, unjudged, blind[0])
    for one in models:
        yield _of_model(board, one)
    for one in unjudged:
        yield _of_unjudged(board, one)


def _against(models: Sequence[Standing], unjudged: Sequence[Standing], baseline: Standing) -> str:
    """The best model beside the best baseline, by what each has shown."""
    model = models[0]
    ours, theirs = model.headline, baseline.headline
    if all(_is_ahead(baseline, one) for one in models):
        start = f"No model{' that was judged' if unjudged else ''} reaches the best baseline"
    elif _is_ahead(model, baseline):
        start = "The best model is ahead of the best baseline"
    elif not (ours.is_whole and theirs.is_whole) and ours.worst <= theirs.best and theirs.worst <= ours.best:
        start = "Incomplete cells leave open whether a model reaches the best baseline"
    else:
        start = "It is left open whether a model reaches the best baseline"
    return f"{start}: {_with_rank(model)}; {_with_rank(baseline)}."


def _is_ahead(one: Standing, other: Standing) -> bool:
    """Whether it is shown: in their own comparison, or by ranks that do not meet."""
    if other.system in one.ahead_of:
        return True
    return one.rank is not None and other.rank is not None and one.rank.worst < other.rank.best


def _with_rank(one: Standing) -> str:
    return f"{short_name(one.system)} has {share_of(one.headline)}\u00a0%, rank {one.rank or NOT_AVAILABLE}"


def _of_model(board: Board, one: Standing) -> str:
    """Where a model is weakest, and what it says most."""
    shares = {track.name: row.share for track in board.tracks if track.kind == "capability"
              for row in track.rows if row.system == one.system}
    said = next((facts.said for facts in board.facts if facts.system == one.system), {})
    told = f"; its {count_of(sum(said.values()), 'answer')}: {counts_of(said, MOST_WORDS)}" if said else ""
    return f"{short_name(one.system)} {_strength(shares)}{told}."


def _strength(shares: Mapping[str, Readings]) -> str:
    """The one or two capabilities in which it has least, or that none is below another; incomplete as worth nothing."""
    ordered = sorted(shares.items(), key=lambda pair: (pair[1].worst, pair[1].best))
    if not ordered:
        return "was judged in no capability"
    strongest = ordered[-1][1]
    weak = [(name, share) for name, share in ordered[:2] if share.worst < strongest.worst]
    if weak:
        return "is weakest in " + " and ".join(f"{short_name(name)} ({share_of(share)}\u00a0%)" for name, share in weak)
    where = short_name(ordered[0][0]) if len(ordered) == 1 else "every capability"
    return f"has {share_of(strongest)}\u00a0% in {where}"


def _of_unjudged(board: Board, one: Standing) -> str:
    """Why nothing that a model said was judged."""
    facts = next((facts for facts in board.facts if facts.system == one.system), None)
    kinds = counts_of(facts.incomplete) if facts is not None else "none"
    failed = facts.failed if facts is not None else ()
    why = f" ({shown_line(failed[0].message, LONGEST_LINE)})" if failed else ""
    return f"{short_name(one.system)}: none of its {count_of(one.planned, 'cell')} was judged: {kinds}{why}."


def of_tracks(board: Board) -> str:
    """What the scores of tracks are, and what so many intervals beside each other are not."""
    note = each_by_itself(sum(len(track.rows) for track in board.tracks))
    return OF_TRACKS + (f" {note[0].upper()}{note[1:]}." if note else "")


# --------------------------------------------------------------------------------------------- incomplete

def failed_cells(facts: Sequence[SystemFacts]) -> Iterator[tuple[SystemFacts, FailedCells]]:
    """Every way in which cells ended without a verdict, system by system."""
    return ((one, failed) for one in facts for failed in one.failed)


def error_types(facts: Sequence[SystemFacts]) -> list[str]:
    """The types of error that any system has, in order."""
    return sorted({kind for one in facts for kind in one.incomplete})
