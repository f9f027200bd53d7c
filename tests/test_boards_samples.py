"""Sampled cases and the facts of systems: taken from log and trace as they are, and looked through for leaks."""
from __future__ import annotations

import tempfile
import unittest
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchkit.basics.errors import Interrupted, Unusable
from benchkit.basics.values import Case, Reply, Timings, Usage
from benchkit.boards.findings import BaselineAgreement, Gathered, SystemFacts, agreements_of, facts_of
from benchkit.boards.game import GameRules
from benchkit.boards.pack import Pack
from benchkit.boards.samples import Purchase, SampledCase, choose
from benchkit.boards.standings import ranking_of, records_of
from benchkit.boards.usage import TokenUse
from benchkit.running.plan import Selection
from tests.toy_game import ANSWER, LONG_LOOK, LOOK, ROBOT, Batch, Robot, timed_out, toy_pack

LOOKER = "baselines:looker"
HANDED, BOUGHT = "a thing", "red, I think"


class Recorded(unittest.TestCase):
    pack = toy_pack()

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.batch = Batch(Path(folder.name))

    def run_robot(self, *script: str | Reply | Exception, selection: Selection | None = None) -> None:
        self.batch.run({ROBOT: Robot(list(script))}, selection=selection or Selection())

    def samples(self, pack: Pack | None = None, *systems: str) -> tuple[SampledCase, ...]:
        examined = self.batch.examined(pack or self.pack)
        return examined.sampling.cases(examined.rows, systems or (ROBOT,))


class WhatWasSeen(Recorded):
    def test_observations_stand_in_the_order_of_time_with_who_bought_and_who_cites_them(self) -> None:
        self.batch.run()
        self.run_robot(LOOK, "it is red, see o1", ANSWER)
        first, second = self.samples(None, ROBOT, LOOKER)
        self.assertEqual([("o0", HANDED, ()), ("o1", BOUGHT, (ROBOT, LOOKER)), ("o2", BOUGHT, (LOOKER,))],
                         [(one.id, one.text, one.bought_by) for one in first.observations])
        self.assertEqual([(), (ROBOT,), ()], [one.cited_by for one in first.observations])
        self.assertEqual(("12:00", "red", '"red"'), (first.now, first.answer_key, first.truth))
        self.assertEqual(["toy-1", "toy-2"], [first.id, second.id])

    def test_an_answer_stands_with_its_scores_its_purchases_and_its_line(self) -> None:
        self.run_robot(LOOK, "nonsense", ANSWER, ANSWER)
        first, second = (case.answers[0] for case in self.samples())
        self.assertEqual((ROBOT, 1, 1, ANSWER, None, 1), (
            first.system, first.trial, first.attempt, first.output, first.error, first.eval_line))
        self.assertEqual([("right", "capability", 1.0)], [(one.track, one.kind, one.value) for one in first.scores])
        self.assertEqual((Purchase(LOOK, 1.0, ("o1",), None), Purchase("nonsense", 0.0, (), "that is neither")),
                         first.purchases)
        self.assertEqual(((), 2), (second.purchases, second.eval_line))

    def test_an_incomplete_cell_says_why_and_has_no_scores(self) -> None:
        self.run_robot(LOOK, timed_out(), selection=Selection(limit=1))
        first, second = (case.answers[0] for case in self.samples())
        self.assertEqual((None, "Timeout: no whole reply within 1 s", ()), (first.output, first.error, first.scores))
        self.assertEqual((None, "NotRun: not run: only some cases were asked for"), (second.output, second.error))

    def test_only_the_numbers_of_ids_that_stand_for_themselves_are_citations(self) -> None:
        self.run_robot(LOOK, 'it is red ["o11","oo1","o0-1"]', ANSWER)
        self.assertEqual([(), ()], [one.cited_by for one in self.samples()[0].observations])


class WhatWasShown(Recorded):
    def test_it_is_word_for_word_what_the_trace_has_and_once_for_all_who_were_shown_the_same(self) -> None:
        self.batch.run()
        self.run_robot(LOOK, LONG_LOOK, ANSWER, ANSWER)
        payload, = [one for one in self.samples(None, ROBOT, LOOKER)[0].payloads if ROBOT in one.systems]
        self.assertEqual([("system", 1, "Name the colour. 4 coins, 4 messages."), ("user", 1, "Which is it?"),
                          ("user", 2, "3 coins and 3 messages left"), ("user", 3, "0 coins and 2 messages left")],
                         [(one.role, one.step, one.text) for one in payload.messages])
        alone = self.samples(None, ROBOT, LOOKER)[1].payloads
        self.assertEqual([(ROBOT,), (LOOKER,)], [one.systems for one in alone])

    def test_a_block_with_a_truth_term_is_left_out_with_a_warning(self) -> None:
        self.run_robot(LOOK, ANSWER, ANSWER)
        for term, is_payload, is_seen in (
                ("WHICH is it", True, False), ("i think", False, True), ("blue", False, False), (ANSWER, False, False)):
            with self.subTest(term):
                def terms(case: Case, term: str = term) -> list[str]:
                    return [term]
                case = self.samples(replace(self.pack, truth_terms=terms))[0]
                payload = case.payloads[0]
                self.assertEqual(is_payload, payload.warning is not None and payload.messages == ())
                self.assertEqual((1, 1) if is_seen else (2, 0), (len(case.observations), len(case.warnings)))
                self.assertNotIn(term.casefold(), "".join(one.text for one in payload.messages).casefold())

    def test_a_right_answer_that_the_pack_cannot_say_any_more_is_unreadable(self) -> None:
        self.run_robot(ANSWER, ANSWER)

        def raises(case: Case) -> str:
            raise KeyError("colour")
        self.assertEqual({"unreadable"}, {
            case.answer_key for case in self.samples(replace(self.pack, answer_key=raises))})

    def test_a_pack_that_cannot_say_what_must_not_be_shown_is_named_with_the_case(self) -> None:
        self.run_robot(ANSWER, ANSWER)

        def raises(case: Case) -> list[str]:
            raise KeyError("colour")
        with self.assertRaisesRegex(Unusable, "pack toys, case toy-1: truth_terms raised KeyError"):
            self.samples(replace(self.pack, truth_terms=raises))


class Choosing(unittest.TestCase):
    def test_every_answer_is_sampled_before_one_is_sampled_twice(self) -> None:
        cases = tuple(Case(f"c{number}", "s", None, word) for number, word in enumerate("aaaaaaabc"))
        pack = replace(toy_pack(), answer_key=lambda case: str(case.expected))
        self.assertEqual(["c0", "c1", "c2", "c3", "c7", "c8"], [case.id for case in choose(cases, pack)])
        self.assertEqual(["c0", "c7"], [case.id for case in choose((cases[0], cases[7]), pack)])


class Facts(Recorded):
    def facts(self) -> tuple[Mapping[str, Gathered], Mapping[str, SystemFacts], tuple[BaselineAgreement, ...]]:
        examined = self.batch.examined(self.pack)
        ranking, gathered = ranking_of(records_of(examined.rows), self.pack), examined.gathered
        facts = facts_of(gathered, examined.log, examined.rows, ranking)
        return gathered, {one.system: one for one in facts}, agreements_of(gathered, ranking)

    def test_what_a_failed_step_and_a_trial_that_was_cut_off_used_is_counted(self) -> None:
        one = Reply(LOOK, usage=Usage(10, 3))
        self.run_robot(one, one, timed_out(), Reply(ANSWER, usage=Usage(5, 1)))
        self.assertEqual(TokenUse(6, 3, 25, 7, lost=3), self.facts()[1][ROBOT].tokens)
        with self.assertRaises(Interrupted):
            self.run_robot(one, Interrupted(2), selection=Selection(retry_errors=True))
        self.assertEqual(1, self.batch.verified().abandoned)
        self.assertEqual(TokenUse(7, 4, 35, 10, lost=3), self.facts()[1][ROBOT].tokens)

    def test_a_server_that_brought_no_reply_did_not_keep_silent_about_tokens(self) -> None:
        self.run_robot(timed_out(), timed_out())
        self.assertEqual("absent:no_reply", self.facts()[1][ROBOT].tokens.to_wire())

    def test_tokens_are_of_all_requests_and_everything_else_of_the_attempts_that_count(self) -> None:
        self.run_robot(timed_out(), ANSWER)
        self.run_robot(LOOK, ANSWER, selection=Selection(retry_errors=True))
        robot = self.facts()[1][ROBOT]
        self.assertEqual((TokenUse(9, 3, 30, 9, lost=6), 1, {}), (robot.tokens, robot.attempts, robot.incomplete))
        self.assertEqual(12.0, robot.output_per_second)
        self.assertEqual((0, 2), (robot.warm.n, robot.cold.n))
        self.assertEqual(({ANSWER: 2}, {"temperature": 1.0}), (robot.said, robot.settings))

    def test_a_baseline_calls_nobody(self) -> None:
        self.batch.run()
        looker = self.facts()[1][LOOKER]
        self.assertEqual("absent:cache_only", looker.tokens.to_wire())
        self.assertIsNone(looker.output_per_second)

    def test_a_server_that_says_nothing_of_tokens_is_told_apart_from_no_call(self) -> None:
        self.run_robot(*[Reply(ANSWER, usage=Usage(), timings=Timings())] * 2)
        self.assertEqual("absent:not_reported", self.facts()[1][ROBOT].tokens.to_wire())

    def test_incomplete_cells_are_counted_by_type(self) -> None:
        self.batch.rules = GameRules("single")
        self.run_robot(timed_out(), selection=Selection(limit=1))
        self.assertEqual({"NotRun": 1, "Timeout": 1}, self.facts()[1][ROBOT].incomplete)
        self.assertEqual((1, 1), (self.facts()[1][ROBOT].cold.n, self.facts()[1][ROBOT].cold.timeouts))

    def test_agreement_is_over_the_cells_that_both_answered(self) -> None:
        self.batch.run()
        self.run_robot(ANSWER, timed_out())
        self.assertEqual((BaselineAgreement(ROBOT, LOOKER, 1, 1),), self.facts()[2])

    def test_an_answer_that_the_pack_cannot_read_is_unreadable_and_why_is_kept(self) -> None:
        self.run_robot(ANSWER, ANSWER)

        def raises(said: str) -> str:
            raise ValueError(said)
        its = self.batch.examined(replace(self.pack, said_key=raises)).gathered[ROBOT]
        self.assertEqual(({"ValueError": 2}, {"unreadable": 2}), (its.unread, its.said))
