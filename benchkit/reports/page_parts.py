"""What all parts of the report page share: tones of states and verdicts, texts of strangers, lists that fold."""
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from benchkit.basics.texts import count_of, shown_line
from benchkit.basics.values import JSON
from benchkit.pages.html import Child, Html, element, joined, whole
from benchkit.pages.marks import Tone
from benchkit.pages.parts import fold, link, name_code
from benchkit.pages.row_chart import Bar, RowTitles, bar_chart
from benchkit.pages.tables import Column, table
from benchkit.recordings.run_record import Result
from benchkit.reports.figures import NOT_AVAILABLE, rate
from benchkit.reports.tally import CaseRow
from benchkit.statistics.estimators import State
from benchkit.statistics.suites import SuiteMetric

LONGEST_NAME, LONGEST_LINE = 80, 400
_TONES = {State.STABLE_PASS: Tone.PASS, State.STABLE_FAIL: Tone.FAIL, State.FLAKY: Tone.FLAKY,
          State.POSSIBLY_FLAKY: Tone.INCOMPLETE, State.NO_DATA: Tone.ABSENT}
_VERDICTS = {"pass": Tone.PASS, "fail": Tone.FAIL}


def tone_of(row: CaseRow) -> Tone:
    """The tone of a case by its state; a single trial by its verdict."""
    return _TONES.get(row.state, Tone.PASS if row.passed else Tone.FAIL)


def tone_of_trial(result: Result) -> Tone:
    """The tone of a trial by its verdict; one that never ran is absent."""
    if result.error is not None and result.error.type == "NotRun":
        return Tone.ABSENT
    return _VERDICTS.get(result.verdict, Tone.INCOMPLETE)


def words_of(result: Result) -> str:
    """The verdict of a trial in a word; the type of its error where it has none."""
    return result.verdict if result.error is None else f"incomplete: {result.error.type}"


def name(text: str) -> Html:
    """An id, a tag, a name: on one line, cut where it is very long."""
    return name_code(shown_line(text, LONGEST_NAME))


def line(text: str) -> str:
    """A text of strangers on one line."""
    return shown_line(text, LONGEST_LINE)


def linked(anchor: str, child: Child) -> Html:
    """A link, or the same without one where there is no anchor."""
    return link(anchor, child) if anchor else joined(child)


def quiet(*children: Child) -> Html:
    """A remark."""
    return element("p", *children, class_="quiet")


def sentence(text: str) -> str:
    """The kit's own words with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def rate_percent(metric: SuiteMetric | None) -> str:
    """A rate, or the range that incomplete trials leave open: `41.7 to 83.3 %`."""
    return NOT_AVAILABLE if metric is None else f"{rate(metric)}\u00a0%"


def rate_bar(label: Child, metric: SuiteMetric | None, note: Child) -> Bar:
    """The bar of a metric: to its value, or over the range that incomplete trials leave open."""
    if metric is None:
        return Bar(label, None, None, None, note)
    if metric.worst == metric.best:
        return Bar(label, float(metric.worst), metric.low, metric.high, note)
    return Bar(label, None, metric.low, metric.high, note, least=float(metric.worst), most=float(metric.best))


def cut_table(
    caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Child]], few: int, what: str, most: int = 500,
) -> Iterator[Html]:
    """A table of its first rows, the others in a folded one; `what` is the name of one row."""
    yield from table(caption, columns, rows[:few])
    more = rows[few:few + most]
    if more:
        left = len(rows) - few - len(more)
        yield fold(f"{count_of(len(more), f'more {what}')}", *table(f"{caption}, continued", columns, more),
                   quiet(f"And {count_of(left, f'more {what}')}, not shown.") if left else None)


def cut_bars(titles: RowTitles, bars: Iterable[Bar], few: int, total: int, most: int) -> Iterator[Html]:
    """A chart of the first bars, the others in a folded one; `total` is how many there are."""
    source = iter(bars)
    yield from bar_chart(titles, islice(source, few))
    if total > few:
        more = min(total - few, most)
        rest = RowTitles(f"{titles.caption}, continued", titles.label, titles.axis, titles.note)
        left = total - few - more
        yield fold(count_of(more, f"more {titles.label}"), whole(bar_chart(rest, islice(source, more))),
                   quiet(f"And {count_of(left, f'more {titles.label}')}, not shown.") if left else None)


_PLAIN = (str, int, float, type(None))


def value_text(value: JSON) -> str:
    """An input or an expected value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and value and all(isinstance(one, _PLAIN) for one in value.values()):
        return "\n".join(_field_text(name, one) for name, one in value.items())
    return json.dumps(value, indent=1, ensure_ascii=False)


def _field_text(name: str, value: JSON) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"
