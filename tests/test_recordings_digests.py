"""Digests: of an output, of a log, in a file of many machines, and between two recordings."""
from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from benchkit.basics.errors import Unusable
from benchkit.recordings.digest_book import added, check_log, entry_named, entry_of, keep_book, names_in, read_book
from benchkit.recordings.digest_comparison import Side, compare
from benchkit.recordings.digests import LogDigests, TrialOf, differing, digests_of
from benchkit.recordings.recording import Recording
from tests.recordings_samples import failure, mixed_outcomes, recording, reply, toy
from tests.test_tasks_task import InAFolder

YES = hashlib.sha256(b"yes").hexdigest()


class WithRecordings(InAFolder):
    def setUp(self) -> None:
        super().setUp()
        self.task, self.cases = toy(self.folder)

    def made(self, two: str, three: str) -> Recording:
        """Each letter is the output of a trial, `!` a timeout, `.` a trial that did not run."""
        marks = {"!": failure(), ".": None}
        return recording(self.task, self.cases, {
            "two": [marks[mark] if mark in marks else reply(mark) for mark in two],
            "three": [marks[mark] if mark in marks else reply(mark) for mark in three]})


class Digesting(WithRecordings):
    def test_an_output_an_error_and_nothing(self) -> None:
        digests = digests_of(recording(self.task, self.cases, mixed_outcomes()))
        self.assertEqual((YES, "error:Timeout"), digests.trials["two"][:2])
        self.assertEqual((hashlib.sha256("</script>\x1b[31m\u2028\U0001f600 %s".encode()).hexdigest(),),
                         digests.trials["two"][2:])

    def test_the_digest_of_a_log_is_over_sorted_case_trial_digest(self) -> None:
        digests = digests_of(self.made("a.", "b!"))
        a, b = (hashlib.sha256(letter).hexdigest() for letter in (b"a", b"b"))
        rows = f'[["three",1,"{b}"],["three",2,"error:Timeout"],["two",1,"{a}"]]'
        self.assertEqual(hashlib.sha256(rows.encode()).hexdigest(), digests.sha256)

    def test_reasoning_is_in_no_digest(self) -> None:
        one, other = (recording(self.task, self.cases, {"two": [reply("a", text)], "three": [reply("b")]})
                      for text in (None, "hm"))
        self.assertEqual(digests_of(one), digests_of(other))

    def test_a_trial_that_did_not_run_between_others_keeps_its_place(self) -> None:
        self.assertEqual(2, len(digests_of(self.made("a..", "b.b")).trials["three"]) - 1)
        self.assertIsNone(digests_of(self.made("a..", "b.b")).trials["three"][1])

    def test_differences_are_in_the_order_of_running(self) -> None:
        found = differing(digests_of(self.made("aaa", "bbb")), digests_of(self.made("aax", "bxb")))
        self.assertEqual([TrialOf(2, "three"), TrialOf(3, "two")], found)

    def test_a_trial_on_one_side_only_is_a_difference(self) -> None:
        for one, other in (("ab", "a."), ("a.", "ab")):
            with self.subTest(one=one):
                found = differing(digests_of(self.made(one, "bb")), digests_of(self.made(other, "bb")))
                self.assertEqual([TrialOf(2, "two")], found)


class KeepingABook(WithRecordings):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.folder / "recordings.json"
        self.first = entry_of("first", {"robot": self.made("ab", "cd")})

    def test_an_entry_says_when_where_and_what(self) -> None:
        self.assertEqual(("first", "2026-11-30T12:00:00.000Z", "a chip, an OS", "toy"),
                         (self.first.label, self.first.recorded_at, self.first.machine, self.first.server))

    def test_the_hardware_a_person_gave_comes_before_what_python_knows(self) -> None:
        made = self.made("ab", "cd")
        named = replace(made, sessions=(replace(made.sessions[0], hardware="the old laptop"),))
        self.assertEqual("the old laptop", entry_of("x", {"robot": named}).machine)

    def test_what_is_kept_is_read_back_equal(self) -> None:
        second = entry_of("second", {"robot": self.made("a!", ".d"), "doll": self.made("ab", "cd")})
        keep_book(self.path, added(self.path, [self.first], second))
        self.assertEqual((self.first, second), read_book(self.path))
        self.assertEqual(("robot", "doll"), names_in(read_book(self.path)))
        data = self.path.read_text(encoding="ascii")
        self.assertEqual(json.dumps(json.loads(data), indent=1) + "\n", data)

    def test_a_label_that_is_there_is_refused(self) -> None:
        with self.assertRaisesRegex(Unusable, "the label first is there already"):
            added(self.path, [self.first], self.first)

    def test_a_name_that_no_file_can_have_everywhere_is_refused(self) -> None:
        for name in ("a:b", "a\nb", "a?"):
            with self.subTest(name=name), self.assertRaisesRegex(Unusable, "rename the log"):
                added(self.path, [], entry_of("x", {name: self.made("a", "b")}))

    def test_an_unknown_label_is_refused_with_those_there_are(self) -> None:
        self.assertIs(self.first, entry_named(self.path, [self.first], "first"))
        with self.assertRaisesRegex(Unusable, "there are: first"):
            entry_named(self.path, [self.first], "third")

    def test_a_malformed_file_is_refused_with_file_and_field(self) -> None:
        keep_book(self.path, [self.first])

        def log(value: Any) -> Any:
            return value["entries"][0]["logs"]["robot"]

        changes: list[tuple[Callable[[Any], object], str]] = [
            (lambda v: v.update(recordings=2), "recordings is 2"),
            (lambda v: v.update(more=1), "more is no field"),
            (lambda v: v["entries"].append(v["entries"][0]), r"entries\[1\].label stands twice"),
            (lambda v: v["entries"][0].pop("server"), r"entries\[0\].server is missing"),
            (lambda v: v["entries"][0]["logs"].update({"../x": log(v)}), "is no name of a log"),
            (lambda v: v["entries"][0]["logs"].update({"..": log(v)}), "is no name of a log"),
            (lambda v: log(v).update(sha256="0" * 64), "sha256 is not the digest of its trials"),
            (lambda v: log(v)["trials"]["two"].pop(), "sha256 is not the digest of its trials"),
            (lambda v: log(v)["trials"].update(two=["error:Weather"]), "trials.two holds what is no digest"),
            (lambda v: log(v)["trials"].update(two=[5]), "trials.two holds what is no digest"),
            (lambda v: log(v)["trials"].update(two="x"), "trials.two"),
        ]
        for change, words in changes:
            with self.subTest(words=words):
                value = json.loads(self.path.read_bytes())
                change(value)
                altered = self.folder / "altered.json"
                altered.write_text(json.dumps(value), encoding="ascii")
                with self.assertRaisesRegex(Unusable, "altered.json.*" + words):
                    read_book(altered)


class CheckingALog(WithRecordings):
    def test_a_log_passes_if_it_equals_one_of_the_entries(self) -> None:
        entries = [entry_of(label, {"robot": self.made(two, "cd")}) for label, two in (("a", "ax"), ("b", "ab"))]
        found = check_log("robot", digests_of(self.made("ab", "cd")), entries)
        self.assertEqual((("b",), 4, [1, 0]), (found.equal, found.ran, [one.different for one in found.differences]))

    def test_a_log_that_equals_none_names_the_first_trial_against_the_nearest(self) -> None:
        entries = [entry_of(label, {"robot": self.made(two, "cd")}) for label, two in (("far", "xx"), ("near", "ax"))]
        found = check_log("robot", digests_of(self.made("ab", "cd")), entries)
        self.assertEqual(((), "near", TrialOf(2, "two")), (found.equal, found.nearest.label, found.nearest.first))


class ComparingTwo(WithRecordings):
    def sides(self, first: Recording, second: Recording, is_kept: bool = False) -> tuple[Side, Side]:
        return (Side("A", digests_of(first), None if is_kept else first), Side("B", digests_of(second), second))

    def test_cold_and_warm_trials_are_apart(self) -> None:
        found = compare(*self.sides(self.made("aaa", "bbb"), self.made("xaa", "bbx")))
        groups = {name: (group.equal, group.compared) for name, group in found.groups.items()}
        self.assertEqual({"warm": (3, 4), "cold": (1, 2)}, groups)
        self.assertEqual((6, 2), (found.compared, found.different))

    def test_a_trial_that_was_cold_on_one_side_only_is_in_neither(self) -> None:
        second = self.made("aaa", "bbb")
        case = second.cases[0]
        warm = replace(case, trials=(replace(case.trials[0], cold=False), *case.trials[1:]))
        found = compare(*self.sides(self.made("aaa", "bbb"), replace(second, cases=(warm, second.cases[1]))))
        self.assertEqual(1, found.groups["cold on one side only"].compared)

    def test_where_only_digests_are_kept_the_other_sides_word_is_taken(self) -> None:
        found = compare(*self.sides(self.made("aa", "bb"), self.made("ax", "bb"), is_kept=True))
        self.assertEqual({"warm", "cold"}, found.groups.keys())
        self.assertIsNone(found.parting and found.parting.character)
        digests = digests_of(self.made("aa", "bb"))
        found = compare(Side("A", digests, None), Side("B", digests, None))
        self.assertEqual({"cold or warm is not known"}, found.groups.keys())

    def test_the_first_difference_is_shown_where_the_texts_part(self) -> None:
        left, right = (recording(self.task, self.cases, {
            "two": [reply("same"), reply(f"the {side} one")], "three": [reply("b"), reply("b")]})
            for side in ("left", "right"))
        found = compare(*self.sides(left, right))
        parting = found.parting
        assert parting is not None
        self.assertEqual((TrialOf(2, "two"), "warm", 4, "left one", "right one"),
                         (parting.trial, parting.group, parting.character, parting.first_text, parting.second_text))

    def test_trials_on_one_side_only_are_counted_apart(self) -> None:
        found = compare(*self.sides(self.made("aaa", "bb."), self.made("a..", "bbb")))
        self.assertEqual((3, 0, 2, 1), (found.compared, found.different, found.only_first, found.only_second))

    def test_self_agreement_is_over_trials_that_are_not_cold(self) -> None:
        found = compare(*self.sides(self.made("xaab", "cccc"), self.made("aaaa", "cccc")))
        self.assertEqual((Fraction(2, 3), Fraction(1)), (found.self_first, found.self_second))

    def test_errors_are_no_outputs_that_could_agree(self) -> None:
        found = compare(*self.sides(self.made("a!!bb", "c!!!!"), self.made("aaaaa", "ccccc")))
        self.assertEqual(Fraction(1), found.self_first)

    def test_cases_that_were_asked_something_else_are_left_out_by_name(self) -> None:
        second = self.made("aa", "bb")
        other = replace(second, cases=(replace(second.cases[0], ask="f" * 16), second.cases[1]))
        found = compare(*self.sides(self.made("xx", "bb"), other))
        self.assertEqual((("two",), 2, 0), (found.other_asks, found.compared, found.different))

    def test_settings_that_differ_are_said(self) -> None:
        second = replace(self.made("aa", "bb"), settings={"model": "other"})
        self.assertFalse(compare(*self.sides(self.made("aa", "bb"), second)).same_settings)

    def test_nothing_in_common_compares_nothing(self) -> None:
        empty = Side("B", LogDigests("0" * 64, {}), None)
        self.assertEqual(0, compare(Side("A", digests_of(self.made("a", "b")), None), empty).compared)
