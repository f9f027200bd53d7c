"""Files that a program on Windows saved or a checkout turned: what is wrong is said, and nothing is begun anew."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.board_command import BoardCommand
from tests.workflow import Workflow

MARK = "it begins with a byte order mark; save it as UTF-8 without one"
UTF_16 = "it is UTF-16; save it as UTF-8"
CRLF = "its line ends are CRLF: it was copied as text; copy it as it is, or turn them back"
SAVED: Mapping[str, Callable[[bytes], bytes]] = {
    MARK: lambda data: b"\xef\xbb\xbf" + data,
    UTF_16: lambda data: data.decode("utf-8").encode("utf-16"),
    UTF_16 + " ": lambda data: data.decode("utf-8").encode("utf-16-be"),
}
"""How a text may have been saved, by what is said of it."""
COIN = "--system baselines:coin --trials 2 --quiet"
OF_A_LOG = (
    "bench.py --log t.jsonl --status", "bench.py --log t.jsonl", f"bench.py {COIN} --log t.jsonl",
    f"bench.py {COIN} --log t.jsonl --accept-damage", "bench.py --log t.jsonl --convert c.json",
    "bench.py --log t.jsonl --export e.jsonl", "bench.py --merge t.jsonl --log m.jsonl", "outputs_digest.py t.jsonl",
    "harness.py run --system replay:t.jsonl --trials 2 --out o.json")


def turned(data: bytes) -> bytes:
    """The text with the line ends of Windows."""
    return data.replace(b"\n", b"\r\n")


class Runs(Workflow):
    def setUp(self) -> None:
        super().setUp()
        self.well(f"bench.py {COIN} --log t.jsonl")
        for out in ("run.json", "lines.jsonl"):
            self.well(f"harness.py run --system replay:t.json --trials 2 --out {out}")
        self.well("outputs_digest.py t.jsonl --update recordings.json --label a")

    def test_each_file_that_was_saved_otherwise_is_refused_in_the_words_for_that(self) -> None:
        for name, commands in {
                "cases.json": (f"bench.py {COIN} --log new.jsonl",),
                "t.jsonl": OF_A_LOG,
                "t.json": ("harness.py run --system replay:t.json --trials 2 --out o.json",),
                "run.json": ("report.py run.json", "harness.py compare run.json run.json"),
                "lines.jsonl": ("report.py lines.jsonl",),
                "recordings.json": ("outputs_digest.py --check recordings.json",)}.items():
            path = self.folder / name
            whole = path.read_bytes()
            for words, save in SAVED.items():
                path.write_bytes(save(whole))
                for command in commands:
                    with self.subTest(command, words=words):
                        self.refused(command, 2, name, words.strip())
            path.write_bytes(whole)

    def test_a_log_whose_line_ends_were_turned_is_refused_and_nothing_is_begun_behind_it(self) -> None:
        path = self.folder / "t.jsonl"
        whole = path.read_bytes()
        path.write_bytes(turned(whole))
        for command in OF_A_LOG:
            with self.subTest(command):
                self.refused(command, 2, "t.jsonl", CRLF)
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
        self.assertIn("0 left", self.well("bench.py --log t.jsonl --status"))

    def test_where_line_ends_mean_nothing_they_may_be_any(self) -> None:
        for name in ("cases.json", "t.json", "run.json", "lines.jsonl", "recordings.json"):
            path = self.folder / name
            path.write_bytes(turned(path.read_bytes()))
        self.well(f"bench.py {COIN} --log new/new.jsonl")
        self.well("harness.py run --system replay:t.json --trials 2 --out o.json")
        for record in ("run.json", "lines.jsonl"):
            self.well(f"report.py {record}")
        self.well("outputs_digest.py --check recordings.json")


class Boards(BoardCommand):
    def setUp(self) -> None:
        super().setUp()
        self.well("run jobs/tiny.toml --offline")
        self.folder, = sorted((self.home / "runs" / "tiny").iterdir())

    def assert_each_refused(self, path: Path, saved: Mapping[str, Callable[[bytes], bytes]]) -> None:
        whole = path.read_bytes()
        for words, save in saved.items():
            path.write_bytes(save(whole))
            for command in ("run jobs/tiny.toml --offline", "report jobs/tiny.toml", "estimate jobs/tiny.toml"):
                if path.suffix != ".toml" and command.startswith("estimate"):
                    continue
                with self.subTest(path.name, command=command, words=words):
                    line = self.refused(command)
                    self.assertIn(f"{path.name}: {words.strip()}", line)
        path.write_bytes(whole)

    def test_each_file_is_refused_in_the_words_for_what_was_done_to_it(self) -> None:
        self.assert_each_refused(self.home / "jobs" / "tiny.toml", SAVED)
        self.assert_each_refused(self.folder / "batch.json", SAVED)
        for name in ("cases.jsonl", "responses.jsonl", "trace.jsonl"):
            self.assert_each_refused(self.folder / name, {**SAVED, CRLF: turned})
        self.assertIn("trace self-consistent", self.well("report jobs/tiny.toml"))

    def test_an_env_file_may_have_a_mark_and_is_no_utf_16(self) -> None:
        self.job(systems='["robots:key"]', env_file='"keys.env"')
        for save, words in ((SAVED[MARK], ""), (turned, ""), (SAVED[UTF_16], f"keys.env: {UTF_16}")):
            (self.home / "keys.env").write_bytes(save(b"ROBOT_KEY=sesame-12345\n"))
            told = self.type("run jobs/tiny.toml --fresh --limit 1")
            self.assertEqual(2 if words else 0, told.code, told)
            self.assertIn(words, told.stderr)
