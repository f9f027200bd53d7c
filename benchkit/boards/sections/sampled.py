"""Sampled cases: the observations along their time, every answer with its scores, and what solvers were shown.

Everything here was written by packs and models; it is cut only where that is said.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchkit.basics.texts import are, count_of, percent, shown_line
from benchkit.boards.board import LONGEST_LINE, Board
from benchkit.boards.samples import Payload, SampledAnswer, SampledCase
from benchkit.boards.sections.wording import held, names, synthetic_mark
from benchkit.pages.row_charts import Lane, Moment, TimelineChart, TimelineEvent
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE

SAMPLED = ("The observations in the order of time, then every system's answer with its scores in percent and its line "
           "in eval.jsonl. What solvers were shown stands at the end of each case, word for word from the trace.")
MOST_LINES, MOST_CHARACTERS = 40, 4_000
"""Of an answer; the whole of it stands in responses.jsonl and trace.jsonl."""
LONGEST_PAYLOAD = 400_000
MOST_LANES = 24
OBSERVATIONS = doc.Cut(100, None, "observation")


def sample_blocks(board: Board) -> Iterator[doc.Block]:
    """One sampled case after the other."""
    if not board.samples:
        yield doc.words("No case has an answer yet.")
        return
    yield doc.quiet(SAMPLED)
    for place, case in enumerate(board.samples, 1):
        yield doc.Section(f"case-{place}", (doc.Code(case.id), *synthetic_mark(board)),
                          list(_case(board, f"case-{place}", case)))


def _case(board: Board, anchor: str, case: SampledCase) -> Iterator[doc.Block]:
    facts: list[tuple[str, doc.Spans]] = [("Right answer", doc.Strong(doc.Code(case.answer_key, LONGEST_LINE)))]
    facts += [("Now", doc.Code(case.now, LONGEST_LINE))] if case.now else []
    yield doc.Facts([*facts, *([("Tags", doc.listed(map(doc.Code, case.tags)))] if case.tags else [])])
    yield from (doc.Callout(Tone.FLAKY, warning) for warning in case.warnings)
    if case.observations:
        yield from timeline(case)
        yield _observations(board, case)
        yield doc.quiet(f"{'Bought by, cited by' if board.is_gated else 'Cited by'}: places in the ranking.")
    yield _scores(anchor, case)
    yield doc.Beside([_answer(f"{anchor}-answer-{number}", answer) for number, answer in enumerate(case.answers, 1)])
    yield doc.Fold("What is true", [doc.Verbatim(case.truth, "The truth, from cases.jsonl", MOST_CHARACTERS)])
    yield from (_payload(board, payload) for payload in case.payloads)


def timeline(case: SampledCase) -> Iterator[doc.Chart]:
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
    events = [(one, TimelineEvent(one.minute or 0.0, kinds.index(one.kind),
                                  f"{_short(one.id)} {_short(one.kind)}: {shown_line(one.text, 200)}",
                                  bool(one.cited_by))) for one in timed]
    yield doc.Chart(TimelineChart(
        f"{_short(case.id)} along its time, minutes from now", "service",
        [Lane(_short(lane), [event for one, event in events if one.service == lane]) for lane in lanes],
        [_short(kind) for kind in kinds], "min", Moment(0.0, f"now, {shown_line(case.now, 20)}"),
        "cited by an answer"), told)


def _short(name: str) -> str:
    return doc.Code(name).line


def _observations(board: Board, case: SampledCase) -> doc.Table:
    places = {one.system: one.place for one in board.ranking}

    def placed(systems: Sequence[str]) -> str:
        return ", ".join(str(place) for place in sorted(places[name] for name in systems if name in places))

    rows: list[list[doc.Cell]] = []
    for one in case.observations:
        minute = "" if one.minute is None else f"{one.minute:g}".replace("-", "\u2212")
        bought = [placed(one.bought_by) or "handed to all"] if board.is_gated else []
        rows.append([doc.Code(one.id), minute, *map(doc.Code, (one.at, one.kind, one.service)),
                     doc.Code(one.text, LONGEST_LINE), *bought, placed(one.cited_by)])
    columns = [doc.Column("id"), doc.number("minute"), *(doc.Column(name, doc.Kind.WORD)
                                                         for name in ("at", "kind", "service")),
               doc.Column("what it says"), *([doc.Column("bought by")] if board.is_gated else []),
               doc.Column("cited by")]
    return doc.Table(f"Observations of {_short(case.id)}", columns, rows, OBSERVATIONS, look="observations")


def _scores(anchor: str, case: SampledCase) -> doc.Table:
    tracks = dict.fromkeys((score.track, score.kind) for answer in case.answers for score in answer.scores)
    columns = [doc.Column("answer of"), doc.number("line", hint="its line in eval.jsonl"),
               *(doc.number(doc.Code(track), hint=kind) for track, kind in tracks)]
    rows: list[list[doc.Cell]] = []
    for number, answer in enumerate(case.answers, 1):
        scores: dict[str, doc.Cell] = {
            one.track: percent(one.value) if one.kind == "capability" else held(bool(one.value))
            for one in answer.scores}
        rows.append([doc.Link(f"{anchor}-answer-{number}", doc.Code(answer.system)), str(answer.eval_line),
                     *(scores.get(track, NOT_AVAILABLE) for track, _ in tracks)])
    return doc.Table(f"Scores of {_short(case.id)}, with lines of eval.jsonl", columns, rows, OBSERVATIONS,
                     look="systems")


def _answer(anchor: str, answer: SampledAnswer) -> doc.Section:
    marks = [doc.Mark("incomplete", Tone.INCOMPLETE)] if answer.output is None else [
        doc.Mark(f"broke {_short(score.track)}", Tone.FAIL) for score in answer.scores
        if score.kind == "gate" and not score.value]
    title = [doc.Code(answer.system), *(span for mark in marks for span in (" ", mark))]
    return doc.Section(anchor, title, list(_said(answer)))


def _said(answer: SampledAnswer) -> Iterator[doc.Block]:
    if answer.purchases:
        cost = sum(one.cost for one in answer.purchases)
        yield doc.quiet(f"{count_of(len(answer.purchases), 'message')} before it, for {cost:g}:")
        lines = []
        for one in answer.purchases:
            brought = (f"brought nothing, for {one.cost:g}: {shown_line(one.error or '', LONGEST_LINE)}",)
            got = ("brought ", *(doc.listed(map(doc.Code, one.got)) or ("nothing new",)), f", for {one.cost:g}")
            lines.append((doc.Code(one.said or "(empty)", 300), " ", *(got if one.error is None else brought)))
        yield doc.Bullets(lines, is_numbered=True)
    attempt = f", attempt {answer.attempt}" if answer.attempt > 1 else ""
    told = f"Trial {answer.trial}{attempt}, line {answer.eval_line} of eval.jsonl:"
    if answer.output is not None:
        yield doc.Verbatim(answer.output, told, MOST_CHARACTERS, MOST_LINES)
    else:
        yield doc.quiet(told)
        yield doc.words(shown_line(answer.error or "no whole reply", LONGEST_LINE))


def _payload(board: Board, payload: Payload) -> doc.Block:
    if payload.warning is not None:
        return doc.Callout(Tone.FAIL, shown_line(payload.warning, LONGEST_LINE))
    shown = [doc.Verbatim(message.text, f"{_short(message.role)}, before message {message.step}", LONGEST_PAYLOAD)
             for message in payload.messages]
    note = [] if board.pack.synthetic is None else [doc.quiet(board.pack.synthetic)]
    title = ("Exactly what was shown to ", *names(payload.systems), *synthetic_mark(board))
    return doc.Fold(title, [*note, *shown])
