"""Sampled cases: the observations along their time, every answer with its scores, and what solvers were shown.

Everything here was written by packs and models; it is cut only where that is said.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchkit.basics.texts import are, count_of, percent, shown_line
from benchkit.boards.board import Board
from benchkit.boards.samples import Payload, Purchase, SampledAnswer, SampledCase, Score, Seen
from benchkit.boards.sections.wording import LONGEST_LINE, more, names, remark, synthetic_mark
from benchkit.pages.parts import Tone
from benchkit.pages.row_charts import Lane, Moment, TimelineChart, TimelineEvent
from benchkit.render.document import (
    Beside,
    Block,
    Bullets,
    Callout,
    Cell,
    Chart,
    Code,
    Column,
    Cut,
    Detail,
    Facts,
    Fold,
    Kind,
    Link,
    Mark,
    Paragraph,
    Section,
    Span,
    Spans,
    Strong,
    Table,
    Verbatim,
    listed,
    number_column,
    quiet,
)
from benchkit.reports.figures import NOT_AVAILABLE

SAMPLED = ("The observations in the order of time, then every system's answer with its scores in percent and its line "
           "in eval.jsonl. What solvers were shown stands at the end of each case, word for word from the trace.")
MOST_LINES, MOST_CHARACTERS = 40, 4_000
"""Of an answer; the whole of it stands in responses.jsonl and trace.jsonl."""
LONGEST_PAYLOAD = 400_000
MOST_LANES = 24
OBSERVATIONS = Cut(100, None, "observation")


def sample_blocks(board: Board) -> Iterator[Block]:
    """One sampled case after the other."""
    if not board.samples:
        yield more("No case has an answer yet.")
        return
    yield remark(SAMPLED)
    for place, case in enumerate(board.samples, 1):
        anchor = f"case-{place}"
        yield Section(anchor, (Code(case.id), *synthetic_mark(board)), list(_case(board, anchor, case)),
                      detail=Detail.MORE)


def _case(board: Board, anchor: str, case: SampledCase) -> Iterator[Block]:
    yield Facts(list(_facts(case)))
    yield from (Callout(Tone.FLAKY, warning) for warning in case.warnings)
    if case.observations:
        yield from timeline(case)
        yield _observations(board, case)
        yield quiet(f"{'Bought by, cited by' if board.is_gated else 'Cited by'}: places in the ranking.")
    yield _scores(anchor, case)
    yield Beside([_answer(f"{anchor}-answer-{number}", answer) for number, answer in enumerate(case.answers, 1)])
    yield Fold("What is true", [Verbatim(case.truth, "The truth, from cases.jsonl", MOST_CHARACTERS)])
    yield from (_payload(board, payload) for payload in case.payloads)


def _facts(case: SampledCase) -> Iterator[tuple[str, Spans]]:
    yield "Right answer", Strong(Code(case.answer_key, LONGEST_LINE))
    if case.now:
        yield "Now", Code(case.now, LONGEST_LINE)
    if case.tags:
        yield "Tags", listed(map(Code, case.tags))


# what was seen


def timeline(case: SampledCase) -> Iterator[Chart]:
    """The observations in lanes by service, each kind with a sign, and the moment T; nothing where none has a time."""
    timed = [one for one in case.observations if one.minute is not None]
    if not timed:
        return
    services = list(dict.fromkeys(one.service for one in timed))
    if len(services) > MOST_LANES:
        services.sort(key=lambda service: -sum(one.service == service for one in timed))
    left_out, lanes = len(services) - MOST_LANES, services[:MOST_LANES]
    kinds = list(dict.fromkeys(one.kind for one in timed))
    told = f"{count_of(left_out, 'more service')} {are(left_out)} in the list only." if left_out > 0 else ""
    yield Chart(TimelineChart(
        f"{_short(case.id)} along its time, minutes from now", "service",
        [Lane(_short(lane), [_event(one, kinds) for one in timed if one.service == lane]) for lane in lanes],
        [_short(kind) for kind in kinds], "min", Moment(0.0, f"now, {shown_line(case.now, 20)}"),
        "cited by an answer"), told)


def _event(one: Seen, kinds: Sequence[str]) -> TimelineEvent:
    words = f"{_short(one.id)} {_short(one.kind)}: {shown_line(one.text, 200)}"
    return TimelineEvent(one.minute or 0.0, kinds.index(one.kind), words, bool(one.cited_by))


def _short(name: str) -> str:
    return Code(name).line


def _observations(board: Board, case: SampledCase) -> Table:
    places = {one.system: one.place for one in board.ranking}
    bought = [Column("bought by")] if board.is_gated else []
    columns = [Column("id"), number_column("minute"), *(Column(name, Kind.WORD) for name in ("at", "kind", "service")),
               Column("what it says"), *bought, Column("cited by")]
    rows = [_observation(one, board.is_gated, places) for one in case.observations]
    return Table(f"Observations of {_short(case.id)}", columns, rows, OBSERVATIONS, look="observations")


def _observation(one: Seen, is_gated: bool, places: Mapping[str, int]) -> list[Cell]:
    minute = "" if one.minute is None else f"{one.minute:g}".replace("-", "\u2212")
    bought = [_places(one.bought_by, places) or "handed to all"] if is_gated else []
    return [Code(one.id), minute, *map(Code, (one.at, one.kind, one.service)), Code(one.text, LONGEST_LINE), *bought,
            _places(one.cited_by, places)]


def _places(systems: Sequence[str], places: Mapping[str, int]) -> str:
    return ", ".join(str(place) for place in sorted(places[name] for name in systems if name in places))


# what was said


def _scores(anchor: str, case: SampledCase) -> Table:
    tracks = dict.fromkeys((score.track, score.kind) for answer in case.answers for score in answer.scores)
    columns = [Column("answer of"), number_column("line", hint="its line in eval.jsonl"),
               *(number_column(Code(track), hint=kind) for track, kind in tracks)]
    rows = [(Link(f"{anchor}-answer-{number}", Code(answer.system)), str(answer.eval_line),
             *_judged(answer, [track for track, _ in tracks])) for number, answer in enumerate(case.answers, 1)]
    return Table(f"Scores of {_short(case.id)}, with lines of eval.jsonl", columns, rows, OBSERVATIONS, look="systems")


def _judged(answer: SampledAnswer, tracks: Sequence[str]) -> Iterator[Cell]:
    scores = {score.track: score for score in answer.scores}
    return (_score(scores[track]) if track in scores else NOT_AVAILABLE for track in tracks)


def _score(score: Score) -> Cell:
    if score.kind == "capability":
        return percent(score.value)
    return Mark("held", Tone.PASS) if score.value else Mark("broken", Tone.FAIL)


def _answer(anchor: str, answer: SampledAnswer) -> Section:
    broken = [score.track for score in answer.scores if score.kind == "gate" and not score.value]
    marks = [Mark("incomplete", Tone.INCOMPLETE)] if answer.output is None else [
        Mark(f"broke {_short(track)}", Tone.FAIL) for track in broken]
    title: list[Span] = [Code(answer.system)]
    for mark in marks:
        title += [" ", mark]
    return Section(anchor, title, list(_said(answer)))


def _said(answer: SampledAnswer) -> Iterator[Block]:
    if answer.purchases:
        cost = sum(one.cost for one in answer.purchases)
        yield quiet(f"{count_of(len(answer.purchases), 'message')} before it, for {cost:g}:")
        yield Bullets([(Code(one.said or "(empty)", 300), " ", *_brought(one)) for one in answer.purchases], True)
    attempt = f", attempt {answer.attempt}" if answer.attempt > 1 else ""
    told = f"Trial {answer.trial}{attempt}, line {answer.eval_line} of eval.jsonl:"
    if answer.output is not None:
        yield Verbatim(answer.output, told, MOST_CHARACTERS, MOST_LINES)
    else:
        yield quiet(told)
        yield Paragraph(shown_line(answer.error or "no whole reply", LONGEST_LINE))


def _brought(one: Purchase) -> tuple[Span, ...]:
    if one.error is not None:
        return (f"brought nothing, for {one.cost:g}: {shown_line(one.error, LONGEST_LINE)}",)
    return "brought ", *(listed(map(Code, one.got)) or ("nothing new",)), f", for {one.cost:g}"


def _payload(board: Board, payload: Payload) -> Block:
    if payload.warning is not None:
        return Callout(Tone.FAIL, shown_line(payload.warning, LONGEST_LINE))
    shown = [Verbatim(message.text, f"{_short(message.role)}, before message {message.step}", LONGEST_PAYLOAD)
             for message in payload.messages]
    note = [] if board.pack.synthetic is None else [quiet(board.pack.synthetic)]
    title = ("Exactly what was shown to ", *names(payload.systems), *synthetic_mark(board))
    return Fold(title, [*note, *shown])
