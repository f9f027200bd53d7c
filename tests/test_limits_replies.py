"""What a server or a system of somebody's own may say: what is absurd in it is dropped, and the trial is kept."""
from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from tests import fake_ollama, fake_openai
from tests.commands import Told
from tests.fake_ollama import Fault
from tests.fake_openai import FakeOpenAI
from tests.test_commands_new_user import MODEL
from tests.workflow import Workflow, WorkflowWithServer

TAG = "smollm2:135m"
MANY = 3_000_000
"""More than the line of a trial takes, where each letter is escaped."""


def chat(**last: Any) -> Fault:
    """A whole reply of Ollama in one line, with these fields; letters are sent as they are."""
    message = {"role": "assistant", **last.pop("message", {"content": "yes"})}
    return fake_ollama.lines(json.dumps(
        {"model": TAG, "message": message, "done": True, "done_reason": "stop", **last}, ensure_ascii=False).encode())


class Says(Workflow):
    def assert_is_broken_off(self, trial: Mapping[str, Any]) -> None:
        """An end of 3 MB that nobody knows: what had come is kept, and of the end as much as a message quotes."""
        self.assertEqual(("BrokenReply", "yes"), (trial["error"]["type"], trial["error"]["partial"]))
        self.assertRegex(trial["error"]["message"], "_reason é{50,200}")
        self.assertLess(len(trial["error"]["message"]), 400)


class OllamaSays(WorkflowWithServer, Says):
    def recorded(self, *faults: Fault) -> list[dict[str, Any]]:
        """The trials of a run whose first replies are these."""
        self.server.next(*faults)
        stdout = self.well(self.bench("--quiet"))
        self.assertIn("every planned trial ran", stdout)
        self.assert_once_each(2)
        self.assertEqual("", self.type(self.bench("--quiet")).stderr)
        return [line for line in self.lines() if line["kind"] == "trial"]

    def test_a_trial_is_kept_whatever_its_reply_says_of_itself(self) -> None:
        long, absurd, *_ = self.recorded(
            chat(done_reason="é" * (MANY // 2)),
            chat(total_duration=2**53 - 1, load_duration=-1, eval_duration=1e300, eval_count=2**53 - 1,
                 prompt_eval_count=True))
        self.assert_is_broken_off(long)
        self.assertEqual("yes", absurd["output"])
        self.assertEqual({"cached_tokens": None, "output_tokens": None, "prompt_tokens": None}, absurd["usage"])
        self.assertEqual({None}, {absurd["timings"][name] for name in ("load_s", "output_s", "prompt_s")})

    def test_what_it_says_of_a_loaded_model_is_kept_only_where_it_can_be_meant(self) -> None:
        for length, details, kept in ((True, {"a": 1}, None), (-5, {"a": 1}, None), ("8192", {"a": 1}, None),
                                      (2**53 - 1, {"a": 1}, None), (4096, {"a": "é" * (MANY // 2)}, 4096)):
            with self.subTest(length=length):
                self.server.paths["/api/ps"] = fake_ollama.status(200, json.dumps({"models": [
                    {"name": TAG, "context_length": length, "details": details}]}, ensure_ascii=False))
                self.well(self.bench("--quiet"))
                loaded = next(line for line in self.lines() if line["kind"] == "loaded")
                self.assertEqual(kept, loaded["context_length"])
                self.assertEqual(details if len(str(details)) < 99 else {}, {
                    key: loaded["details"][key] for key in loaded["details"] if key == "a"})
                self.log.unlink()

    def test_escaped_letters_cost_no_more_than_they_are_long(self) -> None:
        def cost(text: str) -> float:
            self.server.next(chat(message={"content": text}))
            start = time.process_time()
            self.well(self.bench("--quiet --limit 1 --timeout-s 20"))
            self.log.unlink()
            return time.process_time() - start

        plain = cost("x" * 500_000)
        self.assertLess(cost("\x01" * 500_000), 4 * plain + 1)

    def test_a_trial_behind_one_that_was_given_up_takes_no_longer_than_its_time_out(self) -> None:
        # the second trial waits for half of its time, and then its own reply is late
        self.server.next(fake_ollama.silent(2.7), fake_ollama.says("a"), fake_ollama.silent(30))
        self.well(self.bench("--quiet --limit 2 --timeout-s 1.6"))
        first, second = (line for line in self.lines() if line["kind"] == "trial")
        self.assertEqual(("Timeout", "Timeout"), (first["error"]["type"], second["error"]["type"]))
        self.assertIn("given up before", second["error"]["message"])
        self.assertGreater(second["waited_s"], 0.3)
        # where the wait was no part of its time these were 2.7 s
        self.assertLess(second["waited_s"] + second["latency_s"], 2.4)


class OpenaiSays(Says):
    def test_a_trial_is_kept_whatever_its_reply_says_of_itself(self) -> None:
        signed = {"model": fake_openai.MODEL, "system_fingerprint": fake_openai.BUILD}
        with FakeOpenAI() as server:
            server.next(
                fake_ollama.lines(fake_openai.data(**signed, choices=[{
                    "index": 0, "delta": {"content": "yes"}, "finish_reason": "é" * (MANY // 6)}]), b"data: [DONE]"),
                fake_ollama.lines(fake_openai.data(
                    **signed, choices=[{"index": 0, "delta": {"content": "yes"}, "finish_reason": "stop"}],
                    timings={"prompt_ms": 1e300, "predicted_ms": -1, "cache_n": 1.5},
                    usage={"prompt_tokens": 2**53 - 1, "completion_tokens": True}), b"data: [DONE]"))
            told = self.type(f"bench.py --system openai:{fake_openai.MODEL} --host {server.host} --trials 1 --quiet "
                             "--log recorded/smol.jsonl")
        self.assertEqual(0, told.code, told)
        long, absurd, _ = (line for line in self.lines() if line["kind"] == "trial")
        self.assert_is_broken_off(long)
        self.assertEqual({None}, {*absurd["usage"].values(), absurd["timings"]["prompt_s"],
                                  absurd["timings"]["output_s"]})


class OfOnesOwn(Workflow):
    def run_with(self, slip: str, *flags: str) -> Told:
        head = "from benchkit.basics.values import Timings, Usage\nfrom benchkit.basics.errors import TrialError\n"
        (self.folder / "mine.py").write_text(head + MODEL.replace("SLIP", slip), encoding="utf-8")
        self.log.unlink(missing_ok=True)
        return self.type(" ".join(("bench.py --system mine:x --trials 2 --quiet --log recorded/smol.jsonl", *flags)))

    def refused(self, slip: str, *words: str, code: int = 3, flags: str = "") -> str:  # type: ignore[override]
        """The one line with which it ends."""
        told = self.run_with(slip, flags)
        self.assertEqual((code, "", 1), (told.code, told.stdout, told.stderr.count("\n")), told.stderr)
        for some in words:
            self.assertIn(some, told.stderr)
        return told.stderr

    def assert_kept(self, slip: str, kept: Mapping[str, Any], flags: str = "") -> None:
        """It runs to its end, and a trial has these fields."""
        told = self.run_with(slip, flags)
        self.assertEqual((0, ""), (told.code, told.stderr))
        trials = [line for line in self.lines() if line["kind"] == "trial"]
        self.assertTrue([line for line in trials if kept.items() <= line.items()], trials)

    def test_what_is_of_another_type_than_the_contract_says_is_3_and_one_line(self) -> None:
        slips: Mapping[str, str] = {
            "Reply('a', usage={'prompt_tokens': 3})": "gave a Reply whose usage is of type dict, not Usage",
            "Reply('a', usage=None)": "whose usage is of type NoneType, not Usage",
            "Reply('a', timings=None)": "whose timings is of type NoneType, not Timings",
            "Reply('a', waited_s=None)": "whose waited_s is of type NoneType, not int or float",
            "Reply('a', retries='1')": "whose retries is of type str, not int",
            "Reply('a', retries=True)": "whose retries is of type bool, not int",
            "Reply('a', latency_s='1')": "whose latency_s is of type str, not int or float or None",
            "Reply('a', reasoning=b'x')": "whose reasoning is of type bytes, not str or None",
            "Reply('a', finish=1)": "whose finish is of type int, not str or None",
            "Reply('a', usage=Usage(1.5))": "gave a Usage whose prompt_tokens is of type float, not int or None",
            "Reply('a', retried=None)": "gave a Reply whose retried is of type NoneType, not tuple",
            "Reply('a', retried=(1,))": "gave a int whose error is of type NoneType, not ErrorFacts",
            "Reply(b'a')": "gave a Reply whose output is of type bytes, not str",
            "Reply('a', timings=Timings('1'))": "gave a Timings whose load_s is of type str, not int or float or None",
        }
        errors: Mapping[str, str] = {
            "TrialError('Timeout', 7)": "gave a TrialError whose message is of type int, not str",
            "TrialError('Timeout', 'a', b'x')": "whose partial is of type bytes, not str or None",
            "TrialError('Timeout', 'a', waited_s=None)": "whose waited_s is of type NoneType",
            "TrialError('Timeout', 'a', stops_in_a_row=60)": "whose stops_in_a_row is of type int, not str or None",
            "TrialError('Timeout', 'a', status='5')": "whose status is of type str, not int or None",
            "TrialError([], 'a')": "whose type is of type list, not str",
            "TrialError('TooSlow', 'a')": "raised a TrialError of the type TooSlow, not one of NotRun, Timeout",
        }
        for slip, words in {**{f"return {reply}": words for reply, words in slips.items()},
                            **{f"raise {error}": words for error, words in errors.items()}}.items():
            with self.subTest(slip):
                place = "answer() of mine.py " if words.startswith(("gave", "raised")) else ""
                self.refused(slip, place + words, "go on with: python3 bench.py")

    def test_whatever_ends_it_is_3_and_one_line_and_a_keyboard_interrupt_is_130(self) -> None:
        cancelled = "import asyncio; raise asyncio.CancelledError"
        rows = {cancelled: (3, "answer() of mine.py, line 12 raised CancelledError"),
                "raise GeneratorExit": (3, "answer() of mine.py, line 12 raised GeneratorExit"),
                "raise KeyboardInterrupt": (130, "stopped by SIGINT; what ended before is in recorded/smol.jsonl"),
                "error = TrialError('Timeout', 'a'); del error.message; raise error":
                    (3, "gave a TrialError whose message is of type NoneType, not str")}
        for slip, (code, words) in rows.items():
            for more in ("", " --parallel 2"):
                with self.subTest(slip + more):
                    self.refused(slip, words, "go on with: python3 bench.py", code=code, flags=more)
                    self.assertEqual("interrupted" if code == 130 else "error", self.lines()[-1]["reason"])
        self.refused("pass\n    def open(self): raise GeneratorExit\n    def other(self):", code=2)

    def test_a_long_reason_to_stop_leaves_room_for_the_reason(self) -> None:
        line = self.run_with("raise TrialError('ServerError', 'x', stops='s' * 10**6)").stderr
        self.assertEqual("s" * 1000, "".join(re.findall("s{9,}", line)), line[:300])

    def test_values_of_its_own_classes_are_kept_as_those_of_python(self) -> None:
        own = ("\n            class Text(str):\n                def __len__(self): raise ValueError('len')"
               "\n                __eq__ = __add__ = __getitem__ = __len__"
               "\n            class Count(int):\n                def __ge__(self, other): raise ValueError('ge')"
               "\n                __le__ = __str__ = __index__ = __ge__"
               "\n            class Seconds(float):\n                def __ge__(self, other): raise ValueError('ge')"
               "\n                __le__ = __float__ = __round__ = __repr__ = __ge__"
               "\n            ")
        tokens = {"cached_tokens": None, "output_tokens": 6, "prompt_tokens": 5}
        for slip, kept in (
                ("return Reply(Text('a'), finish=Text('stop'), usage=Usage(Count(5), Count(6)), waited_s=Seconds(0.5))",
                 {"output": "a", "finish": "stop", "usage": tokens, "waited_s": 0.5}),
                ("raise TrialError(Text('Timeout'), Text('late'), Text('a'), retries=Count(3))",
                 {"error": {"type": "Timeout", "message": "late", "partial": "a"}, "retries": 3})):
            with self.subTest(slip):
                self.assert_kept(f"pass{own}{slip}", kept)

    def test_an_absurd_wait_neither_makes_a_timeout_of_an_answer_nor_hides_one(self) -> None:
        late = "import time; time.sleep(0.06)"
        for slip, flags, error in (("return Reply('a', waited_s=-1000.0)", "--timeout-s 100", None),
                                   ("return Reply('a', waited_s=-1e308, latency_s=-1.0)", "--timeout-s 100", None),
                                   (f"{late}; return Reply('a', waited_s=float('inf'))", "--timeout-s 0.05", "Timeout"),
                                   (f"{late}; return Reply('a', waited_s=float('nan'))", "--timeout-s 0.05", "Timeout"),
                                   ):
            with self.subTest(slip):
                told = self.run_with(slip, flags)
                self.assertEqual((0, ""), (told.code, told.stderr))
                self.assertEqual({error}, {(line.get("error") or {}).get("type") for line in self.lines()
                                           if line.get("trial") == 2})

    def test_what_it_says_of_a_loaded_model_is_held_to_the_contract(self) -> None:
        for warm, words in (("Loaded(float('nan'))", "did not give the seconds"), ("Loaded(-1)", "did not give the"),
                            ("Loaded(10**400)", "did not give the seconds"), ("10**400", "did not give the seconds"),
                            ("Loaded(1.0, '8')", "gave a Loaded whose context_length is of type str, not int or None"),
                            ("Loaded(1.0, 8, [1])", "did not give a JSON object"),
                            ("Loaded(1.0, 8, {'a': {1}})", "gave something that is not JSON")):
            with self.subTest(warm):
                slip = ("pass\n    def warm(self):\n        from benchkit.systems.system import Loaded\n"
                        f"        return {warm}\n    def other(self):")
                self.refused(slip, f"warm() of mine.py {words}")

    def test_what_is_absurd_is_dropped_and_the_trial_is_kept(self) -> None:
        for slip, kept in (
                ("return Reply('a', finish='x' * 10**7)", {"output": "a", "finish": "x" * 200}),
                ("return Reply('a', latency_s=1e300, waited_s=float('nan'), retries=-1)",
                 {"output": "a", "waited_s": 0.0, "retries": 0}),
                ("return Reply('a', waited_s=1e300, retries=10**400)", {"output": "a", "waited_s": 0.0, "retries": 0}),
                ("return Reply('a', usage=Usage(10**30, -1), timings=Timings(1e300, float('inf'), 10**400, 0))",
                 {"usage": {"cached_tokens": None, "output_tokens": None, "prompt_tokens": None},
                  "timings": {"first_token_s": 0.0, "load_s": None, "other_s": None, "output_s": None,
                              "prompt_s": None}}),
                ("raise TrialError('Timeout', 'm' * 10**7, 'p' * 10**7, latency_s=float('nan'))",
                 {"error": {"type": "Timeout", "message": "m" * 2000, "partial": "p" * 2**19}, "latency_s": None}),
                ("raise TrialError('Timeout', 'a \\ud800', 'b \\ud800')",
                 {"error": {"type": "Timeout", "message": "a ?", "partial": "b ?"}}),
                ("return Reply('o' * 10**7)", {"error": {
                    "type": "ReplyTooLarge", "message": "the reply is larger than 512 KiB", "partial": "o" * 2**19}}),
                ("return Reply('o', reasoning='r' * 10**6)", {"error": {
                    "type": "ReplyTooLarge", "message": "the reply is larger than 512 KiB", "partial": "o"}})):
            with self.subTest(slip):
                self.assert_kept(slip, kept)
