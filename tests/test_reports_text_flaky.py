"""Two outputs of a flaky case as text: beside each other, with what differs, in the width."""
from __future__ import annotations

import unittest
from collections.abc import Mapping

from benchkit.reports.columns import WIDTH, width_of
from benchkit.reports.text_flaky import MOST_LINES, MOST_PAIRS, flaky_output_lines

from benchkit.recordings.run_record import RunRecord
from benchkit.reports.run_report import report_of
from tests.comparison_samples import with_outputs
from tests.reports_samples import changed, record
from tests.test_reports_text import HOSTILE


def lines_of(marks: Mapping[str, str], outputs: Mapping[tuple[str, int], str]) -> list[str]:
    """The lines of a run with these outputs."""
    return list(flaky_output_lines(report_of(with_outputs(record(marks), outputs), "run")))


def sides_of(lines: list[str]) -> tuple[str, str]:
    """The two texts, joined again."""
    rows = [line[4:].split(" | ") for line in lines if " | " in line or line.endswith(" |")]
    return "".join(row[0].rstrip(" |") for row in rows[1:]), "".join(row[1] for row in rows[1:] if len(row) > 1)


class TwoOutputs(unittest.TestCase):
    def test_json_objects_are_told_apart_by_their_fields(self) -> None:
        self.assertEqual([
            "",
            "  A: trial 2 passed, trial 1 failed (label: expected bug, got spam)",
            "    expected label: bug",
            "    passed                                         | failed",
            '    {"label": "bug", "urgency": 3}                 | {"label": "spam"}',
            '    differs in label: "bug" against "spam"; urgency: 3 against nothing',
        ], lines_of({"A": "-++"}, {("A", 1): '{"label": "spam"}', ("A", 2): '{"label": "bug", "urgency": 3}'}))

    def test_other_texts_are_told_apart_by_the_character(self) -> None:
        lines = lines_of({"A": "+-"}, {("A", 1): "outage, I think", ("A", 2): "outage? no"})
        self.assertEqual(["    outage, I think                                | outage? no",
                          "    differs from character 7 on"], lines[4:])

    def test_the_place_where_long_texts_part_is_in_sight(self) -> None:
        lines = lines_of({"A": "+-"}, {("A", 1): "x" * 3000 + "GOOD" + "y" * 900, ("A", 2): "x" * 3000 + "BAD"})
        self.assertEqual(1, sum("GOOD" in line for line in lines))
        self.assertEqual(1, sum("BAD" in line for line in lines))
        self.assertLessEqual(len(lines), MOST_LINES + 5)

    def test_lines_stay_lines(self) -> None:
        lines = lines_of({"A": "+-"}, {("A", 1): "one\ntwo", ("A", 2): "one\ntoo"})
        self.assertEqual(["one", "two"], [line.split("|")[0].strip() for line in lines[4:6]])

    def test_an_empty_output_is_an_empty_side(self) -> None:
        self.assertEqual(("answer 1", ""), sides_of(lines_of({"A": "+-"}, {("A", 2): ""})))

    def test_many_fields_are_counted(self) -> None:
        good, bad = (str({f"f{number}": value for number in range(9)}).replace("'", '"') for value in (1, 2))
        lines = lines_of({"A": "+-"}, {("A", 1): good, ("A", 2): bad})
        self.assertIn("f3: 1 against 2 and 5 more", " ".join(" ".join(lines).split()))

    def test_equal_outputs_with_other_verdicts_say_so(self) -> None:
        lines = lines_of({"A": "+-"}, {("A", 1): "same", ("A", 2): "same"})
        self.assertEqual("    the outputs are equal: the checks do not depend on them alone", lines[-1])

    def test_a_check_that_nobody_explained_is_named(self) -> None:
        run = changed(record({"A": "+-"}), explain=None)
        self.assertIn("trial 2 failed (label)", "\n".join(flaky_output_lines(report_of(run, "run"))))


class WhichCases(unittest.TestCase):
    def test_cases_that_are_not_flaky_have_none(self) -> None:
        self.assertEqual([], lines_of({"A": "++", "B": "--", "C": "+n", "D": "nn"}, {}))

    def test_the_nearest_to_half_and_half_come_first_and_the_rest_is_counted(self) -> None:
        marks = {f"rare-{number}": "+++-" for number in range(MOST_PAIRS)} | {"even": "+-+-", "odd": "-++-"}
        lines = lines_of(marks, {})
        heads = [line.split(":")[0].strip() for line in lines if ": trial" in line]
        self.assertEqual(["even", "odd", "rare-0", "rare-1", "rare-2"], heads)
        self.assertEqual("  and 2 more flaky cases: --case ID shows all outputs of one", lines[-1])


class HostileText(unittest.TestCase):
    def run_with(self, text: str) -> RunRecord:
        run = with_outputs(record({text: "+-"}), {(text, 1): text, (text, 2): "a" + text})
        return changed(run, explain={text: text})

    def test_no_control_character_is_sent_and_no_line_is_too_wide(self) -> None:
        for text in HOSTILE:
            with self.subTest(text=text[:20]):
                shown = "\n".join(flaky_output_lines(report_of(self.run_with(text), "run")))
                self.assertIn("differs from character", shown)
                self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
                self.assertLessEqual(max(map(width_of, shown.splitlines())), WIDTH)


if __name__ == "__main__":
    unittest.main()
