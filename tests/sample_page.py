"""A page with every part and every chart of the pages layer, and hostile text wherever text can stand.

Values are made by small formulas.
"""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.pages.curve_charts import (
    Curve,
    CurveChart,
    DistributionChart,
    Group,
    PercentileMark,
    Point,
    curve_chart,
    distribution_chart,
)
from benchkit.pages.html import Child, Html, element, joined
from benchkit.pages.page import Page, PageSection
from benchkit.pages.parts import (
    BarPart,
    HtmlColumn,
    HtmlFigure,
    Tone,
    article,
    badge,
    bullets,
    callout,
    code,
    facts,
    figures,
    fold,
    legend,
    link,
    mark,
    mark_column,
    number_column,
    paragraph,
    side_by_side,
    stacked_bar,
    table,
    text_block,
)
from benchkit.pages.row_charts import (
    DifferenceRow,
    DrawnBar,
    Lane,
    Moment,
    RowTitles,
    TimelineChart,
    TimelineEvent,
    bar_chart,
    difference_chart,
    timeline_chart,
)

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
LONG = "x" * 300_000
_STATES = ((Tone.PASS, "stable pass"), (Tone.FLAKY, "flaky"), (Tone.FAIL, "stable fail"))
_TRIALS = 10
_CASES = 24


def sample_page() -> Page:
    """The page."""
    return Page("inbox-triage, development: model_triage:gemma " + HOSTILE[4], _lead(), _sections(),
                paragraph("Made from sample.json. ", link("content", "To the top")))


def _sections() -> tuple[PageSection, ...]:
    return (PageSection("reliability", "Reliability over trials", _reliability()),
            PageSection("cases", "Case by case", _cases()),
            PageSection("comparison", "Compared", _comparison()),
            PageSection("speed", "Latency", _speed()),
            PageSection("timeline", "A case along its time", _timeline()),
            PageSection("texts", "What was said", _texts()),
            PageSection("empty", "Nothing at all", _empty()))


def _lead() -> Html:
    return joined(
        paragraph("96 mails, 10 trials each. ", badge(Tone.FLAKY, "17 flaky"), " ", code(HOSTILE[1])),
        callout(Tone.INCOMPLETE, "12 of 960 trials are incomplete",
                paragraph("9 Timeout, 3 Unreachable. Worst and best stand side by side below.")),
        callout(Tone.FAIL, "The server's version changed between two sessions", bullets(["0.12.3", HOSTILE[0]])),
        figures([HtmlFigure("81.3 %", "pass^1", "78.9 % to 83.6 % (781 of 960)"),
                 HtmlFigure("93.8 %", "pass@10", "at least one of 10 trials", Tone.PASS),
                 HtmlFigure("64.6 %", "pass^10", "all of 10 trials", Tone.FAIL),
                 HtmlFigure("17", "flaky cases", "of 96; a flake of 10 % is missed in 35 % of runs", Tone.FLAKY)]),
        facts([("Model", code("gemma4:e2b")), ("Hardware", "a laptop, 8 cores, 16 GB"), ("Name", HOSTILE[7]),
               ("Sessions", "2026-01-05T10:00:00.000Z, 41 minutes; 2026-01-05T11:02:00.000Z, 3 minutes")]))


def _reliability() -> Iterator[Html]:
    at = [Point(k, 1 - 0.19 * 0.82 ** (k - 1), 1 - 0.25 * 0.84 ** (k - 1), 1 - 0.14 * 0.8 ** (k - 1))
          for k in range(1, _TRIALS + 1)]
    hat = [Point(k, 0.6 + 0.21 * 0.8 ** (k - 1), 0.54 + 0.2 * 0.8 ** (k - 1), 0.66 + 0.2 * 0.8 ** (k - 1))
           for k in range(1, _TRIALS + 1)]
    yield curve_chart(CurveChart(
        "pass@k and pass^k", "pass@k rises from 81 % to 97 %, pass^k falls from 81 % to 63 %", "k, trials",
        "share of cases", (Curve("pass@k, at least one of k passes", at), Curve("pass^k, all of k pass", hat))))
    gaps = [Point(k, None if k in (4, 5) else 0.5 + k / 40) for k in range(1, _TRIALS + 1)]
    many = [Point(k, 0.2 + k % 100 / 1000) for k in range(1, 11)]
    yield curve_chart(CurveChart(
        "Six of them, one with a gap " + HOSTILE[0], "", "k", "share", (
            Curve("gaps", gaps), Curve(HOSTILE[1], many), *(
                Curve(f"level {level}", [Point(k, level / 10) for k in (1, 5, 10)]) for level in (4, 6, 8, 9)))))


def _cases() -> Iterator[Html]:
    yield legend([Tone.PASS, Tone.FAIL, Tone.INCOMPLETE, Tone.ABSENT, Tone.FLAKY])
    columns = [HtmlColumn("Case"), number_column("passed"), HtmlColumn("state"), HtmlColumn("trials"),
               *(mark_column(str(trial), f"trial {trial}") for trial in range(1, _TRIALS + 1))]
    yield from table("Every case and every trial", columns, map(_grid_row, range(_CASES)))
    bars = [DrawnBar(joined(code(_name(case))), _passed(case) / _TRIALS, max(0.0, _passed(case) / _TRIALS - 0.25),
                     min(1.0, _passed(case) / _TRIALS + 0.2), f"{_passed(case)}/{_TRIALS}", _state(case)[0])
            for case in range(_CASES)]
    bars.append(DrawnBar("never ran", None, 0.0, 1.0, "0/0", Tone.INCOMPLETE))
    yield from bar_chart(RowTitles("Pass rate by case, 95 % Wilson intervals", "case", "pass rate", "passed"), bars)


def _name(case: int) -> str:
    return HOSTILE[case] if case < len(HOSTILE) else f"mail-{case:03d}"


def _tone(case: int, trial: int) -> Tone:
    if case % 3 == 0:
        return Tone.PASS
    if case % 3 == 2:
        return Tone.FAIL
    return (Tone.PASS, Tone.FAIL, Tone.PASS, Tone.INCOMPLETE, Tone.PASS, Tone.ABSENT)[(case + trial) % 6]


def _passed(case: int) -> int:
    return sum(_tone(case, trial) is Tone.PASS for trial in range(_TRIALS))


def _state(case: int) -> tuple[Tone, str]:
    return _STATES[case % 3]


def _grid_row(case: int) -> list[Child]:
    tones = [_tone(case, trial) for trial in range(_TRIALS)]
    parts = [BarPart(tone, tones.count(tone)) for tone in (Tone.PASS, Tone.FAIL, Tone.INCOMPLETE, Tone.ABSENT)]
    marks = [mark(tone, f"{_name(case)}, trial {trial}: {tone}", f"trial-{case}-{trial}")
             for trial, tone in enumerate(tones, 1)]
    return [code(_name(case)), f"{_passed(case)}/{_TRIALS}", badge(*_state(case)), stacked_bar(_name(case), parts),
            *marks]


def _comparison() -> Iterator[Html]:
    titles = RowTitles("Difference in pass^1, with 95 % intervals", "pair", "difference", "change, p")
    yield from difference_chart(titles, [
        DifferenceRow("gemma minus qwen", 0.084, 0.021, 0.147, "+8.4 %, p .012", Tone.PASS),
        DifferenceRow("gemma minus keywords", -0.13, -0.19, -0.06, "\u221213 %, p .0004", Tone.FAIL),
        DifferenceRow("gemma minus coin " + HOSTILE[3], 0.012, -0.05, 0.08, "+1.2 %, p .72"),
        DifferenceRow("gemma minus one that never ran", None, None, None, "not known")])


def _speed() -> Iterator[Html]:
    warm = [*sorted(1.2 + place % 17 / 10 + place % 5 / 30 for place in range(300)), 5.4]
    cold = sorted(3.1 + place % 7 / 5 for place in range(40))
    yield distribution_chart(DistributionChart("Latency of one trial", (
        Group("warm", warm, (PercentileMark("p50", 2.0, 1.9, 2.1), PercentileMark("p90", 2.8, 2.7, 2.9),
                             PercentileMark("p99", 2.93, 2.9, 5.4)), "9 timeouts not drawn"),
        Group("cold", cold, (PercentileMark("p50", 3.7, 3.5, 3.9),)), Group("none", ()))))
    tail = [0.05 * 1.04 ** place for place in range(200)]
    yield distribution_chart(DistributionChart("With a long tail", (
        Group("all", tail, (PercentileMark("p50", tail[99]), PercentileMark("p99", tail[197]))),)))


def _timeline() -> Iterator[Html]:
    lanes = [
        Lane(
            name,
            [
                TimelineEvent(
                    (place * 7 + lane * 5) % 61, (place + lane) % 4, f"event {place}: {HOSTILE[place]}", place == 3
                )
                for place in range(6)
            ],
        )
        for lane, name in enumerate(("checkout", "payments-with-a-long-name", HOSTILE[1], "search"))
    ]
    yield from timeline_chart(TimelineChart("Observations", "service", [*lanes, Lane("quiet", ())],
                                            ("deploy", "alert", "reading", HOSTILE[2]), "min", Moment(45, "T, 45 min")))


def _texts() -> Iterator[Html]:
    yield side_by_side(text_block('{"kind": "outage",\n "urgent": true}', "Trial 2, passed"),
                       text_block('{"kind": "bug",\n "urgent": true}', "Trial 5, failed"))
    for case in range(_CASES):
        yield article(f"case-{case}", code(_name(case)), *(_trial(case, trial) for trial in range(1, _TRIALS + 1)))
    for text in HOSTILE:
        yield text_block(text, text)
    yield text_block(LONG, "300 kB on one line")
    yield text_block("\n".join(f"line {number}" for number in range(400)), "Many lines", 12)
    yield text_block("", "Empty")


def _trial(case: int, trial: int) -> Html:
    summary = joined(badge(_tone(case, trial - 1), f"trial {trial}"), " 1.2 s")
    return fold(summary, text_block(HOSTILE[(case + trial) % len(HOSTILE)], "Output"), anchor=f"trial-{case}-{trial}")


def _empty() -> Iterator[Html]:
    yield curve_chart(CurveChart("No curve", "", "k", "share", ()))
    yield curve_chart(CurveChart("One point", "", "k", "share", (Curve("alone", [Point(1, 0.5, 0.2, 0.9)]),)))
    yield from bar_chart(RowTitles("No bars", "case", "pass rate", "passed"), ())
    yield from difference_chart(
        RowTitles("Equal", "pair", "difference", "p"), [DifferenceRow("a", 0.0, 0.0, 0.0, "0 %")]
    )
    yield from timeline_chart(TimelineChart("No lanes", "service", (), (), "min"))
    yield from table("No rows", [HtmlColumn("a"), number_column("b")], ())
    yield element("p", stacked_bar("nothing", ()))
