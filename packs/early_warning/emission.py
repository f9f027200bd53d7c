"""The emission gate of one question, and what an answer counts as when answers are counted.

What does not live here: gates over a whole batch, and questions that repeat each other (the machinery of
boards).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import cast

from benchkit import JSON, Case, canonical
from packs.early_warning.answers import read_answer
from packs.early_warning.judges import TRACKS
from packs.early_warning.pages import messages, payload, schema
from packs.early_warning.solvers import oracle
from packs.early_warning.values import DESTRUCTIVE, GEOMETRIES, NONE, Question, Step, Truth
from packs.early_warning.wire import question_of, truth_of
from packs.early_warning.world import severity_of

LONGEST_PROMPT = 2600
"""Letters of the messages of `single`: about 900 tokens of the small models this pack is for."""


def truth_terms(case: Case) -> tuple[str, ...]:
    """Texts that tell the truth and must stand nowhere a solver looks. Raises ValueError if it has none.

    The labels as canonical JSON has them, the name of the situation, the sentence that explains it, the
    list of its evidence, and what was observed after now. Single words that every prompt holds tell nothing
    and are not among them. A solver's own messages may well hold some: look for them in what it was shown
    only.
    """
    truth = truth_of(case)
    labels = (f'"{name}":"{value}"' for name, value in (
        ("incident", truth.incident), ("cause", truth.cause), ("severity", truth.severity)))
    later = (form for one in truth.later for form in (f'"id":"{one.id}"', f"{one.id} {one.at} "))
    return (*labels, truth.situation, ", ".join(truth.supports), truth.why, *later)


def answer_key(case: Case) -> str:
    """The answer of a question, where answers are counted: its word none, coming or under_way."""
    return truth_of(case).incident


def said_key(answer: str) -> str:
    """The same of what a solver said; "unreadable" for a text that is no answer."""
    said = read_answer(answer)
    return "unreadable" if said is None else said.incident


def problems(case: Case) -> list[str]:
    """Why a question must not be asked, a line each; none if it can be."""
    try:
        question, truth = question_of(case.input), truth_of(case)
    except ValueError as error:
        return [f"it is no question: {error}"]
    checks: tuple[Callable[[Question, Truth], list[str]], ...] = (_stream, _truth)
    found = [text for check in checks for text in check(question, truth)]
    return found or [*_leaks(case), *_unanswerable(case)]


def leaks(text: str, case: Case) -> list[str]:
    """The truth terms that stand in a text, however it is cased."""
    folded = text.casefold()
    return [term for term in truth_terms(case) if term.casefold() in folded]


def _leaks(case: Case) -> list[str]:
    found = []
    for geometry in GEOMETRIES:
        view = payload(case, geometry)
        asked: JSON = [view, messages(view), schema(view)]
        shown = "\n".join([canonical(asked), *(message["content"] for message in messages(view))])
        found += [f"{geometry} leaks its truth: {term}" for term in leaks(shown, case)]
    if sum(len(message["content"]) for message in messages(payload(case))) > LONGEST_PROMPT:
        found.append(f"the prompt has more than {LONGEST_PROMPT} letters")
    return found


def _stream(question: Question, truth: Truth) -> list[str]:
    stream = question.observations
    ids = [one.id.casefold() for one in (*stream, *truth.later)]
    names = {one.name for one in question.services}
    return [text for is_wrong, text in (
        (not stream, "nothing was observed"),
        (len(set(ids)) != len(ids), "an id of an observation stands twice"),
        (any(one.minute > 0 for one in stream), "an observation of the stream is later than now"),
        (any(one.minute <= 0 for one in truth.later), "an observation after now is not later than now"),
        (any(one.service not in names for one in stream), "an observation is of a service not on the map"),
        (any(one.text != " ".join(one.text.split()) for one in stream), "an observation is not one line"),
        (any(need not in names for one in question.services for need in one.needs),
         "a need is not on the map"),
        (not any(one.is_entry for one in question.services), "no service is an entry"),
    ) if is_wrong]


def _truth(question: Question, truth: Truth) -> list[str]:
    names = {one.name for one in question.services}
    is_none = truth.incident == NONE
    right = NONE if is_none else severity_of(question.services, truth.cause)
    return [text for is_wrong, text in (
        (is_none and truth.cause != NONE, "it has no incident, yet a cause"),
        (not is_none and truth.cause not in names, "its cause is not on the map"),
        (truth.severity != right, f"its severity is not {right}, as the map says"),
        (len(truth.supports) < 2, "fewer than two observations support its answer"),
        (not set(truth.supports) <= {one.id for one in question.observations},
         "evidence for its answer is not in the stream"),
        (truth.next in DESTRUCTIVE, "its next step is a destructive one"),
    ) if is_wrong]


def _unanswerable(case: Case) -> list[str]:
    """Full marks must be possible where all is shown."""
    view = payload(case)
    shown = view["observations"]
    said = oracle(case, 0, messages(view))
    handed = Step(None, cast("list[dict[str, JSON]]", shown))
    return [f"its own truth does not hold under {track.name}" for track in TRACKS
            if track.judge(case, said, [handed]) != 1]
