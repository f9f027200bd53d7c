"""Several servers as one system: what must be alike, where a trial goes, and what is left when one of them goes."""
from __future__ import annotations

import contextlib
import itertools
import threading
import unittest
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchkit.basics.clock import Clock, StopRequest
from benchkit.basics.errors import EnvironmentFailure, Interrupted, NoServer, TrialError, Unusable
from benchkit.basics.values import Reply, Request
from benchkit.network.address import address_of
from benchkit.systems.several_hosts import Place, SeveralHosts, on_several_hosts
from benchkit.systems.system import Loaded, SystemOptions
from tests.commands import HANGS_S
from tests.running_samples import TASK, Robot
from tests.test_tasks_task import InAFolder

REQUEST = Request("a", 1, 1, 1001, (), None, 100.0)
MODULE = '''\
from tests.running_samples import Robot

def system(name, options):
    options.say("nothing pins " + name)
    return Robot(now={"model": name, "asked at": options.host[-1]})
'''


class Several(unittest.TestCase):
    def setUp(self) -> None:
        self.said: list[str] = []

    def at(self, *robots: Robot, at_each: int = 1) -> SeveralHosts:
        """Robots at http://ada:1, http://bob:1, http://eve:1, ..."""
        places = [Place(address_of(f"{name}:1", "--host"), robot)
                  for name, robot in zip(("ada", "bob", "eve"), robots, strict=False)]
        return SeveralHosts(places, at_each, self.said.append)

    def refusal(self, act: Callable[[], object], kind: type[Exception] = EnvironmentFailure) -> str:
        with self.assertRaises(kind) as caught:
            act()
        self.assertIs(kind, type(caught.exception))
        return str(caught.exception)


class PromptState(Several):
    def test_they_are_one_environment_that_names_its_hosts(self) -> None:
        hosts = self.at(Robot(), Robot())
        self.assertEqual({"server": "toy", "server_version": "1", "hosts": ["ada:1", "bob:1"]}, hosts.open())
        self.assertEqual(Robot().now, hosts.settings())
        self.assertEqual([], self.said)

    def test_before_they_are_open_the_settings_are_those_of_any_of_them(self) -> None:
        self.assertEqual({**Robot().now, "digest": None}, self.at(Robot(), Robot()).settings())

    def test_a_server_that_serves_something_else_is_refused_with_both_and_what_differs(self) -> None:
        other = Robot(now={"model": "toy", "digest": "d2", "heat": 1.0})
        self.assertEqual('the servers do not serve the same: digest is "d1" at http://ada:1 and "d2" at http://bob:1; '
                         "serve one model at all of them, or leave one out",
                         self.refusal(self.at(Robot(), other, Robot()).open))

    def test_another_version_is_a_warning_and_both_are_kept(self) -> None:
        robots = [Robot(), Robot(server={"server": "toy", "server_version": "2", "host": "bob"}),
                  Robot(server={"server": "toy"})]
        environment = self.at(*robots).open()
        self.assertEqual(("toy", "1, 2, unknown"), (environment["server"], environment["server_version"]))
        self.assertNotIn("host", environment)
        self.assertEqual([
            'the servers differ: server version is "1" at http://ada:1 and "2" at http://bob:1; texts may differ, too',
            'the servers differ: server version is "1" at http://ada:1 and null at http://eve:1; texts may differ, too',
        ], self.said)

    def test_one_that_cannot_be_opened_is_named_with_those_that_can(self) -> None:
        for error, words in (
                (NoServer("no server at http://bob:1"), "no server at http://bob:1 (or leave it out; ready: http://ada:1)"),
                (EnvironmentFailure("no key"), "http://bob:1: no key (or leave it out; ready: http://ada:1)"),
                (Unusable("open() of toys.py failed"), "http://bob:1: open() of toys.py failed")):
            with self.subTest(error=error):
                told = self.refusal(self.at(Robot(), Robot(fails={"open": error})).open, type(error))
                self.assertEqual(words, told)

    def test_where_none_can_be_opened_the_first_is_named(self) -> None:
        fails = {"open": NoServer("nobody there")}
        self.assertEqual("http://ada:1: nobody there",
                         self.refusal(self.at(Robot(fails=fails), Robot(fails=fails)).open, NoServer))

    def test_a_signal_meanwhile_ends_it(self) -> None:
        with self.assertRaises(Interrupted):
            self.at(Robot(), Robot(fails={"open": Interrupted(2)})).open()


class Warming(Several):
    def test_it_takes_as_long_as_the_slowest_and_the_least_context_holds(self) -> None:
        hosts = self.at(Robot(), Robot(loaded=Loaded(3.0, 2048)), Robot(loaded=Loaded(2.0)))
        self.assertEqual(Loaded(3.0, 2048, {"family": "toys"}), hosts.warm())
        self.assertEqual("the servers differ: context length is 4096 at http://ada:1 and 2048 at http://bob:1; texts "
                         "may differ, too", self.said[0])

    def test_a_model_that_cannot_be_loaded_is_told_with_its_host(self) -> None:
        hosts = self.at(Robot(), Robot(fails={"warm": EnvironmentFailure("toy could not be loaded")}))
        self.assertIn("http://bob:1: toy could not be loaded", self.refusal(hosts.warm))

    def test_all_are_let_go_of_even_if_one_will_not(self) -> None:
        class Clinging(Robot):
            def close(self) -> None:
                super().close()
                raise Unusable("no")
        robots = [Robot(), Clinging(), Robot()]
        with self.assertRaises(Unusable):
            self.at(*robots).close()
        self.assertEqual([["close"]] * 3, [robot.calls for robot in robots])


class Held:
    """Answers that are given when the test says so, one after the other."""

    def __init__(self, error: TrialError | None = None) -> None:
        self.came, self.goes, self.error = threading.Semaphore(0), threading.Semaphore(0), error

    def __call__(self, request: Request) -> Reply:
        self.came.release()
        assert self.goes.acquire(timeout=HANGS_S)
        if self.error is not None:
            raise self.error
        return Reply("yes")


def error_of(act: Callable[[], object]) -> TrialError:
    """The error of a trial."""
    try:
        act()
    except TrialError as error:
        return error
    raise AssertionError("it raised no TrialError")


def gone(at: str = "ada") -> TrialError:
    return TrialError("Unreachable", "it cannot be reached", stops=f"the server at http://{at}:1 is gone: start it")


def raises(error: Callable[[], TrialError]) -> Callable[[Request], Reply]:
    def answers(request: Request) -> Reply:
        raise error()
    return answers


class Answering(Several):
    def asked(self, robots: Sequence[Robot]) -> list[int]:
        return [len(robot.calls) for robot in robots]

    def start(self, hosts: SeveralHosts, held: Held) -> threading.Thread:
        """A trial that is under way when this returns."""
        def trial() -> None:
            try:
                hosts.answer(REQUEST)
            except TrialError:
                return
        thread = threading.Thread(target=trial)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(held.goes.release, 100)  # whichever of them waits
        self.assertTrue(held.came.acquire(timeout=HANGS_S))
        return thread

    def test_a_trial_goes_to_the_host_with_most_room(self) -> None:
        held = Held()
        robots = [Robot(answers=held) for _ in range(3)]
        hosts = self.at(*robots, at_each=2)
        self.assertEqual(6, hosts.lanes())
        for number, expected in enumerate(([1, 0, 0], [1, 1, 0], [1, 1, 1], [2, 1, 1], [2, 2, 1], [2, 2, 2])):
            with self.subTest(number=number):
                self.start(hosts, held)
                self.assertEqual(expected, self.asked(robots))

    def test_a_host_that_is_gone_is_left_out_and_a_line_says_so_once(self) -> None:
        robots = [Robot(answers=raises(gone)), Robot(), Robot()]
        hosts = self.at(*robots, at_each=4)
        error = error_of(lambda: hosts.answer(REQUEST))
        self.assertEqual(("Unreachable", None), (error.type, error.stops))
        self.assertEqual(8, hosts.lanes())
        for _ in range(4):
            hosts.answer(REQUEST)
        self.assertEqual([1, 4, 0], self.asked(robots))
        self.assertEqual(["http://ada:1 is gone; the run goes on without it, at http://bob:1, http://eve:1; add "
                          "--retry-errors later for the trials that were lost there"], self.said)

    def test_what_still_waits_for_a_host_that_is_gone_takes_no_room_at_the_others(self) -> None:
        held, other = Held(gone()), Held()
        hosts = self.at(Robot(answers=held), Robot(answers=other), at_each=2)
        first, _, second = (self.start(hosts, which) for which in (held, other, held))
        held.goes.release()
        self.wait_for_one_of(first, second)
        self.assertEqual(3, hosts.lanes())
        held.goes.release()
        first.join()
        second.join()
        self.assertEqual(2, hosts.lanes())
        self.assertEqual(1, len(self.said))

    def wait_for_one_of(self, *threads: threading.Thread) -> None:
        while all(thread.is_alive() for thread in threads):
            threads[0].join(0.005)

    def test_the_last_one_that_goes_stops_the_run_with_its_own_sentence(self) -> None:
        hosts = self.at(Robot(answers=raises(gone)), Robot(answers=raises(lambda: gone("bob"))))
        self.assertIsNone(error_of(lambda: hosts.answer(REQUEST)).stops)
        self.assertEqual("the server at http://bob:1 is gone: start it", error_of(lambda: hosts.answer(REQUEST)).stops)
        self.assertEqual(0, hosts.lanes())
        self.assertEqual(1, len(self.said))
        self.assertIsNotNone(error_of(lambda: hosts.answer(REQUEST)).stops, "nor does it go on for one that was late")

    def test_any_other_error_that_stops_a_run_stops_it_and_names_the_host(self) -> None:
        def changed() -> TrialError:
            return TrialError("ModelChanged", "toy is now another", "text", stops="toy is now another: restore it")
        held = Held()
        hosts = self.at(Robot(answers=held), Robot(answers=raises(changed)))
        self.start(hosts, held)
        error = error_of(lambda: hosts.answer(REQUEST))
        self.assertEqual(("toy is now another", "http://bob:1: toy is now another: restore it"),
                         (error.message, error.stops))
        self.assertEqual((2, []), (hosts.lanes(), self.said))

    def test_a_host_that_only_fails_is_left_out_while_another_answers(self) -> None:
        for error_type in ("ServerError", "BrokenReply", "BadReply", "Unreachable", "ServerBusy"):
            with self.subTest(error_type):
                self.said.clear()
                robots = [Robot(answers=raises(partial(TrialError, error_type, "no"))), Robot()]
                hosts = self.at(*robots)
                for _ in range(5):
                    self.assertEqual(2, hosts.lanes())
                    self.assertEqual(error_type, error_of(partial(hosts.answer, REQUEST)).type)
                self.assertEqual(1, hosts.lanes())
                hosts.answer(REQUEST)
                self.assertEqual([5, 1], self.asked(robots))
                self.assertEqual([f"http://ada:1 failed 5 trials in a row (the last: {error_type}); the run goes on "
                                  "without it, at http://bob:1; add --retry-errors later for the trials that were lost "
                                  "there"], self.said)

    def test_a_host_is_not_left_out_where_the_model_fails_or_an_answer_came_between(self) -> None:
        numbers = itertools.count(1)

        def but_every_fifth(request: Request) -> Reply:
            if next(numbers) % 5 == 0:
                return Reply("yes")
            raise TrialError("ServerError", "no")

        for answers in (but_every_fifth, *(raises(partial(TrialError, error_type, "no")) for error_type in (
                "Timeout", "Unfinished", "PromptTooLong", "ReplyTooLarge"))):
            hosts = self.at(Robot(answers=answers), Robot())
            for _ in range(20):
                with contextlib.suppress(TrialError):
                    hosts.answer(REQUEST)
            self.assertEqual((2, []), (hosts.lanes(), self.said))

    def test_no_host_is_left_out_where_all_fail(self) -> None:
        failing = TrialError("ServerError", "no")
        held = Held(failing)
        robots = [Robot(answers=held), Robot(answers=raises(lambda: failing))]
        hosts = self.at(*robots)
        first = self.start(hosts, held)
        error_of(lambda: hosts.answer(REQUEST))
        held.goes.release(100)
        first.join()
        for _ in range(20):
            error_of(lambda: hosts.answer(REQUEST))
        self.assertEqual(([21, 1], 2, []), (self.asked(robots), hosts.lanes(), self.said))

    def test_an_error_that_stops_nothing_stays_as_it_is(self) -> None:
        hosts = self.at(Robot(answers=raises(lambda: TrialError("Unreachable", "for a moment"))), Robot())
        self.assertIsNone(error_of(lambda: hosts.answer(REQUEST)).stops)
        self.assertEqual((2, []), (hosts.lanes(), self.said))


class OfAModule(InAFolder):
    def test_a_module_of_the_user_is_asked_for_a_system_at_each_host(self) -> None:
        self.write("toys.py", MODULE)
        said: list[str] = []
        options = SystemOptions(Clock(), StopRequest(), said.append, TASK, ())
        hosts = on_several_hosts("toys:robot", options, [self.folder], ("ada:1", "bob:2"), 1)
        with self.assertRaises(EnvironmentFailure) as caught:
            hosts.open()
        self.assertIn('asked at is "1" at http://ada:1 and "2" at http://bob:2', str(caught.exception))
        self.assertEqual(["nothing pins robot"], said, "what both say is said once")

    def test_the_same_server_is_refused_however_it_is_written(self) -> None:
        options = SystemOptions(Clock(), StopRequest(), lambda line: None, TASK, ())
        table: tuple[tuple[str, Any, bool], ...] = (
            ("ollama:toy", ("ada", "ada:11434"), True), ("openai:toy", ("ada", "ada:8080"), True),
            ("openai:toy", ("ada", "ada:11434"), False), ("ollama:toy", ("localhost:1", "http://127.0.0.1:1"), True),
            ("ollama:toy", ("ada", "bob", "http://ADA:11434/"), True),
            ("openai:toy", ("http://ada:1", "http://ada:1/v1"), True), ("ollama:toy", ("", "0.0.0.0"), True),
            ("openai:toy", ("https://ada/one", "https://ada/two"), False), ("ollama:toy", ("ada:1", "ada:2"), False),
            ("ollama:toy", ("[::1]:1", "127.0.0.1:1"), False), ("ollama:toy", ("[::1]:1", "[0:0::0:1]:1"), True),
            ("ollama:toy", ("127.0.0.1:1", "[::ffff:127.0.0.1]:1"), True),
            ("ollama:toy", ("127.0.0.1:1", "127.0.0.2:1"), False))
        for name, hosts, are_one in table:
            with self.subTest(hosts=hosts):
                if are_one:
                    with self.assertRaisesRegex(Unusable, r"\A--host: http\S+ is given 2 times; give each server once"):
                        on_several_hosts(name, replace(options, environment={}), [], hosts, 1)
                else:
                    self.assertEqual(2, on_several_hosts(name, replace(options, environment={}), [], hosts, 1).lanes())


if __name__ == "__main__":
    unittest.main()
