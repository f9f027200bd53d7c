"""A pack small enough to be read at a glance, for tests of boards: is a number even, and which is it?

It is written to a folder and loaded from there as any pack is; tests change its text.
"""
from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from benchkit.boards.pack import Pack, load_pack
from tests.commands import modules_of_a_user

JUDGES = '''\
from packs.tiny.words import Track, read

def right(case, answer, steps):
    return 1.0 if read(answer) == case.expected else 0.0

def short(case, answer, steps):
    return 1.0 if len(answer) <= 4 else 0.5

def polite(case, answer, steps):
    said = [answer, *(step.said or "" for step in steps)]
    return not any("damn" in text for text in said)

tracks = (
    Track("right", "capability", "whether the word is right", "how it was found", right),
    Track("short", "capability", "whether it is brief", "whether it is right", short),
    Track("polite", "gate", "whether nothing rude was said", "whether it was meant", polite),
)
'''
WORDS = '''\
from dataclasses import dataclass
from typing import Any

@dataclass(frozen=True)
class Track:
    name: str
    kind: str
    measures: str
    measures_not: str
    judge: Any

@dataclass(frozen=True)
class Tool:
    name: str
    says: str
    price: float
    kinds: tuple = ("note",)
    services: tuple = ()

@dataclass(frozen=True)
class Turn:
    kind: str
    tool: Any = None
    observations: tuple = ()
    cost: float = 0.0
    grounded: bool = False
    error: Any = None

@dataclass(frozen=True)
class Prices:
    unit: str
    budget: float
    steps: int
    prices: dict

def read(answer):
    return answer.strip()
'''
PACK = '''\
from benchkit.basics.values import Case
from packs.tiny.judges import tracks
from packs.tiny.words import Prices, Tool, Turn, read

NAME = "tiny"
VERSION = "1"
JUDGE_VERSION = "1"
SYNTHETIC = "SYNTHETIC: numbers"
JUDGE_MODULE = "packs.tiny.judges"
JUDGE_HELPERS = ("packs.tiny.words",)

def build(seed, count, llm=None):
    cases = []
    for number in range(seed, seed + count):
        word = "even" if number % 2 == 0 else "odd"
        ask = f"Is {number} even or odd?"
        shown = {"number": number, "ask": llm(ask) if llm else ask}
        cases.append(Case(f"T-{number}", "questions", shown, word, (word,)))
    return cases

def truth_terms(case):
    return [f"truth={case.expected}"]

def problems(case):
    return ["13 brings bad luck"] if case.input["number"] == 13 else []

def answer_key(case):
    return case.expected

def said_key(answer):
    return read(answer) if read(answer) in ("even", "odd") else "unreadable"

def payload(case, geometry="single"):
    shown = [{"id": "o1", "minute": 0, "at": "12:00", "kind": "note", "service": "sums", "text": case.input["ask"]}]
    return {"geometry": geometry, "now": "12:00", "observations": shown}

def messages(view, budget=None, steps=None):
    limits = "" if budget is None else f" {budget:g} coins, {steps} messages."
    return [{"role": "user", "content": view["observations"][0]["text"] + limits}]

def schema(view):
    return None

def prices():
    return Prices("coins", 4, 3, {"hint": 2})

def tools(case):
    return (Tool("hint", "a hint", 2.0),)

def turn(case, said, steps, left):
    if read(said) in ("even", "odd"):
        return Turn("answer")
    if read(said) != "hint":
        return Turn("unreadable", error="neither a word nor hint")
    if left < 2:
        return Turn("refused", "hint", error="too dear")
    note = {"id": f"h{len(steps)}", "minute": 0, "at": "12:00", "kind": "note", "service": "sums",
            "text": f"its half is {case.input['number'] / 2}"}
    return Turn("bought", "hint", (note,), 2.0, True)

def reply(turn, left, steps_left):
    return f"{turn.error or turn.observations[0]['text']}. {left:g} coins, {steps_left} messages left."

def always_even(view, seed, messages):
    return "even"

def buyer(view, seed, messages):
    return "hint" if len(messages) < 3 else "odd"

def oracle(view, seed, messages):
    return view.expected

def baselines():
    return {"even": {"answer": always_even, "sees_truth": False}, "buyer": {"answer": buyer, "sees_truth": False},
            "oracle": {"answer": oracle, "sees_truth": True}}
'''


def put_pack(home: Path, **texts: str) -> Path:
    """Write the pack below `home`/packs, with other texts for pack, judges or words; the folder of the pack."""
    folder = home / "packs" / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    (home / "packs" / "__init__.py").write_text("", encoding="utf-8")
    for name, file, text in (
            ("pack", "__init__.py", PACK), ("judges", "judges.py", JUDGES), ("words", "words.py", WORDS)):
        (folder / file).write_text(texts.get(name, text), encoding="utf-8")
    return folder


class PackTest(unittest.TestCase):
    """A folder to load packs from; what they leave in the interpreter is put back."""

    def setUp(self) -> None:
        self.enterContext(modules_of_a_user())
        # a text changed within one second, its length unchanged, must not be taken for the one compiled before
        self.enterContext(mock.patch.object(sys, "dont_write_bytecode", True))
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def tiny(self, **texts: str) -> Pack:
        """The small pack, with other texts for its modules."""
        put_pack(self.home, **texts)
        return load_pack("tiny", [self.home])
