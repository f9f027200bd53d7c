"""A run in which every text that comes from models, tasks, files or people is hostile to some format."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchkit.basics.values import ErrorFacts, TaskName
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import Judge, Result, RunRecord
from tests.reports_samples import case, result

HOSTILE = (
    "</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "javascript:alert(1)",
    "```\n# heading\n```", "`a``b`", "| a | b |\n| --- | --- |", "\n\n</details>\n\n", "</summary>", "-->", "]]>",
    "\x1b[31mred\x1b[0m", "\u202egnirts\u2066", "=cmd|' /C calc'!A0", "+1", "-1", "@sum(1)", "\t=1", "\r\n=1",
    "nul\x00nul", "\ufffe\uffff", "\u2028\u2029\x85", "\ud800", "@team #1 www.example.org", "&amp; &lt;",
    "![a](https://example.org/a.png)", "x" * 3000, "", "   ", "é日本\U0001f600",
)
"""Each of them stands in every place once."""
STORABLE = tuple(text for text in HOSTILE if text != "\ud800")
"""Those that a file can bring: a lone surrogate is refused by the reader."""


def hostile_record(texts: Sequence[str] = HOSTILE) -> RunRecord:
    """A case for each hostile text, three trials each: passed, failed, broken reply."""
    cases, results = [], []
    for number, text in enumerate(texts):
        name = f"{number}{text}"
        cases.append(replace(case(name, [text]), expected=text, input=text))
        results += [_judged(name, 1, text, True), _judged(name, 2, text, False), _broken(name, text)]
    session = SessionFacts("2026-11-30T12:00:00.000Z", "".join(texts), {text: text for text in texts}, 120.0,
                           None, 1.5, "complete")
    return RunRecord(
        "".join(texts), TaskName("toy_task", HOSTILE[0], HOSTILE[3]), Judge(HOSTILE[1], HOSTILE[4], "0" * 64),
        HOSTILE[2], "".join(texts), {text: text for text in texts}, 3, "2026-11-30T12:00:00.000Z", {},
        (session,), tuple(cases), tuple(results))


def _judged(name: str, trial: int, text: str, passes: bool) -> Result:
    checks = {text: passes, "plain": passes}
    return replace(result(name, trial, "+" if passes else "-"), checks=checks, output=text, reasoning=text, finish=text,
                   explain=None if passes else {text: f"expected {text}, got {text}"})


def _broken(name: str, text: str) -> Result:
    return replace(result(name, 3, "t"), error=ErrorFacts("BrokenReply", text, text))
