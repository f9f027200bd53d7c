"""Every reason to trust a figure of a run less, each with a code that stays the same.

A warning that is made here stands in every format; the first screen shows its code.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of, names_of, same_model, shown_line, verb_for, word_for
from benchkit.basics.values import JSON
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.figures import spread
from benchkit.reports.tally import RunTally
from benchkit.statistics.estimators import State
from benchkit.statistics.intervals import anytime
from benchkit.statistics.percentiles import PERCENTS, TRIALS_NEEDED
from benchkit.statistics.suites import Coverage


@dataclass(frozen=True, slots=True)
class ReportWarning:
    """One warning: its stable code, and a sentence."""

    code: str
    text: str


def warnings_of(record: RunRecord, tally: RunTally, coverage: Coverage) -> tuple[ReportWarning, ...]:
    """All warnings of a run, those that touch most figures first."""
    found = (*_about_figures(record, tally, coverage), *_about_answers(record, tally, coverage),
             *_about_sessions(record, tally), *_about_model(record.settings),
             *_about_latencies(record, tally, coverage))
    return tuple(ReportWarning(code, text) for code, text in found)


def _about_figures(record: RunRecord, tally: RunTally, coverage: Coverage) -> Iterator[tuple[str, str]]:
    raised = next((one for one in tally.unjudged if one.type == "CheckError"), None)
    if raised is not None:
        most = "" if raised.with_message == raised.count else f", {count_of(raised.with_message, 'time')}"
        yield "check-raises", (
            f"the task's own check could not judge {raised.count:,} of {count_of(coverage.planned, 'trial')}: "
            f"{shown_line(raised.message, 400)}{most}; mend it and judge again: no answer is lost")
    if coverage.cases and coverage.k_max < record.trials:
        fewer = "no case" if coverage.cases == 1 else f"fewer than all {coverage.cases:,} cases"
        yield "k-above-k-max", (
            f"from k = {coverage.k_max + 1:,} on, completed-only values are over {fewer}, and may lie outside worst "
            "and best")
    temperature = temperature_of(record.settings)
    warmth = "a temperature that nobody told" if temperature is None else f"temperature {temperature:g}"
    repeated = [row for row in tally.cases if row.n >= 2]
    same = [row.id for row in repeated if row.has_one_output]
    # where other cases vary above temperature 0, one text in every trial may as well be a sure answer
    if same and (temperature == 0 or len(same) == len(repeated)):
        these, their = ("this case", "its") if len(same) == 1 else ("these cases", "their")
        yield "identical-outputs", (
            f"in {len(same):,} of {count_of(len(repeated), 'case')} with several judged trials these all gave the same "
            f"text, at {warmth}: repeated trials of {these} are copies, which say no more than one trial does, and "
            f"{their} pass^k is no more certain than a single look ({names_of(same)})")
    # the kit's own seeds ascend, so only a case that somebody else seeded is read again for this
    seeded = [row.id for place, row in enumerate(tally.cases) if not row.seeds_ascend
              and len({result.seed for result in record.results_of(place)}) < record.trials]
    if seeded:
        yield "repeated-seeds", (f"trials share a seed in {count_of(len(seeded), 'case')}, so they are not independent "
                                 f"({names_of(seeded)})")


_ODD_ANSWERS = {
    "cut-off-answers": ("was", "were", "cut off at the length limit: raise it if checks fail for that"),
    "empty-answers": ("is", "are", "empty"),
    "reasoning-only-answers": ("is", "are", "empty behind reasoning text, which is never judged"),
    "thinking-in-answers": ("holds", "hold", (
        "<think> or </think>: the server did not keep thoughts apart from the answer, so checks judge both")),
}


def _about_answers(record: RunRecord, tally: RunTally, coverage: Coverage) -> Iterator[tuple[str, str]]:
    odd = tally.anomalies
    for code, (one, many, words) in _ODD_ANSWERS.items():
        if (found := odd.found.get(code)) is not None:
            count, cases = found
            yield code, (f"{count:,} of {count_of(odd.answered, 'answer')} "
                         f"{verb_for(count, odd.answered, one, many)} {words} ({names_of(cases)})")
    if (found := odd.found.get("prompt-cut")) is not None:
        yield "prompt-cut", (
            f"before {found[0]:,} of {count_of(odd.answered, 'answer')} the server has cut the prompt, or does not "
            f"count all of it: it counted {odd.worst_prompt.prompt_tokens or 0:,} tokens where "
            f"{odd.worst_prompt.asked_letters or 0:,} letters were asked, and no tokenizer makes so few of so many "
            f"({names_of(found[1])})")
    options = record.settings.get("options")
    asked = options.get("num_ctx") if isinstance(options, Mapping) else None
    lengths = [one.context_length for one in record.sessions if one.context_length is not None]
    if isinstance(asked, int) and lengths and min(lengths) < asked:
        yield "context-smaller-than-asked", (
            f"the server loaded the model with a context of {min(lengths):,} tokens where {asked:,} were asked for "
            f"(num_ctx): longer prompts fail, and answers are cut off earlier")
    never = [row.id for row in tally.cases if row.state is State.STABLE_FAIL]
    if never:
        yield "never-passed", (
            f"{count_of(len(never), 'case')} of {coverage.cases:,} never passed: look at "
            f"{word_for(len(never), 'its', 'their')} labels before blaming the system ({names_of(never)})")


def _about_sessions(record: RunRecord, tally: RunTally) -> Iterator[tuple[str, str]]:
    sessions, attempts = record.sessions, tally.speed.attempts
    if attempts.repeated:
        yield "several-attempts", (
            f"{attempts.repeated:,} of {count_of(attempts.cells, 'started trial')} took several attempts "
            f"(at most {attempts.most}); the last one counts")
    differing = session_differences(sessions)
    if differing:
        yield "sessions-differ", (
            f"the {len(sessions)} sessions differ in {', '.join(differing)}: outputs and latencies may, too")
    if len(sessions) > 1:
        rounds, passed = tally.anomalies.rounds, tally.anomalies.passed_in_rounds
        trials = rounds * len(tally.cases)
        interval = anytime(passed, trials)
        yield "several-sessions", (
            f"recorded in {len(sessions):,} sessions: looking at results and then going on makes ordinary intervals, "
            "which are about other such cases, too narrow. Another question is how often one try passes in these "
            f"same cases: {spread(interval.low, interval.high)} %, however often one looked ({passed:,} of "
            f"{count_of(trials, 'trial')} in {count_of(rounds, 'complete round')}); that says nothing of "
            "other cases")


def session_differences(sessions: Sequence[SessionFacts]) -> tuple[str, ...]:
    """What sessions differ in: `hardware`, `context length` where it is known, and the keys of their environments."""
    known = next((one.context_length for one in sessions if one.context_length is not None), None)
    facts: list[Mapping[str, JSON]] = [
        {"hardware": one.hardware, "context_length": known if one.context_length is None else one.context_length,
         **one.environment} for one in sessions]
    names = dict.fromkeys(name for fact in facts for name in fact)
    return tuple(shown_line(name.replace("_", " "), 40) for name in names
                 if len({canonical(fact.get(name)) for fact in facts}) > 1)


def _about_model(settings: Mapping[str, JSON]) -> Iterator[tuple[str, str]]:
    if settings.get("pinned_by") == "nothing":
        yield "model-not-pinned", (
            "nothing pins the model: its server gives no digest and no fingerprint of the weights, so others under "
            "the same name would not show")
    asked, served = settings.get("model"), settings.get("served")
    answered = served.get("model") if isinstance(served, Mapping) else None
    if isinstance(asked, str) and isinstance(answered, str) and not same_model(asked, answered):
        yield "answered-by-another-name", (
            f"asked for {shown_line(asked, 80)}, answered by {shown_line(answered, 80)}: another name of it, or "
            f"another model")
    if settings.get("response_format") == "refused by the server":
        yield "schema-not-sent", (
            "the server takes no schema: it was not sent, so a system that was sent it had an easier task")


def _about_latencies(record: RunRecord, tally: RunTally, coverage: Coverage) -> Iterator[tuple[str, str]]:
    missing = []
    for kind, column in (("warm", tally.speed.warm), ("cold", tally.speed.cold)):
        # a session has one cold trial a case, so of few cases no run of any length has enough for the high percentiles
        lacking = [f"p{percent}" for percent, found in zip(PERCENTS, column.percentiles, strict=True)
                   if found is None and (kind == "warm" or TRIALS_NEEDED[percent] <= coverage.cases)]
        if lacking and column.n:
            missing.append(f"{', '.join(lacking)} of {count_of(column.n, f'{kind} trial')}")
    if missing:
        needs = ", ".join(f"p{percent} {TRIALS_NEEDED[percent]}" for percent in PERCENTS[1:])
        yield "percentile-needs-more", f"too few latencies for {' and for '.join(missing)} (needed: {needs})"
    parallel = record.settings.get("parallel")
    if isinstance(parallel, int) and parallel > 1:
        yield "latency-includes-queue", (
            f"{parallel} requests were in flight at once: latencies include waiting in the server's queue")
    named = (session.environment.get("hosts") for session in record.sessions)
    most = max((len(hosts) for hosts in named if isinstance(hosts, list | tuple)), default=0)
    if most > 1:
        yield "several-hosts", (
            f"{most} hosts were asked at once, each with a queue of its own: latencies are those of all of them, and a "
            f"warm one may be of the first trial of its case at its host")
    if (slept := tally.anomalies.found.get("machine-slept")) is not None:
        count, cases = slept
        yield "machine-slept", (
            f"the wall clock ran ahead during {count_of(count, 'trial')} (by up to "
            f"{tally.anomalies.longest_sleep_s:.0f} s): the machine slept, and "
            f"{word_for(count, 'this latency is', 'these latencies are')} too short ({names_of(cases)})")


def temperature_of(settings: Mapping[str, JSON]) -> float | None:
    """The temperature among settings or their options; None where there is none."""
    options = settings.get("options")
    for place in (settings, options if isinstance(options, Mapping) else {}):
        value = place.get("temperature")
        if isinstance(value, int | float):
            return float(value)
    return None
