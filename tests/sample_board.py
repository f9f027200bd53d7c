"""A board as its pages get it: questions and baselines of the example pack, and a model that says hostile things.

Scores are those of the pack's own judges; figures over many answers are made by small formulas.
"""
from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import packs.early_warning as pack
from benchkit.basics.values import Case
from benchkit.boards.batch import Batch, FoundBatch, Kit
from benchkit.boards.board import Board, banner
from benchkit.boards.findings import BaselineAgreement, FailedCells, SystemFacts
from benchkit.boards.job import FromPack, Job
from benchkit.boards.job_pack import Dataset, Scoring
from benchkit.boards.question_gates import LEAK, REPEAT, Dropped, GateFigures
from benchkit.boards.samples import Payload, Purchase, SampledAnswer, SampledCase, Score, Seen, ShownMessage
from benchkit.boards.standings import GateStatus, Readings, Standing, TrackRow, TrackSection
from benchkit.boards.trace_check import Verification, Violation
from benchkit.boards.trace_invariants import LINES
from benchkit.boards.usage import TokenUse
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.reports.speed import LatencyColumn
from benchkit.statistics.intervals import clopper_pearson, wilson
from benchkit.statistics.percentiles import PERCENTS, Sample, percentile
from benchkit.statistics.ranking import RankSet
from tests.toy_game import toy_pack

HOSTILE = (
    "</script><script>document.title = 'owned'</script>",
    "\"><img src=x onerror=\"document.title = 'owned'\">",
    "' onmouseover='document.title=1' x='",
    "[a link](javascript:document.title='owned')",
    "</title></style><svg onload=alert(1)>",
    "| a | table | breaker |\n|---|---|\n``` ~~~ <!-- --",
    "\x1b[31mred\x1b[0m, a bell \x07, \x00 and a return\rover",
    "right to left \u202eevil.exe\u2066 and back",
    "&lt;already&gt; &amp;amp; escaped",
    "\ud800 half a pair, \ufffe no character",
)
SEED, TRIALS, QUESTIONS = 1001, 3, 12
MODEL, QUIET_MODEL = "model_triage:gemma3:270m", "model_triage:smollm2:135m"
BLIND = ("threshold", "alarmist", "coin", "silent")
WRONG = '{"incident":"coming","cause":"web","severity":"low","evidence":["o1","o99"],"next":"delete_data"}'


def sample_board(*, hostile: bool = True) -> Board:
    """The board; `hostile` puts hostile text wherever a pack, a model or a job can put text."""
    cases = pack.build(SEED, QUESTIONS)
    systems = _systems(hostile)
    shares = {system: 0.62 - 0.1 * place for place, system in enumerate(systems)}
    violations = tuple(Violation(LINES, f"trial {number} of {text}", "lost")
                       for number, text in enumerate(HOSTILE, 1)) if hostile else ()
    return Board(
        FoundBatch(Path("runs/small_gated/20261130T120000Z"), _batch(hostile)),
        replace(toy_pack(), name=pack.NAME, version=pack.VERSION, synthetic=pack.SYNTHETIC),
        Verification(216, 0, len(violations), violations), _banners() if hostile else (), False,
        tuple(_standing(place, system, shares[system], systems) for place, system in enumerate(systems, 1)),
        _tracks(shares, hostile),
        tuple(_sampled(case, systems, place == 1 and hostile) for place, case in enumerate(cases[:3])),
        tuple(_facts(place, system, hostile) for place, system in enumerate(systems)),
        tuple(BaselineAgreement(system, f"baselines:{name}", 36 - 9 * place, 36) for system in systems[-2:]
              for place, name in enumerate(BLIND)),
        ("Linux-6.1, x86_64, 2 cores, Python 3.11.7; ollama 0.12.3 at 127.0.0.1:11434",))


def _systems(hostile: bool) -> list[str]:
    strange = f"model:{HOSTILE[0]}" if hostile else MODEL
    return [f"baselines:{BLIND[0]}", f"baselines:{BLIND[1]}", strange, f"baselines:{BLIND[2]}",
            f"baselines:{BLIND[3]}", QUIET_MODEL]


def _banners() -> tuple[doc.Callout, ...]:
    return (banner("2 questions are not as this batch was made with.", ("EW-01", HOSTILE[1])),
            banner("The judges are not those of eval.jsonl.", ("track cause: its judge changed",),
                   ("recompute", "small_gated/20261130T120000Z", "--apply")),
            banner(f"12 of 216 cells are left by {HOSTILE[2]}.", tone=Tone.INCOMPLETE))


def _batch(hostile: bool) -> Batch:
    dropped = (Dropped("EW-13", LEAK, "a solver is shown 'situation'"),
               Dropped(HOSTILE[5] if hostile else "EW-14", REPEAT, "it asks what EW-02 asks"))
    figures = GateFigures(14, 12, dropped, {"none": 4, "coming": 4, "under_way": 4}, {"threshold": 0.62})
    prices: dict[str, Any] = {"unit": "minutes", "budget": 12.0, "steps": 4, "prices": {"alerts": 1.0, "logs": 3.0}}
    job = Job("small_gated", FromPack("early_warning", 14, 7), ("baselines:threshold",), "gated", TRIALS)
    return Batch(job, "2026-11-30T12:00:00.000Z", "complete", figures, Kit("1", "ab" * 32, "ab" * 32),
                 Dataset({"prices": prices}, "ab" * 32), Scoring(pack.JUDGE_VERSION, "cd" * 32), {})


def _readings(share: float, trials: int, missing: int) -> Readings:
    worst = share * (trials - missing) / trials
    best = worst + missing / trials
    ends = [wilson(Fraction(round(value * trials), 1), trials) for value in (worst, best)]
    return Readings(round(worst, 6), round(share, 6), round(best, 6), ends[0].low, ends[1].high)


def _missing(system: str) -> int:
    return 6 if system == QUIET_MODEL else 0


def _standing(place: int, system: str, share: float, systems: list[str]) -> Standing:
    failures = 9 if system == systems[2] else 0
    judged = QUESTIONS * TRIALS - _missing(system)
    gate = GateStatus(failures, judged, _missing(system), clopper_pearson(failures, judged))
    is_baseline = system.startswith("baselines:")
    return Standing(place, system, is_baseline, False, gate, _readings(share, 36, _missing(system)), share * 1.1,
                    RankSet(max(1, place - 1), min(6, place + 1)), tuple(systems[3:]) if failures else (), 36, judged)


def _tracks(shares: dict[str, float], hostile: bool) -> tuple[TrackSection, ...]:
    found = [TrackSection(
        one.name, one.kind, one.measures, one.measures_not,
        tuple(_track_row(system, one.kind, min(1.0, share + 0.07 * place)) for system, share in shares.items()))
        for place, one in enumerate(pack.tracks)]
    if hostile:
        found[1] = replace(found[1], name=HOSTILE[4], measures=HOSTILE[5], measures_not=HOSTILE[3])
    return tuple(found)


def _track_row(system: str, kind: str, share: float) -> TrackRow:
    missing = _missing(system)
    value = 1.0 if kind == "gate" and system.startswith("baselines:") else share
    return TrackRow(system, _readings(value, 36, missing), round((1 - value) * (36 - missing)), 36 - missing, missing)


def _sampled(case: Case, systems: list[str], hostile: bool) -> SampledCase:
    view: Any = pack.payload(case)
    answers = [_answer(case, system, line, hostile) for line, system in enumerate(systems, 1)]
    cited = {system: _cited(answer.output) for system, answer in zip(systems, answers, strict=True)}
    start: Any = pack.payload(case, "gated")
    handed = {one["id"] for one in start["observations"]}
    seen = tuple(_seen(one, handed, cited, systems) for one in view["observations"])
    if hostile:
        seen = tuple(replace(one, text=text, service=HOSTILE[1] if place == 2 else one.service)
                     for place, (one, text) in enumerate(zip(seen, HOSTILE, strict=False))) + seen[len(HOSTILE):]
    told = pack.messages(pack.payload(case, "gated"), 12, 4)
    shown = tuple(ShownMessage(one["role"], 1, one["content"]) for one in told)
    bought = ShownMessage("user", 2, "o9 13:20 alert web: errors\n9 minutes left")
    payloads = [Payload(tuple(systems[:-1]), shown), Payload((systems[-1],), (*shown, bought))]
    if hostile:
        payloads[1] = Payload((systems[-1],), (), f"It holds {HOSTILE[0]!r}, which only the truth knows.")
        payloads[0] = replace(payloads[0], messages=(*shown, *(ShownMessage("user", 2, text) for text in HOSTILE)))
    return SampledCase(
        f"{case.id}{HOSTILE[3] if hostile else ''}", case.tags, str(view["now"]), pack.answer_key(case),
        json.dumps(case.expected, indent=1), seen, tuple(answers), tuple(payloads),
        ("A block was left out.",) if hostile else ())


def _seen(one: Any, handed: set[object], cited: dict[str, set[str]], systems: list[str]) -> Seen:
    name = str(one["id"])
    by = () if name in handed else (systems[0], systems[2])
    return Seen(name, float(str(one["minute"])), str(one["at"]), str(one["kind"]), str(one["service"]),
                str(one["text"]), by, tuple(system for system, ids in cited.items() if name in ids))


def _cited(output: str | None) -> set[str]:
    try:
        return set(json.loads(output or "{}").get("evidence", ()))
    except ValueError:
        return set()


def _answer(case: Case, system: str, line: int, hostile: bool) -> SampledAnswer:
    if system == QUIET_MODEL:
        return SampledAnswer(system, 1, 2, None, "Timeout: no whole reply within 120 s", (), (), line)
    name = system.removeprefix("baselines:")
    view: Any = pack.payload(case)
    is_baseline = name in BLIND
    said = pack.baselines()[name]["answer"](view, SEED, pack.messages(view)) if is_baseline else WRONG
    if hostile and not is_baseline:
        said = "\n".join(HOSTILE)
    steps = [pack.Step(None, tuple(view["observations"]), 0.0, False, None)]
    names = {one.name: HOSTILE[5] * 3 if hostile and one.kind == "gate" else one.name for one in pack.tracks}
    scores = tuple(Score(names[one.name], one.kind, float(one.judge(case, said, steps))) for one in pack.tracks)
    bought = (Purchase('{"buy":"logs","service":"web"}', 3, ("o12", "o14"), None),
              Purchase(HOSTILE[2] if hostile else "I would look at the logs", 0, (), "it is no JSON object"))
    return SampledAnswer(system, 1, 1, said, None, scores, () if is_baseline else bought, line)


def _facts(place: int, system: str, hostile: bool) -> SystemFacts:
    is_baseline = system.startswith("baselines:")
    took = [] if is_baseline else [0.4 + 0.1 * number for number in range(24)]
    warm = Sample(took, (120.0, 120.0) if system == QUIET_MODEL else ())
    tokens = TokenUse(36) if is_baseline else TokenUse(36, 30, 28_120, 1_911)
    note = HOSTILE[place] if hostile else "none"
    return SystemFacts(
        system, is_baseline, False, {"temperature": 1, "digest": "ab" * 32, "note": note}, tokens,
        None if is_baseline else 41.27, _column(warm), _column(Sample(took[:12])),
        {"Timeout": 2, "NotRun": 4} if system == QUIET_MODEL else {}, 0 if is_baseline else 2,
        {"under_way": 24 - place, "none": 6, "unreadable": 6},
        (FailedCells("NotRun", "not run: the log ends before", ("EW-11 trial 3", "EW-12 trial 3")),
         FailedCells("Timeout", HOSTILE[4] if hostile else "no whole reply within 120 s", ("EW-02 trial 1",)))
        if system == QUIET_MODEL else ())


def _column(sample: Sample) -> LatencyColumn:
    return LatencyColumn(sample.size, len(sample.timeouts), min(sample.completed, default=None),
                         max(sample.completed, default=None), tuple(percentile(sample, one) for one in PERCENTS))
