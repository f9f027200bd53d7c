"""Making questions: `build`, deterministic for a seed.

Three questions in a row hold one of each: nothing, coming, under way, in any order; each five of a sort
hold each of its five situations once. So no answer fits more than a third of a batch (and one question
more).
What does not live here: the stories (situations.py, decoys.py), and what a solver sees of them (pages.py).
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from benchkit import Case
from packs.early_warning.decoys import HEALTHY, noise
from packs.early_warning.dice import Dice
from packs.early_warning.scene import Scene, Sighting, Story, make_scene
from packs.early_warning.situations import COMING, UNDER_WAY, Tell
from packs.early_warning.values import Observation, Question, Service, Truth
from packs.early_warning.wire import question_to_wire, truth_to_wire
from packs.early_warning.world import severity_of, users_of

SPLIT = "questions"
MOST_LETTERS = 80
"""Of an observation's text: prompts must fit small models."""
Reword = Callable[[str], str]
_REWORDED = ("ticket", "chat")
_REWORD_PROMPT = ("Say this in other words, as one short line of an on-call chat. Keep every number and "
                  "name. Answer with the line alone.\n\n")


def build(seed: int, count: int, llm: Reword | None = None) -> list[Case]:
    """`count` questions, EW-01 and on; fewer are the beginning of more.

    `llm` takes a prompt and gives a text; it is asked about tickets and chat lines only, in order. What it
    says is used if it is one line that keeps all numbers and adds none. It has no part in what is true, and
    caching its answers is the business of whoever passes it.
    """
    dice = Dice(seed)
    plan = _plan(dice)
    return [_case(number, dice, next(plan), llm) for number in range(1, count + 1)]


def _plan(dice: Dice) -> Iterator[Tell]:
    while True:
        sorts = [dice.shuffled(tuple(stories.values())) for stories in (HEALTHY, COMING, UNDER_WAY)]
        for three in zip(*sorts, strict=True):
            yield from dice.shuffled(three)


def _case(number: int, dice: Dice, tell: Tell, llm: Reword | None) -> Case:
    scene = make_scene(dice)
    story = tell(scene, _where(scene, tell))
    sightings = sorted((*story.sightings, *noise(scene, story)), key=lambda one: one.minute)
    texts = [_reworded(one, llm) for one in sightings]
    seen = tuple(_observation(scene, index, one, text)
                 for index, (one, text) in enumerate(zip(sightings, texts, strict=True), 1))
    supports = tuple(one.id for one, sighting in zip(seen, sightings, strict=True) if sighting.supports)
    later = tuple(_observation(scene, index, one, one.text)
                  for index, one in enumerate(story.later, len(seen) + 1))
    question = Question(scene.clock(0), scene.services, seen)
    truth = Truth(story.situation, story.incident, story.cause, _severity(scene.services, story), supports,
                  story.next, story.due_minutes, story.why, later)
    return Case(f"EW-{number:02d}", SPLIT, question_to_wire(question), truth_to_wire(truth),
                (truth.incident, truth.situation, f"severity-{truth.severity}"))


def _where(scene: Scene, tell: Tell) -> str:
    """The service of a story: first how severe it would be, then which, so that no severity prevails."""
    wanted = scene.dice.pick(("low", "high", "critical"))
    names = [one.name for one in scene.services if severity_of(scene.services, one.name) == wanted]
    if tell in (COMING["slow_dependency"], UNDER_WAY["slow_dependency"]):
        names = [name for name in names if users_of(scene.services, name)]
    return scene.dice.pick(names)


def _severity(services: Sequence[Service], story: Story) -> str:
    return "none" if story.incident == "none" else severity_of(services, story.cause)


def _observation(scene: Scene, index: int, one: Sighting, text: str) -> Observation:
    return Observation(f"o{index}", one.minute, scene.clock(one.minute), one.kind, one.service, text)


def _reworded(one: Sighting, llm: Reword | None) -> str:
    if llm is None or one.kind not in _REWORDED:
        return one.text
    said = llm(_REWORD_PROMPT + one.text).strip()
    is_usable = (0 < len(said) <= MOST_LETTERS and said.isprintable()
                 and sorted(_numbers(said)) == sorted(_numbers(one.text)))
    return said if is_usable else one.text


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)
