"""Digests: of an output, of a log, in a file of many machines, and between two recordings."""
from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from benchkit.basics.errors import ERROR_TYPES, Unusable
from benchkit.basics.json_text import digest
from benchkit.basics.on_demand import OnDemand
from benchkit.recordings.digest_book import (
    Entry,
    added,
    check_log,
    entry_named,
    entry_of,
    keep_book,
    names_in,
    read_book,
)
from benchkit.recordings.digest_comparison import Side, compare
from benchkit.recordings.digests import LogDigests, TrialOf, digests_of, without_tail
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

    def test_a_total_counts_the_trials_that_ran(self) -> None:
        digests = digests_of(self.made("a.", "b!"))
        self.assertEqual((3, digests.sha256), digests.total())
        self.assertEqual((0, hashlib.sha256(b"[]").hexdigest()), LogDigests("0" * 64, {"a": (None,)}).total())

    def test_a_total_is_over_the_canonical_text_whatever_a_case_is_called(self) -> None:
        names = ('a"b', "\u00e9", "B", "a", "\U0001f600", "\x7f")
        digests = LogDigests("0" * 64, dict.fromkeys(names, (YES, None, "error:Timeout")))
        rows = sorted((name, number, text) for name in names for number, text in ((1, YES), (3, "error:Timeout")))
        self.assertEqual((12, digest([list(row) for row in rows])), digests.total())

    def test_nothing_is_kept_at_the_end_of_a_case_but_before(self) -> None:
        for texts, kept in (((), []), ((None,), []), ((None, "a", None, None), [None, "a"]),
                            (("a", None, None, "b"), ["a", None, None, "b"])):
            with self.subTest(texts=texts):
                self.assertEqual(kept, list(without_tail(texts)))


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


class ReadLineByLine(WithRecordings):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.folder / "recordings.json"
        self.entries = (entry_of("first", {"robot": self.made("a!.c", "..."), "doll": self.made("ab", "cd")}),
                        entry_of('"%s"\u00e9', {"%s \u00e9": self.made("ab", "cd")}))
        keep_book(self.path, self.entries)
        self.kept = self.path.read_bytes()

    def trials(self) -> Sequence[str | None]:
        return read_book(self.path)[0].logs["robot"].trials["two"]

    def test_in_the_kits_layout_lists_are_packed_and_say_the_same(self) -> None:
        self.assertIsInstance(self.trials(), OnDemand)
        self.assertEqual(self.trials(), self.entries[0].logs["robot"].trials["two"])
        self.assertEqual(self.trials()[1:3], ("error:Timeout", None))
        self.assertEqual(read_book(self.path), self.entries)

    def test_the_same_json_in_any_other_layout_is_read_to_the_same_entries(self) -> None:
        value = json.loads(self.kept)
        layouts = {
            "one line": json.dumps(value).encode(), "other indent": json.dumps(value, indent=2).encode(),
            "line ends": self.kept.replace(b"\n", b"\r\n"), "no last newline": self.kept.rstrip(),
            "blank lines": self.kept.replace(b'"trials": {', b'"trials":\n\n {'),
            "one list in a line": re.sub(rb"\[\s+(\S+)\s+(\S+)\s+\]", rb"[\1 \2]", self.kept),
            "a space in a list": self.kept.replace(b"null,\n", b"null, \n", 1)}
        for name, data in layouts.items():
            with self.subTest(name):
                self.assertEqual(value, json.loads(data))
                self.path.write_bytes(data)
                self.assertEqual(read_book(self.path), self.entries)

    def test_what_stands_in_place_of_a_list_says_nothing_in_the_file_itself(self) -> None:
        first, *others = self.kept.split(b"      \"two\": [")
        for number in range(len(others)):
            rest = others[number].partition(b"]")[2]
            data = b'      "two": ['.join([first, *others[:number]]) + b'      "two": false' + rest
            data += b"".join(b'      "two": [' + other for other in others[number + 1:])
            with self.subTest(number):
                self.path.write_bytes(data)
                with self.assertRaisesRegex(Unusable, r"trials\.two is false, not a list"):
                    read_book(self.path)

    def test_a_list_of_digests_in_another_place_is_refused_for_what_it_is(self) -> None:
        one = b'      "%s": [\n       "' + YES.encode() + b'"\n      ],\n'
        for name in (b"label", b"machine", b"recordings"):
            with self.subTest(name):
                line = next(line for line in self.kept.splitlines(True) if line.strip().startswith(b'"' + name))
                self.path.write_bytes(self.kept.replace(line, one.replace(b"%s", name), 1))
                with self.assertRaisesRegex(Unusable, f"{name.decode()} is a list, not"):
                    read_book(self.path)

    def test_a_file_that_is_another_one_by_then_changes_nothing_of_what_was_read(self) -> None:
        trials = self.trials()
        keep_book(self.path, self.entries[1:])
        self.assertEqual(list(self.entries[0].logs["robot"].trials["two"]), list(trials))

    def test_every_kind_of_digest_is_read_back(self) -> None:
        kinds = (None, YES, "0" * 64, "f" * 64, *(f"error:{name}" for name in ERROR_TYPES), YES)
        entry = Entry("all", "2026-11-30T12:00:00.000Z", None, None, {"x": LogDigests("0" * 64, {"a": kinds})})
        keep_book(self.path, [entry])
        self.assertEqual(kinds, tuple(read_book(self.path)[0].logs["x"].trials["a"]))


class CheckingALog(WithRecordings):
    def test_a_log_passes_if_it_equals_one_of_the_entries(self) -> None:
        entries = [entry_of(label, {"robot": self.made(two, "cd")}) for label, two in (("a", "ax"), ("b", "ab"))]
        found = check_log("robot", digests_of(self.made("ab", "cd")), entries)
        self.assertEqual((("b",), 4, [1, 0]), (found.equal, found.ran, [one.different for one in found.differences]))

    def test_a_log_that_equals_none_names_the_first_trial_against_the_nearest(self) -> None:
        entries = [entry_of(label, {"robot": self.made(two, "cd")}) for label, two in (("far", "xx"), ("near", "ax"))]
        found = check_log("robot", digests_of(self.made("ab", "cd")), entries)
        self.assertEqual(((), "near", TrialOf(2, "two")), (found.equal, found.nearest.label, found.nearest.first))

    def distance(self, kept: Recording, log: Recording) -> tuple[int, TrialOf | None]:
        (found,) = check_log("robot", digests_of(log), [entry_of("x", {"robot": kept})]).differences
        return found.different, found.first

    def test_the_first_difference_is_the_first_in_the_order_of_running(self) -> None:
        self.assertEqual((2, TrialOf(2, "three")), self.distance(self.made("aaa", "bbb"), self.made("aax", "bxb")))
        self.assertEqual((2, TrialOf(1, "two")), self.distance(self.made("aaa", "bbb"), self.made("xaa", "xbb")))

    def test_of_two_with_one_number_the_first_is_by_the_entrys_order_then_by_the_logs(self) -> None:
        def turned(made: Recording) -> Recording:
            return replace(made, cases=made.cases[::-1])

        self.assertEqual((2, TrialOf(1, "two")), self.distance(self.made("a", "b"), turned(self.made("x", "x"))))
        self.assertEqual((2, TrialOf(1, "three")), self.distance(self.made(".", "b"), self.made("x", "x")))
        self.assertEqual((2, TrialOf(1, "three")), self.distance(self.made(".", "."), turned(self.made("x", "x"))))

    def test_a_trial_on_one_side_only_is_a_difference(self) -> None:
        for kept, log in (("ab", "a."), ("a.", "ab")):
            with self.subTest(kept=kept):
                self.assertEqual((1, TrialOf(2, "two")), self.distance(self.made(kept, "bb"), self.made(log, "bb")))

    def test_a_case_on_one_side_only_is_as_many_differences_as_it_has_trials(self) -> None:
        whole = self.made("ab", "c.")
        part = replace(whole, cases=whole.cases[:1])
        self.assertEqual((1, TrialOf(1, "three")), self.distance(whole, part))
        self.assertEqual((1, TrialOf(1, "three")), self.distance(part, whole))


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
        self.assertIsNone(found.first_difference and found.first_difference.character)
        digests = digests_of(self.made("aa", "bb"))
        found = compare(Side("A", digests, None), Side("B", digests, None))
        self.assertEqual({"cold or warm is not known"}, found.groups.keys())

    def test_the_first_difference_is_shown_where_the_texts_part(self) -> None:
        left, right = (recording(self.task, self.cases, {
            "two": [reply("same"), reply(f"the {side} one")], "three": [reply("b"), reply("b")]})
            for side in ("left", "right"))
        found = compare(*self.sides(left, right))
        first = found.first_difference
        assert first is not None
        self.assertEqual((TrialOf(2, "two"), "warm", 4, "left one", "right one"),
                         (first.trial, first.group, first.character, first.first_text, first.second_text))

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

    def test_of_two_that_differ_the_first_is_the_one_that_ran_first(self) -> None:
        for first, second, trial in ((("aaa", "bbb"), ("aax", "bxb"), TrialOf(2, "three")),
                                     (("aaa", "bbb"), ("xaa", "xbb"), TrialOf(1, "two")),
                                     (("a.a", "bb."), ("ax.", "bxx"), TrialOf(2, "three"))):
            with self.subTest(second=second):
                found = compare(*self.sides(self.made(*first), self.made(*second))).first_difference
                self.assertEqual(trial, found and found.trial)

    def test_a_case_on_one_side_only_is_counted_with_that_side(self) -> None:
        whole = self.made("aa", "bb")
        part = replace(whole, cases=whole.cases[1:])
        found = compare(*self.sides(whole, part))
        self.assertEqual((2, 2, 0), (found.compared, found.only_first, found.only_second))
        found = compare(*self.sides(part, whole))
        self.assertEqual((2, 0, 2), (found.compared, found.only_first, found.only_second))

    def test_nothing_in_common_compares_nothing(self) -> None:
        empty = Side("B", LogDigests("0" * 64, {}), None)
        self.assertEqual(0, compare(Side("A", digests_of(self.made("a", "b")), None), empty).compared)
