"""Secrets in texts: found however they are written, hidden behind a mark; and which values are secrets at all."""
from __future__ import annotations

import json
import time
import unittest

from benchkit.basics.secrets import MARK, Redactor, secrets_in, without_password
from benchkit.basics.values import JSON

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
        for address, shown in (
            ("http://user:pa55@host:1/x", f"http://{MARK}@host:1/x"), ("user:p@55@host", f"{MARK}@host"),
            ("user@host", f"{MARK}@host"), ("http://host:1/x", "http://host:1/x"), ("host", "host"), ("", ""),
        ):
            self.assertEqual(shown, without_password(address))


if __name__ == "__main__":
    unittest.main()
