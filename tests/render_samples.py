"""A document in which every kind of block and span stands once, and one text wherever a text may stand."""
from __future__ import annotations

from benchkit.pages.curve_charts import Curve, CurveChart, DistributionChart, Group, PercentileMark, Point
from benchkit.pages.parts import Tone
from benchkit.pages.row_charts import Lane, Moment, TimelineChart, TimelineEvent
from benchkit.render.document import (
    Bar,
    Bars,
    Beside,
    Block,
    Bullets,
    Callout,
    Chart,
    Code,
    Column,
    CommandLine,
    Cut,
    Document,
    Facts,
    Figure,
    Figures,
    Fold,
    Heading,
    Kind,
    Link,
    Mark,
    Paragraph,
    Section,
    Span,
    Strong,
    Table,
    Tally,
    Verbatim,
)


def spans(text: str) -> tuple[Span, ...]:
    """One span of each kind, full of a text."""
    return (text, " ", Code(text), " ", Strong(text), " ", Strong(Code(text)), " ", Mark(text, Tone.FAIL), " ",
            Mark(text, Tone.PASS, small=True), Mark(text, Tone.FAIL, small=True, to="one"), " ", Link("one", text), " ",
            Link("one", Code(text)), " ", Tally(text, ((Tone.PASS, 7), (Tone.FAIL, 2))), " ", text)


def table(text: str, cut: Cut) -> Table:
    """Four rows of every kind of column."""
    columns = (Column(text), Column(Code(text), Kind.WORD, flexible=True),
               Column(text, Kind.NUMBER, group=text, hint=text), Column("marks", Kind.MARKS))
    rows = [(Code(text), text, number, (Mark(text, Tone.PASS, small=True), Mark(text, Tone.INCOMPLETE, small=True)))
            for number in range(1, 5)]
    return Table(text, columns, rows, cut, is_titled=True)


def charts(text: str) -> list[Block]:
    """Every kind of chart."""
    bar = Bar(spans(text), 0.5, 0.25, 0.75, text, Tone.PASS)
    unknown = Bar(text, None, None, None, text, least=0.25, most=0.75)
    curve = CurveChart(text, text, text, text, (Curve(text, (Point(1, 0.5, 0.25, 0.75), Point(2, 0.75))),))
    group = Group(text, (0.5, 1.0, 2.0), (PercentileMark(text, 1.0, 0.5, 2.0),), text)
    events = (TimelineEvent(1.0, 0, text), TimelineEvent(3.0, 1, text, True))
    timeline = TimelineChart(text, text, (Lane(text, events),), (text, text), text, Moment(2.0, text), text)
    return [
        Chart(Bars(text, text, text, text, [bar, unknown], Cut(1, None, text)), text, [table(text, Cut())]),
        Chart(Bars(text, text, text, text, [bar], is_signed=True)),
        Chart(curve), Chart(DistributionChart(text, (group,), text, (text, text))), Chart(timeline)]


def blocks(text: str) -> list[Block]:
    """Every kind of block but a section."""
    return [
        Heading(spans(text)), Paragraph(spans(text)), Paragraph(text, quiet=True), Paragraph(Code(text)),
        Facts([(text, spans(text)), (text, text)]), Figures([Figure(text, text, text, Tone.PASS)]),
        table(text, Cut()), table(text, Cut(2, 3, text)), *charts(text),
        Callout(Tone.FLAKY, spans(text), [Bullets([spans(text), text]), Verbatim(text, text)]),
        Callout(Tone.FAIL, text, [CommandLine(text[:12])], folded=True),
        Bullets([text, Code(text), spans(text)], is_numbered=True),
        Fold(spans(text), [Paragraph(text), Verbatim(text)], "fold"),
        Verbatim(f"x{text}\n\n", spans(text), 2, 1, (0, 1)),
        Beside([Verbatim(text, text), Verbatim(text, text)]), Beside([Paragraph(text)])]


def every_block(text: str) -> Document:
    """All of it, one level below the other."""
    inner = Section("inner", spans(text), lambda: [Section("innermost", text, [table(text, Cut()), Verbatim(text)])])
    sections = (Section("one", spans(text), blocks(text)), Section("two", text, [inner], is_part=True))
    return Document(spans(text), [Facts([(text, text)])], sections, spans(text))
