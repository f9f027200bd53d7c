"""A document in which every kind of block and span stands once, and one text wherever a text may stand."""
from __future__ import annotations

from benchkit.pages.curve_charts import Curve, CurveChart, DistributionChart, Group, PercentileMark, Point
from benchkit.pages.row_charts import Lane, Moment, TimelineChart, TimelineEvent
from benchkit.pages.tones import Tone
from benchkit.render import document as doc


def spans(text: str) -> tuple[doc.Span, ...]:
    """One span of each kind, full of a text."""
    return (text, " ", doc.Code(text), " ", doc.Strong(text), " ", doc.Strong(doc.Code(text)), " ",
            doc.Mark(text, Tone.FAIL), " ",
            doc.Mark(text, Tone.PASS, small=True), doc.Mark(text, Tone.FAIL, small=True, to="one"), " ",
            doc.Link("one", text), " ",
            doc.Link("one", doc.Code(text)), " ", doc.Tally(text, ((Tone.PASS, 7), (Tone.FAIL, 2))), " ", text)


def table(text: str, cut: doc.Cut) -> doc.Table:
    """Four rows of every kind of column."""
    columns = (doc.Column(text), doc.Column(doc.Code(text), doc.Kind.WORD, flexible=True),
               doc.Column(text, doc.Kind.NUMBER, group=text, hint=text), doc.Column("marks"))
    rows = [(doc.Code(text), text, number, (doc.Mark(text, Tone.PASS, small=True),
                                            doc.Mark(text, Tone.INCOMPLETE, small=True)))
            for number in range(1, 5)]
    return doc.Table(text, columns, rows, cut, is_titled=True)


def charts(text: str) -> list[doc.Block]:
    """Every kind of chart."""
    bar = doc.Bar(spans(text), 0.5, 0.25, 0.75, text, Tone.PASS)
    unknown = doc.Bar(text, None, None, None, text, least=0.25, most=0.75)
    curve = CurveChart(text, text, text, text, (Curve(text, (Point(1, 0.5, 0.25, 0.75), Point(2, 0.75))),))
    group = Group(text, (0.5, 1.0, 2.0), (PercentileMark(text, 1.0, 0.5, 2.0),), text)
    events = (TimelineEvent(1.0, 0, text), TimelineEvent(3.0, 1, text, True))
    timeline = TimelineChart(text, text, (Lane(text, events),), (text, text), text, Moment(2.0, text), text)
    return [
        doc.Chart(doc.Bars(text, text, text, text, [bar, unknown], doc.Cut(1, None, text)), text,
                  [table(text, doc.Cut())]),
        doc.Chart(doc.Bars(text, text, text, text, [bar], is_signed=True)),
        doc.Chart(curve), doc.Chart(DistributionChart(text, (group,), text, (text, text))), doc.Chart(timeline)]


def blocks(text: str) -> list[doc.Block]:
    """Every kind of block but a section."""
    return [
        doc.Paragraph(spans(text)), doc.Paragraph(text, quiet=True),
        doc.Paragraph(doc.Code(text)),
        doc.Facts([(text, spans(text)), (text, text)]), doc.Figures([doc.Figure(text, text, text, Tone.PASS)]),
        table(text, doc.Cut()), table(text, doc.Cut(2, 3, text)), *charts(text),
        doc.Callout(Tone.FLAKY, spans(text), [doc.Bullets([spans(text), text]), doc.Verbatim(text, text)]),
        doc.Callout(Tone.FAIL, text, [doc.command(text[:12])], folded=True),
        doc.Bullets([text, doc.Code(text), spans(text)], is_numbered=True),
        doc.Fold(spans(text), [doc.Paragraph(text), doc.Verbatim(text)], "fold"),
        doc.Verbatim(f"x{text}\n\n", spans(text), 2, 1, (0, 1)),
        doc.Beside([doc.Verbatim(text, text), doc.Verbatim(text, text)]), doc.Beside([doc.Paragraph(text)])]


def every_block(text: str) -> doc.Document:
    """All of it, one level below the other."""
    inner = doc.Section("inner", spans(text), lambda: [doc.Section("innermost", text,
                                                                   [table(text, doc.Cut()), doc.Verbatim(text)])])
    sections = (doc.Section("one", spans(text), blocks(text)), doc.Section("two", text, [inner], is_part=True))
    return doc.Document(spans(text), [doc.Facts([(text, text)])], sections, spans(text))
