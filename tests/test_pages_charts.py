"""The charts: where things stand, read back from the SVG; and each kind whole, as a person last read it.

    python3 -m tests.test_pages_charts          write tests/goldens/charts.html anew; read the difference line by line
"""
from __future__ import annotations

import math
import re
import unittest
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from benchkit.pages import curve_charts as curved
from benchkit.pages import row_charts as rowed
from benchkit.pages import svg
from benchkit.pages.curve_charts import PLOT, Curve, CurveChart, DistributionChart, Group, PercentileMark, Point
from benchkit.pages.html import Html, whole
from benchkit.pages.row_charts import DrawnBar, Lane, Moment, RowTitles, TimelineChart, TimelineEvent
from benchkit.pages.svg import Scale
from benchkit.pages.tones import Tone
from tests.goldens import GOLDENS

HOSTILE = ("</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>")
TITLES = RowTitles("Rates", "case", "rate", "passed")
GOLDEN = GOLDENS / "charts.html"


def curves(*given: Sequence[Point], description: str = "What it shows") -> Html:
    named = [Curve(f"curve {index}", points) for index, points in enumerate(given)]
    return curved.curve_chart(CurveChart("Title", description, "k", "share", named))


def distributions(*groups: Group) -> Html:
    return curved.distribution_chart(DistributionChart("Latency", groups))


def timeline(lanes: Sequence[Lane], moment: Moment | None = None) -> Html:
    kinds = ("deploy", "alert", "reading", HOSTILE[0])
    return whole(rowed.timeline_chart(TimelineChart("Story", "service", lanes, kinds, "min", moment)))


def bars(*given: DrawnBar) -> Html:
    return whole(rowed.bar_chart(TITLES, given))


def differences(*given: DrawnBar) -> Html:
    return whole(rowed.difference_chart(TITLES, given))


def every_chart() -> Iterable[Html]:
    """Each kind of chart, with all that it can show, little, and nothing."""
    risen = [Point(k, 1 - 0.2 * 0.8 ** k, 1 - 0.3 * 0.8 ** k, 1 - 0.1 * 0.8 ** k, 1 - 0.25 * 0.8 ** k,
                   1 - 0.15 * 0.8 ** k) for k in range(1, 11)]
    gaps = [Point(k, None if k in (4, 5, 9) else 0.5 + k / 40, None if k == 5 else 0.3, 0.9) for k in range(1, 11)]
    yield curves(risen, gaps, *([Point(k, level / 10) for k in (1, 5, 10)] for level in (4, 6, 8, 9, 1)))
    yield curves([Point(k, k / 1000) for k in range(1, 400)], description="")
    yield from (curves(*given) for given in (
        (), ([],), ([Point(1, 0.5, 0.4, 0.6)],), ([Point(1, None)],), ([Point(5, 0.0), Point(6, 0.0)],)))
    marks = (PercentileMark("p50", 2.0, 1.9, 2.1), PercentileMark("p90", 2.8, 2.7, 2.9),
             PercentileMark("p99", 2.93, 2.9, 5.4))
    warm = [*sorted(1.2 + place % 17 / 10 + place % 5 / 30 for place in range(300)), 5.4]
    yield distributions(Group("warm", warm, marks, "9 timeouts not drawn"), Group("none", ()),
                        Group("cold", sorted(3.1 + place % 7 / 5 for place in range(40))))
    yield distributions(Group("tail", [0.05 * 1.04 ** place for place in range(200)], [PercentileMark("p50", 2.4)]))
    yield distributions(Group("high", [1.0, 7.8, 10.0], [PercentileMark(f"p{at}", at) for at in (1, 7.8, 9)]))
    yield from (distributions(Group("equal", values)) for values in ([2.0] * 5, [0.0]))
    lanes = [Lane(name, [TimelineEvent((place * 7 + row * 5) % 61, (place + row) % 4, f"event {place}", place == 3)
                         for place in range(6)]) for row, name in enumerate(("checkout", HOSTILE[1]))]
    yield timeline([*lanes, Lane("quiet", ())], Moment(45, "T, 45 min"))
    yield from (timeline(lanes[:1], moment) for moment in (None, Moment(0, "T"), Moment(30, "T")))
    yield timeline([])
    yield bars(*(DrawnBar(f"case {place}", place / 10, place / 12, min(1.0, place / 8), f"{place}/10", tone)
                 for place, tone in enumerate([*Tone, Tone.PLAIN])),
               DrawnBar(HOSTILE[0], 0.5, None, None, HOSTILE[1]), DrawnBar("never ran", None, 0.0, 1.0, "0/0"),
               DrawnBar("unknown", None, None, None, "0/0"),
               DrawnBar("open", None, 0.1, 0.9, "1 to 2", least=0.25, most=0.75))
    yield bars()
    yield differences(DrawnBar("better", 0.084, 0.021, 0.147, "+8.4", Tone.PASS),
                      DrawnBar("worse", -0.13, -0.19, -0.06, "-13"), DrawnBar("equal", 0.0, None, None, "0"),
                      DrawnBar("unknown", None, None, None, "not known"))
    yield differences()


def golden() -> str:
    """All of them, an element a line."""
    return "".join(f"{chart}\n" for chart in every_chart()).replace("><", ">\n<")


def read(markup: Html) -> Element:
    """The chart as a tree; fails if it is not well-formed."""
    closed = re.sub(r"<(col\b[^>]*)>", r"<\1/>", markup)
    return ElementTree.fromstring(f"<div>{closed}</div>")


def of_class(tree: Element, name: str) -> list[Element]:
    return [element for element in tree.iter() if name in element.get("class", "").split()]


def pictures(tree: Element) -> list[Element]:
    return [element for element in tree.iter("svg") if element.get("role") == "img"]


def place(element: Element, name: str = "cx") -> float:
    text = element.get(name, "")
    assert text.endswith("%"), f"{name} is no percentage: {text}"
    return float(text[:-1])


def points(path: Element) -> list[tuple[float, float]]:
    pairs = [pair.split() for pair in path.get("d", "").strip("MZ").split("L")]
    return [(float(x), float(y)) for x, y in pairs]


class EveryChart(unittest.TestCase):
    def test_each_is_as_a_person_last_read_it(self) -> None:
        self.assertEqual(GOLDEN.read_text(encoding="utf-8"), golden())

    def test_each_is_well_formed_told_in_words_and_has_no_place_that_is_no_number(self) -> None:
        for number, chart in enumerate(every_chart()):
            with self.subTest(number):
                self.assertTrue(all(one.get("aria-label") for one in pictures(read(chart))))
                self.assertNotRegex(chart, r"\bnan|\binf|<script|<img")


class Scales(unittest.TestCase):
    def test_coordinates_have_two_digits_and_none_that_say_nothing(self) -> None:
        table = ((1.0, "1"), (1 / 3, "0.33"), (-0.001, "0"), (100.5, "100.5"), (20.0, "20"), (-2.25, "-2.25"))
        for value, expected in table:
            with self.subTest(value=value):
                self.assertEqual(svg.number(value), expected)
        self.assertEqual(svg.percentage(0.123456), "12.35%")

    def test_a_place_is_within_the_picture_whatever_the_value(self) -> None:
        scale = Scale(1.0, 3.0)
        self.assertEqual([scale.place(value) for value in (0.0, 1.0, 2.0, 3.0, 9.0)], [0.0, 0.0, 0.5, 1.0, 1.0])
        self.assertEqual(Scale(2.0, 2.0).place(2.0), 0.5)

    def test_a_logarithmic_scale_gives_equal_room_to_equal_ratios(self) -> None:
        scale = Scale(0.1, 10.0, is_logarithmic=True)
        self.assertAlmostEqual(scale.place(1.0), 0.5)
        self.assertAlmostEqual(scale.at(0.75), 10 ** 0.5)
        self.assertEqual(scale.place(0.0), 0.0)

    def test_value_and_place_are_each_others_way_back(self) -> None:
        for scale in (Scale(-2.0, 7.0), Scale(0.01, 500.0, is_logarithmic=True)):
            for share in (0.0, 0.2, 0.9, 1.0):
                self.assertAlmostEqual(scale.place(scale.at(share)), share)

    def test_steps_are_round(self) -> None:
        table = ((1.0, 4, 0.25), (1.0, 5, 0.2), (10.0, 5, 2.0), (7.0, 5, 2.0), (0.03, 4, 0.01), (0.0, 5, 1.0),
                 (60.0, 4, 20.0))
        for span, most, expected in table:
            with self.subTest(span=span, most=most):
                self.assertAlmostEqual(svg.round_step(span, most), expected)

    def test_the_reach_of_an_axis_is_round_and_so_is_its_half(self) -> None:
        table = ((0.4, 0.4), (0.3, 0.4), (0.55, 0.6), (1.0, 1.0), (0.0, 0.1), (7e-5, 8e-5))
        for value, expected in table:
            with self.subTest(value=value):
                self.assertAlmostEqual(svg.round_reach(value), expected)

    def test_ticks_are_round_and_within(self) -> None:
        table = (
            (Scale(0.0, 1.0), 4, (0.0, 0.25, 0.5, 0.75, 1.0)),
            (Scale(0.3, 6.1), 5, (2.0, 4.0, 6.0)),
            (Scale(5.0, 5.0), 5, (5.0,)),
            (Scale(0.0, 0.3), 3, (0.0, 0.1, 0.2, 0.3)),
            (Scale(1.0, 10.0, is_logarithmic=True), 5, (1.0, 2.0, 5.0, 10.0)),
            (Scale(0.01, 100.0, is_logarithmic=True), 5, (0.01, 0.1, 1.0, 10.0, 100.0)),
        )
        for scale, most, expected in table:
            with self.subTest(scale=scale):
                self.assertEqual(svg.ticks(scale, most), expected)

    def test_there_are_never_many_ticks(self) -> None:
        for power in range(-6, 7):
            for factor in (1.0, 1.7, 3.0, 9.99):
                high = factor * 10.0 ** power
                for scale in (Scale(0.0, high), Scale(-high, high), Scale(high / 1e9, high, is_logarithmic=True)):
                    self.assertLessEqual(len(svg.ticks(scale, 5)), 7, scale)

    def test_unknown_and_endless_values_are_no_ends_of_a_range(self) -> None:
        self.assertEqual(svg.range_of([None, 3.0, math.inf, -1.0, math.nan]), (-1.0, 3.0))
        self.assertIsNone(svg.range_of([None, math.nan]))

    def test_durations_start_at_zero_and_a_long_tail_is_logarithmic(self) -> None:
        self.assertEqual(svg.scale_of_durations([1.0, 2.0, 4.6]), Scale(0.0, 5.0))
        self.assertEqual(svg.scale_of_durations([]), Scale(0.0, 1.0))
        self.assertEqual(svg.scale_of_durations([0.0, 0.0]), Scale(0.0, 1.0))
        self.assertEqual(svg.scale_of_durations([3.0]), Scale(0.0, 3.0))
        self.assertTrue(svg.scale_of_durations([1.0, 1.0, 1.0, 90.0]).is_logarithmic)

    def test_a_tick_has_three_digits_and_no_exponent(self) -> None:
        table = ((0.1, "0.1"), (12.0, "12"), (1234567.0, "1234567"), (0.12345, "0.123"), (100.0, "100"))
        for value, expected in table:
            self.assertEqual(svg.plain_number(value), expected)


class Curves(unittest.TestCase):
    def test_points_stand_where_their_values_say(self) -> None:
        tree = read(curves([Point(1, 0.0), Point(2, 0.5), Point(3, 1.0)]))
        drawn = [(place(dot), float(dot.get("cy", ""))) for dot in of_class(tree, "circle")[:3]]
        self.assertEqual(drawn, [(0, PLOT), (50, PLOT / 2), (100, 0)])
        line = next(element for element in of_class(tree, "curve") if element.tag == "path")
        self.assertEqual(points(line), [(0, PLOT), (500, PLOT / 2), (1000, 0)])

    def test_a_band_goes_along_the_upper_values_and_back_along_the_lower_and_another_stands_in_it(self) -> None:
        given = [Point(1, 0.5, 0.2, 0.8, 0.4, 0.6), Point(2, None, 0.1, 0.9, 0.3, 0.7), Point(3, None, 0.0, 1.0)]
        around, inner = ([round(1 - y / PLOT, 6) for _, y in points(band)]
                         for band in of_class(read(curves(given)), "band"))
        self.assertEqual(([0.8, 0.9, 1.0, 0.0, 0.1, 0.2], [0.6, 0.7, 0.3, 0.4]), (around, inner))

    def test_a_gap_parts_the_line_and_the_band(self) -> None:
        tree = read(curves([Point(k, None if k == 3 else 0.5, None if k == 3 else 0.4, 0.6) for k in range(1, 6)]))
        self.assertEqual(len([element for element in of_class(tree, "curve") if element.tag == "path"]), 2)
        self.assertEqual(len(of_class(tree, "band")), 2)

    def test_each_curve_has_its_colour_and_shape_and_a_seventh_begins_the_colours_again(self) -> None:
        tree = read(curves(*([Point(1, 0.1 * level), Point(2, 0.1)] for level in range(7))))
        lines = [element.get("class") for element in of_class(tree, "curve") if element.tag == "path"]
        self.assertEqual(lines, [f"curve series-{series}" for series in (1, 2, 3, 4, 5, 6, 1)])
        for series, name in enumerate(svg.SHAPES, 1):
            self.assertEqual(len(of_class(ElementTree.fromstring(svg.shape(series, 0.5, 1)), name)), 1)

    def test_many_points_have_few_ticks_and_no_shapes(self) -> None:
        few = [text.text for text in read(curves([Point(k, 0.5) for k in range(1, 11)])).iter("text")]
        self.assertLess({str(k) for k in range(1, 11)}, set(few))
        tree = read(curves([Point(k, k / 1000) for k in range(1, 1001)]))
        texts = [text.text for text in tree.iter("text")]
        self.assertIn("1", texts)
        self.assertLess(len(texts), 20)
        self.assertEqual((1, 1000), (len(of_class(tree, "shape")), len(points(of_class(tree, "curve")[0]))))


class Rows(unittest.TestCase):
    def test_a_bar_ends_at_its_share_and_its_interval_where_it_says(self) -> None:
        tree = read(bars(DrawnBar(HOSTILE[0], 0.5, 0.25, 0.75, HOSTILE[1], Tone.FLAKY)))
        drawn, = of_class(tree, "bar")
        self.assertEqual((place(drawn, "x"), place(drawn, "width"), drawn.get("class")), (0, 50, "bar flaky"))
        across = of_class(tree, "interval")[0]
        self.assertEqual((place(across, "x1"), place(across, "x2")), (25, 75))
        self.assertEqual(pictures(tree)[1].get("aria-label"), "50.0 %, interval 25.0 % to 75.0 %")
        row = tree.find("table/tbody/tr")
        assert row is not None
        self.assertEqual((row[0].tag, row[0].get("scope"), row[0].text, row[2].text), ("th", "row", *HOSTILE))
        self.assertEqual(tree.findtext("table/caption"), "Rates")

    def test_a_value_of_which_only_the_ends_are_known_is_a_bar_between_them_and_one_unknown_is_none(self) -> None:
        tree = read(bars(DrawnBar("mail", None, 0.1, 0.9, "1 to 2", least=0.25, most=0.75),
                         DrawnBar("mail", None, 0.0, 1.0, "0/0"), DrawnBar("mail", None, None, None, "0/0")))
        drawn, = of_class(tree, "bar")
        self.assertEqual((place(drawn, "x"), place(drawn, "width")), (25, 50))
        self.assertEqual((0, 6), (len(of_class(tree, "dot")), len(of_class(tree, "interval"))))
        self.assertEqual(["25.0 % to 75.0 %, interval 10.0 % to 90.0 %", "not known", "not known"],
                         [picture.get("aria-label") for picture in pictures(tree)[1:]])

    def test_zero_stands_in_the_middle_of_differences(self) -> None:
        tree = read(differences(DrawnBar("a", 0.1, 0.05, 0.15, "+10 %", Tone.PASS),
                                DrawnBar("b", -0.2, -0.4, 0.0, "-20 %")))
        first, second = of_class(tree, "dot")
        self.assertAlmostEqual(place(first) - 50, 50 * 0.1 / 0.4, places=1)
        self.assertAlmostEqual(place(second) - 50, -50 * 0.2 / 0.4, places=1)
        axis = [text.text for text in pictures(tree)[0].iter("text")]
        self.assertEqual(axis, ["\u221240", "\u221220", "0 points", "+20", "+40"])
        self.assertEqual(pictures(tree)[2].get("aria-label"),
                         "\u221220.0 points, interval \u221240.0 points to 0.0 points")

    def test_the_axis_of_differences_reaches_round_ends_on_both_sides(self) -> None:
        for value, expected in ((0.05, "+5"), (0.051, "+6"), (0.147, "+20"), (1, "+100"), (0, "+10"), (0.013, "+2")):
            with self.subTest(value=value):
                tree = read(differences(DrawnBar("a", value, None, None, "")))
                self.assertEqual([text.text for text in pictures(tree)[0].iter("text")][-1], expected)

    def test_a_thousand_rows_stay_small(self) -> None:
        self.assertLess(len(bars(*[DrawnBar("mail-100", 0.5, 0.4, 0.6, "5/10")] * 1000)), 1_000_000)


class Distributions(unittest.TestCase):
    def test_every_value_is_in_one_bin_and_the_end_in_the_last(self) -> None:
        self.assertEqual(curved.counts_in_bins([0.0, 0.99, 1.0, 2.5, 4.0], Scale(0.0, 4.0), 4), [2, 1, 1, 1])
        self.assertEqual(sum(curved.counts_in_bins([2.0] * 7, Scale(2.0, 2.0), 4)), 7)
        drawn = Random(7)
        for size in (1, 10, 9_000):
            values = sorted(drawn.uniform(0, 9.5) for _ in range(size))
            counted = Counter(int(value) for value in values)
            self.assertEqual(curved.counts_in_bins(values, Scale(0.0, 10.0), 10), [counted[at] for at in range(10)])

    def test_bars_are_as_high_as_their_counts_and_one_value_among_thousands_is_seen(self) -> None:
        for values, least in (([0.1, 0.1, 0.1, 0.1, 0.9, 0.9], curved.BARS / 2), ([1.0] * 9999 + [1.9], 2)):
            drawn = of_class(read(distributions(Group("warm", values))), "bin")
            self.assertEqual((curved.BARS, least), tuple(float(one.get("height", "")) for one in drawn))

    def test_percentiles_stand_at_their_value_each_on_a_line_that_leaves_room_for_the_names_below(self) -> None:
        marks = (PercentileMark("p50", 1.0, 0.9, 1.2), PercentileMark("p90", 7.8), PercentileMark("p95", 9.0))
        tree = read(distributions(Group("warm", [1.0, 7.8, 10.0], marks)))
        ends = [(place(drawn, "x1"), float(drawn.get("y1", "")), float(drawn.get("y2", "")))
                for drawn in of_class(tree, "percentile")]
        self.assertEqual(ends, [(10, 2, 144), (78, 26, 48), (78, 64, 144), (90, 50, 144)])
        labels = [text for text in tree.iter("text") if (text.text or "").startswith("p")]
        self.assertEqual([text.text for text in labels], ["p50 1 s", "p90 7.8 s", "p95 9 s"])
        self.assertEqual((3, 3), (len({text.get("y") for text in labels}), len(of_class(tree, "interval"))))

    def test_groups_share_one_scale_and_each_says_how_many_it_shows_and_what_is_missing(self) -> None:
        tree = read(distributions(Group("warm", [1.0, 1.0], (PercentileMark("p50", 1.0),), "3 timeouts not drawn"),
                                  Group("cold", [4.0])))
        first, second = (of_class(picture, "bin")[-1] for picture in pictures(tree))
        self.assertLess(place(first, "x"), place(second, "x"))
        self.assertIn("2 replies, 3 timeouts not drawn", [part.text for part in of_class(tree, "quiet")])
        self.assertEqual(pictures(tree)[0].findtext("desc"), "2 replies from 1 s to 1 s; p50 1 s")


class Timelines(unittest.TestCase):
    def test_events_stand_in_order_of_time_and_the_moment_runs_through_every_lane_and_shades_what_follows(self) -> None:
        tree = read(timeline([Lane("a", [TimelineEvent(0, 0, "x"), TimelineEvent(50, 1, "y", is_strong=True)]),
                              Lane("b", [TimelineEvent(100, 0, HOSTILE[0])])], Moment(75, "T, 75 min")))
        _, first, second = pictures(tree)
        early, late = place(of_class(first, "shape")[0]), place(of_class(second, "shape")[0])
        self.assertLess(early, 50)
        self.assertAlmostEqual(place(of_class(first, "at")[0], "x"), 50)
        self.assertAlmostEqual(early + late, 100)
        lines = of_class(tree, "moment")
        self.assertEqual((3, 1), (len(lines), len({line.get("x1") for line in lines})))
        self.assertEqual({drawn.get("x") for drawn in of_class(tree, "after")}, {lines[0].get("x1")})
        self.assertIn("T, 75 min", [text.text for text in tree.iter("text")])
        self.assertIn(f"100 min: {HOSTILE[0]}", [title.text for title in tree.iter("title")])
        self.assertEqual(len(of_class(tree, "strong-ring")), 2)
        self.assertEqual(["deploy", "alert", "reading", HOSTILE[0], "strong"],
                         [item[0].tail for item in tree.findall("ul/li")])
        self.assertEqual(["time in min", "a: 2 events from 0 to 50 min", "b: 1 event from 100 to 100 min"],
                         [picture.get("aria-label") for picture in pictures(tree)])

    def test_a_thousand_events_are_drawn(self) -> None:
        many = read(timeline([Lane("a", [TimelineEvent(at, 0, "x") for at in range(1000)])]))
        self.assertEqual(len(of_class(pictures(many)[1], "circle")), 1000)


if __name__ == "__main__":
    GOLDEN.write_text(golden(), encoding="utf-8")
