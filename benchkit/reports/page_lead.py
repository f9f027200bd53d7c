"""What stands on top of the report page: the headline, all warnings, and the first figures."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchkit.basics.texts import count_of
from benchkit.pages.html import Html, element, joined
from benchkit.pages.marks import Tone
from benchkit.pages.parts import Figure, bullets, callout, code, facts, figures
from benchkit.reports.figures import number, share, spread
from benchkit.reports.page_parts import rate_percent, sentence
from benchkit.reports.run_report import RunReport, headline_of
from benchkit.reports.tally import in_state
from benchkit.reports.warnings import ReportWarning
from benchkit.statistics.estimators import State
from benchkit.statistics.suites import SuiteMetric


def run_lead(run: RunReport) -> Html:
    """The headline, the warnings and the figures of one run."""
    return joined(headline_part(run), warnings_callout(count_of(len(run.warnings), "warning"), run.warnings),
                  figures_part(run))


def headline_part(run: RunReport) -> Html:
    """What it does, what is unknown, what to trust."""
    headline = headline_of(run)
    return facts([("Does", element("strong", sentence(headline.does))), ("Unknown", sentence(headline.unknown)),
                  ("Trust", sentence(headline.trust))])


def figures_part(run: RunReport) -> Html:
    """The first figures."""
    return figures(_figures(run))


def warnings_callout(title: str, warnings: Iterable[ReportWarning]) -> Html:
    """Warnings that must not be overlooked; nothing where there are none."""
    found = list(warnings)
    if not found:
        return Html()
    return callout(Tone.FLAKY, title, warning_list(found))


def warning_list(warnings: Iterable[ReportWarning]) -> Html:
    """Each warning with its code."""
    return bullets(joined(sentence(caution.text), " ", code(caution.code)) for caution in warnings)


def _figures(run: RunReport) -> Iterator[Figure]:
    if run.suite:
        yield from _rates(run)
    if run.record.trials > 1:
        yield _flaky(run)
    coverage = run.coverage
    missing = coverage.planned - coverage.completed
    yield Figure(number(missing), "incomplete trials",
                 f"{share(coverage.completed, coverage.planned)} judged" if coverage.planned else "nothing planned",
                 Tone.INCOMPLETE if missing else Tone.PLAIN)


def _rates(run: RunReport) -> Iterator[Figure]:
    last = run.suite[-1]
    yield _rate("pass^1: one try passes", run.suite[0].hat)
    if last.k > 1:
        yield _rate(f"pass@{last.k}: any of {last.k} passes", last.at)
        yield _rate(f"pass^{last.k}: all of {last.k} pass", last.hat)


def _rate(name: str, metric: SuiteMetric) -> Figure:
    return Figure(rate_percent(metric), name, f"95 %: {spread(metric.low, metric.high)}")


def _flaky(run: RunReport) -> Figure:
    flaky, maybe, stable = (len(in_state(run.cases, state)) for state in (
        State.FLAKY, State.POSSIBLY_FLAKY, State.STABLE_PASS))
    told = f"of {number(run.coverage.cases)}" + (f", {number(maybe)} more may be" if maybe else "")
    return Figure(number(flaky), "flaky cases", f"{told}; {number(stable)} pass every time",
                  Tone.FLAKY if flaky else Tone.PLAIN)
