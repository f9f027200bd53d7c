"""Reading a log: what counts, what is damage, and what each cell's last attempt says."""
from __future__ import annotations

import hashlib
import json
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import close_line
from benchkit.basics.values import JSON, Cell, Reply, Shard
from benchkit.trial_log.accounting import CellFacts, CellTable
from benchkit.trial_log.lines import MOST_LINE_BYTES, Damage, LoadedLine, StopLine, SystemLine
from benchkit.trial_log.reader import SessionSummary, TrialLog, read_log
from tests import trial_logs
from tests.trial_logs import (
    CASES,
    SESSION_A,
    SESSION_B,
    SETTINGS,
    STAMP,
    SYSTEM,
    Lines,
    altered,
    cells,
    complete,
    failure,
    plan_line,
    session_line,
    started,
    trial_line,
)


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "log.jsonl"

    def read(self, data: Lines | bytes | list[bytes], *, accept_damage: bool = False) -> TrialLog:
        raw = b"".join(data) if isinstance(data, list) else bytes(data)
        return read_log(trial_logs.written(self.path, raw), accept_damage=accept_damage)

    def refused(self, data: Lines | bytes | list[bytes], *, accept_damage: bool = False) -> str:
        with self.assertRaises(Unusable) as raised:
            self.read(data, accept_damage=accept_damage)
        text = str(raised.exception)
        self.assertNotIn("\n", text)
        return text

    def recorded(self, log: TrialLog) -> list[tuple[str, int]]:
        return [(cell.case, cell.trial) for cell in cells() if log.is_recorded(cell)]


class AWholeLog(InAFolder):
    def test_it_amounts_to_its_plan_its_sessions_and_its_trials(self) -> None:
        lines = complete()
        log = self.read(lines)
        self.assertEqual((log.size, log.lines, log.is_empty), (len(bytes(lines)), 11, False))
        self.assertEqual((log.plan, dict(log.settings)), (plan_line(), {SYSTEM: SETTINGS}))
        self.assertEqual((log.harmless, log.named), ((), ()))
        (session,) = log.sessions
        self.assertEqual(session, SessionSummary(
            SESSION_A, session_line(), LoadedLine(3.5, 4096), StopLine("complete", STAMP), 6, 5, frozenset({SYSTEM})))

    def test_every_trial_is_read_again_from_the_disk(self) -> None:
        log = self.read(complete())
        self.assertEqual(list(log.trials(SYSTEM)), [trial_line(cell.case, cell.trial) for cell in cells()])
        self.assertEqual(log.trial(Cell(SYSTEM, "mail-3", 2)), trial_line("mail-3", 2))
        self.assertEqual(list(log.trials("another")), [])

    def test_a_cell_that_is_not_there_is_not_recorded(self) -> None:
        log = self.read(started().add(trial_line()))
        for cell in (Cell(SYSTEM, "mail-2", 1), Cell(SYSTEM, "mail-1", 2), Cell(SYSTEM, "mail-1", 3),
                     Cell("x", "mail-1", 1), Cell(SYSTEM, "mail-9", 1), Cell(SYSTEM, "mail-1", 0)):
            with self.subTest(cell):
                self.assertEqual((log.attempts(cell), log.is_recorded(cell), log.is_stale(cell), log.is_cold(cell),
                                  log.error_type(cell)), (0, False, False, False, None))
                with self.assertRaises(LookupError):
                    log.trial(cell)

    def test_the_last_attempt_of_a_cell_holds(self) -> None:
        lines = started().add(trial_line(outcome=failure()), trial_line("mail-2"), trial_line(attempt=2))
        log, cell = self.read(lines), Cell(SYSTEM, "mail-1", 1)
        self.assertEqual((log.attempts(cell), log.error_type(cell)), (2, None))
        self.assertEqual(log.trial(cell), trial_line(attempt=2))

    def test_an_error_is_known_by_its_type_without_reading_the_trial(self) -> None:
        log = self.read(started().add(trial_line(outcome=failure("ModelChanged"))))
        self.assertEqual(log.error_type(Cell(SYSTEM, "mail-1", 1)), "ModelChanged")
        self.assertTrue(log.is_recorded(Cell(SYSTEM, "mail-1", 1)))

    def test_the_first_trial_of_a_case_in_a_session_is_cold(self) -> None:
        lines = started().add(trial_line("mail-1"), trial_line("mail-2"), trial_line("mail-1", 2))
        lines.begin(SESSION_B).add(trial_line("mail-2", 2), trial_line("mail-1", 1, attempt=2))
        log = self.read(lines)
        cold = {(cell.case, cell.trial): log.is_cold(cell) for cell in cells()}
        self.assertEqual(cold, {("mail-1", 1): True, ("mail-2", 1): True, ("mail-3", 1): False, ("mail-1", 2): False,
                                ("mail-2", 2): True, ("mail-3", 2): False})

    def test_each_session_knows_how_many_trials_it_recorded_and_how_far_it_came(self) -> None:
        lines = started().add(trial_line("mail-2"), trial_line("mail-1")).add(StopLine("budget", STAMP))
        lines.begin(SESSION_B).add(trial_line("mail-3", 2)).begin("c" * 16)
        summary = [(session.trials, session.furthest, session.stop) for session in self.read(lines).sessions]
        self.assertEqual(summary, [(2, 1, StopLine("budget", STAMP)), (1, 5, None), (0, -1, None)])

    def test_several_systems_are_kept_apart_and_in_the_order_of_the_plan(self) -> None:
        both = ("baselines:coin", SYSTEM)
        lines = Lines().begin().add(plan_line(systems=both), SystemLine(SYSTEM, SETTINGS), SystemLine(both[0], {}))
        lines.add(trial_line("mail-1", 1, system=SYSTEM), trial_line("mail-2", 1, system=both[0]))
        log = self.read(lines)
        self.assertEqual([log.position(Cell(name, "mail-2", 2)) for name in both], [7, 10])
        self.assertEqual([line.cell.case for line in log.trials(both[0])], ["mail-2"])
        self.assertEqual(log.sessions[0].furthest, 3)

    def test_reading_some_trials_does_not_disturb_going_through_all(self) -> None:
        log, seen = self.read(complete()), []
        for line, _place in log.lines_that_count():
            seen.append(line)
            log.trial(Cell(SYSTEM, "mail-1", 1))
        self.assertEqual(len(seen), 11)

    def test_a_log_put_in_the_place_of_the_one_that_was_read_is_not_mixed_up_with_it(self) -> None:
        log = self.read(complete())
        self.path.unlink()
        self.path.write_bytes(b"x" * 5000)
        self.assertEqual(log.trial(Cell(SYSTEM, "mail-2", 1)), trial_line("mail-2"))

    def test_a_line_that_is_altered_after_the_log_was_read_is_not_believed(self) -> None:
        lines = complete()
        log = self.read(lines)
        self.path.write_bytes(bytes(lines).replace(b"mail-2 1", b"mail-2 9"))
        with self.assertRaises(Unusable):
            log.trial(Cell(SYSTEM, "mail-2", 1))


class ChangedRequests(InAFolder):
    def test_a_cell_whose_ask_changed_behind_its_last_attempt_is_stale(self) -> None:
        lines = complete().begin(SESSION_B).add(plan_line(changed="mail-2"))
        log = self.read(lines)
        stale = [(cell.case, cell.trial) for cell in cells() if log.is_stale(cell)]
        self.assertEqual(stale, [("mail-2", 1), ("mail-2", 2)])
        self.assertEqual(len(self.recorded(log)), 4)
        log = self.read(lines.add(trial_line("mail-2", 1, attempt=2, asked="mail-2!")))
        self.assertEqual([(cell.case, cell.trial) for cell in cells() if log.is_stale(cell)], [("mail-2", 2)])

    def test_an_ask_that_changes_back_is_a_change_all_the_same(self) -> None:
        lines = complete().begin(SESSION_B).add(plan_line(changed="mail-2"), plan_line())
        self.assertTrue(self.read(lines).is_stale(Cell(SYSTEM, "mail-2", 1)))

    def test_new_settings_make_all_cells_of_the_system_stale(self) -> None:
        table: list[tuple[dict[str, object], int]] = [
            (dict(SETTINGS), 0), ({**SETTINGS, "think": False}, 6),
            ({"model": "gemma4:e2b", "options": {"temperature": 1}}, 6)]
        for settings, count in table:
            with self.subTest(settings):
                log = self.read(complete().begin(SESSION_B).add(SystemLine(SYSTEM, settings)))  # type: ignore[arg-type]
                self.assertEqual(sum(log.is_stale(cell) for cell in cells()), count)
                self.assertEqual(dict(log.settings[SYSTEM]), settings)

    def test_a_plan_that_grows_keeps_what_is_recorded(self) -> None:
        for cases, trials in (((*CASES, "mail-4"), 2), (("mail-0", *CASES), 2), (CASES, 5)):
            with self.subTest(cases=cases, trials=trials):
                lines = complete().begin(SESSION_B).add(plan_line(cases, trials))
                lines.add(trial_line(cases[-1], trials, attempt=2))
                log = self.read(lines)
                self.assertEqual(len(self.recorded(log)), 6)
                self.assertEqual(log.trial(Cell(SYSTEM, "mail-3", 1)), trial_line("mail-3", 1))
                self.assertEqual(log.attempts(Cell(SYSTEM, cases[-1], trials)), 2)
                self.assertEqual(log.sessions[1].furthest, len(cases) * trials - 1)


class Damaged(InAFolder):
    """`complete()` is: 0 session, 1 plan, 2 system, 3 loaded, 4 to 9 trials, 10 stop."""

    def test_bytes_that_are_no_whole_line_are_refused_with_file_line_and_byte(self) -> None:
        changes: list[Callable[[bytes], bytes]] = [
            altered, lambda line: line[:-1] + b"\r\n", lambda line: b"\n", lambda line: line[:-9] + b"\n",
            lambda line: line[1:], lambda line: b" " + line, lambda line: line[:-1] + b" \n",
            lambda line: line.replace(b"mail-1 2", b"mail-1 1"), lambda line: line.upper(),
            lambda line: line[:-20] + b"0" * 17 + b'"}\n', lambda line: b"\xef\xbb\xbf" + line,
            lambda line: b"\0" * 40 + b"\n", lambda line: b'{"a":1}\n',
            lambda line: b"[" * (MOST_LINE_BYTES + 1) + b"\n", lambda line: b"x" * (2 * MOST_LINE_BYTES + 2) + b"\n",
        ]
        for number, change in enumerate(changes):
            lines = complete()
            offset, lines.lines[7] = lines.offset(7), altered(lines.lines[7], change)
            damage = Damage(offset, len(lines.lines[7]))
            with self.subTest(number):
                text = self.refused(lines)
                self.assertIn(f"log.jsonl: line 8 (byte {offset}): {damage.length:,} byte", text)
                self.assertIn("--accept-damage", text)
                log = self.read(lines, accept_damage=True)
                self.assertEqual(log.harmless, (damage,))
                self.assertEqual(len(self.recorded(log)), 5)
                self.assertFalse(log.is_recorded(Cell(SYSTEM, "mail-1", 2)))

    def test_a_lost_line_is_a_gap_and_the_line_behind_it_counts(self) -> None:
        for count in (1, 2):
            lines = complete()
            del lines.lines[6 : 6 + count]
            with self.subTest(count):
                text = self.refused(lines)
                self.assertIn(f"line 7 (byte {lines.offset(6)}): lines are missing before it", text)
                self.assertIn(f"(n is {6 + count}, not 6)", text)
                log = self.read(lines, accept_damage=True)
                self.assertEqual(log.harmless, (Damage(lines.offset(6), 0),))
                self.assertEqual(len(self.recorded(log)), 6 - count)

    def test_what_is_left_of_a_lost_line_is_one_damage_and_no_gap_besides(self) -> None:
        lines = complete()
        # the newline between two lines is gone: one run of bytes, two lines lost
        lines.lines[5:7] = [lines.lines[5][:-1] + b"x" + lines.lines[6]]
        log = self.read(lines, accept_damage=True)
        self.assertEqual(log.harmless, (Damage(lines.offset(5), len(lines.lines[5])),))

    def test_damaged_lines_that_touch_are_one_damage(self) -> None:
        lines = complete()
        lines.lines[5:8] = [altered(line) for line in lines.lines[5:8]]
        log = self.read(lines, accept_damage=True)
        self.assertEqual(log.harmless, (Damage(lines.offset(5), lines.offset(8) - lines.offset(5)),))

    def test_lines_in_another_order_are_seen(self) -> None:
        lines = complete()
        lines.lines[5], lines.lines[6] = lines.lines[6], lines.lines[5]
        self.assertIn("lines are missing", self.refused(lines))
        self.assertEqual(len(self.recorded(self.read(lines, accept_damage=True))), 6)

    def test_a_line_that_stands_there_again_behind_damage_is_named_beside_it(self) -> None:
        lines = complete()
        lines.lines[5] = altered(lines.lines[5])
        damage = Damage(lines.offset(5), len(lines.lines[5]))
        lines.lines.insert(6, lines.lines[1])
        self.refused(lines)
        self.assertEqual(self.read(lines, accept_damage=True).harmless, (
            damage, Damage(lines.offset(6), 0), Damage(lines.offset(7), 0)))

    def test_of_lines_that_repeat_an_attempt_the_first_counts(self) -> None:
        again = trial_line("mail-1", 1, outcome=trial_logs.reply("another answer"))
        tables = {"in sequence": complete().add(again, StopLine("complete", STAMP)), "copied": complete()}
        tables["copied"].lines.insert(8, tables["copied"].lines[4])
        for name, lines in tables.items():
            at = 11 if name == "in sequence" else 8
            with self.subTest(name):
                self.assertIn(f"line {at + 1} (byte {lines.offset(at)}): trial 1 of case mail-1", self.refused(lines))
                log = self.read(lines, accept_damage=True)
                self.assertEqual(log.harmless, (Damage(lines.offset(at), len(lines.lines[at])),))
                self.assertEqual(log.trial(Cell(SYSTEM, "mail-1", 1)), trial_line("mail-1", 1))
                self.assertEqual(log.sessions[0].trials, 6)

    def test_an_attempt_below_the_last_one_repeats_too(self) -> None:
        lines = started().add(trial_line(attempt=2), trial_line(attempt=1), StopLine("budget", STAMP))
        self.assertIn("line 6 ", self.refused(lines))

    def test_a_session_that_stands_there_again_is_damage(self) -> None:
        lines = complete()
        text = self.refused(bytes(lines) * 2)
        self.assertIn("line 12 ", text)
        self.assertIn("the first line of a session stands there again", text)

    def test_damage_behind_the_last_whole_line_is_harmless(self) -> None:
        lines = complete()
        tails = [b"x\n", b"\n", lines.lines[9][:50] + b"\n", altered(lines.lines[9]), lines.lines[9], lines.lines[0],
                 b"a\nb\n" + altered(lines.lines[4])]
        for tail in tails:
            with self.subTest(tail[:20]):
                log = self.read(bytes(lines) + tail)
                self.assertEqual(log.harmless, (Damage(len(bytes(lines)), len(tail)),))
                self.assertEqual((len(self.recorded(log)), log.size), (6, len(bytes(lines) + tail)))

    def test_a_gap_before_the_last_line_is_not_behind_it(self) -> None:
        lines = complete()
        del lines.lines[9]
        self.refused(lines)

    def test_damage_that_a_later_session_names_is_no_reason_to_refuse(self) -> None:
        torn = complete()
        torn.lines[9:] = [torn.lines[9][:80] + b"\n"]
        holes = complete()
        del holes.lines[5]
        twice = complete()
        twice.lines.insert(8, twice.lines[4])
        for name, lines in (("torn", torn), ("gap", holes), ("repeated", twice)):
            with self.subTest(name):
                found = self.read(lines, accept_damage=True).harmless
                self.assertEqual(len(found), 1)
                lines.begin(SESSION_B, replace(session_line(), damage=found)).add(trial_line("mail-3", 2, attempt=3))
                log = self.read(lines)
                self.assertEqual((log.harmless, log.named), ((), found))
                self.assertEqual(log.sessions[1].trials, 1)

    def test_damage_beside_named_damage_is_new(self) -> None:
        lines = complete()
        lines.lines[6] = altered(lines.lines[6])
        found = self.read(lines, accept_damage=True).harmless
        lines.begin(SESSION_B, replace(session_line(), damage=found))
        self.read(lines)
        for index in (5, 7):
            broken = Lines()
            broken.lines = list(lines.lines)
            broken.lines[index] = altered(broken.lines[index])
            with self.subTest(index):
                self.refused(broken)
                log = self.read(broken, accept_damage=True)
                self.assertEqual(log.harmless, (Damage(lines.offset(index), len(lines.lines[index])),))

    def test_a_line_that_only_begins_in_named_damage_is_new_damage(self) -> None:
        lines = complete()
        lines.lines[6] = altered(lines.lines[6])
        found = self.read(lines, accept_damage=True).harmless
        lines.begin(SESSION_B, replace(session_line(), damage=found)).add(StopLine("complete", STAMP))
        lines.lines[6:8] = [lines.lines[6][:-1] + b"x" + lines.lines[7]]
        self.assertIn("line 7 ", self.refused(lines))
        log = self.read(lines, accept_damage=True)
        self.assertEqual(log.harmless, (Damage(lines.offset(6), len(lines.lines[6])),))

    def test_a_line_of_more_than_four_mebibytes_is_damage_even_if_it_is_whole(self) -> None:
        for room, count in ((0, 1), (1, 0)):
            output = "x" * (MOST_LINE_BYTES - len(started().add(trial_line(outcome=Reply(""))).lines[4]) + 1 + room)
            lines = started().add(trial_line(outcome=Reply(output)))
            with self.subTest(room):
                self.assertEqual(len(lines.lines[4]), MOST_LINE_BYTES + 1 + room)
                self.assertEqual(len(self.recorded(self.read(lines))), count)

    def test_when_the_line_that_names_is_lost_the_damage_is_harmful_again(self) -> None:
        lines = complete()
        lines.lines[6] = altered(lines.lines[6])
        found = self.read(lines, accept_damage=True).harmless
        lines.begin(SESSION_B, replace(session_line(), damage=found)).add(StopLine("complete", STAMP))
        lines.lines[11] = altered(lines.lines[11])
        self.assertIn("line 7 ", self.refused(lines))

    def test_a_session_may_not_name_what_does_not_stand_before_it(self) -> None:
        lines = complete()
        for damage in (Damage(10**6, 1), Damage(len(bytes(lines)) - 1, 2), Damage(0, 10**12)):
            with self.subTest(damage):
                named = Lines()
                named.lines = list(lines.lines)
                named.begin(SESSION_B, replace(session_line(), damage=(damage,)))
                self.assertIn(": damage", self.refused(named))

    def test_a_lost_first_line_of_a_session_is_damage_and_its_trials_count(self) -> None:
        for index in (0, 1, 2, 3):
            lines = complete().begin(SESSION_B).add(plan_line(), SystemLine(SYSTEM, SETTINGS))
            lines.lines[index] = altered(lines.lines[index])
            with self.subTest(index):
                self.refused(lines)
                log = self.read(lines, accept_damage=True)
                self.assertEqual(len(self.recorded(log)), 6)
                self.assertEqual(len(log.sessions), 1 if index == 0 else 2)

    def test_trials_whose_plan_line_is_lost_count_when_they_are_planned_again(self) -> None:
        lines = complete()
        lines.lines[1] = altered(lines.lines[1])
        log = self.read(lines, accept_damage=True)
        self.assertIsNone(log.plan)
        self.assertTrue(log.has_unplanned)
        self.assertEqual(self.recorded(log), [])
        self.assertEqual(log.attempts(Cell(SYSTEM, "mail-1", 2)), 1)
        named = replace(session_line(), damage=log.harmless)
        lines.begin(SESSION_B, named).add(plan_line(), SystemLine(SYSTEM, SETTINGS))
        self.assertEqual(len(self.recorded(self.read(lines))), 6)

    def test_trials_from_before_a_lost_plan_count_only_if_they_were_asked_the_same(self) -> None:
        lines = started().add(trial_line("mail-1", asked="mail-1!"), trial_line("mail-2"))
        lines.lines[1] = altered(lines.lines[1])
        named = replace(session_line(), damage=self.read(lines, accept_damage=True).harmless)
        lines.begin(SESSION_B, named).add(plan_line(), SystemLine(SYSTEM, SETTINGS))
        log = self.read(lines)
        self.assertEqual(self.recorded(log), [("mail-2", 1)])
        self.assertTrue(log.is_stale(Cell(SYSTEM, "mail-1", 1)))


class NoLogYet(InAFolder):
    def test_a_log_without_a_whole_session_line_is_as_an_empty_one(self) -> None:
        lines = complete()
        for data in (b"", b'{"bu\n', lines.lines[0][:-1], altered(lines.lines[0]), b"\0" * 4096 + b"\n"):
            with self.subTest(data[:30]):
                log = self.read(data)
                size = data.rfind(b"\n") + 1
                self.assertEqual((log.is_empty, log.plan, log.size), (True, None, size))
                self.assertEqual(log.harmless, (Damage(0, size),) if size else ())
                self.assertEqual(self.recorded(log), [])
                with self.assertRaises(Unusable) as raised:
                    log.planned()
                self.assertIn("nothing recorded yet", str(raised.exception))

    def test_one_whose_only_session_line_is_lost_is_refused_and_keeps_every_trial(self) -> None:
        lines = complete().lines
        for data, what in ((b"".join((altered(lines[0]), *lines[1:])), "bytes are no whole line"),
                           (b"".join(lines[1:]), "lines are missing before it")):
            with self.subTest(what):
                with self.assertRaisesRegex(Unusable, rf"log.jsonl: line 1 \(byte 0\): .*{what}.*--accept-damage"):
                    self.read(data)
                log = self.read(data, accept_damage=True)
                self.assertEqual((6, plan_line()), (len(self.recorded(log)), log.plan))
                with self.assertRaisesRegex(Unusable, "the first line of its only session is lost"):
                    log.begun()

    def test_one_whose_line_ends_were_turned_is_no_empty_one(self) -> None:
        with self.assertRaisesRegex(Unusable, "log.jsonl: its line ends are CRLF"):
            self.read(bytes(complete()).replace(b"\n", b"\r\n"))

    def test_whole_lines_in_damage_behind_which_the_log_was_begun_anew_do_not_count(self) -> None:
        lines = complete()
        del lines.lines[0]
        found = Damage(0, len(bytes(lines)))
        lines.begin(SESSION_B, replace(session_line(), damage=(found,)))
        self.assertIsNone(self.read(lines).plan)
        log = self.read(lines.add(plan_line(("mail-9",)), SystemLine(SYSTEM, SETTINGS), trial_line("mail-9")))
        self.assertEqual((log.plan, self.recorded(log)), (plan_line(("mail-9",)), []))

    def test_a_log_without_a_plan_has_nothing_recorded(self) -> None:
        with self.assertRaises(Unusable):
            self.read(Lines().begin()).planned()
        self.assertEqual(self.read(started()).planned(), plan_line())

    def test_a_log_that_is_not_there_is_named(self) -> None:
        with self.assertRaises(Unusable) as raised:
            read_log(self.path)
        self.assertIn("no such file", str(raised.exception))


class Growing(InAFolder):
    def test_a_log_is_read_up_to_its_last_newline(self) -> None:
        lines = started().add(trial_line())
        whole = bytes(lines)
        for cut in sorted({*range(len(lines.lines[0]), len(whole), 5), *map(lines.offset, range(1, 6))}):
            log = self.read(whole[:cut])
            self.assertEqual((log.size, log.harmless), (whole[:cut].rfind(b"\n") + 1, ()))
            self.assertEqual(log.lines, whole[:cut].count(b"\n"))

    def test_an_endless_line_that_is_still_growing_is_no_damage_yet(self) -> None:
        whole = bytes(complete())
        log = self.read(whole + b"x" * (2 * MOST_LINE_BYTES + 7))
        self.assertEqual((log.size, log.harmless), (len(whole), ()))

    def test_what_is_appended_while_the_trials_are_read_does_not_matter(self) -> None:
        lines = complete()
        log = self.read(lines)
        with self.path.open("ab") as file:
            file.write(b"half a li")
        self.assertEqual(len(list(log.trials(SYSTEM))), 6)
        self.assertEqual(len(list(log.lines_that_count())), 11)


class ImpossibleContent(InAFolder):
    def test_a_whole_line_that_says_what_it_cannot_is_refused_by_file_line_and_field(self) -> None:
        unplanned = 'fields "system", "case", "trial": trial'
        stop: dict[str, JSON] = {"kind": "stop", "reason": "complete", "at": STAMP, "session": SESSION_A, "n": 4}
        fields_of_plan = json.loads(started().lines[1])
        del fields_of_plan["sum"]
        fields_of_plan["n"] = 4
        table: list[tuple[bytes, str]] = [
            (close_line({**stop, "kind": "note"}), ": kind is"),
            (close_line({**fields_of_plan, "cases": [["a", "b"]]}), ': cases[0] is ["a","b"], not [id, ask]'),
            (close_line({**stop, "session": "a"}), ": session is"),
            (close_line({**stop, "n": 0}), ": n must be 0"),
            (close_line({**stop, "reason": "tired"}), ": reason is"),
            (started().add(trial_line("mail-9")).lines[-1], unplanned),
            (started().add(trial_line("mail-1", 3)).lines[-1], unplanned),
            (started().add(trial_line(system="model_triage:qwen")).lines[-1], unplanned),
        ]
        for data, words in table:
            with self.subTest(words):
                lines = [*started().lines, data, b"x\n"]
                for accept_damage in (False, True):
                    text = self.refused(lines, accept_damage=accept_damage)
                    self.assertIn(f"log.jsonl: line 5 (byte {started().offset(4)}): ", text)
                    self.assertIn(words, text)

    def test_a_closed_line_that_is_no_json_is_refused(self) -> None:
        bodies = [b'{"a":1,"a":2', b'{"a":NaN', b'{"a":"\\ud800"', b'{"a":' + b"[" * 100 + b"]" * 100, b"x",
                  b'{"a":1e999', b'{"a":' + b"9" * 10_000, b'{"a":"\xff"']
        for body in bodies:
            line = body + b',"sum":"' + hashlib.sha256(body).hexdigest()[:16].encode() + b'"}\n'
            with self.subTest(body[:20]):
                self.assertIn("line 5 ", self.refused([*started().lines, line]))

    def test_a_log_of_another_version_is_refused(self) -> None:
        line = close_line({"kind": "session", "v": 2, "session": SESSION_A, "n": 0})
        self.assertIn(": v is 2, not 1", self.refused(line))

    def test_one_altered_byte_anywhere_is_never_accepted(self) -> None:
        whole = bytes(complete())
        for offset in range(0, len(whole), 7):
            data = whole[:offset] + bytes([whole[offset] ^ 4]) + whole[offset + 1 :]
            self.path.write_bytes(data)
            log = read_log(self.path, accept_damage=True)
            self.assertTrue(log.harmless or log.size < len(data), offset)
            for line in log.trials(SYSTEM):
                self.assertEqual(line, trial_line(line.cell.case, line.cell.trial))


class Memory(InAFolder):
    def test_a_recorded_cell_takes_eleven_bytes(self) -> None:
        table = CellTable(plan_line(trials=1_000_000))
        table.record(2_999_999, CellFacts(1, 1, None, True))
        columns = [getattr(table, name) for name in ("_offsets", "_attempts", "_facts")]
        self.assertEqual(sum(column.itemsize * len(column) for column in columns), 33_000_000)
        self.assertEqual(table.facts(2_999_999), CellFacts(1, 1, None, True))
        self.assertIsNone(table.facts(2_999_998))

    def test_the_log_of_a_shard_has_room_for_the_cells_of_that_shard_only(self) -> None:
        table = CellTable(plan_line(trials=1_000_000), Shard(3_000, 3_000))
        table.record(2_999_999, CellFacts(1, 1, None, True))
        columns = [getattr(table, name) for name in ("_offsets", "_attempts", "_facts")]
        self.assertEqual(sum(column.itemsize * len(column) for column in columns), 11_000)
        self.assertEqual(table.facts(2_999_999), CellFacts(1, 1, None, True))

    def test_what_is_recorded_is_found_again_in_the_order_of_the_plan_whatever_shard_a_log_is_of(self) -> None:
        plan = plan_line(trials=4)
        cells = len(plan.cases) * plan.trials
        for of in (1, 2, 5, 7, 40):
            for index in range(1, of + 1):
                table = CellTable(plan, Shard(index, of))
                facts = {position: CellFacts(position, 1 + position % 3, "Timeout" if position % 2 else None, False)
                         for position in (7, 0, 3, 11, 6, 8)}
                for position, one in facts.items():
                    table.record(position, one)
                with self.subTest(index=index, of=of):
                    self.assertEqual([facts.get(position) for position in range(cells)],
                                     [table.facts(position) for position in range(cells)])
                    self.assertEqual({position: one.attempts for position, one in facts.items()},
                                     {position: table.attempts(position) for position in range(cells)
                                      if table.attempts(position)})
                    self.assertEqual([(position, table.cell(position)) for position in sorted(facts)],
                                     list(table.recorded()))
