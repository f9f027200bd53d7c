"""What a report owes its reader: every reason to trust a figure less, each with a code that stays the same.

A caution is a fact of this run in a sentence. What does not live here: reasons why two runs are not compared.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.canonical import canonical
from benchkit.basics.names import count_of, names_of, shown_line
from benchkit.basics.values import JSON
from benchkit.recordings.pieces import SessionFacts
from benchkit.recordings.run_record import Result, RunRecord
from benchkit.reports.case_rows import CaseTrials
from benchkit.reports.speed import LatencyColumn, Speed
from benchkit.statistics.intervals import anytime
from benchkit.statistics.percentiles import PERCENTS, TRIALS_NEEDED
from benchkit.statistics.suites import Coverage


@dataclass(frozen=True, slots=True)
class Caution:
    """One warning: its stable code, and a sentence."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """What cautions are found in."""

    record: RunRecord
    cases: Sequence[CaseTrials]
    coverage: Coverage
    speed: Speed


def cautions_of(run: Run) -> tuple[Caution, ...]:
    """All cautions of a run, those that touch most figures first."""
    return tuple(caution for find in _FINDERS for caution in find(run))


def _above_k_max(run: Run) -> Iterator[Caution]:
    coverage = run.coverage
    if coverage.cases and coverage.k_max < run.record.trials:
        yield Caution("k-above-k-max", (
            f"from k = {coverage.k_max + 1} on, completed-only values are over fewer than all {coverage.cases} cases, "
            "and may lie outside worst and best"))


def _identical_outputs(run: Run) -> Iterator[Caution]:
    temperature = temperature_of(run.record.settings)
    if temperature is None or temperature <= 0:
        return
    repeated = [case for case in run.cases if case.counts.completed >= 2]
    same = [case.case.id for case in repeated if _is_one_output(case.results)]
    if same:
        yield Caution("identical-outputs", (
            f"all outputs are the same in every trial in {len(same)} of {count_of(len(repeated), 'case')} at "
            f"temperature {temperature:g}: these trials count as one, and pass^k says nothing about them "
            f"({names_of(same)})"))


def _is_one_output(results: Iterable[Result]) -> bool:
    return len({result.output for result in results if result.error is None}) == 1


def _repeated_seeds(run: Run) -> Iterator[Caution]:
    repeated = [case.case.id for case in run.cases
                if len({result.seed for result in case.results}) < len(case.results)]
    if repeated:
        yield Caution("repeated-seeds", (
            f"trials share a seed in {count_of(len(repeated), 'case')}, so they are not independent "
            f"({names_of(repeated)})"))


def _odd_answers(run: Run) -> Iterator[Caution]:
    answered = [result for result in run.record.results if result.output is not None]
    empty = [result for result in answered if not (result.output or "").strip()]
    reasoned = [result for result in empty if (result.reasoning or "").strip()]
    blank = [result for result in empty if not (result.reasoning or "").strip()]
    cut = [result for result in answered if result.finish == "length"]
    kinds = (("cut-off-answers", cut, "were cut off at the length limit: raise it if checks fail for that"),
             ("empty-answers", blank, "are empty"),
             ("reasoning-only-answers", reasoned, "are empty behind reasoning text, which is never judged"))
    for code, results, words in kinds:
        if results:
            yield Caution(code, f"{len(results)} of {count_of(len(answered), 'answer')} {words} ({_where(results)})")


def _where(results: Iterable[Result]) -> str:
    return names_of(dict.fromkeys(result.case for result in results))


def _never_passed(run: Run) -> Iterator[Caution]:
    never = [case.case.id for case in run.cases if case.counts.failed >= 2 and not case.counts.passed]
    if never:
        yield Caution("never-passed", (
            f"{count_of(len(never), 'case')} of {run.coverage.cases} never passed: look at their labels before "
            f"blaming the system ({names_of(never)})"))


def _several_attempts(run: Run) -> Iterator[Caution]:
    attempts = run.speed.attempts
    if attempts.repeated:
        yield Caution("several-attempts", (
            f"{attempts.repeated} of {count_of(attempts.cells, 'started trial')} took several attempts "
            f"(at most {attempts.most}); the last one counts"))


def _sessions(run: Run) -> Iterator[Caution]:
    sessions = run.record.sessions
    differing = session_differences(sessions)
    if differing:
        yield Caution("sessions-differ", (
            f"the {len(sessions)} sessions differ in {', '.join(differing)}: outputs and latencies may, too"))
    if len(sessions) > 1:
        rounds, passed = complete_rounds(run.record)
        trials = rounds * len(run.cases)
        interval = anytime(passed, trials)
        yield Caution("several-sessions", (
            f"recorded in {len(sessions)} sessions; if you looked before you went on, read this interval of pass^1, "
            f"which holds however often one looks: {100 * interval.low:.1f} to {100 * interval.high:.1f} % "
            f"({passed} of {count_of(trials, 'trial')} in {count_of(rounds, 'complete round')})"))


def session_differences(sessions: Sequence[SessionFacts]) -> tuple[str, ...]:
    """What sessions differ in: `hardware`, `context length` where it is known, and the keys of their environments."""
    known = next((one.context_length for one in sessions if one.context_length is not None), None)
    facts: list[Mapping[str, JSON]] = [
        {"hardware": one.hardware, "context_length": known if one.context_length is None else one.context_length,
         **one.environment} for one in sessions]
    names = dict.fromkeys(name for fact in facts for name in fact)
    return tuple(shown_line(name.replace("_", " "), 40) for name in names
                 if len({canonical(fact.get(name)) for fact in facts}) > 1)


def complete_rounds(record: RunRecord) -> tuple[int, int]:
    """How many trial numbers are judged in every case, and how many trials passed in them."""
    rounds = [record.results[trial::record.trials] for trial in range(record.trials)] if record.cases else []
    complete = [results for results in rounds if all(result.error is None for result in results)]
    return len(complete), sum(result.verdict == "pass" for results in complete for result in results)


def _short_percentiles(run: Run) -> Iterator[Caution]:
    columns = (("warm", run.speed.warm), ("cold", run.speed.cold))
    missing = [f"{', '.join(names)} of {count_of(column.n, kind + ' trial')}"
               for kind, column in columns if (names := _missing_percentiles(column))]
    if missing:
        needs = ", ".join(f"p{percent} {TRIALS_NEEDED[percent]}" for percent in PERCENTS[1:])
        yield Caution("percentile-needs-more", f"too few latencies for {' and for '.join(missing)} (needed: {needs})")


def _missing_percentiles(column: LatencyColumn) -> list[str]:
    if not column.n:
        return []
    return [f"p{percent}" for percent, found in zip(PERCENTS, column.percentiles, strict=True) if found is None]


def _queue(run: Run) -> Iterator[Caution]:
    parallel = run.record.settings.get("parallel")
    if isinstance(parallel, int) and parallel > 1:
        yield Caution("latency-includes-queue", (
            f"{parallel} requests were in flight at once: latencies include waiting in the server's queue"))


def _several_hosts(run: Run) -> Iterator[Caution]:
    named = (session.environment.get("hosts") for session in run.record.sessions)
    most = max((len(hosts) for hosts in named if isinstance(hosts, list | tuple)), default=0)
    if most > 1:
        yield Caution("several-hosts", (
            f"{most} hosts were asked at once, each with a queue of its own: latencies are those of all of them, and a "
            f"warm one may be of the first trial of its case at its host"))


def _not_pinned(run: Run) -> Iterator[Caution]:
    if run.record.settings.get("pinned_by") == "nothing":
        yield Caution("model-not-pinned", (
            "nothing pins the model: its server gives no digest and no fingerprint of it, so other weights under the "
            "same name would not show"))


def _schema_not_sent(run: Run) -> Iterator[Caution]:
    if run.record.settings.get("response_format") == "refused by the server":
        yield Caution("schema-not-sent", (
            "the server takes no schema: it was not sent, so a system that was sent it had an easier task"))


def _slept(run: Run) -> Iterator[Caution]:
    slept = [result for result in run.record.results if result.slept_s is not None]
    if slept:
        longest = max(result.slept_s or 0.0 for result in slept)
        yield Caution("machine-slept", (
            f"the wall clock ran ahead during {count_of(len(slept), 'trial')} (by up to {longest:.0f} s): the machine "
            f"slept, and these latencies are too short ({_where(slept)})"))


def temperature_of(settings: Mapping[str, JSON]) -> float | None:
    """The temperature among settings or their options; None where there is none."""
    options = settings.get("options")
    for place in (settings, options if isinstance(options, Mapping) else {}):
        value = place.get("temperature")
        if isinstance(value, int | float):
            return float(value)
    return None


_FINDERS: tuple[Callable[[Run], Iterator[Caution]], ...] = (
    _above_k_max, _identical_outputs, _repeated_seeds, _odd_answers, _never_passed, _several_attempts, _sessions,
    _not_pinned, _schema_not_sent, _short_percentiles, _queue, _several_hosts,
    _slept)
