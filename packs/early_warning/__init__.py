"""Early warning: is an incident under way or coming, where does it start, how bad is it, what shows it?

SYNTHETIC on-call data: a seeded generator makes every question, a map of 10 to 13 services and 14 to 24
observations of the last hour, many of them noise. A third of the questions has no incident (five decoys), a
third one that is coming, a third one under way (five kinds each). The contract with boards stands in
`packs/__init__.py`; this is what the pack makes of it:

**Case.** `input`: `now`, `services`, `observations`; `expected`: the truth, with what was observed `later`;
`tags`: the word, the situation, the severity. wire.py has the fields.

**Payload.** `{"synthetic", "geometry", "now", "services", "observations"}`: in `single` all observations up to
now, in `gated` the two newest alerts.

**Messages of a solver.** One JSON object; talk or a code fence around it does no harm, a second object does.

    answer      {"incident": "none" | "coming" | "under_way", "cause": service | "none",
                 "severity": "none" | "low" | "high" | "critical", "evidence": [ids], "next": a word of the menu}
    purchase    {"buy": "alerts" | "people" | "changes"} or {"buy": "readings" | "logs", "service": ...}

An object with `buy` is a purchase. One whose `incident` is one of the three words is an answer; a field
that is missing fails its own track only. All else is unreadable: 0 on every capability, and the gates judge
it by what it says. Prices are minutes: looking takes time in which an incident grows, and `timeliness`
counts it. The stream itself stands still while one looks.

**Gates.** `nothing_destroyed` judges every message of a trial, `nothing_invented` its answer.

**Rooms.** values, wire; dice, world, scene, situations, decoys, questions (making); pages, market (showing
and selling); answers, judges (judging); solvers (baselines); emission (the gate of one question).
"""
from __future__ import annotations

from packs.early_warning.emission import answer_key, problems, said_key, truth_terms
from packs.early_warning.judges import TRACKS
from packs.early_warning.market import prices, tools, turn
from packs.early_warning.pages import SYNTHETIC, messages, payload, reply, schema
from packs.early_warning.questions import build
from packs.early_warning.solvers import baselines
from packs.early_warning.values import Step, Tool, Track, Turn

NAME = "early-warning"
VERSION = "1"
JUDGE_VERSION = "1"
JUDGE_MODULE = "packs.early_warning.judges"
JUDGE_HELPERS = ("packs.early_warning.answers", "packs.early_warning.values", "packs.early_warning.wire")
tracks = TRACKS

__all__ = [
    "JUDGE_HELPERS", "JUDGE_MODULE", "JUDGE_VERSION", "NAME", "SYNTHETIC", "VERSION", "Step", "Tool", "Track",
    "Turn", "answer_key", "baselines", "build", "messages", "payload", "prices", "problems", "reply", "said_key",
    "schema", "tools", "tracks", "truth_terms", "turn",
]
