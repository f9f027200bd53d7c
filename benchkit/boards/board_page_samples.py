"""The board's page on sampled cases: the observations along their time, every answer with its scores, the payload.

Everything here was written by packs and models: it stands as text, cut only where that is said.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchkit.basics.texts import count_of, shown_line
from benchkit.boards.board_page_parts import line, name, synthetic_badge
from benchkit.boards.board_page_timeline import timeline_of
from benchkit.boards.board_values import Board, Payload, Purchase, SampledAnswer, SampledCase, Seen
from benchkit.boards.board_words import PLACES, SAMPLED, score_text, short_name
from benchkit.pages.html import Child, Html, element, joined, whole
from benchkit.pages.marks import Tone, badge, mark
from benchkit.pages.parts import article, callout, code, facts, fold, link, paragraph, text_block
from benchkit.pages.tables import Column, number_column, table

MOST_LINES, MOST_CHARACTERS = 40, 4_000
"""Of an answer or a purchase; the whole of it stands in responses.jsonl and trace.jsonl."""
LONGEST_PAYLOAD = 400_000


def samples_part(board: Board) -> Iterator[Html]:
    """One sampled case after the other."""
    if not board.samples:
        yield paragraph("No case has an answer yet.")
        return
    yield element("p", SAMPLED, class_="quiet")
    for place, case in enumerate(board.samples, 1):
        yield article(f"case-{place}", joined(short_name(case.id), " ", synthetic_badge(board.synthetic)),
                      *_case(board, place, case))


def _case(board: Board, place: int, case: SampledCase) -> Iterator[Html]:
    yield facts(_facts(case))
    for warning in case.warnings:
        yield callout(Tone.FLAKY, line(warning))
    if case.observations:
        yield timeline_of(case)
        yield fold(f"{count_of(len(case.observations), 'observation')}, as a list",
                   *_observations(board, case), is_open=True)
    yield whole(_scores(place, case))
    yield element("div", *(_answer(place, number, answer) for number, answer in enumerate(case.answers, 1)),
                  class_="side-by-side")
    yield fold("What is true", text_block(case.truth, "The truth, from cases.jsonl", None, MOST_CHARACTERS))
    for payload in case.payloads:
        yield _payload(board, payload)


def _facts(case: SampledCase) -> Iterator[tuple[str, Child]]:
    yield "Right answer", element("strong", line(case.answer_key))
    if case.now:
        yield "Now", line(case.now)
    if case.tags:
        yield "Tags", line(", ".join(case.tags))


def _observations(board: Board, case: SampledCase) -> Iterator[Html]:
    is_gated = board.making.market is not None
    places = {one.system: one.place for one in board.ranking}
    bought = [Column("bought by")] if is_gated else []
    columns = [Column("id"), number_column("minute"), Column("at", "short"), Column("kind", "short"),
               Column("service", "short"), Column("what it says"), *bought, Column("cited by")]
    yield from table(f"Observations of {short_name(case.id)}", columns, (
        _observation(one, is_gated, places) for one in case.observations), "observations")
    yield element("p", PLACES[is_gated], class_="quiet")


def _observation(one: Seen, is_gated: bool, places: Mapping[str, int]) -> list[Child]:
    minute = "" if one.minute is None else f"{one.minute:g}".replace("-", "\u2212")
    bought: list[Child] = [_places(one.bought_by, places) or "handed to all"] if is_gated else []
    return [name(one.id), minute, line(one.at), line(one.kind), line(one.service), code(line(one.text)), *bought,
            _places(one.cited_by, places)]


def _places(names: Sequence[str], places: Mapping[str, int]) -> str:
    return ", ".join(str(place) for place in sorted(places[name] for name in names if name in places))


def _systems(names: Sequence[str]) -> str:
    return ", ".join(map(short_name, names))


def _scores(place: int, case: SampledCase) -> Iterator[Html]:
    tracks = list(dict.fromkeys((score.track, score.kind) for answer in case.answers for score in answer.scores))
    columns = [Column("answer of"), number_column("line", "its line in eval.jsonl"),
               *(number_column(short_name(track), kind) for track, kind in tracks)]
    yield from table(f"Scores of {short_name(case.id)}, with lines of eval.jsonl", columns, (
        _score_row(place, number, answer, [track for track, _ in tracks])
        for number, answer in enumerate(case.answers, 1)), "systems")


def _score_row(place: int, number: int, answer: SampledAnswer, tracks: Sequence[str]) -> list[Child]:
    scores = {score.track: score for score in answer.scores}
    cells: list[Child] = []
    for track in tracks:
        score = scores.get(track)
        if score is None:
            cells.append(mark(Tone.INCOMPLETE, f"{short_name(track)}: not judged"))
        elif score.kind == "gate":
            tone = Tone.PASS if score.value else Tone.FAIL
            cells.append(mark(tone, f"{short_name(track)}: {score_text(score)}"))
        else:
            cells.append(score_text(score))
    said = link(f"case-{place}-answer-{number}", name(answer.system))
    return [said, answer.eval_line, *cells]


def _answer(place: int, number: int, answer: SampledAnswer) -> Html:
    heading = element("h4", name(answer.system), *_broken(answer))
    return element("div", heading, *_purchases(answer.purchases), _said(answer), class_="answer",
                   id=f"case-{place}-answer-{number}")


def _broken(answer: SampledAnswer) -> list[Html]:
    if answer.output is None:
        return [Html(" "), badge(Tone.INCOMPLETE, "incomplete")]
    broken = [score.track for score in answer.scores if score.kind == "gate" and not score.value]
    return [joined(" ", badge(Tone.FAIL, f"broke {short_name(track)}")) for track in broken]


def _said(answer: SampledAnswer) -> Html:
    attempt = f", attempt {answer.attempt}" if answer.attempt > 1 else ""
    told = f"Trial {answer.trial}{attempt}, line {answer.eval_line} of eval.jsonl:"
    if answer.output is None:
        return joined(element("p", told, class_="text-title"), paragraph(line(answer.error or "no whole reply")))
    return text_block(answer.output, told, MOST_LINES, MOST_CHARACTERS)


def _purchases(purchases: Sequence[Purchase]) -> list[Html]:
    if not purchases:
        return []
    cost = sum(one.cost for one in purchases)
    return [element("p", f"{count_of(len(purchases), 'message')} before it, for {cost:g}:", class_="text-title"),
            element("ol", *(element("li", code(shown_line(one.said, 300) or "(empty)"), " ", _brought(one))
                            for one in purchases))]


def _brought(one: Purchase) -> str:
    if one.error is not None:
        return f"brought nothing, for {one.cost:g}: {line(one.error)}"
    got = ", ".join(map(short_name, one.got)) or "nothing new"
    return f"brought {got}, for {one.cost:g}"


def _payload(board: Board, payload: Payload) -> Html:
    if payload.warning is not None:
        return callout(Tone.FAIL, line(payload.warning))
    shown = [text_block(message.text, f"{short_name(message.role)}, before message {message.step}", None,
                        LONGEST_PAYLOAD) for message in payload.messages]
    note = paragraph(board.synthetic, class_="quiet") if board.synthetic is not None else None
    summary = joined(f"Exactly what was shown to {_systems(payload.systems)} ", synthetic_badge(board.synthetic))
    return fold(summary, note, *shown)
