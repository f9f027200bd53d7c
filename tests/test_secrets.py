"""Keys and passwords, planted everywhere and echoed by servers and systems: in no file, no line and no page.

What a request of chat completions does with its key alone is in test_systems_openai.py.
"""
from __future__ import annotations

import base64
import json
import os
import socket
import unittest
from collections.abc import Mapping
from unittest import mock

from tests.board_command import BoardCommand
from tests.fake_ollama import Fault, Seen, lines, raw_bytes, says, status
from tests.fake_openai import FakeOpenAI
from tests.workflow import MODEL, WorkflowWithServer

PASSWORD, USER = 'sesame"pa55\\word', "watchman"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
PLANTED: Mapping[str, str] = {
    "OPENAI_API_KEY": 'sk-"sesame\\/0123456789', "HF_TOKEN": "hf-sesame-0123456789", "DB_PASSWORD": "sesame-12345678",
    "MY_SECRET": "very-sesame-secret"}
MARKS = ("sesame", "pa55", BASIC, BASIC[:-4])
"""No part of a secret may be seen; these are in each of them."""


def escaped(text: str) -> str:
    """A text in JSON with every letter escaped."""
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def in_json(text: str) -> Mapping[str, str]:
    """A text as JSON writes it between quotes, in every form."""
    once = json.dumps(text)[1:-1]
    return {"once": once, "with slashes": once.replace("/", "\\/"), "letters": escaped(text),
            "twice": json.dumps(once)[1:-1], "letters, twice": escaped(text).replace("\\", "\\\\")}


def echoes(secret: str) -> Mapping[str, Fault]:
    """Every way in which a server can send back what was sent to it."""
    raw, hidden = secret.encode(), escaped(secret).encode()
    message = b'{"model":"%s","message":{"content":"%%s"},"done":true%%s}' % b"smollm2:135m"
    return {
        "an error page": status(500, f"<h1>wrong: {secret}</h1>", "text/html"),
        "an error page, cut in the middle of it": status(500, "x" * (197 - len(secret) // 2) + secret),
        "an error line": lines(b'{"error":"no %s"}' % raw),
        "a line that is no JSON": lines(b"no " + raw),
        "a line that is no object": lines(b'["' + hidden + b'"]'),
        "a line of another shape": lines(b'{"said":"%s"}' % hidden),
        "an answer": says(f"It is {secret}."),
        "reasoning": lines(b'{"message":{"content":"x","thinking":"%s"},"done":true}' % hidden),
        "an answer that is cut off": lines(b'{"message":{"content":"%s"},"done":false}' % hidden, ends=False),
        "a text that never ends": lines(b'{"message":{"content":"%s"},"done":false}' % hidden),
        "a status line": raw_bytes(b"HTTP/1.1 418 " + raw + b"\r\nContent-Length: 0\r\n\r\n"),
        "no HTTP": raw_bytes(b"Hello " + raw + b"\r\n"),
        **{f"{what}, written {form}": fault for form, text in in_json(secret).items() for what, fault in (
            ("an error in JSON", status(400, f'{{"error":"no {text}"}}')),
            ("an error line", lines(b'{"error":"no %s"}' % text.encode())),
            ("an answer", lines(message % (text.encode(), b""))),
            ("a reason to end", lines(message % (b"yes", b',"done_reason":"%s"' % text.encode()))),
            ("another model", lines((message % (b"yes", b"")).replace(b"smollm2:135m", text.encode()))))},
        "headers": raw_bytes(b"HTTP/1.1 500 X\r\nSet-Cookie: " + raw + b"\r\nRetry-After: " + raw + b"\r\n\r\n"),
        "a redirect": raw_bytes(b"HTTP/1.1 302 X\r\nLocation: http://x/" + raw + b"\r\n\r\n"),
    }


class Unseen(unittest.TestCase):
    def assert_unseen(self, *texts: str | bytes) -> None:
        for text in texts:
            for mark in MARKS:
                shown = text if isinstance(text, str) else text.decode("utf-8", "replace")
                self.assertNotIn(mark, shown)
                # a text that somebody unescapes again would show it
                self.assertNotIn(escaped(mark), shown)


class OllamaWithAPassword(WorkflowWithServer, Unseen):
    def setUp(self) -> None:
        super().setUp()
        self.address = f"http://{USER}:{PASSWORD}@{self.server.host}"
        self.enterContext(mock.patch.dict(os.environ, {**PLANTED, "OLLAMA_HOST": self.address}))
        self.flags = f"--system {MODEL} --log recorded/smol.jsonl --trials 1"

    def told(self, command: str) -> str:
        told = self.type(command)
        return told.stdout + told.stderr

    def workflow(self) -> str:
        """All that is printed on the way from a run to its reports."""
        return "".join(map(self.told, (
            self.bench(), "bench.py --log recorded/smol.jsonl --status",
            "harness.py run --system replay:recorded/smol.json --out runs/smol.json",
            f"report.py runs/smol.json --case {self.ids[0]}",
            "report.py runs/smol.json --html a.html --markdown a.md --csv a.csv --junit a.xml --out a.json")))

    def assert_workflow_unseen(self) -> None:
        self.assert_unseen(self.workflow())
        self.assert_unseen(*self.files().values())
        self.assertTrue(any(name.endswith(".html") for name in self.files()), "there is no report")

    def clear(self) -> None:
        for name in self.files():
            if name != "cases.json":
                (self.folder / name).unlink()

    def test_the_password_is_sent_and_seen_nowhere(self) -> None:
        self.assert_workflow_unseen()
        self.assertEqual({f"Basic {BASIC}"}, {seen.headers.get("Authorization") for seen in self.server.seen})

    def test_a_server_that_echoes_it_in_any_way_is_not_repeated(self) -> None:
        for secret in (PASSWORD, BASIC):
            with self.subTest(secret):
                self.clear()
                faults = echoes(secret)
                left = list(faults.values())
                self.server.on_chat = lambda seen, left=left: (  # type: ignore[misc]
                    self.server.next(left.pop(0)) if left and seen.body["options"]["num_predict"] != 1 else None)
                self.flags = f"--system {MODEL} --log recorded/smol.jsonl --trials {-(-len(faults) // 3)}"
                self.assert_workflow_unseen()
                self.assertEqual([], left)

    def test_what_a_server_says_of_itself_is_not_repeated_either(self) -> None:
        model = {"name": "smollm2:135m", "model": "smollm2:135m", "digest": "5a" * 32, "context_length": 4096}
        looks: dict[str, tuple[str, str]] = {
            **{f"version, written {form}": ("/api/version", f'{{"version":"0.32.15 {text}"}}')
               for form, text in in_json(PASSWORD).items()},
            **{f"models, written {form}": ("/api/tags", f'{{"models":[{{"name":"{text}","digest":"{"b" * 64}"}}]}}')
               for form, text in in_json(PASSWORD).items()},
            "no version": ("/api/version", f'{{"version":7,"said":"{PASSWORD}"}}'),
            "models": ("/api/tags", f'{{"models":[{{"name":"{escaped(PASSWORD)}","digest":"{"b" * 64}"}}]}}'),
            "no models": ("/api/tags", f'{{"error":"{escaped(PASSWORD)}"}}'),
            "details": ("/api/ps", json.dumps({"models": [{**model, "details": {"family": PASSWORD}}]})),
            "escaped details": ("/api/ps", json.dumps({"models": [{**model, "details": {"family": "X"}}]}).replace(
                '"X"', f'{{"{escaped(PASSWORD)}":["{escaped(BASIC)}"]}}')),
            "remote": ("/api/tags", json.dumps({"models": [{**model, "remote_host": "X"}]}).replace(
                '"X"', f'"{escaped(PASSWORD)}"'))}
        for name, (path, body) in looks.items():
            with self.subTest(name):
                self.clear()
                self.server.paths = {path: status(200, body)}
                self.assert_unseen(self.workflow(), *self.files().values())

    def test_a_password_typed_as_a_flag_is_not_in_the_commands_that_are_offered(self) -> None:
        for flag in (f"--host '{self.address}'", f"--host='{self.address}'"):
            told = self.type(self.bench(f"{flag} --limit 1"))
            self.assertEqual(0, told.code, told)
            self.assert_unseen(told.stdout + told.stderr)
            self.assertIn(self.server.host, told.stdout)

    def test_an_address_that_is_refused_does_not_show_it(self) -> None:
        for host in (self.address + ":x", f"ftp://{USER}:{PASSWORD}@x", f"http://{USER}:{PASSWORD}@10.0.0.1",
                     f"{USER}:{PASSWORD}@x y", f"http://{USER}:{PASSWORD}@x/?key={PASSWORD}"):
            with self.subTest(host), mock.patch.dict(os.environ, {"OLLAMA_HOST": host}):
                self.assert_unseen(self.told(self.bench()))

    def test_no_other_key_leaves_the_machine(self) -> None:
        self.workflow()
        for seen in self.server.seen:
            sent = json.dumps([dict(seen.headers), seen.body, seen.path])
            self.assertFalse([name for name, value in PLANTED.items() if value in sent])


class SystemsOfOnesOwn(WorkflowWithServer, Unseen):
    """A module of the user that reads its key from the environment, and whose library puts it into its errors."""

    MODULE = '''
import os
from benchkit.basics.errors import EnvironmentFailure, TrialError, Unusable
from benchkit.basics.values import Reply
from benchkit.systems.system import Loaded
KEY = os.environ["MY_SECRET"]


class Leaky:
    def __init__(self, name, options):
        self.name, self.say = name, options.say

    def open(self):
        self.say("opened with " + KEY)
        if self.name == "open":
            raise EnvironmentFailure("no server at https://x/?key=" + KEY)
        return {"server": KEY, "server_version": {KEY: [KEY]}}

    def settings(self):
        return {"model": "x", "header": "Bearer " + KEY}

    def warm(self):
        return Loaded(0.0, None, {"key": KEY})

    def answer(self, request):
        if self.name == "trial":
            raise TrialError("ServerError", "HTTP 500 for " + KEY, "partly " + KEY)
        if self.name == "stops":
            raise TrialError("ServerError", "HTTP 401", stops="the key " + KEY + " is wrong")
        if self.name == "unusable":
            raise Unusable("it cannot be: " + KEY)
        if self.name == "raises":
            raise RuntimeError("GET https://x/?key=" + KEY)
        if self.name == "raises long":
            raise RuntimeError("x" * 185 + KEY)
        return Reply("It is " + KEY if self.name == "says" else "yes", reasoning=KEY if self.name == "thinks" else None)

    def close(self):
        pass


def system(name, options):
    if name == "make":
        raise ValueError("bad key " + KEY)
    return Leaky(name, options)
'''

    def test_whatever_they_do_with_a_key_it_is_not_repeated(self) -> None:
        self.enterContext(mock.patch.dict(os.environ, PLANTED))
        (self.folder / "leaky.py").write_text(self.MODULE, encoding="utf-8")
        for name in ("fine", "open", "trial", "stops", "unusable", "raises", "raises long", "says", "thinks", "make"):
            with self.subTest(name):
                told = self.type(f"bench.py --system 'leaky:{name}' --trials 1")
                self.assert_unseen(told.stdout + told.stderr)
                self.assertNotIn("Traceback", told.stderr)
        files = self.files()
        del files["leaky.py"]
        self.assert_unseen(*files.values())
        self.assertIn("recorded/fine.jsonl", files)


class ChatCompletions(WorkflowWithServer, Unseen):
    def test_a_key_goes_over_plain_http_to_no_name_that_only_looks_like_this_machine(self) -> None:
        self.enterContext(mock.patch.dict(os.environ, {**PLANTED, "OPENAI_BASE_URL": ""}))
        names = ("127.evil.test", "127.0.0.1.evil.test", "127.0.0.1evil", "localhost.evil.test", "localhost.", "127.1",
                 "2130706433", "[::ffff:127.0.0.1]")
        with FakeOpenAI() as server:
            port = int(server.host.rpartition(":")[2])
            here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
            # every one of these names leads to this server, as it would to a stranger's
            self.enterContext(mock.patch("socket.getaddrinfo", return_value=here))
            for name in names:
                for system, host in (("openai:toy.gguf", f"http://{name}:{port}"),
                                     (MODEL, f"http://{USER}:{PASSWORD[:6]}@{name}:{port}")):
                    with self.subTest(name, system=system):
                        told = self.type(f"bench.py --system {system} --host '{host}' --trials 1")
                        self.assertEqual([], [seen.headers.get("Authorization") for seen in server.seen])
                        self.assertEqual((2, ""), (told.code, told.stdout))
                        self.assertIn("to this machine only", told.stderr)
                        self.assert_unseen(told.stderr)
            self.type(f"bench.py --system openai:toy.gguf --host http://127.0.0.1:{port} --trials 1")
            self.assertEqual({f"Bearer {PLANTED['OPENAI_API_KEY']}"},
                             {seen.headers.get("Authorization") for seen in server.seen})

    def test_a_key_that_is_echoed_in_any_way_is_not_repeated(self) -> None:
        key = PLANTED["OPENAI_API_KEY"]
        self.enterContext(mock.patch.dict(os.environ, PLANTED))
        left = list(echoes(key).values())
        with FakeOpenAI() as server:
            def at_chat(seen: Seen) -> None:
                # not for the tokens that are asked for at the start, nor for what follows a request that was given up
                if left and seen.body["seed"] > 1000 and seen.body["max_tokens"] != 1:
                    server.next(left.pop(0))

            server.key, server.on_chat = key, at_chat
            told = self.type(f"bench.py --system openai:toy.gguf --host {server.host} --trials {-(-len(left) // 3)}")
        self.assert_unseen(told.stdout + told.stderr, *self.files().values())
        self.assertEqual(([], 0), (left, told.code))


class EnvFiles(BoardCommand, Unseen):
    def test_the_keys_of_an_env_file_are_in_no_file_of_a_batch_and_on_no_screen(self) -> None:
        (self.home / "leaky.py").write_text(SystemsOfOnesOwn.MODULE, encoding="utf-8")
        (self.home / "keys.env").write_text(f"MY_SECRET={PLANTED['MY_SECRET']}\n", encoding="utf-8")
        systems = ["fine", "trial", "raises", "says", "thinks"]
        self.enterContext(mock.patch.dict(os.environ))
        for name in systems:
            with self.subTest(name):
                self.job(name=name, systems=f'["baselines:even", "leaky:{name}"]', env_file='"keys.env"')
                for command in ("run", "report", "estimate"):
                    told = self.type(f"{command} jobs/{name}.toml")
                    self.assert_unseen(told.stdout + told.stderr)
        self.assert_unseen(*self.files().values())
        self.assertTrue(any(name.endswith("board.html") for name in self.files()))
