"""Several logs of one plan as one: every cell once, every session kept, and whatever does not fit is named."""
from __future__ import annotations

import tempfile
import tracemalloc
import unittest
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from unittest import mock

from benchkit.basics.errors import Unusable
from benchkit.basics.values import JSON, Cell, Outcome, Shard
from benchkit.recordings.recording import Recording, recording_of
from benchkit.running.plan import cells_of
from benchkit.trial_log import merging
from benchkit.trial_log.lines import Damage, PlanLine, StopLine, SystemLine
from benchkit.trial_log.merging import Merged, merge_logs
from benchkit.trial_log.reader import TrialLog, read_log
from tests.trial_logs import (
    CASES,
    SETTINGS,
    STAMP,
    SYSTEM,
    Lines,
    altered,
    cells,
    complete,
    failure,
    plan_line,
    reply,
    session_line,
    trial_line,
)


def part(number: int, of: int = 3, *, taken: Iterable[Cell] | None = None, stop: str | None = "selection",
         plan: PlanLine | None = None, settings: dict[str, JSON] | None = None,
         outcomes: dict[Cell, Outcome] | None = None, id_of: str = "") -> Lines:
    """The log of a shard: one session, and the trials of its cells."""
    lines = Lines().begin((id_of or f"{number}") * 16, replace(session_line(), shard=Shard(number, of)))
    lines.add(plan or plan_line(), SystemLine(SYSTEM, settings or SETTINGS))
    for cell in cells()[number - 1::of] if taken is None else taken:
        lines.add(trial_line(cell.case, cell.trial, outcome=(outcomes or {}).get(cell)))
    return lines.add(StopLine(stop, STAMP)) if stop else lines


def cells_alone(recording: Recording) -> object:
    """What a recording says of its cells, whoever ran them when."""
    return [(case.id, case.ask, [replace(trial, cold=False) for trial in case.trials]) for case in recording.cases]


class Merging(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out.jsonl"

    def put(self, *logs: Lines | bytes) -> list[Path]:
        paths = [self.folder / f"{letter}.jsonl" for letter in "abcdefgh"[:len(logs)]]
        for path, log in zip(paths, logs, strict=True):
            path.write_bytes(bytes(log))
        return paths

    def merge(self, *logs: Lines | bytes, accept_damage: bool = False) -> Merged:
        return merge_logs(self.put(*logs), self.out, accept_damage)

    def refused(self, *logs: Lines | bytes) -> str:
        with self.assertRaises(Unusable) as caught:
            self.merge(*logs)
        self.assertFalse(self.out.exists())
        self.assertEqual([], list(self.folder.glob("*partial*")))
        return str(caught.exception).replace(str(self.folder) + "/", "")

    def recorded(self) -> list[str]:
        log = read_log(self.out)
        return [f"{cell.case} {cell.trial}" for _, cell in log.cells()]


class Whole(Merging):
    def test_the_recording_is_that_of_one_machine(self) -> None:
        self.assertEqual(Merged(6, 6, (), ()), self.merge(part(1), part(2), part(3)))
        one = self.folder / "one.jsonl"
        one.write_bytes(bytes(complete()))
        self.assertEqual(cells_alone(recording_of(read_log(one), None)),
                         cells_alone(recording_of(read_log(self.out), None)))

    def test_any_order_of_the_logs_gives_the_same_cells(self) -> None:
        parts = [part(1), part(2), part(3)]
        found = set()
        for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
            self.out.unlink(missing_ok=True)
            self.merge(*(parts[number] for number in order))
            found.add(str(cells_alone(recording_of(read_log(self.out), None))))
        self.assertEqual(1, len(found))

    def test_every_session_stays_and_none_is_of_a_shard_any_more(self) -> None:
        self.merge(part(1), part(2), part(3))
        log = read_log(self.out)
        self.assertEqual(["1" * 16, "2" * 16, "3" * 16], [session.id for session in log.sessions])
        self.assertEqual(["selection"] * 3, [session.stop.reason for session in log.sessions if session.stop])
        self.assertIsNone(log.shard)

    def test_lines_are_taken_over_byte_for_byte(self) -> None:
        parts = [part(1), part(2)]
        self.merge(*parts)
        merged = self.out.read_bytes().splitlines(keepends=True)
        for one in parts:
            self.assertLessEqual(set(one.lines[1:]), set(merged))

    def test_a_tree_of_merges_gives_the_same_bytes(self) -> None:
        first, second, third, fourth = (part(number, 4) for number in (1, 2, 3, 4))
        self.merge(first, second, third, fourth)
        whole = self.out.read_bytes()
        halves = [self.folder / "left.jsonl", self.folder / "right.jsonl"]
        merge_logs(self.put(first, second), halves[0])
        merge_logs(self.put(third, fourth), halves[1])
        self.out.unlink()
        self.assertEqual(Merged(6, 6, (), ()), merge_logs(halves, self.out))
        self.assertEqual(whole, self.out.read_bytes())

    def test_several_attempts_and_sessions_of_a_log_are_kept(self) -> None:
        lines = part(1, stop=None, outcomes={cells()[0]: failure()})
        lines.begin("e" * 16, replace(session_line(), shard=Shard(1, 3)))
        lines.add(trial_line(CASES[0], 1, attempt=2), StopLine("selection", STAMP))
        self.merge(lines, part(2), part(3))
        log = read_log(self.out)
        self.assertEqual((2, None, 4), (log.attempts(cells()[0]), log.error_type(cells()[0]), len(log.sessions)))
        self.assertEqual(7, self.out.read_bytes().count(b'"kind":"trial"'))

    def test_it_can_be_done_again_but_nothing_else_is_written_over(self) -> None:
        self.merge(part(1), part(2))
        before = self.out.read_bytes()
        self.assertEqual(Merged(6, 4, (Shard(3, 3),), ()), self.merge(part(1), part(2)))
        with self.assertRaisesRegex(Unusable, "out.jsonl is there already"):
            self.merge(part(1), part(3))
        self.assertEqual(before, self.out.read_bytes())

    def test_a_log_that_is_begun_meanwhile_at_its_place_is_not_written_over(self) -> None:
        paths = self.put(part(1), part(2))
        read = read_log

        def meanwhile(path: Path, accept_damage: bool) -> TrialLog:
            self.out.write_bytes(bytes(part(3)))
            return read(path, accept_damage=accept_damage)

        with mock.patch.object(merging, "read_log", meanwhile), self.assertRaisesRegex(Unusable, "is there already"):
            merge_logs(paths, self.out)
        self.assertEqual(bytes(part(3)), self.out.read_bytes())

    def test_no_shard_is_missing_where_nothing_is_left(self) -> None:
        self.merge(part(1), part(2))
        both = self.out.read_bytes()
        self.out.unlink()
        self.assertEqual(Merged(6, 6, (), ()), self.merge(both, part(3)))


class Missing(Merging):
    def test_a_shard_without_a_log_is_named_and_its_cells_did_not_run(self) -> None:
        self.assertEqual(Merged(6, 4, (Shard(2, 3),), ()), self.merge(part(3), part(1)))
        trials = [trial for case in recording_of(read_log(self.out), None).cases for trial in case.trials]
        self.assertEqual(["not run: only some cases were asked for"] * 2,
                         [trial.outcome.error.message for trial in trials if not trial.is_run])  # type: ignore[union-attr]

    def test_why_cells_are_left_is_told_by_the_shard_that_did_not_end_in_order(self) -> None:
        for stop, words in (("budget", "the budget ended first"), ("interrupted", "stopped by a person"),
                            (None, "the log ends here"), ("error", "the run stopped on an error")):
            with self.subTest(stop=stop):
                self.out.unlink(missing_ok=True)
                self.merge(part(1, taken=cells()[:1], stop=stop), part(2), part(3))
                trials = [trial for case in recording_of(read_log(self.out), None).cases for trial in case.trials]
                self.assertEqual([f"not run: {words}"], [
                    trial.outcome.error.message for trial in trials if not trial.is_run])  # type: ignore[union-attr]

    def test_a_log_in_which_nothing_was_recorded_yet_is_passed_over_and_told(self) -> None:
        self.assertEqual(Merged(6, 2, (Shard(2, 3), Shard(3, 3)), (self.folder / "a.jsonl",)), self.merge(b"", part(1)))

    def test_no_logs_with_anything_in_them_are_refused(self) -> None:
        self.assertIn("a.jsonl: nothing recorded yet", self.refused(b"", b""))

    def test_a_torn_tail_is_left_out_and_its_cell_did_not_run(self) -> None:
        torn = bytes(part(1, stop=None))[:-30]
        self.assertEqual(Merged(6, 5, (), ()), self.merge(torn, part(2), part(3)))
        self.assertNotIn("mail-1 2", self.recorded())
        self.assertEqual((), read_log(self.out).harmless)

    def test_harmful_damage_is_refused_and_left_out_where_it_is_accepted(self) -> None:
        lines = part(1).lines
        damaged = b"".join([*lines[:3], altered(lines[3]), *lines[4:]])
        self.assertIn("a.jsonl: line 4", self.refused(damaged, part(2), part(3)))
        self.assertEqual(Merged(6, 5, (), ()), self.merge(damaged, part(2), part(3), accept_damage=True))
        self.assertEqual((((), ())), (read_log(self.out).harmless, read_log(self.out).named))

    def test_trials_whose_system_line_is_lost_in_every_log_are_left_out(self) -> None:
        lines = part(1).lines
        damaged = b"".join([*lines[:2], altered(lines[2]), *lines[3:]])
        self.assertEqual(2, self.merge(damaged, accept_damage=True).recorded)
        self.assertNotIn(b'"kind":"trial"', self.out.read_bytes())

    def test_damage_that_is_named_is_left_out_and_no_longer_named(self) -> None:
        lines = part(1, stop=None).lines
        whole = b"".join([*lines[:-1], lines[-1][:40] + b"\n"])
        damage = (Damage(len(whole) - 41, 41),)
        again = Lines().begin("e" * 16, replace(session_line(), shard=Shard(1, 3), damage=damage))
        again.add(trial_line(CASES[0], 2), StopLine("selection", STAMP))
        self.assertEqual(Merged(6, 6, (), ()), self.merge(whole + bytes(again), part(2), part(3)))
        self.assertEqual(((), ()), (read_log(self.out).harmless, read_log(self.out).named))

    def test_a_log_that_lost_the_first_line_of_a_session_is_to_be_exported_first(self) -> None:
        lines = part(1).lines
        again = part(1, taken=(), id_of="e").lines
        with self.assertRaisesRegex(Unusable, "the first line of a session is lost; .*--export"):
            self.merge(b"".join([*again, altered(lines[0]), *lines[1:]]), accept_damage=True)


class SystemsOfTheirOwn(Merging):
    OTHER = "s:other"

    def other(self, number: int, systems: tuple[str, ...] = (), outcomes: dict[Cell, Outcome] | None = None) -> Lines:
        """The log of a shard that asked another system."""
        lines = Lines().begin(f"{number + 8:x}" * 16, replace(
            session_line(), shard=Shard(number, 2), trace_damage=(Damage(7, 7),)))
        lines.add(plan_line(systems=systems or (self.OTHER,)), SystemLine(self.OTHER, SETTINGS))
        for cell in cells()[number - 1::2]:
            lines.add(trial_line(cell.case, cell.trial, outcome=(outcomes or {}).get(cell), system=self.OTHER))
        return lines.add(StopLine("selection", STAMP))

    def joined(self, *logs: Lines) -> Merged:
        return merge_logs(self.put(*logs), self.out, joins_systems=True)

    def test_logs_of_different_systems_are_joined_where_that_is_asked_for(self) -> None:
        self.assertIn("systems s:other, not", self.refused(part(1, 1), self.other(1)))
        self.assertEqual(Merged(12, 12, (), ()), self.joined(part(1, 1), self.other(2), self.other(1)))
        log = read_log(self.out)
        self.assertEqual((SYSTEM, self.OTHER), log.planned().systems)
        self.assertEqual(dict.fromkeys(cells_of(log.planned()), 1),
                         {cell: log.attempts(cell) for cell in cells_of(log.planned())})

    def test_a_system_that_is_found_later_changes_nothing_of_who_holds_what(self) -> None:
        self.joined(part(1), self.other(1))
        halves = [self.folder / "left.jsonl"]
        self.out.rename(halves[0])
        merged = merge_logs([*halves, *self.put(part(2), self.other(2, (SYSTEM, self.OTHER)), part(3))], self.out,
                            joins_systems=True)
        self.assertEqual((12, 12), (merged.planned, merged.recorded))
        self.assertEqual(12, self.out.read_bytes().count(b'"kind":"trial"'))

    def test_a_plan_of_more_trials_changes_nothing_of_who_holds_what(self) -> None:
        self.joined(part(1, 1), self.other(1), self.other(2))
        merged_before = self.folder / "left.jsonl"
        self.out.rename(merged_before)
        more = plan_line(trials=3)
        merged = merge_logs([merged_before, *self.put(part(1, 4, plan=more, id_of="7"))], self.out, joins_systems=True)
        self.assertEqual((18, 12), (merged.planned, merged.recorded))
        self.assertEqual((12, 3), (self.out.read_bytes().count(b'"kind":"trial"'), read_log(self.out).planned().trials))
        for cell in cells()[::4]:
            logs = self.put(part(1, 4, plan=more, outcomes={cell: reply("another")}))
            with self.assertRaisesRegex(Unusable, f"different outcomes of {cell.case} trial {cell.trial};"):
                merge_logs([merged_before, *logs], self.folder / "another.jsonl", joins_systems=True)

    def test_shards_of_one_number_plan_the_same_trials(self) -> None:
        logs = self.put(part(1), part(2, plan=plan_line(trials=3)))
        with self.assertRaisesRegex(Unusable, "b.jsonl and .*a.jsonl are of different plans: trials 3, not 2"):
            merge_logs(logs, self.out, joins_systems=True)

    def test_cells_of_other_systems_with_two_outcomes_are_still_refused(self) -> None:
        paths = self.put(part(1, 1), self.other(1), self.other(1, outcomes={cells()[2]: reply("another")}))
        with self.assertRaisesRegex(Unusable, "different outcomes of mail-3 trial 1"):
            merge_logs(paths, self.out, joins_systems=True)

    def test_damage_of_the_traces_that_are_left_behind_has_no_place_any_more_and_stays_known(self) -> None:
        self.joined(part(1, 1), self.other(1))
        named = [session.line.trace_damage for session in read_log(self.out).sessions]
        self.assertEqual([None, (Damage(0, 0),)], named)


class Overlapping(Merging):
    def test_equal_cells_are_taken_once(self) -> None:
        self.assertEqual(Merged(6, 6, (), ()), self.merge(part(1), part(2), part(3, taken=cells())))
        self.assertEqual(6, self.out.read_bytes().count(b'"kind":"trial"'))
        self.assertEqual([], list(read_log(self.out).harmless))

    def test_a_copy_of_a_log_adds_nothing(self) -> None:
        self.merge(part(1), part(2))
        once = self.out.read_bytes()
        self.out.unlink()
        self.merge(part(1), part(2), part(1))
        self.assertEqual(once, self.out.read_bytes())

    def test_logs_that_were_begun_as_one_are_put_together_again(self) -> None:
        base = part(1, taken=cells()[:2], stop=None)
        grown = [bytes(base) + bytes(Lines().begin(letter * 16).add(*(
            trial_line(cell.case, cell.trial) for cell in taken), StopLine("complete", STAMP)))
            for letter, taken in (("e", cells()[2:4]), ("f", cells()[4:]))]
        self.assertEqual(6, self.merge(*grown).recorded)
        self.assertEqual(["1" * 16, "e" * 16, "f" * 16], [one.id for one in read_log(self.out).sessions])

    def test_cells_with_two_outcomes_are_named(self) -> None:
        for outcome in (reply("another text"), failure()):
            other = part(2, taken=cells()[:3], outcomes={cells()[0]: outcome, cells()[2]: outcome})
            self.assertIn("b.jsonl and a.jsonl have different outcomes of mail-1 trial 1, mail-3 trial 1; ",
                          self.refused(part(1, taken=cells()[:3]), other))

    def test_errors_of_one_type_are_equal_and_of_two_types_are_not(self) -> None:
        first, second = (part(number, taken=cells()[:1], outcomes={cells()[0]: failure(kind)})
                         for number, kind in ((1, "Timeout"), (2, "Unreachable")))
        self.assertIn("different outcomes", self.refused(first, second))
        self.assertEqual(1, self.merge(first, part(2, taken=cells()[:1], outcomes={cells()[0]: failure()})).recorded)

    def test_only_a_few_of_many_are_named(self) -> None:
        other = part(2, taken=cells(), outcomes={cell: reply("no") for cell in cells()})
        self.assertIn("mail-2 trial 2 and 1 more", self.refused(part(1, taken=cells()), other))


class OtherPlans(Merging):
    def test_another_plan_is_refused_by_what_differs(self) -> None:
        for plan, words in (
            (plan_line(trials=3), "trials 3, not 2"), (plan_line(CASES[:2]), "cases mail-1, mail-2, not mail-1,"),
            (plan_line(systems=(SYSTEM, "x:other")), "systems model_triage:gemma, x:other, not"),
            (replace(plan_line(), split="test"), "split test, not development"),
            (plan_line(changed="mail-2"), "another prompt or schema of mail-2"),
            (replace(plan_line(), task=replace(plan_line().task, version="2")), "task triage_task 2, not triage_task"),
        ):
            with self.subTest(words=words):
                line = self.refused(part(1), part(2, plan=plan, taken=()))
                self.assertIn(f"b.jsonl and a.jsonl are of different plans: {words}", line)

    def test_other_settings_are_refused_by_what_differs(self) -> None:
        line = self.refused(part(1), part(2, settings={**SETTINGS, "model": "x", "parallel": 4}, taken=()))
        self.assertIn("of different settings: model_triage:gemma has another model, parallel", line)

    def test_another_version_of_the_kit_is_no_other_plan(self) -> None:
        self.assertEqual(4, self.merge(part(1), part(2, plan=replace(plan_line(), kit="9"))).recorded)

    def test_a_plan_that_grew_on_one_machine_counts_as_it_is_in_the_end(self) -> None:
        grown = part(1, plan=plan_line(trials=1), taken=cells()[:1])
        grown.begin("e" * 16).add(plan_line(), trial_line(CASES[0], 2), StopLine("selection", STAMP))
        self.assertEqual(6, self.merge(grown, part(2), part(3)).recorded)
        self.assertEqual(6, len(self.recorded()))

    def test_trials_that_were_asked_otherwise_are_left_out(self) -> None:
        changed = part(1, plan=plan_line(changed="mail-1"), taken=(), stop=None)
        changed.add(trial_line("mail-1", 1, outcome=reply("old"), asked="mail-1!"), StopLine("budget", STAMP))
        for again, count in (((), 5), ((trial_line("mail-1", 1, attempt=2),), 6)):
            self.out.unlink(missing_ok=True)
            lines = Lines()
            lines.lines = list(changed.lines)
            lines.begin("e" * 16).add(plan_line(), *again, trial_line("mail-1", 2), StopLine("selection", STAMP))
            self.assertEqual(count, self.merge(lines, part(2), part(3)).recorded)
            self.assertEqual(count, len(self.recorded()))
            self.assertNotIn(b'"output":"old"', self.out.read_bytes())


class Large(Merging):
    def test_it_takes_at_most_16_bytes_of_memory_a_trial(self) -> None:
        peaks = []
        for trials in (1_000, 2_500):
            many, self.out = cells(trials), self.folder / f"{trials}.jsonl"
            paths = self.put(*(part(number, plan=plan_line(trials=trials), taken=many[number - 1::3])
                               for number in (1, 2, 3)))
            tracemalloc.start()
            merge_logs(paths, self.out)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        self.assertLess((peaks[1] - peaks[0]) / (1_500 * len(CASES)), 16.0)
