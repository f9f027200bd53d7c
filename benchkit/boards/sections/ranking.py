"""The ranking: the hard gates first, what it amounts to in words, headlines with intervals and ranks; then the tracks,
what each measures and what not, and every system under it.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import count_of, percent, shown_line
from benchkit.boards.board import LONGEST_LINE, Board
from benchkit.boards.sections.wording import MOST_WORDS, SYSTEMS, counts_of, names, of_system, share_of
from benchkit.boards.standings import GateStatus, Standing, TrackRow, TrackSection
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE, each_by_itself, of, spread

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
OF_TRACKS = ("Mean scores in percent; of a hard gate, behind a sign, the share of answers that held it: all did, some "
             "did not, or answers are missing.")


def ranking_blocks(board: Board) -> Iterator[doc.Block]:
    """The gates, what it amounts to, the table, the picture."""
    ranking = board.ranking
    yield from _gates(ranking)
    first, *others = _in_short(board)
    yield doc.words(*first)
    if others:
        yield doc.Bullets(others, detail=doc.MORE)
    columns = [doc.flexible("system"), doc.Column("gate failures", doc.Kind.WORD), doc.number("headline %"),
               doc.number("rank"), doc.number("95 %"), doc.number("judged"),
               doc.number("capability %", detail=doc.MORE), doc.number("gate failures, 95 %", detail=doc.MORE)]
    yield doc.Table("Ranking, by headline", columns, list(map(_row, ranking)), SYSTEMS, look="systems ranking")
    yield doc.quiet(f"{HEADLINE} {OF_TASK}" if board.is_of_task else HEADLINE)
    yield doc.Chart(doc.Bars("Headlines with 95 % intervals", "system", "headline", "%, rank",
                             list(map(_bar, ranking)), SYSTEMS), detail=doc.MORE)
    is_whole = all(one.headline.is_whole for one in ranking)
    yield doc.quiet(RANKS if is_whole else f"{RANKS} {OPEN_READINGS}", detail=doc.MORE)
    if any(one.gate is not None for one in ranking):
        yield doc.quiet(GATES, detail=doc.MORE)


def _row(one: Standing) -> list[doc.Cell]:
    over = "" if one.judged in (0, one.planned) else f" over {one.judged} judged"
    gate = one.gate if one.gate is not None and one.gate.trials else None
    return [(f"{one.place}. ", *of_system(one)), _gate_mark(one.gate), doc.Strong(share_of(one.headline)),
            str(one.rank or NOT_AVAILABLE), spread(one.headline.low, one.headline.high),
            f"{one.judged} of {one.planned}", percent(one.capability) + over,
            spread(gate.interval.low, gate.interval.high) if gate else NOT_AVAILABLE]


def _gate_mark(gate: GateStatus | None) -> doc.Mark:
    """How the hard gates of a system stand; what is incomplete stands in a column of its own."""
    if gate is None:
        return doc.Mark("no hard gate", Tone.ABSENT)
    if not gate.trials:
        return doc.Mark("not judged", Tone.INCOMPLETE)
    if gate.failures:
        return doc.Mark(f"{gate.failures} of {gate.trials}", Tone.FAIL)
    return doc.Mark("clean", Tone.PASS) if gate.is_clean else doc.Mark("open", Tone.INCOMPLETE)


def _bar(one: Standing) -> doc.Bar:
    is_broken = one.gate is not None and one.gate.failures > 0
    broken = (" ", doc.Mark("gate broken", Tone.FAIL)) if is_broken else ()
    tone = Tone.FAIL if is_broken else Tone.INCOMPLETE if one.is_baseline else Tone.PLAIN
    return doc.Bar((doc.Code(one.system), *broken), one.headline.worst if one.judged else None, one.headline.low,
                   one.headline.high, f"{share_of(one.headline)}, rank {one.rank or NOT_AVAILABLE}", tone)


def _gates(ranking: Sequence[Standing]) -> Iterator[doc.Block]:
    """The hard gates over all systems, so that nobody reads a headline without them; nothing without gates."""
    gated = [(one, one.gate) for one in ranking if one.gate is not None]
    unknown, systems = sum(not gate.is_clean for _, gate in gated), count_of(len(gated), "system")
    lines: list[doc.Spans] = []
    for one, gate in gated:
        if gate.failures:
            missing = f", {gate.incomplete} incomplete" if gate.incomplete else ""
            above = ("; stands above ", *names(one.overtaken, MOST_WORDS), ", which broke none")
            lines.append((doc.Code(one.system), f": {count_of(gate.failures, 'failure')} of {gate.trials}{missing}",
                          *(above if one.overtaken else ())))
    if lines:
        yield doc.Callout(Tone.FAIL, f"{len(lines)} of {systems} broke a hard gate", [doc.Bullets(lines)])
    elif unknown:
        told = f"No system broke a hard gate so far; answers of {unknown} of {systems} are missing"
        yield doc.Callout(Tone.INCOMPLETE, told)
    elif gated:
        yield doc.Callout(Tone.PASS, "Every hard gate held, in every answer of every system")


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
        ranked = [(doc.Code(one.system), f" has {share_of(one.headline)}\u00a0%, rank {one.rank or NOT_AVAILABLE}")
                  for one in (models[0], blind[0])]
        yield f"{_verdict(models, unjudged, blind[0])}: ", *ranked[0], "; ", *ranked[1], "."
    facts = {one.system: one for one in board.facts}
    for one in models:
        said = facts[one.system].said if one.system in facts else {}
        words = counts_of({f'"{word}"': count for word, count in said.items()}, MOST_WORDS)
        told = f"; its {count_of(sum(said.values()), 'answer')}, as they were read: {words}" if said else ""
        yield doc.Code(one.system), " ", *_strength(board, one.system), f"{told}."
    for one in unjudged:
        its = facts.get(one.system)
        why = f" ({shown_line(its.failed[0].message, LONGEST_LINE)})" if its and its.failed else ""
        kinds = counts_of(its.incomplete if its else {})
        yield doc.Code(one.system), f": none of its {count_of(one.planned, 'cell')} was judged: {kinds}{why}."


def _verdict(models: Sequence[Standing], unjudged: Sequence[Standing], baseline: Standing) -> str:
    """The best model beside the best baseline, by what each has shown."""
    def is_ahead(one: Standing, other: Standing) -> bool:
        """Whether it is shown: in their own comparison, or by ranks that do not meet."""
        return other.system in one.ahead_of or (
            one.rank is not None and other.rank is not None and one.rank.worst < other.rank.best)

    ours, theirs = models[0].headline, baseline.headline
    if all(is_ahead(baseline, one) for one in models):
        return f"No model{' that was judged' if unjudged else ''} reaches the best baseline"
    if is_ahead(models[0], baseline):
        return "The best model is ahead of the best baseline"
    if not (ours.is_whole and theirs.is_whole) and ours.worst <= theirs.best and theirs.worst <= ours.best:
        return "Incomplete cells leave open whether a model reaches the best baseline"
    return "It is left open whether a model reaches the best baseline"


def _strength(board: Board, system: str) -> Iterator[doc.Span]:
    """The one or two capabilities in which it has least, or that none is below another; incomplete as worth nothing."""
    shares = [(track.name, row.share) for track in board.tracks if track.kind == "capability"
              for row in track.rows if row.system == system]
    ordered = sorted(shares, key=lambda pair: (pair[1].worst, pair[1].best))
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


def track_blocks(board: Board) -> Iterator[doc.Block]:
    """Every track at a glance, then one after the other."""
    columns = [doc.number(doc.Code(track.name), hint="hard gate" if track.kind == "gate" else "capability")
               for track in board.tracks]
    by_track = [(track, {row.system: row for row in track.rows}) for track in board.tracks]
    rows = [[doc.Code(one.system), *(_glance(track, found.get(one.system)) for track, found in by_track)]
            for one in board.ranking]
    yield doc.Table("Every track, in percent", [doc.Column("system"), *columns], rows, SYSTEMS, look="systems")
    note = each_by_itself(sum(len(track.rows) for track in board.tracks))
    yield doc.quiet(OF_TRACKS + (f" {note[0].upper()}{note[1:]}." if note else ""))
    yield from (_track(place, track) for place, track in enumerate(board.tracks, 1))


def _glance(track: TrackSection, row: TrackRow | None) -> doc.Cell:
    if row is None or not row.judged:
        return NOT_AVAILABLE
    if track.kind != "gate":
        return share_of(row.share)
    tone = _tone(row)
    stands = {Tone.FAIL: "broken", Tone.INCOMPLETE: "open", Tone.PASS: "held"}[tone]
    return doc.Mark(f"{doc.Code(track.name).line}: {stands}", tone, small=True), " ", share_of(row.share)


def _tone(row: TrackRow) -> Tone:
    return Tone.FAIL if row.failures else Tone.INCOMPLETE if row.incomplete else Tone.PASS


def _track(place: int, track: TrackSection) -> doc.Section:
    is_gate = track.kind == "gate"
    kind = doc.Mark("hard gate", Tone.FLAKY) if is_gate else doc.Mark("capability", Tone.PLAIN)
    share, whole = ("answers that held it", "held") if is_gate else ("mean score", "full marks")
    columns = [doc.Column("system"), doc.number("held %" if is_gate else "mean %"), doc.number("95 %"),
               doc.number(whole), doc.number("incomplete")]
    bars, rows = [], []
    for row in track.rows:
        name, found, full = doc.Code(row.system), share_of(row.share), row.judged - row.failures
        note = f"{found}; {full}/{row.judged}" if row.judged else "none judged"
        note += f", {row.incomplete} incomplete" if row.judged and row.incomplete else ""
        bars.append(doc.Bar(name, row.share.worst if row.judged else None, row.share.low, row.share.high, note,
                            _tone(row) if is_gate else Tone.PLAIN))
        rows.append((name, found, spread(row.share.low, row.share.high), of(full, row.judged), row.incomplete))
    title = f"{doc.Code(track.name).line}: {share}, with 95 % intervals"
    return doc.Section(f"track-{place}", (doc.Code(track.name), " ", kind), [
        doc.Facts([("Measures", f"{shown_line(track.measures, LONGEST_LINE)}."),
                   ("Does not measure", f"{shown_line(track.measures_not, LONGEST_LINE)}.")]),
        doc.Chart(doc.Bars(title, "system", share, f"%; {whole}", bars, SYSTEMS),
                  instead=[doc.Table(title, columns, rows, SYSTEMS)])])
