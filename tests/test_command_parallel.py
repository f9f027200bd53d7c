"""Several trials at once through the command: as durable, as resumable and as stoppable as one at a time."""
from __future__ import annotations

import itertools
import signal
import threading
from typing import Any

from tests.commands import HANGS_S, ROOT
from tests.fake_ollama import FakeOllama, Seen, status
from tests.faults.scene import finalize
from tests.workflow import MODEL, WorkflowWithServer

LANES = 4


class AtOnce(WorkflowWithServer):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.enterContext(FakeOllama(slots=16))
        self.flags = (f"--system {MODEL} --log recorded/smol.jsonl --host {self.server.host} --trials 6 "
                      f"--parallel {LANES}")
        self.under_way = self.most = 0
        self.lock = threading.Lock()
        self.server.answer = self.answer

    def answer(self, model: str, messages: Any, seed: int) -> str:
        """An answer that takes a while, for others to come meanwhile."""
        with self.lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        self.server.closing.wait(0.03)
        with self.lock:
            self.under_way -= 1
        return "{}"

    def stop_reasons(self) -> list[str]:
        return [line["reason"] for line in self.lines() if line["kind"] == "stop"]


class Recording(AtOnce):
    def test_as_many_as_wished_are_under_way_and_every_cell_is_recorded_once(self) -> None:
        stdout = self.well(self.bench())
        self.assertIn("Done: every planned trial ran", stdout)
        self.assert_once_each(6)
        self.assertEqual(LANES, self.most)
        self.assertEqual(["complete"], self.stop_reasons())

    def test_trials_start_in_the_order_of_running(self) -> None:
        self.well(self.bench())
        places = [self.every_cell(6).index(cell) for cell in self.asked()]
        # of those under way at once the network may change the order, and nothing more
        self.assertTrue(all(abs(place - at) < LANES for at, place in enumerate(places)), places)

    def test_the_settings_say_so_and_one_at_a_time_they_say_nothing(self) -> None:
        self.well(self.bench())
        self.assertEqual([LANES], [line["settings"]["parallel"] for line in self.lines() if line["kind"] == "system"])
        self.assertEqual(LANES, self.json(self.recording)["settings"]["parallel"])
        self.log.unlink()
        self.well(self.bench().replace(f"--parallel {LANES}", "--parallel 1"))
        self.assertNotIn("parallel", self.json(self.recording)["settings"])

    def test_the_report_says_that_latencies_were_measured_at_once(self) -> None:
        stdout = self.well(self.bench())
        self.assertIn("latency-includes-queue", stdout)
        self.well(self.offered(stdout, "judge again"), 0)
        told = " ".join(self.well(self.offered(stdout, "report")).split())
        self.assertIn(f"{LANES} requests were in flight at once: latencies include waiting in the server's queue", told)

    def test_the_log_says_how_many_where_no_flag_does_and_another_number_is_refused(self) -> None:
        self.well(self.bench("--limit 7"))
        self.refused(self.bench().replace(f"--parallel {LANES}", "--parallel 2"), 2, "parallel: 4 -> 2",
                     "--changed rerun")
        self.most = 0
        self.well(f"bench.py --log recorded/smol.jsonl --host {self.server.host}")
        self.assertEqual(LANES, self.most)
        self.assert_once_each(6)
        asked = len(self.server.chats())
        more = self.bench("--retry-errors").replace("--trials 6", "--trials 7")
        self.refused(more.replace(f"--parallel {LANES}", "--parallel 1"), 2, "parallel: 4 -> null")
        self.assertEqual(asked, len(self.server.chats()))

    def test_numbers_that_cannot_be_are_refused(self) -> None:
        for number in ("0", "-1", "x", "1.5", "1025", "99999999999"):
            self.refused(self.bench().replace(f"--parallel {LANES}", f"--parallel {number}"), 2, "--parallel")

    def test_errors_are_recorded_and_tried_again(self) -> None:
        self.server.next(*[status(500)] * 5)
        self.well(self.bench())
        self.assertEqual(5, sum("error" in line for line in self.lines() if line["kind"] == "trial"))
        self.well(self.bench("--retry-errors"))
        attempts = sorted(line["attempt"] for line in self.lines() if line["kind"] == "trial")
        self.assertEqual([1] * 18 + [2] * 5, attempts)
        self.assertIn("errors     none (of 18)", self.well("bench.py --log recorded/smol.jsonl --status"))

    def test_a_budget_ends_it_and_the_same_command_goes_on(self) -> None:
        self.server.answer = lambda model, messages, seed: (self.server.closing.wait(0.6), "{}")[1]
        stdout = self.well(self.bench("--budget-s 1"))
        self.assertIn("The budget ended the run", stdout)
        count = len(self.trials())
        self.assertTrue(1 <= count < 18, count)
        self.server.answer = self.answer
        self.well(self.offered(stdout, "go on").replace(" --budget-s 1", ""))
        self.assert_once_each(6)

    def test_a_shard_can_be_run_several_at_once(self) -> None:
        for index in (1, 2):
            self.well(self.bench(f"--shard {index}/2").replace("smol.jsonl", f"part-{index}.jsonl"))
        self.well("bench.py --merge recorded/part-1.jsonl recorded/part-2.jsonl --log recorded/smol.jsonl")
        self.assert_once_each(6)

    def test_a_server_that_dies_ends_the_run_with_what_was_recorded(self) -> None:
        def dies(seen: Seen) -> None:
            if len(self.server.chats()) == 9:
                threading.Thread(target=self.server.stop).start()
        self.server.on_chat = dies
        told = self.type(self.bench("--timeout-s 3"))
        self.assertEqual(3, told.code, told)
        self.assertIn("is gone: start it again", told.stderr)
        self.assertEqual("error", self.stop_reasons()[-1])
        self.server.on_chat = lambda seen: None
        self.server.start()
        self.well(self.bench("--retry-errors"))
        self.assertEqual(18, len({(line["case"], line["trial"]) for line in self.lines()
                                  if line["kind"] == "trial" and "output" in line}))


class ABusyServer(AtOnce):
    def test_all_leave_it_alone_for_as_long_as_one_was_told_to(self) -> None:
        self.server.next(status(503))
        self.well(self.bench("--quiet"))
        times = sorted(seen.at for seen in self.server.chats())
        gap = max(later - earlier for earlier, later in itertools.pairwise(times))
        self.assertGreater(gap, 0.4, "somebody asked while the server was to be left alone")
        self.assert_once_each(6)
        waited = [line["waited_s"] for line in self.lines() if line["kind"] == "trial"]
        self.assertGreaterEqual(sum(one > 0.3 for one in waited), LANES - 1, "waiting is told apart from answering")
        latencies = [line["latency_s"] for line in self.lines() if line["kind"] == "trial"]
        self.assertLess(max(latencies), max(waited) + 0.4)


class Killed(AtOnce):
    def test_killed_at_any_moment_nothing_recorded_is_lost_or_asked_again(self) -> None:
        for moment in (1, 3, 6, 11, 15):
            with self.subTest(moment=moment):
                self.log.unlink(missing_ok=True)
                self.server.seen.clear()
                self.kill_at(moment)
                before = self.log.read_bytes()
                recorded = self.trials()
                self.assertGreaterEqual(len(recorded), moment - 2 * LANES)
                asked = len(self.server.chats())
                self.well(self.bench("--quiet"))
                self.assertTrue(self.log.read_bytes().startswith(before))
                self.assertEqual(18 - len(recorded), len(self.server.chats()) - asked)
                self.assert_once_each(6)

    def kill_at(self, moment: int) -> None:
        """Kill a run when its request of this number arrives."""
        arrived = threading.Event()

        def observer(seen: Seen) -> None:
            if len(self.server.chats()) >= moment:
                arrived.set()
                self.server.closing.wait(0.2)
        self.server.on_chat = observer
        process = self.start(*self.flags.split(), "--quiet")
        self.assertTrue(arrived.wait(HANGS_S))
        process.kill()
        self.assertEqual(-signal.SIGKILL, self.ended(process).code)
        finalize(self.server)  # what it had sent may arrive when it is dead
        self.server.on_chat = lambda seen: None

    def test_killed_again_and_again_it_is_whole_at_last(self) -> None:
        for more in range(4):
            at = len(self.server.chats()) + 1 + 2 * more
            self.kill_at(at)
        self.well(self.bench("--quiet"))
        self.assert_once_each(6)
        self.assertLessEqual(len(self.server.chats()), 18 + 4 * 2 * LANES)


class Signalled(AtOnce):
    def test_a_signal_drops_what_is_under_way_and_ends_in_order(self) -> None:
        for number, code, name in ((signal.SIGINT, 130, "SIGINT"), (signal.SIGTERM, 143, "SIGTERM")):
            with self.subTest(number=number):
                self.log.unlink(missing_ok=True)
                self.server.seen.clear()
                arrived = threading.Event()

                def holds(seen: Seen, arrived: threading.Event = arrived) -> None:
                    if len(self.server.chats()) > 6:
                        arrived.set()
                        self.server.closing.wait(HANGS_S)
                self.server.on_chat = holds
                process = self.start(*self.flags.split(), "--quiet")
                self.assertTrue(arrived.wait(HANGS_S))
                process.send_signal(number)
                told = self.ended(process)
                self.assertEqual((code, ""), (told.code, told.stdout), told.stderr)
                self.assertEqual(f"bench.py: stopped by {name}; what ended before is in recorded/smol.jsonl; go on "
                                 f"with: python3 {ROOT / 'bench.py'} {self.flags} --quiet\n", told.stderr)
                self.assertEqual(["interrupted"], self.stop_reasons())
                self.assertLessEqual(6 - LANES, len(self.trials()))
                self.server.on_chat = lambda seen: None
                self.server.stop()
                self.server.start()
        asked, count = len(self.server.chats()), len(self.trials())
        self.well(self.bench())
        self.assertEqual(18 - count, len(self.server.chats()) - asked)
        self.assert_once_each(6)
