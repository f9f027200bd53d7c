"""Questions: made through two gates, kept with their truth, checked on every read."""
from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchkit.basics.clock import Clock
from benchkit.basics.errors import EnvironmentFailure, TrialError, Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.values import JSON, Case, Reply, Request, Usage
from benchkit.boards.job import BatchGate, FromPack, FromTask, Job, JobLimits
from benchkit.boards.job_pack import pack_of_task
from benchkit.boards.pack import Pack, PackBaseline, load_pack
from benchkit.boards.question_gates import (
    LEAK,
    NO_ANSWER,
    PROBLEM,
    REPEAT,
    Dropped,
    GateFigures,
    figures_of,
    figures_to_wire,
    leaked_terms,
)
from benchkit.boards.questions import (
    Questions,
    Rewording,
    line_of,
    make_questions,
    read_questions,
    rules_of,
)
from benchkit.boards.usage import TokenUse
from benchkit.systems.system import Loaded
from benchkit.tasks.task import in_split, load_task, read_cases
from tests.boards_packs import PACK, PackTest

ROOT = Path(__file__).resolve().parent.parent
WIDE = BatchGate(1, 1.0, 1.0)


def job(count: int = 6, seed: int = 1, **more: Any) -> Job:
    """A job of the small pack, its batch gate wide open."""
    return Job("mine", FromPack("tiny", count, seed), ("baselines:even",), **{"batch_gate": WIDE, **more})


class MuteError(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


def mute(*given: object) -> Any:
    """A function of a pack that fails so."""
    raise MuteError


def raising(*given: object) -> Any:
    """A function of a pack that fails."""
    raise KeyError("secret")


class TheEmissionGate(PackTest):
    ALL = tuple(f"T-{number}" for number in range(1, 7))

    def dropped(self, old: str = "\n", new: str = "\n", **more: Any) -> tuple[Dropped, ...]:
        """What is dropped of a pack with a change of its text, where that stands last."""
        head, there, tail = PACK.rpartition(old)
        self.assertTrue(there)
        return make_questions(job(**more), self.tiny(pack=head + new + tail)).figures.dropped

    def test_good_questions_all_pass_in_order(self) -> None:
        made = make_questions(job(), self.tiny())
        self.assertEqual(list(self.ALL), [case.id for case in made.cases])
        self.assertEqual((6, 6, ()), (made.figures.made, made.figures.kept, made.figures.dropped))
        self.assertEqual((Dropped("T-13", PROBLEM, "13 brings bad luck"),), self.dropped(seed=12))

    def test_what_must_not_be_asked_is_dropped_with_words_before_anybody_is_asked(self) -> None:
        everyone, both, gated = self.ALL, ("single", "gated"), ("gated",)
        in_payload, in_purchase = '{"id": "o1", "minute": 0,', '{"id": f"h{len(steps)}", "minute": 0,'
        half, told = "its half is {case.input['number'] / 2}", "return f\"{turn.error or turn.observations[0]['text']}."
        hint, nothing = "a solver that buys hint is shown", "a solver that buys a message that buys nothing is shown"
        ask = 'view["observations"][0]["text"]'
        table: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...], str, str], ...] = (
            ("return case.expected\n\ndef said", 'return "" if case.id == "T-2" else "x"\n\ndef said', both, ("T-2",),
             NO_ANSWER, "it has no answer"),
            # the truth, wherever a solver looks and however cased
            ('return {"geometry"', 'return {"note": f"TRUTH={case.expected}".upper() * (case.id == "T-3"), "geometry"',
             both, ("T-3",), LEAK, "a solver is shown 'truth=odd'"),
            (f"{ask} + limits", f'{ask} + limits + " Truth=odd" * (" 3 " in {ask})', both, ("T-3",), LEAK,
             "a solver is shown 'truth=odd'"),
            ("return None\n\ndef prices", f'return {{"const": "truth=odd"}} if " 3 " in {ask} else None\n\ndef prices',
             both, ("T-3",), LEAK, "a solver is shown 'truth=odd'"),
            ('"a hint", 2.0', '"truth=odd" if case.id == "T-3" else "a hint", 2.0', gated, ("T-3",), LEAK,
             "a solver is shown 'truth=odd'"),
            # what can be bought, also when it is bought again; names in it; the words for a purchase; a refusal
            (half, "truth={case.expected}", gated, everyone, LEAK, f"{hint} 'truth=odd'"),
            (half, half + "{'' if len(steps) < 2 else ' truth=' + case.expected}", gated, everyone, LEAK,
             f"{hint} 'truth=odd'"),
            ('"service": "sums"', '"service": "sums", "truth=" + case.expected: 1', gated, everyone, LEAK,
             f"{hint} 'truth=odd'"),
            (told, told.replace("return f", "return 'truth=odd truth=even ' + f"), gated, everyone, LEAK,
             f"{nothing} 'truth=odd'"),
            ('error="neither a word nor hint"', 'error="truth=" + case.expected', gated, everyone, LEAK,
             f"{nothing} 'truth=odd'"),
            # what was observed after now, or at no time
            (in_payload, '{"id": "o1", "minute": 5,', both, everyone, PROBLEM, "o1 is 5 minutes later than now"),
            (in_payload, '{"id": "o1", "minute": 0.5,', both, everyone, PROBLEM, "o1 is 0.5 minutes later than now"),
            (in_payload, '{"id": "o1",', both, everyone, PROBLEM, "o1 has no time: its minute is no number"),
            (in_payload, '{"id": "o1", "minute": True,', both, everyone, PROBLEM, "o1 has no time"),
            ('"now": "12:00", ', "", both, everyone, PROBLEM, "the payload does not say when now is"),
            (in_purchase, '{"id": "h", "minute": 3,', gated, everyone, PROBLEM,
             "h is 3 minutes later than now, for who buys hint"),
            (in_purchase, '{"id": "h",', gated, everyone, PROBLEM,
             "h has no time: its minute is no number, for who buys hint"),
            # what was asked before
            ('"single"):\n', '"single"):\n    case = build(1, 1)[0] if case.id == "T-4" else case\n', both, ("T-4",),
             REPEAT, "its payload is that of T-1"),
            (f"{ask} + limits", f'({ask} + limits).replace("5", "2")', ("single",), ("T-5",), REPEAT,
             "it asks what T-2 asks"),
        )
        for old, new, geometries, cases, reason, detail in table:
            for geometry in ("single", "gated"):
                with self.subTest(new, geometry=geometry):
                    found = self.dropped(old, new, geometry=geometry)
                    self.assertEqual([(case, reason) for case in cases] if geometry in geometries else [],
                                     [(one.case, one.reason) for one in found])
                    self.assertIn(detail, found[0].detail if found else detail)

    def test_leaks_are_looked_for_alike_in_any_text(self) -> None:
        pack = self.tiny()
        case = pack.build(1, 1, None)[0]
        self.assertEqual(("truth=odd",), leaked_terms(pack, case, "xx TRUTH=ODD xx"))
        self.assertEqual((), leaked_terms(pack, case, "truth = odd"))

    def test_a_pack_is_not_asked_for_what_no_solver_can_do(self) -> None:
        unread = '    return Turn("unreadable", error="neither a word nor hint")'
        told = "return f\"{turn.error or turn.observations[0]['text']}."
        for what, old, new, limits in (
            ("a reply to an answer", unread.strip(), 'return Turn("answer")', JobLimits()),
            ("a purchase beyond the budget", "if left < 2:", "if len(steps) > 1:\n        1 / 0\n    if left < 2:",
             JobLimits(budget=2.0)),
            ("a reply to the only message", told, "1 / steps_left\n    " + told, JobLimits(steps=1)),
        ):
            with self.subTest(what):
                self.assertEqual((), self.dropped(old, new, geometry="gated", limits=limits))

    def test_a_menu_that_cannot_be_bought_is_named_until_the_pack_says_how(self) -> None:
        strange = PACK.replace('!= "hint"', '!= "I take hint"')
        said = '\ndef purchase(tool, service):\n    return f"I take {tool.name}"\n'
        with self.assertRaisesRegex(Unusable, "no message that is known buys hint, so it cannot be looked at .* "
                                              r"purchase\(tool, service\)"):
            make_questions(job(geometry="gated"), self.tiny(pack=strange))
        for text, count in ((strange, 0), (strange.replace("its half is {case.input['number'] / 2}",
                                                           "truth={case.expected}"), 6)):
            made = make_questions(job(geometry="gated"), self.tiny(pack=text + said))
            self.assertEqual(count, len(made.figures.dropped))

    def test_what_is_asked_is_what_reads_back(self) -> None:
        odd = Case("a", "s", {"number": 1, "ask": "x", "pair": (1, 2)}, "odd", ("t",))
        made = make_questions(job(), replace(self.tiny(), build=lambda seed, count, llm: [odd]))
        self.assertEqual((replace(odd, input={"number": 1, "ask": "x", "pair": [1, 2]}),), made.cases)

    def test_a_pack_that_fails_is_one_line_with_pack_case_and_function(self) -> None:
        pack = self.tiny()
        for broken, words in (
            (replace(pack, build=raising), "pack tiny: build raised KeyError"),
            (replace(pack, build=lambda seed, count, llm: [5]),  # type: ignore[list-item]
             "question 1 is no Case"),
            (replace(pack, build=lambda seed, count, llm: [Case("a\n", "s", 1, 1)]), "question 1 is no Case"),
            (replace(pack, build=lambda seed, count, llm: [Case("a", "s", float("nan"), 1)]), "(a) is not JSON"),
            (replace(pack, build=lambda seed, count, llm: [Case("a", "s", 2**60, 1)]), "(a) is not JSON"),
            (replace(pack, build=lambda seed, count, llm: [Case("a", "s", raising, 1)]),  # type: ignore[arg-type]
             "(a) is not JSON"),
            (replace(pack, build=lambda seed, count, llm: [Case("a", "s", 1, 1), Case("A", "s", 2, 1)]),
             "the id A stands twice, but for case"),
            (replace(pack, build=lambda seed, count, llm: [Case("a\u200bb", "s", 1, 1)]), "its id holds U+200B, which"),
            (replace(pack, problems=raising), "pack tiny, case T-1: problems raised KeyError"),
            (replace(pack, payload=raising), "pack tiny, case T-1: payload raised KeyError"),
            (replace(pack, build=mute), "pack tiny: build raised MuteError"),
            (replace(pack, payload=mute), "pack tiny, case T-1: payload raised MuteError"),
        ):
            with self.subTest(words=words), self.assertRaises(Unusable) as caught:
                make_questions(job(), broken)
            self.assertIn(words, str(caught.exception))

class TheBatchGate(PackTest):
    def blocked(self, pack: Pack | None = None, **gate: Any) -> tuple[str, ...]:
        return make_questions(job(batch_gate=replace(WIDE, **gate)), pack or self.tiny()).figures.blocked

    def test_answers_and_blind_headlines_are_counted_and_in_gated_the_blind_play_the_game(self) -> None:
        # even: right 2 of 5, always brief; (0.4 + 1) / 2. buyer says hint, which is brief, and never right in single
        for more, blind in (({}, {"even": 0.7, "buyer": 0.5}), ({"geometry": "gated"}, {"even": 0.7, "buyer": 0.8}),
                            ({"geometry": "gated", "limits": JobLimits(steps=1)}, {"even": 0.7, "buyer": 0.5})):
            with self.subTest(more=more):
                figures = make_questions(job(count=5, **more), self.tiny()).figures
                self.assertEqual(({"odd": 3, "even": 2}, blind, ()), (figures.answers, figures.blind, figures.blocked))

    def test_a_broken_hard_gate_lowers_a_blind_headline(self) -> None:
        pack = self.tiny()
        rude = PackBaseline("rude", lambda view, seed, messages: "damn", False, "0" * 64, pack.payload)
        figures = make_questions(job(count=4), replace(pack, baselines={"rude": rude})).figures
        self.assertEqual({"rude": 0.0}, figures.blind)

    def test_a_batch_that_would_measure_nothing_is_blocked_with_every_reason(self) -> None:
        for gate, words in (
            ({"least_questions": 7}, "6 of 6 questions are left, fewer than least_questions = 7"),
            ({"most_one_answer": 0.4}, "3 of 6 questions have the answer 'odd', more than most_one_answer = 0.4"),
            ({"most_blind_score": 0.6}, "baselines:even solves it without seeing the truth: its headline is 75.0 %"),
        ):
            with self.subTest(gate=gate):
                self.assertIn(words, "; ".join(self.blocked(**gate)))
        self.assertEqual(4, len(self.blocked(least_questions=7, most_one_answer=0.4, most_blind_score=0.6)))

    def test_a_limit_that_is_met_exactly_blocks_nothing(self) -> None:
        self.assertEqual((), self.blocked(least_questions=6, most_one_answer=0.5, most_blind_score=0.75))

    def test_a_batch_without_any_question_is_blocked_and_nothing_else_is_said(self) -> None:
        pack = replace(self.tiny(), problems=lambda case: ["no"])
        self.assertEqual(("0 of 6 questions are left, fewer than least_questions = 1",), self.blocked(pack))

    def test_a_baseline_or_a_judge_that_fails_is_one_line(self) -> None:
        pack = self.tiny()

        def only(answer: Callable[..., Any]) -> Pack:
            return replace(pack, baselines={"mine": PackBaseline("mine", answer, False, "0" * 64, pack.payload)})
        for broken, words in (
            (only(raising), "pack tiny, case T-1: baselines:mine raised KeyError"),
            (only(lambda view, seed, messages: 5), "pack tiny, case T-1: baselines:mine gave int, not text"),
            (replace(pack, tracks=tuple(replace(track, judge=raising) for track in pack.tracks)),
             "cannot be judged: track right raised KeyError"),
        ):
            with self.subTest(words=words), self.assertRaises(Unusable) as caught:
                make_questions(job(), broken)
            self.assertIn(words, str(caught.exception))

    def test_figures_read_back_the_same_and_wrong_ones_are_named(self) -> None:
        dropped = (Dropped("a", LEAK, "x"), Dropped("b", LEAK, "y"))
        figures = GateFigures(4, 2, dropped, {"odd": 2}, {"even": 0.5}, ("few",))
        wire = json.loads(json.dumps(figures_to_wire(figures)))
        self.assertEqual(figures, figures_of(Fields(wire)))
        for change in ({"made": -1}, {"blind": {"even": 2}}, {"blind": {"even": True}}, {"answers": {"odd": "2"}},
                       {"dropped": [{"case": "a", "reason": "mood", "detail": "x"}]}, {"blocked": "no"}, {"more": 1}):
            with self.subTest(change=change), self.assertRaisesRegex(ValueError, next(iter(change))):
                figures_of(Fields({**wire, **change}))


class RealQuestions(PackTest):
    def test_the_example_pack_passes_its_gates_in_both_geometries(self) -> None:
        pack = load_pack("early_warning", [ROOT])
        for geometry in ("single", "gated"):
            asked = Job("x", FromPack("early_warning", 6, 7), ("baselines:silent",), geometry)
            figures = make_questions(asked, pack).figures
            self.assertEqual((6, 6, ()), (figures.made, figures.kept, figures.blocked))

    def test_a_task_gives_its_first_cases_in_single(self) -> None:
        cases = in_split(read_cases(ROOT / "cases.json"), "development")
        pack = pack_of_task(load_task("triage_task", [ROOT]), cases, ["ignores_instructions"])
        asked = Job("x", FromTask("triage_task", "cases.json", count=5), ("baselines:keywords",), batch_gate=WIDE)
        made = make_questions(asked, pack)
        self.assertEqual(cases[:5], made.cases)
        self.assertEqual({"constant", "most-common", "keywords"}, set(made.figures.blind))
        everything = replace(asked, asks=FromTask("triage_task", "cases.json"))
        self.assertEqual(cases, make_questions(everything, pack).cases)
        with self.assertRaisesRegex(Unusable, "cannot be asked in gated"):
            make_questions(replace(asked, geometry="gated"), pack)

    def test_rules_are_those_of_the_job(self) -> None:
        rules = rules_of(job(geometry="gated", limits=JobLimits(steps=2, budget=1.5)))
        self.assertEqual(("gated", 1.5, 2), (rules.geometry, rules.budget, rules.steps))


class KeptQuestions(PackTest):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.home / "cases.jsonl"
        self.made = make_questions(job(count=3), self.tiny())
        self.put(*self.made.lines)

    def read(self, accept: bool = False) -> tuple[str, ...]:
        return read_questions(self.path, self.made.cases_sha256, self.made.sha256, accept_altered=accept).altered

    def refused(self) -> str:
        with self.assertRaises(Unusable) as caught:
            self.read()
        self.assertIn("cases.jsonl", str(caught.exception))
        return str(caught.exception)

    def put(self, *lines: bytes) -> None:
        self.path.write_bytes(b"".join(lines))

    def test_questions_read_back_the_same_and_the_same_job_makes_the_same_bytes(self) -> None:
        kept = read_questions(self.path, self.made.cases_sha256, self.made.sha256)
        self.assertEqual((self.made.cases, ()), (kept.cases, kept.altered))
        again = make_questions(job(count=3), self.tiny())
        self.assertEqual((self.made.sha256, self.path.read_bytes()), (again.sha256, b"".join(again.lines)))
        none = Questions((), GateFigures(0, 0))
        self.put(*none.lines)
        self.assertEqual((), read_questions(self.path, {}, none.sha256).cases)

    def test_an_altered_question_is_named_and_read_only_when_that_is_accepted(self) -> None:
        first, second, third = self.made.lines
        self.put(first, second.replace(b'"expected":"even"', b'"expected":"odd"'), third)
        self.assertRegex(self.refused(), "case T-2 is not as this batch was made with.*--accept-altered")
        self.assertEqual(("T-2",), self.read(accept=True))
        # with a digest to match
        self.put(first, line_of(replace(self.made.cases[1], expected="odd")), third)
        self.assertIn("case T-2", self.refused())

    def test_every_other_change_is_named_in_words(self) -> None:
        first, second, third = self.made.lines
        for lines, words in (
            ((first, third), "case T-2 (it is missing)"),
            ((*self.made.lines, line_of(Case("T-9", "s", 1, 1))), "case T-9 (it was added)"),
            ((second, first, third), "the order or the form of its lines"),
            ((first, second.replace(b",", b", "), third), "the order or the form of its lines"),
            ((first, line_of(replace(self.made.cases[1], split="other")), third), "the order or the form"),
        ):
            with self.subTest(words=words):
                self.put(*lines)
                self.assertIn(words, self.refused())
                self.assertEqual(1, len(self.read(accept=True)))

    def test_a_line_that_is_no_question_is_refused_even_then(self) -> None:
        first, second, third = self.made.lines
        for lines, words in (
            ((first, b"{}\n"), "line 2: id is missing"),
            ((first, b"\n", second), "line 2: it is not JSON"),
            ((first, second[:40]), "its last line is cut off"),
            ((first, second.replace(b'"sha256"', b'"sha"'), third), "line 2: sha256 is missing"),
            ((first, second.replace(b'"id":"T-2"', b'"id":2'), third), "line 2: id is 2, not a text"),
            ((first, second.replace(b'"id":"T-2"', b'"id":"a\\u001b"'), third), "line 2: id is"),
            ((first, second, second), "the id T-2 stands twice"),
            ((first, b"\xff\n"), "line 2: it is not UTF-8"),
        ):
            self.put(*lines)
            for accept in (False, True):
                with self.subTest(words=words, accept=accept), self.assertRaises(Unusable) as caught:
                    self.read(accept)
                self.assertIn(words, str(caught.exception))


class Echo:
    """A system that says what it is asked, or what it is to say, and notes what is done with it."""

    def __init__(self, says: str | TrialError | None = None, usage: Usage | None = None) -> None:
        self.calls: list[object] = []
        self.says, self.usage = says, usage or Usage(10, 2)

    def open(self) -> dict[str, JSON]:
        self.calls.append("open")
        return {}

    def settings(self) -> dict[str, JSON]:
        return {}

    def warm(self) -> Loaded:
        self.calls.append("warm")
        return Loaded(0.0)

    def answer(self, request: Request) -> Reply:
        asked = request.messages[0]["content"]
        self.calls.append((asked, len(request.messages), request.seed, request.schema, request.deadline))
        if isinstance(self.says, TrialError):
            raise self.says
        count = sum(isinstance(call, tuple) for call in self.calls)
        return Reply(f"{asked} (asked {count})" if self.says is None else self.says, usage=self.usage)

    def close(self) -> None:
        self.calls.append("close")


class RewordingQuestions(PackTest):
    def rewording(self, system: Echo | None, name: str = "m:x", *, again: bool = False) -> Rewording:
        return Rewording(self.home / "_llm_cache", name, system, Clock(monotonic=lambda: 100.0), 30.0, again)

    def test_a_model_may_reword_and_is_asked_once_for_ever(self) -> None:
        system = Echo()
        first = self.rewording(system)
        self.assertEqual([], system.calls)
        made = make_questions(job(count=2), self.tiny(), first)
        self.assertEqual(["open", "warm", ("Is 1 even or odd?", 1, 1000, None, 130.0),
                          ("Is 2 even or odd?", 1, 1000, None, 130.0)], system.calls)
        self.assertEqual(TokenUse(2, 2, 20, 4), first.used)
        again = self.rewording(None)
        self.assertEqual(made, make_questions(job(count=2), self.tiny(), again))
        self.assertEqual("absent:cache_only", again.used.to_wire())

    def test_a_prompt_that_comes_twice_is_asked_once_and_regenerating_asks_again(self) -> None:
        system = Echo()
        rewording = self.rewording(system, again=True)
        self.assertEqual(["a (asked 1)", "a (asked 1)"], [rewording("a"), rewording("a")])
        self.assertEqual("a (asked 2)", self.rewording(system, again=True)("a"))
        self.assertEqual("a (asked 2)", self.rewording(None)("a"))
        self.assertEqual("a (asked 1)", self.rewording(Echo(), "m:y")("a"))

    def test_an_answer_is_kept_as_received(self) -> None:
        for text in ("", "\r\n x \r\n", "\u00e4\ufffd\U0001f600"):
            self.rewording(Echo(text), again=True)("a")
            self.assertEqual(text, self.rewording(None)("a"))

    def test_a_server_that_says_nothing_of_tokens_is_not_a_server_that_was_not_asked(self) -> None:
        rewording = self.rewording(Echo("x", Usage()))
        rewording("a")
        self.assertEqual("absent:not_reported", rewording.used.to_wire())

    def test_no_answer_is_a_matter_of_the_surroundings(self) -> None:
        for system, words in (
            (None, r"has no answer of m:x to 'a\\\\nb'; run once without --offline"),
            (Echo(TrialError("Timeout", "no whole reply within 30 s")),
             "m:x was to reword the questions, and did not answer: no whole reply"),
            (Echo("\ud800"), "m:x was to reword the questions, and gave a text with a lone surrogate"),
        ):
            with self.subTest(words), self.assertRaisesRegex(EnvironmentFailure, words):
                self.rewording(system)("a\nb")

    def test_a_spoilt_file_is_named(self) -> None:
        self.rewording(Echo())("a")
        next((self.home / "_llm_cache").iterdir()).write_bytes(b"\xff")
        with self.assertRaisesRegex(Unusable, "is not UTF-8 at byte 0; delete it, or ask again with --regen"):
            self.rewording(Echo())("a")


if __name__ == "__main__":
    import unittest
    unittest.main()
