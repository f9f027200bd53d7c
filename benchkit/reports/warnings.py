"""Every reason to trust a figure of a run less, each with a code that stays the same.

A warning that is made here stands in every format; the first screen shows its code. Boards have banners of their own
(boards/banners.py).
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of, names_of, same_model, shown_line, verb_for, word_for
from benchkit.basics.values import JSON
from benchkit.recordings.recording import SessionFacts
from benchkit.recordings.run_record import RunRecord
from benchkit.reports.failures import check_error
from benchkit.reports.figures import spread
from benchkit.reports.speed import LatencyColumn
from benchkit.reports.tally import RunTally
from benchkit.statistics.estimators import State, state
from benchkit.statistics.intervals import anytime
from benchkit.statistics.percentiles import PERCENTS, TRIALS_NEEDED
from benchkit.statistics.suites import Coverage


@dataclass(frozen=True, slots=True)
class ReportWarning:
    """One warning: its stable code, and a sentence."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """What cautions are found in."""

    record: RunRecord
    tally: RunTally
    coverage: Coverage


def warnings_of(run: Run) -> tuple[ReportWarning, ...]:
    """All cautions of a run, those that touch most figures first."""
    return tuple(caution for find in _FINDERS for caution in find(run))


def _above_k_max(run: Run) -> Iterator[ReportWarning]:
    coverage = run.coverage
    if coverage.cases and coverage.k_max < run.record.trials:
        fewer = "no case" if coverage.cases == 1 else f"fewer than all {coverage.cases:,} cases"
        yield ReportWarning("k-above-k-max", (
            f"from k = {coverage.k_max + 1:,} on, completed-only values are over {fewer}, and may lie outside worst "
            "and best"))


def _check_raises(run: Run) -> Iterator[ReportWarning]:
    found = check_error(run.tally.unjudged)
    if found is not None:
        most = "" if found.with_message == found.count else f", {count_of(found.with_message, 'time')}"
        yield ReportWarning("check-raises", (
            f"the task's own check could not judge {found.count:,} of {count_of(run.coverage.planned, 'trial')}: "
            f"{shown_line(found.message, 400)}{most}; mend it and judge again: no answer is lost"))


def _identical_outputs(run: Run) -> Iterator[ReportWarning]:
    temperature = temperature_of(run.record.settings)
    warmth = "a temperature that nobody told" if temperature is None else f"temperature {temperature:g}"
    repeated = [case for case in run.tally.cases if case.counts.completed >= 2]
    same = [case.case.id for case in repeated if case.has_one_output]
    these, their = ("this case", "its") if len(same) == 1 else ("these cases", "their")
    # where other cases vary above temperature 0, one text in every trial may as well be a sure answer
    if same and (temperature == 0 or len(same) == len(repeated)):
        yield ReportWarning("identical-outputs", (
            f"in {len(same):,} of {count_of(len(repeated), 'case')} with several judged trials these all gave the same "
            f"text, at {warmth}: repeated trials of {these} are copies, which say no more than one trial does, and "
            f"{their} pass^k is no more certain than a single look ({names_of(same)})"))


def _repeated_seeds(run: Run) -> Iterator[ReportWarning]:
    repeated = [case.case.id for place, case in enumerate(run.tally.cases)
                if not case.seeds_ascend and _has_equal_seeds(run.record, place)]
    if repeated:
        yield ReportWarning("repeated-seeds", (
            f"trials share a seed in {count_of(len(repeated), 'case')}, so they are not independent "
            f"({names_of(repeated)})"))


def _has_equal_seeds(record: RunRecord, place: int) -> bool:
    # the kit's own seeds ascend, so only a case that somebody else seeded is read again for this
    seeds: set[int] = set()
    for result in record.results_of(place):
        if result.seed in seeds:
            return True
        seeds.add(result.seed)
    return False


def _odd_answers(run: Run) -> Iterator[ReportWarning]:
    odd = run.tally.anomalies
    kinds = (("cut-off-answers", odd.cut, "was", "were",
              "cut off at the length limit: raise it if checks fail for that"),
             ("empty-answers", odd.blank, "is", "are", "empty"),
             ("reasoning-only-answers", odd.reasoned, "is", "are",
              "empty behind reasoning text, which is never judged"),
             ("thinking-in-answers", odd.thinking, "holds", "hold", (
                 "<think> or </think>: the server did not keep thoughts apart from the answer, so checks judge "
                 "both")))
    for code, found, one, many, words in kinds:
        if found.count:
            yield ReportWarning(code, (
                f"{found.count:,} of {count_of(odd.answered, 'answer')} "
                f"{verb_for(found.count, odd.answered, one, many)} {words} ({names_of(found.cases)})"))


def _cut_prompts(run: Run) -> Iterator[ReportWarning]:
    found, worst = run.tally.anomalies.prompts, run.tally.anomalies.worst_prompt
    if found.count:
        yield ReportWarning("prompt-cut", (
            f"before {found.count:,} of {count_of(run.tally.anomalies.answered, 'answer')} the server has cut the "
            f"prompt, or does not count all of it: it counted {worst.prompt_tokens or 0:,} tokens where "
            f"{worst.asked_letters or 0:,} letters were asked, and no tokenizer makes so few of so many "
            f"({names_of(found.cases)})"))


def _small_context(run: Run) -> Iterator[ReportWarning]:
    options = run.record.settings.get("options")
    asked = options.get("num_ctx") if isinstance(options, Mapping) else None
    lengths = [one.context_length for one in run.record.sessions if one.context_length is not None]
    if isinstance(asked, int) and lengths and min(lengths) < asked:
        yield ReportWarning("context-smaller-than-asked", (
            f"the server loaded the model with a context of {min(lengths):,} tokens where {asked:,} were asked for "
            f"(num_ctx): longer prompts fail, and answers are cut off earlier"))


def _never_passed(run: Run) -> Iterator[ReportWarning]:
    never = [case.case.id for case in run.tally.cases if state(case.counts) is State.STABLE_FAIL]
    if never:
        yield ReportWarning("never-passed", (
            f"{count_of(len(never), 'case')} of {run.coverage.cases:,} never passed: look at "
            f"{word_for(len(never), 'its', 'their')} labels before blaming the system ({names_of(never)})"))


def _several_attempts(run: Run) -> Iterator[ReportWarning]:
    attempts = run.tally.speed.attempts
    if attempts.repeated:
        yield ReportWarning("several-attempts", (
            f"{attempts.repeated:,} of {count_of(attempts.cells, 'started trial')} took several attempts "
            f"(at most {attempts.most}); the last one counts"))


def _sessions(run: Run) -> Iterator[ReportWarning]:
    sessions = run.record.sessions
    differing = session_differences(sessions)
    if differing:
        yield ReportWarning("sessions-differ", (
            f"the {len(sessions)} sessions differ in {', '.join(differing)}: outputs and latencies may, too"))
    if len(sessions) > 1:
        rounds = run.tally.anomalies.rounds
        trials = rounds.complete * len(run.tally.cases)
        interval = anytime(rounds.passed, trials)
        yield ReportWarning("several-sessions", (
            f"recorded in {len(sessions):,} sessions: looking at results and then going on makes ordinary intervals, "
            "which are about other such cases, too narrow. Another question is how often one try passes in these "
            f"same cases: {spread(interval.low, interval.high)} %, however often one looked ({rounds.passed:,} of "
            f"{count_of(trials, 'trial')} in {count_of(rounds.complete, 'complete round')}); that says nothing of "
            "other cases"))


def session_differences(sessions: Sequence[SessionFacts]) -> tuple[str, ...]:
    """What sessions differ in: `hardware`, `context length` where it is known, and the keys of their environments."""
    known = next((one.context_length for one in sessions if one.context_length is not None), None)
    facts: list[Mapping[str, JSON]] = [
        {"hardware": one.hardware, "context_length": known if one.context_length is None else one.context_length,
         **one.environment} for one in sessions]
    names = dict.fromkeys(name for fact in facts for name in fact)
    return tuple(shown_line(name.replace("_", " "), 40) for name in names
                 if len({canonical(fact.get(name)) for fact in facts}) > 1)


def _short_percentiles(run: Run) -> Iterator[ReportWarning]:
    # a session has one cold trial a case, so of few cases no run of any length has enough for the high percentiles
    warm, cold = run.tally.speed.warm, run.tally.speed.cold
    within_reach = [percent for percent in _missing_percentiles(cold) if TRIALS_NEEDED[percent] <= run.coverage.cases]
    columns = (("warm", warm.n, _missing_percentiles(warm)), ("cold", cold.n, within_reach))
    missing = [f"{', '.join(f'p{percent}' for percent in percents)} of {count_of(trials, kind + ' trial')}"
               for kind, trials, percents in columns if percents]
    if missing:
        needs = ", ".join(f"p{percent} {TRIALS_NEEDED[percent]}" for percent in PERCENTS[1:])
        yield ReportWarning(
            "percentile-needs-more", f"too few latencies for {' and for '.join(missing)} (needed: {needs})"
        )


def _missing_percentiles(column: LatencyColumn) -> list[int]:
    if not column.n:
        return []
    return [percent for percent, found in zip(PERCENTS, column.percentiles, strict=True) if found is None]


def _queue(run: Run) -> Iterator[ReportWarning]:
    parallel = run.record.settings.get("parallel")
    if isinstance(parallel, int) and parallel > 1:
        yield ReportWarning("latency-includes-queue", (
            f"{parallel} requests were in flight at once: latencies include waiting in the server's queue"))


def _several_hosts(run: Run) -> Iterator[ReportWarning]:
    named = (session.environment.get("hosts") for session in run.record.sessions)
    most = max((len(hosts) for hosts in named if isinstance(hosts, list | tuple)), default=0)
    if most > 1:
        yield ReportWarning("several-hosts", (
            f"{most} hosts were asked at once, each with a queue of its own: latencies are those of all of them, and a "
            f"warm one may be of the first trial of its case at its host"))


def _not_pinned(run: Run) -> Iterator[ReportWarning]:
    if run.record.settings.get("pinned_by") == "nothing":
        yield ReportWarning("model-not-pinned", (
            "nothing pins the model: its server gives no digest and no fingerprint of the weights, so others under "
            "the same name would not show"))


def _another_name(run: Run) -> Iterator[ReportWarning]:
    asked, served = run.record.settings.get("model"), run.record.settings.get("served")
    answered = served.get("model") if isinstance(served, Mapping) else None
    if isinstance(asked, str) and isinstance(answered, str) and not same_model(asked, answered):
        yield ReportWarning("answered-by-another-name", (
            f"asked for {shown_line(asked, 80)}, answered by {shown_line(answered, 80)}: another name of it, or "
            f"another model"))


def _schema_not_sent(run: Run) -> Iterator[ReportWarning]:
    if run.record.settings.get("response_format") == "refused by the server":
        yield ReportWarning("schema-not-sent", (
            "the server takes no schema: it was not sent, so a system that was sent it had an easier task"))


def _slept(run: Run) -> Iterator[ReportWarning]:
    slept, longest = run.tally.anomalies.slept, run.tally.anomalies.longest_sleep_s
    if slept.count:
        yield ReportWarning("machine-slept", (
            f"the wall clock ran ahead during {count_of(slept.count, 'trial')} (by up to {longest:.0f} s): the machine "
            f"slept, and {word_for(slept.count, 'this latency is', 'these latencies are')} too short "
            f"({names_of(slept.cases)})"))


def temperature_of(settings: Mapping[str, JSON]) -> float | None:
    """The temperature among settings or their options; None where there is none."""
    options = settings.get("options")
    for place in (settings, options if isinstance(options, Mapping) else {}):
        value = place.get("temperature")
        if isinstance(value, int | float):
            return float(value)
    return None


_FINDERS: tuple[Callable[[Run], Iterator[ReportWarning]], ...] = (
    _check_raises, _above_k_max, _identical_outputs, _repeated_seeds, _odd_answers, _cut_prompts, _small_context,
    _never_passed, _several_attempts, _sessions, _not_pinned, _another_name, _schema_not_sent, _short_percentiles,
    _queue, _several_hosts, _slept)
