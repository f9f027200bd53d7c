"""Playing: the rules of a game, what a player sends and sums up, and what of it is in the trace."""
from __future__ import annotations

import tempfile
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchkit.basics.clock import Clock
from benchkit.basics.errors import Interrupted, TrialError, Unusable
from benchkit.basics.json_text import ask_of, short_digest
from benchkit.basics.values import JSON, Case, Cell, Failure, Message, Reply, Request, Timings, Usage
from benchkit.boards.game import GameRules, Played, game_of, games_of, play
from benchkit.boards.pack import load_pack
from benchkit.boards.playing import TracedSystem
from benchkit.boards.solvers import baseline_solver
from benchkit.boards.usage import bill_of
from tests import toy_game
from tests.toy_game import ANSWER, CASES, LONG_LOOK, LOOK, ROBOT, Batch, Robot, timed_out, toy_pack

ROOT = Path(__file__).resolve().parent.parent
GATED, SINGLE = GameRules("gated"), GameRules("single")


def played(script: Sequence[str], rules: GameRules = GATED) -> tuple[Played, list[Sequence[Message]]]:
    """The game of a script, and the conversations it was handed."""
    talks: list[Sequence[Message]] = []

    def say(number: int, talk: Sequence[Message]) -> str:
        talks.append(talk)
        return script[number - 1]
    return play(game_of(toy_pack(), CASES[0], rules), say), talks


class Kept:
    """A trace that is only kept in memory."""

    def __init__(self) -> None:
        self.started: list[tuple[Cell, int, str]] = []
        self.events: list[tuple[int, str, Mapping[str, Any]]] = []

    def start(self, cell: Cell, attempt: int, geometry: str) -> None:
        self.started.append((cell, attempt, geometry))

    def emit(self, step: int, kind: str, data: Mapping[str, JSON]) -> None:
        self.events.append((step, kind, data))

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return [data for _step, name, data in self.events if name == kind]

    def story(self) -> list[str]:
        return [f"{step} {kind}" for step, kind, _data in self.events]


class TheGame(unittest.TestCase):
    def test_a_solver_buys_until_it_answers(self) -> None:
        game, talks = played([LOOK, LONG_LOOK, ANSWER])
        self.assertEqual((game.answer, game.is_answer, game.cost), (ANSWER, True, 4.0))
        self.assertEqual([step.said for step in game.steps], [None, LOOK, LONG_LOOK])
        self.assertEqual([len(step.observations) for step in game.steps], [1, 1, 1])
        self.assertEqual([message["content"] for message in talks[2][2:]],
                         [LOOK, "3 coins and 3 messages left", LONG_LOOK, "0 coins and 2 messages left"])

    def test_the_last_message_is_the_answer_whatever_it_says_and_buys_nothing(self) -> None:
        for last, is_answer in ((LOOK, False), ("", False), ("words", False), (ANSWER, True)):
            with self.subTest(last):
                game, talks = played([LOOK, "words", "words", last])
                self.assertEqual((game.answer, game.is_answer, game.cost), (last, is_answer, 1.0))
                self.assertEqual((len(talks), len(game.steps)), (4, 4))
                self.assertIn("1 messages left", talks[3][-1]["content"])

    def test_a_purchase_over_budget_and_an_unreadable_message_cost_a_step_and_no_coin(self) -> None:
        game, _talks = played([LONG_LOOK, LONG_LOOK, "gibberish", ANSWER])
        self.assertEqual(game.cost, 3.0)
        self.assertEqual([step.error for step in game.steps],
                         [None, None, "that costs more than is left", "that is neither"])

    def test_single_is_the_game_of_one_message_and_a_job_gives_other_limits(self) -> None:
        game, talks = played([LOOK], SINGLE)
        self.assertEqual((game.answer, game.is_answer, len(game.steps), len(talks)), (LOOK, True, 1, 1))
        game, talks = played([LOOK, LOOK], GameRules("gated", budget=0.5, steps=2))
        self.assertIn("0.5 coins, 2 messages", talks[0][0]["content"])
        self.assertEqual((game.cost, game.steps[1].error), (0.0, "that costs more than is left"))

    def test_the_ask_covers_what_is_handed_and_what_is_for_sale(self) -> None:
        first = game_of(toy_pack(), CASES[0], GATED)
        opening, messages = first.opening, first.prompt.messages
        prices: JSON = {"unit": "coins", "budget": 4.0, "steps": 4, "prices": {"look": 1.0, "long look": 3.0}}
        self.assertEqual(first.prompt.ask, short_digest({
            "messages": messages, "schema": {"type": "string"}, "payload": opening.payload, "tools": opening.tools,
            "prices": prices}))
        for other in (game_of(toy_pack(), CASES[0], GameRules("gated", budget=5)),
                      game_of(toy_pack(), CASES[0], GameRules("gated", steps=3)),
                      game_of(toy_pack(payload=lambda case, geometry: {"observations": []}), CASES[0], GATED)):
            self.assertNotEqual(other.prompt.ask, first.prompt.ask)
        in_single = game_of(toy_pack(), CASES[0], SINGLE).prompt
        self.assertEqual(in_single.ask, ask_of(in_single.messages, {"type": "string"}))

    def test_a_pack_that_fails_is_one_line_that_names_pack_case_and_function(self) -> None:
        def broken(*_given: object) -> Any:
            raise KeyError("no colour")
        one = CASES[0]
        for pack, wanted in (
            (toy_pack(payload=broken), "pack toys, case toy-1: payload raised KeyError: 'no colour'"),
            (toy_pack(payload=lambda case, geometry: {1, 2}),  # type: ignore[arg-type,return-value]
             "pack toys, case toy-1: payload gives something that is not JSON"),
            (toy_pack(messages=lambda *given: []), "pack toys, case toy-1: messages is not a list of at least one"),
            (toy_pack(messages=broken), "pack toys, case toy-1: messages raised KeyError"),
            (toy_pack(turn=broken), "pack toys, case toy-1: turn raised KeyError: 'no colour'"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(Unusable, f"^{wanted}"):
                play(game_of(pack, one, GATED), lambda number, talk: LOOK)
        with self.assertRaisesRegex(Unusable, "cannot be asked in doubled; they can be in single and gated"):
            game_of(toy_pack(), one, GameRules("doubled"))


class ThePlayer(unittest.TestCase):
    def setUp(self) -> None:
        self.trace, self.now = Kept(), 100.0

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def player(self, robot: Robot, rules: GameRules = GATED) -> TracedSystem:
        games = games_of(toy_pack(), CASES, rules)
        return TracedSystem(robot, ROBOT, games, self.trace, Clock(self.tick, lambda: 1.8e9), 60.0)

    def ask(self, robot: Robot, rules: GameRules = GATED) -> Reply:
        prompt = games_of(toy_pack(), CASES, rules)["toy-1"].prompt
        return self.player(robot, rules).answer(
            Request("toy-1", 2, 3, 1002, prompt.messages, prompt.schema, deadline=77.0))

    def test_every_event_of_a_game_stands_at_its_step(self) -> None:
        self.ask(Robot([LOOK, "gibberish", ANSWER]))
        self.assertEqual(self.trace.started, [(Cell(ROBOT, "toy-1", 2), 3, "gated")])
        self.assertEqual(self.trace.story(), [
            "0 trial/start", "1 context/system", "1 context/user", "1 assistant/message", "1 tool/call",
            "1 tool/result", "2 context/user", "2 assistant/message", "2 tool/call", "2 tool/result",
            "3 context/user", "3 assistant/message", "3 trial/end"])
        self.assertEqual([data["arguments"] for data in self.trace.of("tool/call")], [LOOK, "gibberish"])
        self.assertEqual([(data["call_id"], data["cost"], data["error"]) for data in self.trace.of("tool/result")],
                         [("1.1", 1.0, None), ("2.1", 0.0, "that is neither")])
        self.assertEqual(self.trace.of("trial/end"), [{"ended": "answer", "messages": 3, "cost": 1.0}])

    def test_what_is_sent_is_the_conversation_of_the_trace_each_request_with_the_whole_timeout(self) -> None:
        robot = Robot([LOOK, LOOK, ANSWER])
        self.ask(robot)
        told = [data["text"] for _step, kind, data in self.trace.events
                if kind in ("context/system", "context/user", "assistant/message")]
        self.assertEqual([message["content"] for message in robot.asked[2].messages], told[:-1])
        self.assertEqual([(one.seed, one.trial, one.attempt, one.schema) for one in robot.asked],
                         [(1002, 2, 3, {"type": "string"})] * 3)
        first, second, third = (one.deadline for one in robot.asked)
        self.assertEqual(first, 77.0)
        self.assertTrue(160 < second < third)

    def test_the_reply_is_the_last_message_with_the_sums_of_all_steps(self) -> None:
        last = Reply(ANSWER, "length", "thoughts", Usage(30, 1), Timings(output_s=0.5), 0.3000004, 0, 0.0)
        reply = self.ask(Robot([LOOK, last]))
        self.assertEqual((reply.output, reply.finish, reply.reasoning), (ANSWER, "length", "thoughts"))
        self.assertEqual((reply.usage, reply.timings), (Usage(40, 4), Timings(output_s=0.75)))
        self.assertEqual((reply.latency_s, reply.retries, reply.waited_s), (0.4, 1, 0.5))

        reply = self.ask(Robot([LOOK, Reply(ANSWER, latency_s=1.0)]))
        self.assertEqual((reply.usage, reply.timings), (Usage(), Timings()), "one step does not say")
        self.assertEqual(self.ask(Robot([Reply(LOOK), Reply(ANSWER)])).latency_s, 2.0, "it does not time itself")

    def test_an_error_keeps_all_that_had_come_and_has_the_sums(self) -> None:
        long = "x" * 100_000
        with self.assertRaises(TrialError) as raised:
            self.ask(Robot([LOOK, timed_out(long)]))
        error = raised.exception
        self.assertEqual((error.type, error.partial, error.retries, error.waited_s), ("Timeout", long, 3, 0.75))
        self.assertEqual(error.latency_s, 1.1)
        self.assertEqual(self.trace.story()[-4:],
                         ["2 context/user", "2 assistant/attempt", "2 trial/error", "2 trial/end"])
        attempt = self.trace.of("assistant/attempt")[0]
        self.assertEqual((attempt["text"], attempt["error"], attempt["retries"]), (long, "Timeout", 2))
        self.assertEqual(self.trace.of("trial/end"), [{"ended": "error", "messages": 1, "cost": 1.0}])

    def test_an_error_of_the_first_step_is_a_trial_of_no_message_and_still_stops_for_good(self) -> None:
        with self.assertRaises(TrialError) as raised:
            self.ask(Robot([TrialError("Unreachable", "nobody there", stops="the server is gone")]))
        self.assertEqual(raised.exception.stops, "the server is gone")
        self.assertEqual(self.trace.of("trial/end"), [{"ended": "error", "messages": 0, "cost": 0.0}])
        self.assertEqual(self.trace.of("assistant/attempt")[0]["text"], None)

    def test_a_signal_leaves_the_trial_open(self) -> None:
        with self.assertRaises(Interrupted):
            self.ask(Robot([LOOK, Interrupted(2)]))
        self.assertEqual(self.trace.story()[-1], "2 context/user")

    def test_in_single_a_trial_is_one_request(self) -> None:
        robot = Robot([LOOK])
        self.assertEqual(self.ask(robot, SINGLE).output, LOOK)
        self.assertEqual(self.trace.story(), ["0 trial/start", "1 context/system", "1 context/user",
                                              "1 assistant/message", "1 trial/end"])
        self.assertEqual([self.trace.of("trial/start")[0][name] for name in ("tools", "prices")], [None, None])

    def test_the_step_limit_ends_a_trial_with_its_last_message(self) -> None:
        self.assertEqual(self.ask(Robot([LOOK] * 4)).output, LOOK)
        self.assertEqual(self.trace.of("trial/end"), [{"ended": "last message", "messages": 4, "cost": 3.0}])

    def test_a_player_is_open_and_closed_with_its_system(self) -> None:
        robot = Robot()
        player = self.player(robot)
        self.assertEqual((player.open()["server"], player.settings(), player.warm().load_s),
                         ("robots", {"temperature": 1.0}, 0.5))
        player.close()
        self.assertTrue(robot.is_closed)


class Baselines(unittest.TestCase):
    def answer(self, function: Any, seed: int = 7) -> Reply:
        solver = baseline_solver(toy_pack(answer=function), "looker", CASES, "gated")
        return solver.answer(Request("toy-1", 1, 1, seed, toy_game.first_messages(None, None, None), None, 0.0))

    def test_a_baseline_is_handed_view_seed_and_conversation(self) -> None:
        reply = self.answer(lambda view, seed, messages: f"{view['geometry']} {seed} {messages[1]['content']}")
        self.assertEqual(reply.output, "gated 7 Which is it?")
        self.assertEqual(baseline_solver(toy_pack(), "looker", CASES, "gated").settings(),
                         {"baseline_sha256": "1" * 64})

    def test_one_that_fails_makes_its_trial_incomplete(self) -> None:
        def fails(view: object, seed: int, messages: object) -> str:
            raise IndexError
        for function, wanted in (
            (fails, "ServerError: the baseline raised IndexError"),
            (lambda view, seed, messages: 5, "BadReply: the baseline gave int, not text"),
            (lambda view, seed, messages: "\ud800", "BadReply: the baseline gave a text with a lone surrogate"),
        ):
            with self.subTest(wanted), self.assertRaises(TrialError) as raised:
                self.answer(function)
            self.assertEqual(str(raised.exception), wanted)

        with self.assertRaisesRegex(Unusable, "^baselines:guess: pack toys has no such baseline; there are looker$"):
            baseline_solver(toy_pack(), "guess", CASES, "gated")


class Sums(unittest.TestCase):
    def test_seconds_are_rounded_before_they_are_added_and_a_step_without_reply_leaves_usage_unknown(self) -> None:
        self.assertEqual(bill_of([Reply("", latency_s=0.0000004), Reply("", latency_s=0.0000004)]).latency_s, 0.0)
        failure = Failure(None, 1.0, 1, 0.5)  # type: ignore[arg-type]
        bill = bill_of([Reply("", usage=Usage(1, 2), latency_s=2.0), failure])
        self.assertEqual((bill.usage, bill.latency_s, bill.retries, bill.waited_s), (Usage(), 3.0, 1, 0.5))


class TheExamplePack(unittest.TestCase):
    def test_all_its_baselines_play_both_geometries_and_the_trace_agrees(self) -> None:
        pack = load_pack("early_warning", [ROOT])
        cases = tuple(pack.build(1, 2, None))
        for geometry in ("single", "gated"):
            with self.subTest(geometry), tempfile.TemporaryDirectory() as folder:
                batch = Batch(Path(folder), GameRules(geometry), pack, cases)
                solvers = {f"baselines:{name}": baseline_solver(pack, name, cases, geometry)
                           for name in pack.baselines}
                self.assertEqual(batch.run(solvers).reason, "complete")
                verification = batch.verified()
                self.assertEqual((verification.segments, verification.violations), (2 * len(solvers), ()))

    def test_a_trial_of_a_session_is_the_game_of_the_batch_gate(self) -> None:
        pack = load_pack("early_warning", [ROOT])
        case: Case = pack.build(3, 1, None)[0]
        baseline = pack.baselines["threshold"]
        expected = play(game_of(pack, case, GATED),
                        lambda number, talk: baseline.answer(baseline.handed(case, "gated"), 1001, talk))
        with tempfile.TemporaryDirectory() as folder:
            batch = Batch(Path(folder), GATED, pack, (case,))
            batch.run({"baselines:threshold": baseline_solver(pack, "threshold", (case,), "gated")})
            outcome = batch.trials()[0].outcome
        self.assertIsInstance(outcome, Reply)
        self.assertEqual(getattr(outcome, "output", None), expected.answer)
