"""Names, commands and secrets in texts: safe to show, to type, and as names of files."""
from __future__ import annotations

import json
import re
import shlex
import time
import unittest

from benchkit.basics.command import Command
from benchkit.basics.secrets import MARK, Redactor, secrets_in, without_password
from benchkit.basics.texts import cases_named, count_of, file_stem, names_of, shown, shown_line
from benchkit.basics.values import JSON


class Showing(unittest.TestCase):
    def test_control_characters_are_shown_not_sent(self) -> None:
        for text, expected in (
            ("plain", "plain"), ("\x1b[31m", "\\x1b[31m"), ("a\rb", "a\\x0db"), ("\x00\x7f\x9b", "\\x00\\x7f\\x9b"),
            ("\u202egpj.exe", "\\u202egpj.exe"), ("\u2028", "\\u2028"), ("\ud800", "\\ud800"),
            ("ü 漢 \U0001f600", "ü 漢 \U0001f600"), ("two\nlines\tand", "two\nlines\tand"),
        ):
            with self.subTest(text=text):
                self.assertEqual(expected, shown(text))

    def test_a_line_is_one_line_and_no_longer_than_asked(self) -> None:
        self.assertEqual("a\\nb\\tc", shown_line("a\nb\tc"))
        self.assertEqual("x" * 7 + "...", shown_line("x" * 11, most=10))
        self.assertEqual("x" * 10, shown_line("x" * 10, most=10))


class FileNames(unittest.TestCase):
    def test_a_plain_name_is_itself(self) -> None:
        for name in ("keywords", "gemma", "a-b_c.d", "smollm2", "0", "console", "com10"):
            with self.subTest(name=name):
                self.assertEqual(name, file_stem(name))

    def test_any_other_name_becomes_a_slug_and_a_digest(self) -> None:
        for name, slug in (
            ("smollm2:135m", "x-smollm2-135m-"), ("Gemma", "x-gemma-"), ("../../etc/passwd", "x-etc-passwd-"),
            ("..", "x--"), (".hidden", "x-hidden-"), ("dot.", "x-dot-"), ("con", "x-con-"), ("nul.txt", "x-nul-txt-"),
            ("com1", "x-com1-"), ("", "x--"), ("ü" * 50, "x--"), ("a/b" * 40, "x-" + ("a-b" * 40)[:40] + "-"),
            ("\x00", "x--"), ("\ud800", "x--"),
        ):
            with self.subTest(name=name):
                stem = file_stem(name)
                self.assertRegex(stem, r"\A[a-z0-9-]{1,60}\Z")
                self.assertTrue(stem.startswith(slug), stem)
                self.assertRegex(stem[-13:], re.compile(r"-[0-9a-f]{12}"))

    def test_two_names_never_share_a_file(self) -> None:
        names = ["smollm2:135m", "smollm2/135m", "smollm2-135m", "SMOLLM2:135m", "smollm2:135m ", "a" * 101]
        names += [file_stem("SMOLLM2:135m"), file_stem(file_stem("SMOLLM2:135m"))]  # chosen to look like another's file
        self.assertEqual(len(names), len({file_stem(name) for name in names}))


class InWords(unittest.TestCase):
    def test_one_is_not_many(self) -> None:
        self.assertEqual((count_of(1, "case"), count_of(0, "case"), count_of(2, "entry", "entries")),
                         ("1 case", "0 cases", "2 entries"))

    def test_a_few_names_are_told_and_the_rest_is_counted(self) -> None:
        self.assertEqual(names_of("abcde"), "a, b, c, d, e")
        self.assertEqual(names_of("abcdefg"), "a, b, c, d, e and 2 more")
        self.assertEqual((cases_named("a"), cases_named("abcdef")), ("case a", "cases a, b, c, d, e and 1 more"))

    def test_hostile_names_stay_on_their_line(self) -> None:
        self.assertEqual(names_of(["a\nb", "\x1b[2J"]), "a\\nb, \\x1b[2J")


class Commands(unittest.TestCase):
    def test_it_reads_as_it_is_to_be_typed(self) -> None:
        command = Command("bench.py", ("--hardware", "a desk, 8 GB", "--case", "it's"))
        self.assertEqual(["python3", "bench.py", "--hardware", "a desk, 8 GB", "--case", "it's"],
                         shlex.split(str(command)))

    def test_a_flag_takes_the_place_of_what_was_said_for_it(self) -> None:
        for words, expected in (
            ((), "--trials 5"),
            (("--trials", "3"), "--trials 5"),
            (("--trials=3", "--quiet"), "--quiet --trials 5"),
            (("--quiet", "--trials", "3", "--log", "a.jsonl"), "--quiet --log a.jsonl --trials 5"),
            (("--trials", "3", "--trials", "4"), "--trials 5"),
            (("--trials-of", "3"), "--trials-of 3 --trials 5"),
        ):
            with self.subTest(words=words):
                command = Command("bench.py", words).having("--trials", "5")
                self.assertEqual(f"python3 bench.py {expected}", str(command))

    def test_a_flag_can_be_left_out_or_added_once(self) -> None:
        command = Command("bench.py", ("--case", "a", "--quiet"))
        self.assertEqual("python3 bench.py --quiet", str(command.without("--case")))
        self.assertEqual(command, command.without("--limit"))
        self.assertEqual("python3 bench.py --case a --quiet --retry-errors", str(command.plus("--retry-errors")))
        self.assertEqual(command, command.plus("--quiet"))

    def test_another_command_stands_in_the_same_folder(self) -> None:
        for prog, expected in (("bench.py", "python3 report.py a"), ("../kit/bench.py", "python3 ../kit/report.py a"),
                               ("/k it/bench.py", "python3 '/k it/report.py' a")):
            with self.subTest(prog=prog):
                self.assertEqual(expected, str(Command(prog, ("--quiet",)).beside("report.py", "a")))

    def test_a_password_in_an_address_is_no_part_of_the_line(self) -> None:
        for words in (("--host", "http://user:pa55word@box:1", "--quiet"), ("--host=user:pa55word@box:1", "--quiet")):
            command = str(Command("bench.py", words))
            self.assertNotIn("pa55word", command)
            self.assertIn("[secret]@box:1", command)
            self.assertTrue(command.endswith("--quiet"))


KEY = "sk-sesame/0.1+2"


class Hiding(unittest.TestCase):
    def test_a_secret_is_found_however_json_writes_it(self) -> None:
        redactor = Redactor([KEY])
        everything_escaped = "".join(f"\\u{ord(letter):04X}" for letter in KEY)
        for written in (KEY, json.dumps(KEY)[1:-1], everything_escaped, everything_escaped.lower(),
                        KEY.replace("e", r"\u0065")):
            with self.subTest(written):
                self.assertTrue(redactor.is_in(f"no {written}!"))
                self.assertEqual(f"no {MARK}!", redactor.text(f"no {written}!"))
                self.assertEqual(f"\xff{MARK}".encode("latin-1"), redactor.data(b"\xff" + written.encode()))

    def test_one_that_json_has_to_escape_is_found_as_it_is_and_behind_every_escape(self) -> None:
        for key in ('pa"ss/wo\\rd', '"sesame"', "\\\\sesame\\\\", "sesame\nsesame", "s\u00e9same-\U0001f511"):
            once, plain = json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]
            letters = "".join(f"\\u{number:04x}" for number in memoryview(key.encode("utf-16-le")).cast("H"))
            forms = [key, once, plain, plain.replace("/", "\\/"), letters, letters.upper().replace("U", "u")]
            for _ in range(2):
                forms += [json.dumps(form)[1:-1] for form in forms]
            redactor = Redactor([key])
            for form in forms:
                with self.subTest(form):
                    self.assertEqual(f"no {MARK}! \\n", redactor.text(f"no {form}! \\n"))
                    self.assertEqual(f"no {MARK}!".encode() + b"\xff", redactor.data(f"no {form}!".encode() + b"\xff"))

    def test_what_is_near_it_is_left_alone(self) -> None:
        redactor = Redactor([KEY])
        for text in ("", KEY[:-1], KEY.upper(), "sk-sesame/0x1+2", "[secret]"):
            self.assertEqual((False, text), (redactor.is_in(text), redactor.text(text)))

    def test_of_two_the_longer_one_is_hidden_whole(self) -> None:
        self.assertEqual(f"{MARK} {MARK}", Redactor(["pa55word", "user:pa55word"]).text("user:pa55word pa55word"))

    def test_a_short_one_is_a_word_that_any_text_may_hold(self) -> None:
        self.assertFalse(Redactor(["EMPTY", ""]).is_in("EMPTY"))

    def test_keys_and_texts_of_a_value_are_looked_through_and_its_shape_stays(self) -> None:
        value: JSON = {"a": [KEY, 1, None, True, {"b": (f"x{KEY}",)}], KEY: 0.5}
        self.assertEqual({"a": [MARK, 1, None, True, {"b": [f"x{MARK}"]}], MARK: 0.5}, Redactor([KEY]).value(value))

    def test_a_long_text_is_looked_through_in_no_time(self) -> None:
        redactor = Redactor([KEY, "s" * 200, "sssssssskkkkk"])
        start = time.process_time()
        redactor.is_in("sk" * 250_000 + "s" * 500_000 + "\\u0073" * 50_000 + "\\" * 500_000)
        self.assertLess(time.process_time() - start, 5.0)


class TheEnvironment(unittest.TestCase):
    def test_secrets_are_what_is_named_as_keys_are_and_passwords_of_addresses(self) -> None:
        for name, value, found in (
            ("OPENAI_API_KEY", " sk-1234567 ", "sk-1234567"), ("hf_token", "hf_1", "hf_1"), ("APIKEY", "k1", "k1"),
            ("DB_PASSWORD", "p1", "p1"), ("X_SECRETS", "s1", "s1"), ("BASIC_AUTH", "a1", "a1"), ("KEY", "k2", "k2"),
            ("OLLAMA_HOST", "http://user:pa55@host", "pa55"), ("URL", "postgres://u:pa55@db/x", "pa55"),
            ("KEYBOARD_LAYOUT", "colemak-1", None), ("TOKENIZERS_PARALLELISM", "false1", None), ("PWD", "/a1", None),
            ("MONKEY", "banana1", None), ("APP_KEY", "development", None), ("TOKEN", "a" * 16, "a" * 16),
            ("SSH_AUTH_SOCK", "/run/1", None), ("OLLAMA_HOST", "user@host", None),
        ):
            with self.subTest(name, value=value):
                self.assertEqual([] if found is None else [found], secrets_in({name: value}))

    def test_an_address_is_shown_without_its_password(self) -> None:
        for address, safe in (
            ("http://user:pa55@host:1/x", f"http://{MARK}@host:1/x"), ("user:p@55@host", f"{MARK}@host"),
            ("user@host", f"{MARK}@host"), ("http://host:1/x", "http://host:1/x"), ("host", "host"), ("", ""),
        ):
            self.assertEqual(safe, without_password(address))
