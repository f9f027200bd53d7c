"""The board in Markdown on sampled cases: observations in order of time, every answer with its scores, the payload.

Everything here was written by packs and models: short texts stand in cells, long ones in fences.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchkit.basics.texts import count_of, shown_line
from benchkit.boards.board_values import Board, Payload, Purchase, SampledAnswer, SampledCase, Seen
from benchkit.boards.board_words import LONGEST_LINE, PLACES, SAMPLED, score_text, short_name
from benchkit.pages.markdown import Markdown, block, bullets, code, folded, heading, paragraph, table, warning, words
from benchkit.reports.figures import NOT_AVAILABLE
from benchkit.reports.markdown_parts import LONGEST_NAME, LONGEST_TEXT, left, own, right

MOST_CHARACTERS, LONGEST_PAYLOAD = 4_000, 400_000


def samples_part(board: Board) -> Iterator[Markdown]:
    """One sampled case after the other."""
    yield paragraph(own(SAMPLED if board.samples else "No case has an answer yet."))
    synthetic = [own("SYNTHETIC")] if board.synthetic is not None else []
    places = {one.system: one.place for one in board.ranking}
    for case in board.samples:
        yield heading(3, code(case.id, LONGEST_NAME), *synthetic)
        yield from _case(board, case, places)


def _case(board: Board, case: SampledCase, places: Mapping[str, int]) -> Iterator[Markdown]:
    now = [words(own("**Now:**"), code(case.now))] if case.now else []
    tags = [words(own("**Tags:**"), *(code(tag, LONGEST_NAME) for tag in case.tags))] if case.tags else []
    yield bullets([words(own("**Right answer:**"), code(case.answer_key)), *now, *tags])
    yield warning(case.warnings)
    if case.observations:
        yield _observations(board, case, places)
        yield paragraph(own(PLACES[board.making.market is not None]))
    yield _scores(case)
    for answer in case.answers:
        yield from _answer(answer)
    yield folded("What is true", _text(case.truth, MOST_CHARACTERS))
    for payload in case.payloads:
        yield from _payload(board, payload)


def _observations(board: Board, case: SampledCase, places: Mapping[str, int]) -> Markdown:
    is_gated = board.making.market is not None
    bought = [left("bought by")] if is_gated else []
    return table([right("minute"), left("at"), left("id"), left("kind"), left("service"), left("what it says"),
                  *bought, left("cited by")], (_observation(one, is_gated, places) for one in case.observations))


def _observation(one: Seen, is_gated: bool, places: Mapping[str, int]) -> list[Markdown]:
    minute = "" if one.minute is None else f"{one.minute:g}"
    bought = [_places(one.bought_by, places) or own("handed to all")] if is_gated else []
    return [own(minute), code(one.at, LONGEST_NAME), code(one.id, LONGEST_NAME), code(one.kind, LONGEST_NAME),
            code(one.service, LONGEST_NAME), code(one.text, LONGEST_TEXT), *bought,
            _places(one.cited_by, places)]


def _places(names: Sequence[str], places: Mapping[str, int]) -> Markdown:
    return own(", ".join(str(place) for place in sorted(places[name] for name in names if name in places)))


def _scores(case: SampledCase) -> Markdown:
    tracks = list(dict.fromkeys(score.track for answer in case.answers for score in answer.scores))
    columns = [left("answer of"), right("trial"), *(right(code(short_name(track))) for track in tracks),
               right("line in `eval.jsonl`")]
    return table(columns, (_score_row(answer, tracks) for answer in case.answers))


def _score_row(answer: SampledAnswer, tracks: Sequence[str]) -> list[Markdown]:
    texts = {score.track: _shown_score(score_text(score)) for score in answer.scores}
    return [code(answer.system, LONGEST_NAME), own(str(answer.trial)),
            *(own(texts.get(track, NOT_AVAILABLE)) for track in tracks), own(str(answer.eval_line))]


def _shown_score(text: str) -> str:
    return {"held": "✓ held", "broken": "**✗ broken**"}.get(text, text)


def _answer(answer: SampledAnswer) -> Iterator[Markdown]:
    attempt = f", attempt {answer.attempt}" if answer.attempt > 1 else ""
    yield paragraph(code(answer.system, LONGEST_NAME),
                    own(f"trial {answer.trial}{attempt}, line {answer.eval_line} of `eval.jsonl`:"))
    yield bullets(map(_purchase, answer.purchases))
    if answer.output is None:
        yield paragraph(own("**incomplete**"), answer.error or "no whole reply")
    else:
        yield Markdown(_text(answer.output, MOST_CHARACTERS) + "\n")


def _purchase(one: Purchase) -> Markdown:
    if one.error is not None:
        return words(code(one.said), own(f"brought nothing, for {one.cost:g}:"), shown_line(one.error))
    got = [code(name, LONGEST_NAME) for name in one.got] or [own("nothing new")]
    return words(code(one.said), own(f"brought, for {one.cost:g}:"), *got)


def _payload(board: Board, payload: Payload) -> Iterator[Markdown]:
    if payload.warning is not None:
        yield warning([shown_line(payload.warning, LONGEST_LINE)])
        return
    who = ", ".join(map(short_name, payload.systems))
    synthetic = "SYNTHETIC: " if board.synthetic is not None else ""
    parts = [Markdown(paragraph(code(message.role, LONGEST_NAME), own(f"before message {message.step}:"))
                      + _text(message.text, LONGEST_PAYLOAD) + "\n") for message in payload.messages]
    yield folded(f"{synthetic}exactly what was shown to {who} ({count_of(len(parts), 'message')})", *parts)


def _text(text: str, most: int) -> Markdown:
    """A text whole in a fence, or its beginning, which is said."""
    told = paragraph(own(f"The first {most:,} of {len(text):,} characters.")) if len(text) > most else ""
    return Markdown(block(text[:most]) + told)
