"""The ranking: the hard gates first, what it amounts to in words, then headlines with intervals and ranks."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchkit.basics.texts import count_of, percent, shown_line
from benchkit.boards.board import Board
from benchkit.boards.sections.wording import (
    LONGEST_LINE,
    MOST_WORDS,
    SYSTEMS,
    counts_of,
    interval_of,
    names,
    of_system,
    remark,
    share_of,
)
from benchkit.boards.standings import GateStatus, Readings, Standing
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE, spread

HEADLINE = ("Headline: the mean of the capability tracks x (1 - the share of answers that broke a hard gate), in "
            "percent, with its 95 % interval.")
RANKS = ("Rank: the places that the data leave possible, over all pairs (sign-flip tests of what each question's "
         "answers are worth, Holm, 5 %; an answer that broke a hard gate is worth nothing). Listed by the low end of "
         "the headline; how the gates stand is shown first, for no headline makes up for a broken one.")
OF_TASK = ("The tracks are the checks of a task, each by itself: how often all of them hold for one answer, which "
           "bench.py calls pass^1, is another figure.")
GATES = ("Gate failures and their interval (Clopper-Pearson, 95 %) are over answers; repeats of one question are not "
         "independent: for the interval over questions see the track.")
OPEN_READINGS = ("Where cells are incomplete, a range: they are taken as worth nothing, and as worth everything. A "
                 "rank holds however they would have gone.")


def ranking_blocks(board: Board) -> Iterator[doc.Block]:
    """The gates, what it amounts to, the table, the picture."""
    yield from _gates(board.ranking)
    first, *others = _in_short(board)
    yield doc.words(*first)
    if others:
        yield doc.Bullets(others, detail=doc.MORE)
    yield _table(board.ranking)
    yield doc.quiet(" ".join([HEADLINE, *([OF_TASK] if board.is_of_task else [])]))
    yield doc.Chart(doc.Bars("Headlines with 95 % intervals", "system", "headline", "%, rank",
                             list(map(_bar, board.ranking)), SYSTEMS), detail=doc.MORE)
    is_whole = all(one.headline.is_whole for one in board.ranking)
    yield remark(" ".join([RANKS, *([] if is_whole else [OPEN_READINGS])]))
    if any(one.gate is not None for one in board.ranking):
        yield remark(GATES)


def _table(ranking: Sequence[Standing]) -> doc.Table:
    columns = [doc.flexible("system"), doc.Column("gate failures", doc.Kind.WORD), doc.number("headline %"),
               doc.number("rank"), doc.number("95 %"), doc.number("judged"),
               doc.number("capability %", detail=doc.MORE),
               doc.number("gate failures, 95 %", detail=doc.MORE)]
    return doc.Table("Ranking, by headline", columns, list(map(_row, ranking)), SYSTEMS, look="systems ranking")


def _row(one: Standing) -> list[doc.Cell]:
    over = "" if one.judged in (0, one.planned) else f" over {one.judged} judged"
    is_known = one.gate is not None and one.gate.trials > 0
    return [(f"{one.place}. ", *of_system(one)), _gate_mark(one.gate), doc.Strong(share_of(one.headline)),
            str(one.rank or NOT_AVAILABLE), interval_of(one.headline), f"{one.judged} of {one.planned}",
            percent(one.capability) + over,
            spread(one.gate.interval.low, one.gate.interval.high) if one.gate and is_known else NOT_AVAILABLE]


def _bar(one: Standing) -> doc.Bar:
    is_broken = one.gate is not None and one.gate.failures > 0
    label: doc.Spans = (doc.Code(one.system), " ", doc.Mark("gate broken",
                                                            Tone.FAIL)) if is_broken else doc.Code(one.system)
    tone = Tone.FAIL if is_broken else Tone.INCOMPLETE if one.is_baseline else Tone.PLAIN
    return doc.Bar(label, one.headline.worst if one.judged else None, one.headline.low, one.headline.high,
                   f"{share_of(one.headline)}, rank {one.rank or NOT_AVAILABLE}", tone)


# hard gates


def _tone(gate: GateStatus) -> Tone:
    return Tone.FAIL if gate.failures else Tone.PASS if gate.is_clean else Tone.INCOMPLETE


def _gate_mark(gate: GateStatus | None) -> doc.Mark:
    """How the hard gates of a system stand; what is incomplete stands in a column of its own."""
    if gate is None:
        return doc.Mark("no hard gate", Tone.ABSENT)
    if not gate.trials:
        return doc.Mark("not judged", Tone.INCOMPLETE)
    if gate.failures:
        return doc.Mark(f"{gate.failures} of {gate.trials}", Tone.FAIL)
    return doc.Mark("clean", Tone.PASS) if gate.is_clean else doc.Mark("open", Tone.INCOMPLETE)


def _gates(ranking: Sequence[Standing]) -> Iterator[doc.Block]:
    """The hard gates over all systems, so that nobody reads a headline without them; nothing without gates."""
    gated = [(one, one.gate) for one in ranking if one.gate is not None]
    broken = [(one, gate) for one, gate in gated if gate.failures]
    unknown = sum(not gate.is_clean for _, gate in gated)
    systems = count_of(len(gated), "system")
    if broken:
        lines = [(doc.Code(one.system), f": {_broken(gate)}", *_above(one)) for one, gate in broken]
        yield doc.Callout(Tone.FAIL, f"{len(broken)} of {systems} broke a hard gate", [doc.Bullets(lines)])
    elif unknown:
        yield doc.Callout(Tone.INCOMPLETE, f"No system broke a hard gate so far; answers of {unknown} of {systems} are "
                                       "missing")
    elif gated:
        yield doc.Callout(Tone.PASS, "Every hard gate held, in every answer of every system")


def _broken(gate: GateStatus) -> str:
    missing = f", {gate.incomplete} incomplete" if gate.incomplete else ""
    return f"{count_of(gate.failures, 'failure')} of {gate.trials}{missing}"


def _above(one: Standing) -> tuple[doc.Span, ...]:
    return ("; stands above ", *names(one.overtaken, MOST_WORDS), ", which broke none") if one.overtaken else ()


# in words


def _in_short(board: Board) -> Iterator[tuple[doc.Span, ...]]:
    """What the ranking says of models, a sentence each; the verdict first."""
    judged = [one for one in board.ranking if one.judged]
    models = [one for one in judged if not one.is_baseline]
    blind = [one for one in judged if one.is_baseline and not one.sees_truth]
    unjudged = [one for one in board.ranking if not one.judged and not one.is_baseline]
    if not judged:
        yield ("No answer was judged: there is no ranking yet.",)
    elif not models and not unjudged:
        yield ("Only baselines were asked: no model stands on this board.",)
    elif not models:
        yield ("No answer of a model was judged: there is nothing to hold against the baselines.",)
    elif board.is_mixed:
        yield ("Answers stand here under two scorings: who is ahead of whom is left open.",)
    elif not blind:
        yield ("No baseline that does not see the truth was judged: there is nothing to hold the models against.",)
    else:
        yield (f"{_verdict(models, unjudged, blind[0])}: ", *_with_rank(models[0]), "; ", *_with_rank(blind[0]), ".")
    yield from (_of_model(board, one) for one in models)
    yield from (_of_unjudged(board, one) for one in unjudged)


def _verdict(models: Sequence[Standing], unjudged: Sequence[Standing], baseline: Standing) -> str:
    """The best model beside the best baseline, by what each has shown."""
    model = models[0]
    ours, theirs = model.headline, baseline.headline
    if all(_is_ahead(baseline, one) for one in models):
        return f"No model{' that was judged' if unjudged else ''} reaches the best baseline"
    if _is_ahead(model, baseline):
        return "The best model is ahead of the best baseline"
    if not (ours.is_whole and theirs.is_whole) and ours.worst <= theirs.best and theirs.worst <= ours.best:
        return "Incomplete cells leave open whether a model reaches the best baseline"
    return "It is left open whether a model reaches the best baseline"


def _is_ahead(one: Standing, other: Standing) -> bool:
    """Whether it is shown: in their own comparison, or by ranks that do not meet."""
    if other.system in one.ahead_of:
        return True
    return one.rank is not None and other.rank is not None and one.rank.worst < other.rank.best


def _with_rank(one: Standing) -> tuple[doc.Span, ...]:
    return doc.Code(one.system), f" has {share_of(one.headline)}\u00a0%, rank {one.rank or NOT_AVAILABLE}"


def _of_model(board: Board, one: Standing) -> tuple[doc.Span, ...]:
    """Where a model is weakest, and what it says most."""
    shares = {track.name: row.share for track in board.tracks if track.kind == "capability"
              for row in track.rows if row.system == one.system}
    said = next((facts.said for facts in board.facts if facts.system == one.system), {})
    told = f"; its {count_of(sum(said.values()), 'answer')}: {counts_of(said, MOST_WORDS)}" if said else ""
    return doc.Code(one.system), " ", *_strength(shares), f"{told}."


def _strength(shares: Mapping[str, Readings]) -> Iterator[doc.Span]:
    """The one or two capabilities in which it has least, or that none is below another; incomplete as worth nothing."""
    ordered = sorted(shares.items(), key=lambda pair: (pair[1].worst, pair[1].best))
    if not ordered:
        yield "was judged in no capability"
        return
    strongest = ordered[-1][1]
    weak = [(name, share) for name, share in ordered[:2] if share.worst < strongest.worst]
    for number, (name, share) in enumerate(weak):
        yield " and " if number else "is weakest in "
        yield doc.Code(name)
        yield f" ({share_of(share)}\u00a0%)"
    if not weak:
        yield f"has {share_of(strongest)}\u00a0% in "
        yield doc.Code(ordered[0][0]) if len(ordered) == 1 else "every capability"


def _of_unjudged(board: Board, one: Standing) -> tuple[doc.Span, ...]:
    """Why nothing that a model said was judged."""
    facts = next((facts for facts in board.facts if facts.system == one.system), None)
    kinds = counts_of(facts.incomplete) if facts is not None else "none"
    failed = facts.failed if facts is not None else ()
    why = f" ({shown_line(failed[0].message, LONGEST_LINE)})" if failed else ""
    return doc.Code(one.system), f": none of its {count_of(one.planned, 'cell')} was judged: {kinds}{why}."
