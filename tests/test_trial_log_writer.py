"""Writing a log: what was told to be recorded is there, once, whatever was cut, full, broken or held by another.

The witness is always what the caller was told: a trial whose `trial()` returned is recorded, and no other need be.
"""
from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path

from benchkit.basics.errors import EnvironmentFailure, KitError, Unusable
from benchkit.basics.json_text import is_whole
from benchkit.basics.values import Cell, Reply
from benchkit.disk.appending import DiskCalls
from benchkit.trial_log import lines as log_lines
from benchkit.trial_log.lines import Damage, LoadedLine, PlanLine, StopLine, SystemLine, TrialLine
from benchkit.trial_log.reader import TrialLog, export_clean, read_log
from benchkit.trial_log.writer import LogWriter
from tests import trial_logs
from tests.test_disk_appending import CrashingDisk
from tests.trial_logs import (
    CASES,
    NO_SYNC,
    SESSION_A,
    SESSION_B,
    SETTINGS,
    STAMP,
    SYSTEM,
    Lines,
    altered,
    complete,
    plan_line,
    session_line,
    started,
    trial_line,
)


def run(
    path: Path, *, calls: DiskCalls = NO_SYNC, plan: PlanLine | None = None, accept_damage: bool = False,
    told: list[Cell] | None = None,
) -> list[Cell]:
    """A whole run: every planned cell that is not recorded is tried and written. The cells that were called."""
    plan, called = plan or plan_line(), []
    with LogWriter.open(path, accept_damage=accept_damage, calls=calls) as writer:
        log = writer.begin(session_line())
        writer.write(plan)
        writer.write(SystemLine(SYSTEM, SETTINGS))
        log = writer.read() if log.has_unplanned else log
        writer.write(LoadedLine(1.0))
        for trial in range(1, plan.trials + 1):
            for case in plan.cases:
                cell = Cell(SYSTEM, case.id, trial)
                if not log.is_recorded(cell):
                    called.append(cell)
                    writer.write(trial_line(case.id, trial, attempt=log.attempts(cell) + 1))
                    if told is not None:
                        told.append(cell)
        writer.write(StopLine("complete", STAMP))
    return called


class InAFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "log.jsonl"

    def opened(self, calls: DiskCalls = NO_SYNC, *, accept_damage: bool = False) -> LogWriter:
        writer = LogWriter.open(self.path, session=SESSION_B, accept_damage=accept_damage, calls=calls)
        self.addCleanup(writer.close)
        return writer

    def cells_in(self, log: TrialLog) -> set[Cell]:
        return {line.cell for line in log.trials(SYSTEM)}

    def refused(self, kind: type[KitError], call: Callable[[], object]) -> str:
        with self.assertRaises(kind) as raised:
            call()
        text = str(raised.exception)
        self.assertNotIn("\n", text)
        return text


class ARun(InAFolder):
    def test_it_writes_the_lines_one_after_the_other(self) -> None:
        with LogWriter.open(self.path, session=SESSION_A, calls=NO_SYNC) as writer:
            writer.begin(session_line())
            writer.write(plan_line())
            writer.write(SystemLine(SYSTEM, SETTINGS))
            writer.write(LoadedLine(3.5, 4096))
            for trial in (1, 2):
                for case in CASES:
                    writer.write(trial_line(case, trial))
            writer.write(StopLine("complete", STAMP))
        self.assertEqual(self.path.read_bytes(), bytes(complete()))

    def test_opening_writes_nothing_and_an_empty_log_is_as_none(self) -> None:
        self.opened().close()
        self.assertEqual(self.path.read_bytes(), b"")
        self.assertTrue(read_log(self.path).is_empty)
        self.assertEqual(len(run(self.path)), 6)

    def test_a_second_run_has_nothing_left_to_call(self) -> None:
        run(self.path)
        before = self.path.read_bytes()
        self.assertEqual(run(self.path), [])
        self.assertTrue(self.path.read_bytes().startswith(before))

    def test_a_log_that_was_read_before_the_lock_is_read_again_only_if_it_was_written_to(self) -> None:
        run(self.path)
        known = read_log(self.path)
        with LogWriter.open(self.path, calls=NO_SYNC) as writer:
            self.assertIs(writer.read(known), known)
        for change in (lambda: run(self.path), lambda: self.path.write_bytes(self.path.read_bytes() + b"torn"),
                       lambda: self.path.rename(self.path.with_name("away")) and run(self.path)):
            known = read_log(self.path)
            change()
            with LogWriter.open(self.path, calls=NO_SYNC) as writer:
                now = writer.read(known)
                self.assertIsNot(now, known)
                self.assertEqual(now.size, read_log(self.path).size)

    def test_sessions_have_an_id_of_their_own(self) -> None:
        for _ in range(3):
            run(self.path)
        self.assertEqual(len({session.id for session in read_log(self.path).sessions}), 3)

    def test_a_session_is_begun_once_and_first(self) -> None:
        writer = self.opened()
        with self.assertRaises(RuntimeError):
            writer.write(plan_line())
        writer.begin(session_line())
        with self.assertRaises(RuntimeError):
            writer.begin(session_line())

    def test_a_line_that_no_reader_would_take_is_not_written(self) -> None:
        writer = self.opened()
        writer.begin(session_line())
        writer.write(plan_line())
        before = self.path.read_bytes()
        bad: Sequence[TrialLine] = (
            trial_line(outcome=Reply("\ud800")), trial_line(outcome=Reply("x", latency_s=-1.0)),
            trial_line(outcome=Reply("x", latency_s=float("nan"))), trial_line("", 1), trial_line(attempt=0),
            trial_line(outcome=Reply("x", retries=-1)))
        for line in bad:
            with self.subTest(line), self.assertRaises(ValueError):
                writer.write(line)
        with self.assertRaises(ValueError):
            writer.write(StopLine("tired", STAMP))
        self.refused(Unusable, lambda: writer.write(trial_line(outcome=Reply("x" * log_lines.MOST_LINE_BYTES))))
        self.assertEqual(self.path.read_bytes(), before)
        writer.write(trial_line())
        self.assertEqual(len(list(read_log(self.path).lines_that_count())), 3)


class CutAnywhere(InAFolder):
    def test_a_log_cut_at_any_byte_is_sealed_gone_on_with_and_complete(self) -> None:
        plan = plan_line(CASES[:2], 1)
        run(self.path, plan=plan)
        whole = self.path.read_bytes()
        ends = [at for at in range(len(whole)) if whole[at:at + 1] == b"\n"]
        for cut in sorted({*range(0, len(whole), 3), *(end + more for end in ends for more in (-1, 0, 1))}):
            kept = whole[:cut]
            self.path.write_bytes(kept)
            left = 2 - sum(b'"kind":"trial"' in line for line in (kept + b"\n").split(b"\n")
                           if line and line in whole.split(b"\n"))
            self.assertEqual(len(run(self.path, plan=plan)), left, cut)
            after = self.path.read_bytes()
            self.assertTrue(after.startswith(kept), cut)
            log = read_log(self.path)
            self.assertEqual((log.harmless, len(self.cells_in(log))), ((), 2), cut)
            if cut % 30 == 0:
                self.assertEqual(run(self.path, plan=plan), [], cut)

    def test_a_log_cut_and_cut_again_while_it_goes_on_is_complete_at_last(self) -> None:
        plan = plan_line(CASES[:2], 1)
        run(self.path, plan=plan)
        whole = self.path.read_bytes()
        for cut in range(0, len(whole), 151):
            self.path.write_bytes(whole[:cut])
            run(self.path, plan=plan)
            longer = self.path.read_bytes()
            for second in range(cut + 1, len(longer), 307):
                self.path.write_bytes(longer[:second])
                run(self.path, plan=plan)
                self.assertTrue(self.path.read_bytes().startswith(longer[:second]))
                self.assertEqual(len(self.cells_in(read_log(self.path))), 2, (cut, second))

    def test_a_torn_tail_is_closed_named_and_never_cut(self) -> None:
        lines = started().add(trial_line())
        torn = lines.lines[4][:100]
        data = bytes(started()) + torn
        self.path.write_bytes(data)
        log = self.opened().begin(session_line())
        self.assertTrue(self.path.read_bytes().startswith(data + b"\n{"))
        self.assertEqual(log.harmless, (Damage(len(bytes(started())), len(torn) + 1),))
        self.assertEqual(read_log(self.path).named, log.harmless)

    def test_a_line_that_had_lost_only_its_newline_counts(self) -> None:
        self.path.write_bytes(bytes(started().add(trial_line()))[:-1])
        self.assertEqual(self.cells_in(read_log(self.path)), set())
        log = self.opened().begin(session_line())
        self.assertEqual((self.cells_in(log), log.harmless), ({Cell(SYSTEM, "mail-1", 1)}, ()))

    def test_a_log_that_holds_no_session_is_begun_anew_behind_what_it_holds(self) -> None:
        for data in (bytes(complete())[:40], bytes(complete())[:3] + b"\n", b"\0" * 300 + b'1","v":1}\n'):
            with self.subTest(data[:20]):
                self.path.write_bytes(data)
                self.assertEqual(len(run(self.path)), 6)
                self.assertTrue(self.path.read_bytes().startswith(data))
                self.assertEqual(read_log(self.path).named, (Damage(0, len(data) + (data[-1:] != b"\n")),))


    def test_a_log_whose_line_ends_were_turned_is_refused_and_left_as_it_is(self) -> None:
        data = bytes(complete()).replace(b"\n", b"\r\n")
        self.path.write_bytes(data)
        with self.assertRaisesRegex(Unusable, "its line ends are CRLF"):
            run(self.path)
        self.assertEqual(data, self.path.read_bytes())


class HarmfulDamage(InAFolder):
    def damaged(self, index: int) -> Lines:
        lines = complete()
        lines.lines[index] = altered(lines.lines[index])
        self.path.write_bytes(bytes(lines))
        return lines

    def test_it_is_refused_and_nothing_is_written(self) -> None:
        lines = self.damaged(6)
        self.assertIn("line 7 ", self.refused(Unusable, lambda: run(self.path)))
        self.assertEqual(self.path.read_bytes(), bytes(lines))

    def test_accepted_it_is_named_and_only_what_is_lost_is_called_again(self) -> None:
        for index, lost in ((0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (6, 1), (8, 1)):
            with self.subTest(index):
                lines = self.damaged(index)
                called = run(self.path, accept_damage=True)
                self.assertEqual(len(called), lost)
                log = read_log(self.path)
                self.assertEqual(log.named, (Damage(lines.offset(index), len(lines.lines[index])),))
                self.assertEqual(len(self.cells_in(log)), 6)
                self.assertTrue(self.path.read_bytes().startswith(bytes(lines)))

    def test_without_the_wish_nothing_more_than_harmless_damage_is_named(self) -> None:
        self.path.write_bytes(bytes(complete()) + b"torn")
        run(self.path)
        self.assertEqual(read_log(self.path).named, (Damage(len(bytes(complete())), 5),))


class FailingDisks(InAFolder):
    def run_on(self, disk: CrashingDisk) -> list[Cell]:
        told: list[Cell] = []
        with self.assertRaises(EnvironmentFailure):
            run(self.path, calls=disk.calls(), told=told)
        return told

    def after_power_cut(self, disk: CrashingDisk) -> set[Cell]:
        self.path.write_bytes(disk.kept)
        return self.cells_in(read_log(self.path))

    def test_every_trial_that_was_told_outlives_a_power_cut(self) -> None:
        disk, told = CrashingDisk(self.path), list[Cell]()
        with LogWriter.open(self.path, calls=disk.calls()) as writer:
            writer.begin(session_line())
            writer.write(plan_line())
            writer.write(SystemLine(SYSTEM, SETTINGS))
            for case in CASES:
                writer.write(trial_line(case))
                told.append(Cell(SYSTEM, case, 1))
                copy = self.path.with_name("after-a-power-cut")
                copy.write_bytes(disk.kept)
                self.assertEqual(self.cells_in(read_log(copy)), set(told))

    def test_a_disk_that_fills_up_at_any_byte_loses_nothing_that_was_told(self) -> None:
        run(self.path)
        data = self.path.read_bytes()
        ends = [at for at in range(len(data)) if data[at : at + 1] == b"\n"]
        for room in sorted({*range(0, len(data), 101), *ends}):
            with self.subTest(room):
                self.path.unlink()
                disk = CrashingDisk(self.path)
                disk.full_after = room
                told = self.run_on(disk)
                before = self.path.read_bytes()
                self.assertEqual(len(before), room)
                called = run(self.path)
                # a line that had lost only its newline was not told, and yet need not be called again
                whole = sum(is_whole(line) and b'"kind":"trial"' in line for line in before.split(b"\n"))
                self.assertEqual(len(called) + whole, 6)
                self.assertFalse(set(called) & set(told))
                self.assertTrue(self.path.read_bytes().startswith(before))

    def test_a_failed_sync_ends_the_run_and_its_trial_is_not_told(self) -> None:
        for good in range(10):
            with self.subTest(good):
                self.path.unlink(missing_ok=True)
                disk, left = CrashingDisk(self.path), [good]

                def sync(fd: int, disk: CrashingDisk = disk, left: list[int] = left) -> None:
                    left[0] -= 1
                    disk.sync_fails = int(left[0] == -1)
                    disk.sync(fd)

                told: list[Cell] = []
                calls = DiskCalls(sync=sync)
                self.refused(EnvironmentFailure, lambda calls=calls, told=told: run(self.path, calls=calls, told=told))  # type: ignore[misc]
                self.assertEqual(len(told), max(0, good - 4))
                self.assertEqual(left[0], -1)
                self.assertEqual(self.after_power_cut(disk) if told else set(), set(told))

    def test_after_a_failure_not_even_a_stop_line_is_written(self) -> None:
        disk = CrashingDisk(self.path)
        writer = self.opened(disk.calls())
        writer.begin(session_line())
        disk.sync_fails = 1
        self.refused(EnvironmentFailure, lambda: writer.write(plan_line()))
        self.assertTrue(writer.has_failed)
        before = self.path.read_bytes()
        self.refused(EnvironmentFailure, lambda: writer.write(StopLine("error", STAMP)))
        self.assertEqual(self.path.read_bytes(), before)

    def test_a_log_that_vanishes_under_the_writer_ends_the_run(self) -> None:
        writer = self.opened()
        writer.begin(session_line())
        self.path.unlink()
        self.assertIn("removed or replaced", self.refused(EnvironmentFailure, lambda: writer.write(plan_line())))
        self.assertFalse(self.path.exists())


HOLD = ("import sys\nfrom tests.trial_logs import session_line, plan_line\n"
        "from benchkit.trial_log.writer import LogWriter\n"
        "writer = LogWriter.open(sys.argv[1]); writer.begin(session_line(4242)); print('held', flush=True)\n"
        "sys.stdin.readline(); writer.write(plan_line()); print('unhurt', flush=True)\n")


class CountingDisk(CrashingDisk):
    """A disk that notes in `made` how many bytes were written, and "sync"."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.made: list[int | str] = []

    def write(self, fd: int, data: memoryview) -> int:
        self.made.append(len(data))
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self.made.append("sync")
        super().sync(fd)


class SeveralTogether(InAFolder):
    def begun(self, disk: CrashingDisk) -> LogWriter:
        writer = self.opened(disk.calls())
        writer.begin(session_line())
        writer.write(plan_line())
        writer.write(SystemLine(SYSTEM, SETTINGS))
        return writer

    def kept(self, disk: CrashingDisk) -> set[Cell]:
        copy = self.path.with_name("after-a-power-cut")
        copy.write_bytes(disk.kept)
        return self.cells_in(read_log(copy))

    def test_they_are_one_write_and_one_sync_and_on_the_disk_only_then(self) -> None:
        disk = CountingDisk(self.path)
        writer = self.begun(disk)
        before = self.path.stat().st_size
        disk.made.clear()
        with writer.together():
            for case in CASES:
                writer.write(trial_line(case))
            self.assertEqual((before, []), (self.path.stat().st_size, disk.made))
        self.assertEqual([self.path.stat().st_size - before, "sync"], disk.made)
        self.assertEqual({Cell(SYSTEM, case, 1) for case in CASES}, self.kept(disk))

    def test_the_log_is_the_same_as_line_by_line(self) -> None:
        with LogWriter.open(self.path, session=SESSION_A, calls=NO_SYNC) as writer:
            writer.begin(session_line())
            with writer.together():
                writer.write(plan_line())
                writer.write(SystemLine(SYSTEM, SETTINGS))
            with writer.together():
                writer.write(LoadedLine(3.5, 4096))
            for trial in (1, 2):
                with writer.together():
                    for case in CASES:
                        writer.write(trial_line(case, trial))
            with writer.together():
                """Nothing."""
            writer.write(StopLine("complete", STAMP))
        self.assertEqual(self.path.read_bytes(), bytes(complete()))

    def test_those_before_an_error_are_kept(self) -> None:
        disk = CrashingDisk(self.path)
        writer = self.begun(disk)
        with self.assertRaises(ValueError), writer.together():
            writer.write(trial_line(CASES[0]))
            writer.write(trial_line(CASES[1], outcome=Reply("\ud800")))
        self.assertEqual({Cell(SYSTEM, CASES[0], 1)}, self.kept(disk))
        writer.write(trial_line(CASES[2]))
        self.assertEqual(2, len(self.kept(disk)))

    def test_a_sync_that_fails_is_told_of_all_of_them(self) -> None:
        disk = CrashingDisk(self.path)
        writer = self.begun(disk)
        disk.sync_fails = 1
        with self.assertRaises(EnvironmentFailure), writer.together():
            for case in CASES:
                writer.write(trial_line(case))
        self.assertTrue(writer.has_failed)
        self.assertEqual(set(), self.kept(disk))


class TwoWriters(InAFolder):
    def test_the_second_is_refused_with_the_process_of_the_first_and_the_first_is_unhurt(self) -> None:
        with subprocess.Popen([sys.executable, "-c", HOLD, str(self.path)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as holder:
            assert holder.stdin
            assert holder.stdout
            self.assertEqual(holder.stdout.readline(), "held\n")
            before = self.path.read_bytes()
            text = self.refused(EnvironmentFailure, lambda: run(self.path))
            self.assertIn("in use by another run (process 4242)", text)
            self.assertEqual(self.path.read_bytes(), before)
            self.assertEqual(len(read_log(self.path).sessions), 1)
            holder.stdin.write("go on\n")
            holder.stdin.flush()
            self.assertEqual(holder.stdout.readline(), "unhurt\n")
        self.assertEqual(read_log(self.path).plan, plan_line())
        self.assertEqual(len(run(self.path)), 6)

    def test_a_holder_that_has_written_nothing_is_not_named(self) -> None:
        self.opened()
        self.assertIn("in use by another run; ", self.refused(EnvironmentFailure, lambda: LogWriter.open(self.path)))

    def test_a_lock_left_by_a_killed_writer_holds_nobody_up(self) -> None:
        with subprocess.Popen([sys.executable, "-c", HOLD, str(self.path)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent) as holder:
            assert holder.stdout
            holder.stdout.readline()
            holder.kill()
        self.assertEqual(len(run(self.path)), 6)


class Exporting(InAFolder):
    def exported(self, data: Lines | bytes) -> tuple[TrialLog, TrialLog]:
        """A log, and the log exported from it."""
        clean = self.path.with_name("clean.jsonl")
        clean.unlink(missing_ok=True)
        log = read_log(trial_logs.written(self.path, bytes(data)), accept_damage=True)
        export_clean(log, clean)
        self.assertEqual(self.path.read_bytes(), bytes(data))
        return log, read_log(clean)

    def test_a_log_without_damage_is_exported_as_it_is(self) -> None:
        self.exported(complete())
        self.assertEqual(self.path.with_name("clean.jsonl").read_bytes(), bytes(complete()))

    def test_an_exported_log_has_no_damage_no_gap_and_every_line_that_counts(self) -> None:
        altered_line, lost_line, repeated, headless, renamed = (complete() for _ in range(5))
        altered_line.lines[6] = altered(altered_line.lines[6])
        del lost_line.lines[6]
        repeated.lines.insert(8, repeated.lines[4])
        headless.begin(SESSION_B).add(plan_line(), SystemLine(SYSTEM, SETTINGS))
        headless.lines[0] = altered(headless.lines[0])
        renamed.begin(SESSION_B).add(plan_line(), StopLine("budget", STAMP))
        renamed.lines[11] = altered(renamed.lines[11])
        table = {"altered": (altered_line, 5), "lost": (lost_line, 5), "repeated": (repeated, 6),
                 "first line of the first session": (headless, 6), "first line of the second": (renamed, 6)}
        for name, (lines, count) in table.items():
            with self.subTest(name):
                log, clean = self.exported(lines)
                self.assertEqual((clean.harmless, clean.named), ((), ()))
                self.assertEqual(list(clean.trials(SYSTEM)), list(log.trials(SYSTEM)))
                self.assertEqual(len(self.cells_in(clean)), count)
                self.assertEqual(
                    [session.line for session in clean.sessions], [session.line for session in log.sessions])

    def test_a_resumed_log_is_exported_with_its_sessions(self) -> None:
        self.path.write_bytes(bytes(started().add(trial_line())) + b"torn")
        run(self.path)
        log, clean = self.exported(self.path.read_bytes())
        self.assertEqual([session.trials for session in clean.sessions], [1, 5])
        self.assertEqual(len(log.named), 1)
        self.assertEqual(clean.named, ())

    def test_nothing_that_exists_is_written_over(self) -> None:
        self.path.write_bytes(bytes(complete()))
        log = read_log(self.path)
        self.assertIn("is there already", self.refused(Unusable, lambda: export_clean(log, self.path)))
        self.assertEqual(self.path.read_bytes(), bytes(complete()))

    def test_a_log_with_nothing_recorded_is_not_exported(self) -> None:
        self.path.write_bytes(b"garbage\n")
        clean = self.path.with_name("clean.jsonl")
        self.refused(Unusable, lambda: export_clean(read_log(self.path), clean))
        self.assertFalse(clean.exists())
