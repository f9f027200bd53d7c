"""What is odd about trials, counted over a run: answers that are cut, empty, reasoning only or mixed with thoughts.

prompts that the server cut, and trials in which the machine slept; and how many rounds of trials are complete.
"""
from __future__ import annotations

import re
from array import array
from dataclasses import dataclass

from benchkit.basics.values import Usage
from benchkit.recordings.run_record import Result

_THOUGHT = re.compile("</?think>")


_LIMITS = ("length", "max_tokens", "model_length")
"""How servers call the end of an answer that was cut off: most, Gemini and Anthropic, Mistral."""


@dataclass(frozen=True, slots=True)
class Found:
    """How many trials, and their cases, each once and in order."""

    count: int
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many trial numbers are judged in every case, and how many trials passed in them."""

    complete: int
    passed: int


@dataclass(frozen=True, slots=True)
class Anomalies:
    """Of `answered` trials with an output: those `cut` at the length limit, those that are `blank`, or empty behind
    reasoning, those with tags of `thinking`; `prompts` are those with too few tokens for what was asked, `worst_prompt`
    the tokens of the one with most letters a token. `slept` are trials during which the machine slept,
    `longest_sleep_s` the longest of them.
    """

    answered: int
    cut: Found
    blank: Found
    reasoned: Found
    thinking: Found
    prompts: Found
    worst_prompt: Usage
    slept: Found
    longest_sleep_s: float
    rounds: Rounds


class _Finding:
    """Counts trials of one kind."""

    def __init__(self) -> None:
        self._count = 0
        self._cases: dict[str, None] = {}

    def take(self, result: Result) -> None:
        self._count += 1
        self._cases[result.case] = None

    def found(self) -> Found:
        return Found(self._count, tuple(self._cases))


class AnomalyCount:
    """Counts the trials of a run of so many trials a case, case by case."""

    def __init__(self, trials: int) -> None:
        self._answered, self._longest_sleep_s = 0, 0.0
        self._cut, self._blank, self._reasoned, self._thinking, self._prompts, self._slept = (
            _Finding() for _ in range(6))
        self._worst_prompt = Usage()
        self._rounds = _RoundCount(trials)

    def begin(self) -> None:
        """The trials that follow are those of another case."""
        self._rounds.begin()

    def take(self, result: Result) -> None:
        """One trial."""
        self._rounds.take(result)
        if result.output is not None:
            self._take_answer(result)
        if result.slept_s is not None:
            self._slept.take(result)
            self._longest_sleep_s = max(self._longest_sleep_s, result.slept_s)

    def take_not_run(self, _result: Result, count: int) -> None:
        """So many trials that did not run."""
        self._rounds.take_not_run(count)

    def _take_answer(self, result: Result) -> None:
        self._answered += 1
        if (result.finish or "").casefold() in _LIMITS:
            self._cut.take(result)
        if not (result.output or "").strip():
            (self._reasoned if (result.reasoning or "").strip() else self._blank).take(result)
        if _THOUGHT.search(result.output or ""):
            self._thinking.take(result)
        if result.usage is not None and result.usage.asked_letters is not None:
            self._prompts.take(result)
            self._worst_prompt = max(self._worst_prompt, result.usage, key=_letters_a_token)

    def anomalies(self) -> Anomalies:
        """What was counted."""
        return Anomalies(
            self._answered, self._cut.found(), self._blank.found(), self._reasoned.found(), self._thinking.found(),
            self._prompts.found(), self._worst_prompt, self._slept.found(), self._longest_sleep_s,
            self._rounds.rounds())


def _letters_a_token(usage: Usage) -> float:
    return (usage.asked_letters or 0) / max(1, usage.prompt_tokens or 0)


class _RoundCount:
    """Counts by trial number: whether all cases so far were judged in it, and how many passed."""

    def __init__(self, trials: int) -> None:
        self._is_judged = bytearray(b"\1" * trials)
        self._passed = array("I", [0]) * trials
        self._place = 0
        self._cases = 0

    def begin(self) -> None:
        self._place = 0
        self._cases += 1

    def take(self, result: Result) -> None:
        if result.error is not None:
            self._is_judged[self._place] = 0
        elif result.verdict == "pass":
            self._passed[self._place] += 1
        self._place += 1

    def take_not_run(self, count: int) -> None:
        self._is_judged[self._place:self._place + count] = bytes(count)
        self._place += count

    def rounds(self) -> Rounds:
        if not self._cases:
            return Rounds(0, 0)
        return Rounds(sum(self._is_judged),
                      sum(passed for passed, is_judged in zip(self._passed, self._is_judged, strict=True) if is_judged))
