"""The charts, read back from the SVG they are written as: where things stand, in which class, with which words."""
from __future__ import annotations

import math
import re
import unittest
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from benchkit.pages.curve_charts import (
    PLOT,
    Curve,
    CurveChart,
    DistributionChart,
    Group,
    PercentileMark,
    Point,
    counts_in_bins,
    curve_chart,
    distribution_chart,
)
from benchkit.pages.html import Html, whole
from benchkit.pages.parts import Tone
from benchkit.pages.row_charts import (
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
from benchkit.pages.svg import (
    SHAPES,
    Scale,
    number,
    percentage,
    plain_number,
    range_of,
    round_reach,
    round_step,
    scale_of_durations,
    series_class,
    shape,
    ticks,
)
from tests.hostile_run import HOSTILE

TITLES = RowTitles("Rates", "case", "rate", "passed")


def read(pieces: Html | Iterable[Html]) -> Element:
    """The chart as a tree; fails if it is not well-formed."""
    markup = pieces if isinstance(pieces, Html) else whole(pieces)
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


def curves(*given: Sequence[Point]) -> Element:
    named = [Curve(f"curve {index}", points) for index, points in enumerate(given)]
    return read(curve_chart(CurveChart("Title", "What it shows", "k", "share", named)))


class Scales(unittest.TestCase):
    def test_coordinates_have_two_digits_and_none_that_say_nothing(self) -> None:
        table = ((1.0, "1"), (1 / 3, "0.33"), (-0.001, "0"), (100.5, "100.5"), (20.0, "20"), (-2.25, "-2.25"))
        for value, expected in table:
            with self.subTest(value=value):
                self.assertEqual(number(value), expected)
        self.assertEqual(percentage(0.123456), "12.35%")

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
                self.assertAlmostEqual(round_step(span, most), expected)

    def test_the_reach_of_an_axis_is_round_and_so_is_its_half(self) -> None:
        table = ((0.4, 0.4), (0.3, 0.4), (0.55, 0.6), (1.0, 1.0), (0.0, 0.1), (7e-5, 8e-5))
        for value, expected in table:
            with self.subTest(value=value):
                self.assertAlmostEqual(round_reach(value), expected)

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
                self.assertEqual(ticks(scale, most), expected)

    def test_there_are_never_many_ticks(self) -> None:
        for power in range(-6, 7):
            for factor in (1.0, 1.7, 3.0, 9.99):
                high = factor * 10.0 ** power
                for scale in (Scale(0.0, high), Scale(-high, high), Scale(high / 1e9, high, is_logarithmic=True)):
                    self.assertLessEqual(len(ticks(scale, 5)), 7, scale)

    def test_unknown_and_endless_values_are_no_ends_of_a_range(self) -> None:
        self.assertEqual(range_of([None, 3.0, math.inf, -1.0, math.nan]), (-1.0, 3.0))
        self.assertIsNone(range_of([None, math.nan]))

    def test_durations_start_at_zero_and_a_long_tail_is_logarithmic(self) -> None:
        self.assertEqual(scale_of_durations([1.0, 2.0, 4.6]), Scale(0.0, 5.0))
        self.assertEqual(scale_of_durations([]), Scale(0.0, 1.0))
        self.assertEqual(scale_of_durations([0.0, 0.0]), Scale(0.0, 1.0))
        self.assertEqual(scale_of_durations([3.0]), Scale(0.0, 3.0))
        self.assertTrue(scale_of_durations([1.0, 1.0, 1.0, 90.0]).is_logarithmic)

    def test_a_tick_has_three_digits_and_no_exponent(self) -> None:
        table = ((0.1, "0.1"), (12.0, "12"), (1234567.0, "1234567"), (0.12345, "0.123"), (100.0, "100"))
        for value, expected in table:
            self.assertEqual(plain_number(value), expected)


class Curves(unittest.TestCase):
    def test_points_stand_where_their_values_say(self) -> None:
        tree = curves([Point(1, 0.0), Point(2, 0.5), Point(3, 1.0)])
        drawn = [(place(dot), float(dot.get("cy", ""))) for dot in of_class(tree, "circle")[:3]]
        self.assertEqual(drawn, [(0, PLOT), (50, PLOT / 2), (100, 0)])
        line = next(element for element in of_class(tree, "curve") if element.tag == "path")
        self.assertEqual(points(line), [(0, PLOT), (500, PLOT / 2), (1000, 0)])

    def test_a_band_goes_along_the_upper_values_and_back_along_the_lower(self) -> None:
        band, = of_class(curves([Point(1, 0.5, 0.4, 0.6), Point(2, 0.5, 0.2, 1.0)]), "band")
        heights = [y / PLOT for _, y in points(band)]
        for found, expected in zip(heights, (0.4, 0.0, 0.8, 0.6), strict=True):
            self.assertAlmostEqual(found, expected)

    def test_a_band_inside_the_band_is_drawn_over_it_where_its_ends_are_known(self) -> None:
        tree = curves([Point(1, 0.5, 0.2, 0.8, 0.4, 0.6), Point(2, None, 0.1, 0.9, 0.3, 0.7), Point(3, None, 0.0, 1.0)])
        around, inner = of_class(tree, "band")
        self.assertEqual((len(points(around)), len(points(inner))), (6, 4))
        self.assertEqual([0.6, 0.7, 0.3, 0.4], [round(1 - y / PLOT, 6) for _, y in points(inner)])

    def test_a_gap_parts_the_line_and_the_band(self) -> None:
        given = [Point(k, None if k == 3 else 0.5, None if k == 3 else 0.4, 0.6) for k in range(1, 6)]
        tree = curves(given)
        self.assertEqual(len([element for element in of_class(tree, "curve") if element.tag == "path"]), 2)
        self.assertEqual(len(of_class(tree, "band")), 2)

    def test_the_picture_is_told_in_words(self) -> None:
        tree = curves([Point(1, 0.5, 0.25, 0.75)])
        picture, = pictures(tree)
        self.assertEqual(picture.get("aria-label"), "Title. What it shows")
        self.assertEqual(picture.findtext("title"), "Title")
        self.assertEqual(picture.findtext("desc"), "What it shows")
        self.assertIn("curve 0, 1: 50.0 % (25.0 % to 75.0 %)", [title.text for title in tree.iter("title")])

    def test_each_curve_has_its_colour_dashes_and_shape(self) -> None:
        tree = curves(*([Point(1, 0.1 * level), Point(2, 0.1)] for level in range(6)))
        lines = [element.get("class") for element in of_class(tree, "curve") if element.tag == "path"]
        self.assertEqual(lines, [f"curve series-{series}" for series in range(1, 7)])
        for series, name in enumerate(SHAPES, 1):
            drawn = ElementTree.fromstring(shape(series, 0.5, 1))
            self.assertEqual(len(of_class(drawn, name)), 1)

    def test_a_seventh_curve_begins_the_colours_again(self) -> None:
        self.assertEqual(series_class(7), "series-1")

    def test_every_k_is_on_the_axis_while_there_is_room(self) -> None:
        few = [text.text for text in curves([Point(k, 0.5) for k in range(1, 11)]).iter("text")]
        self.assertLess({str(k) for k in range(1, 11)}, set(few))
        many = [text.text for text in curves([Point(k, 0.5) for k in range(1, 101)]).iter("text")]
        self.assertIn("1", many)
        self.assertLess(len(many), 20)

    def test_many_points_are_a_line_without_shapes(self) -> None:
        tree = curves([Point(k, k / 1000) for k in range(1000)])
        self.assertEqual(len(of_class(tree, "shape")), 1)
        self.assertEqual(len(points(of_class(tree, "curve")[0])), 1000)

    def test_no_curve_one_point_and_equal_values_are_drawn(self) -> None:
        for given in ((), ([],), ([Point(1, 0.5, 0.4, 0.6)],), ([Point(1, None)],), ([Point(5, 0.0), Point(6, 0.0)],)):
            with self.subTest(given=given):
                tree = curves(*given)
                self.assertEqual(len(pictures(tree)), 1)
                self.assertNotIn("nan", ElementTree.tostring(tree, "unicode"))


class Rows(unittest.TestCase):
    def test_a_bar_ends_at_its_share_and_its_interval_where_it_says(self) -> None:
        tree = read(bar_chart(TITLES, [DrawnBar("mail", 0.5, 0.25, 0.75, "5/10", Tone.FLAKY)]))
        drawn, = of_class(tree, "bar")
        self.assertEqual((place(drawn, "x"), place(drawn, "width")), (0, 50))
        self.assertEqual(drawn.get("class"), "bar flaky")
        across = of_class(tree, "interval")[0]
        self.assertEqual((place(across, "x1"), place(across, "x2")), (25, 75))
        self.assertEqual(pictures(tree)[1].get("aria-label"), "50.0 %, interval 25.0 % to 75.0 %")

    def test_a_value_of_which_only_the_ends_are_known_is_a_bar_between_them(self) -> None:
        tree = read(bar_chart(TITLES, [DrawnBar("mail", None, 0.1, 0.9, "1 to 2", least=0.25, most=0.75)]))
        drawn, = of_class(tree, "bar")
        self.assertEqual((place(drawn, "x"), place(drawn, "width")), (25, 50))
        self.assertEqual(of_class(tree, "dot"), [])
        self.assertEqual(pictures(tree)[1].get("aria-label"), "25.0 % to 75.0 %, interval 10.0 % to 90.0 %")

    def test_label_and_figures_are_text_of_a_table(self) -> None:
        tree = read(bar_chart(TITLES, [DrawnBar(HOSTILE[0], 0.5, None, None, HOSTILE[1])]))
        row = tree.find("table/tbody/tr")
        assert row is not None
        self.assertEqual((row[0].tag, row[0].get("scope"), row[0].text), ("th", "row", HOSTILE[0]))
        self.assertEqual(row[2].text, HOSTILE[1])
        self.assertEqual(tree.findtext("table/caption"), "Rates")
        self.assertEqual(of_class(tree, "interval"), [])

    def test_what_is_not_known_has_no_bar(self) -> None:
        tree = read(
            bar_chart(TITLES, [DrawnBar("mail", None, 0.0, 1.0, "0/0"), DrawnBar("mail", None, None, None, "0/0")])
        )
        self.assertEqual(of_class(tree, "bar"), [])
        self.assertEqual(len(of_class(tree, "interval")), 3)
        self.assertEqual(pictures(tree)[1].get("aria-label"), "not known")

    def test_zero_stands_in_the_middle_of_differences(self) -> None:
        given = [DrawnBar("a", 0.1, 0.05, 0.15, "+10 %", Tone.PASS), DrawnBar("b", -0.2, -0.4, 0.0, "-20 %")]
        tree = read(difference_chart(TITLES, given))
        first, second = of_class(tree, "dot")
        self.assertAlmostEqual(place(first) - 50, 50 * 0.1 / 0.4, places=1)
        self.assertAlmostEqual(place(second) - 50, -50 * 0.2 / 0.4, places=1)
        axis = [text.text for text in pictures(tree)[0].iter("text")]
        self.assertEqual(axis, ["\u221240", "\u221220", "0 points", "+20", "+40"])
        self.assertEqual(pictures(tree)[2].get("aria-label"),
                         "\u221220.0 points, interval \u221240.0 points to 0.0 points")

    def test_the_axis_of_differences_reaches_round_ends_on_both_sides(self) -> None:
        table = ((0.05, "+5"), (0.051, "+6"), (0.147, "+20"), (1.0, "+100"), (0.0, "+10"), (0.013, "+2"))
        for value, expected in table:
            with self.subTest(value=value):
                tree = read(difference_chart(TITLES, [DrawnBar("a", value, None, None, "")]))
                self.assertEqual([text.text for text in pictures(tree)[0].iter("text")][-1], expected)

    def test_no_rows_and_unknown_differences_are_drawn(self) -> None:
        for given in ((), (DrawnBar("a", None, None, None, "not known"),)):
            tree = read(difference_chart(TITLES, given))
            self.assertEqual(len(of_class(tree, "dot")), 0)
            self.assertEqual(len(pictures(tree)), 1 + len(given))

    def test_a_thousand_rows_stay_small(self) -> None:
        text = whole(bar_chart(TITLES, (DrawnBar(f"mail-{row}", 0.5, 0.4, 0.6, "5/10") for row in range(1000))))
        self.assertLess(len(text), 1_000_000)


class Distributions(unittest.TestCase):
    def chart(self, *groups: Group) -> Element:
        return read(distribution_chart(DistributionChart("Latency", groups)))

    def test_every_value_is_in_one_bin_and_the_end_in_the_last(self) -> None:
        self.assertEqual(counts_in_bins([0.0, 0.99, 1.0, 2.5, 4.0], Scale(0.0, 4.0), 4), [2, 1, 1, 1])
        self.assertEqual(sum(counts_in_bins([2.0] * 7, Scale(2.0, 2.0), 4)), 7)
        drawn = Random(7)
        for size in (1, 10, 9_000):
            values = sorted(drawn.uniform(0, 9.5) for _ in range(size))
            counted = Counter(int(value) for value in values)
            self.assertEqual(counts_in_bins(values, Scale(0.0, 10.0), 10), [counted[place] for place in range(10)])

    def test_bars_are_as_high_as_their_counts(self) -> None:
        tree = self.chart(Group("warm", [0.1, 0.1, 0.1, 0.1, 0.9, 0.9]))
        low, high = (float(drawn.get("height", "")) for drawn in of_class(tree, "bin"))
        self.assertAlmostEqual(high / low, 0.5, places=2)

    def test_one_value_among_thousands_is_seen(self) -> None:
        tree = self.chart(Group("warm", [1.0] * 9999 + [1.9]))
        self.assertEqual(min(float(drawn.get("height", "")) for drawn in of_class(tree, "bin")), 2)

    def test_percentiles_stand_at_their_value_each_on_a_line_of_its_own(self) -> None:
        marks = (PercentileMark("p50", 1.0, 0.9, 1.2), PercentileMark("p99", 1.05))
        tree = self.chart(Group("warm", [1.0, 1.05, 2.0], marks))
        self.assertEqual([place(drawn, "x1") for drawn in of_class(tree, "percentile")], [50, 52.5])
        labels = [text for text in tree.iter("text") if (text.text or "").startswith("p")]
        self.assertEqual([text.text for text in labels], ["p50 1 s", "p99 1.05 s"])
        self.assertNotEqual(labels[0].get("y"), labels[1].get("y"))
        self.assertEqual(len(of_class(tree, "interval")), 3)

    def test_a_line_leaves_room_for_a_label_that_stands_where_it_would_pass(self) -> None:
        marks = [PercentileMark("p50", 1.0), PercentileMark("p90", 7.8), PercentileMark("p95", 9.0)]
        lines = of_class(self.chart(Group("warm", [1.0, 7.8, 10.0], marks)), "percentile")
        ends = [(place(drawn, "x1"), float(drawn.get("y1", "")), float(drawn.get("y2", ""))) for drawn in lines]
        self.assertEqual(ends, [(10, 2, 144), (78, 26, 48), (78, 64, 144), (90, 50, 144)])

    def test_a_group_says_how_many_it_shows_and_what_is_missing(self) -> None:
        tree = self.chart(Group("warm", [1.0, 2.0], (PercentileMark("p50", 1.0),), "3 timeouts not drawn"))
        self.assertIn("2 replies, 3 timeouts not drawn", [part.text for part in of_class(tree, "quiet")])
        self.assertEqual(pictures(tree)[0].findtext("desc"), "2 replies from 1 s to 2 s; p50 1 s")

    def test_groups_share_one_scale(self) -> None:
        tree = self.chart(Group("warm", [1.0, 1.0]), Group("cold", [4.0]))
        first, second = (of_class(picture, "bin")[-1] for picture in pictures(tree))
        self.assertLess(place(first, "x"), place(second, "x"))

    def test_nothing_and_equal_values_are_drawn(self) -> None:
        self.assertEqual(pictures(self.chart(Group("none", ()))), [])
        self.assertEqual(len(of_class(self.chart(Group("equal", [2.0] * 5)), "bin")), 1)
        self.assertEqual(len(of_class(self.chart(Group("zero", [0.0])), "bin")), 1)

    def test_a_logarithmic_scale_is_said(self) -> None:
        said = [part.text for part in of_class(self.chart(Group("tail", [1.0, 1.0, 1.0, 90.0])), "quiet")]
        self.assertIn("The scale is logarithmic.", said)


class Timelines(unittest.TestCase):
    def chart(self, lanes: Sequence[Lane], moment: Moment | None = None) -> Element:
        return read(timeline_chart(TimelineChart("Story", "service", lanes, ("deploy", "alert"), "min", moment)))

    def test_events_stand_in_order_of_time_in_their_lane(self) -> None:
        tree = self.chart(
            [Lane("a", [TimelineEvent(0, 0, "x"), TimelineEvent(50, 1, "y")]), Lane("b", [TimelineEvent(100, 0, "z")])],
            Moment(75, "T"),
        )
        _, first, second = pictures(tree)
        early = place(of_class(first, "circle")[0])
        middle = place(of_class(first, "at")[0], "x")
        late = place(of_class(second, "circle")[0])
        self.assertLess(early, middle)
        self.assertAlmostEqual(middle, 50)
        self.assertAlmostEqual(early + late, 100)

    def test_the_moment_runs_through_every_lane_and_shades_what_lies_behind(self) -> None:
        tree = self.chart(
            [Lane("a", [TimelineEvent(0, 0, "x")]), Lane("b", [TimelineEvent(100, 0, "z")])], Moment(75, "T, 75 min")
        )
        lines = of_class(tree, "moment")
        self.assertEqual(len(lines), 3)
        self.assertEqual(len({line.get("x1") for line in lines}), 1)
        self.assertEqual({drawn.get("x") for drawn in of_class(tree, "after")}, {lines[0].get("x1")})
        self.assertIn("T, 75 min", [text.text for text in tree.iter("text")])

    def test_an_event_tells_its_words_and_a_strong_one_has_a_ring_with_a_meaning(self) -> None:
        tree = self.chart([Lane("a", [TimelineEvent(5, 0, HOSTILE[0], is_strong=True)])])
        self.assertIn(f"5 min: {HOSTILE[0]}", [title.text for title in tree.iter("title")])
        self.assertEqual(len(of_class(tree, "strong-ring")), 2)
        self.assertEqual([item[0].tail for item in tree.findall("ul/li")], ["deploy", "alert", "strong"])

    def test_a_lane_is_told_in_words(self) -> None:
        tree = self.chart([Lane("a", [TimelineEvent(5, 0, "x"), TimelineEvent(9, 0, "y")]), Lane("b", ())])
        self.assertEqual([picture.get("aria-label") for picture in pictures(tree)],
                         ["time in min", "a: 2 events from 5 to 9 min", "b: no events"])

    def test_no_lanes_one_time_and_a_thousand_events_are_drawn(self) -> None:
        self.assertEqual(len(pictures(self.chart([]))), 1)
        self.assertEqual(place(of_class(self.chart([Lane("a", [TimelineEvent(5, 0, "x")])]), "circle")[0]), 50)
        many = self.chart([Lane("a", [TimelineEvent(at, 0, "x") for at in range(1000)])])
        self.assertEqual(len(of_class(pictures(many)[1], "circle")), 1000)


if __name__ == "__main__":
    unittest.main()
