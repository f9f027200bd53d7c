"""Names of strangers (systems, cases, tags, labels, jobs, batches): never a path out of the folder, never a clash."""
from __future__ import annotations

import json
import os
import random
import shlex
import unittest
from pathlib import Path, PurePosixPath, PureWindowsPath

from benchkit.basics.errors import Unusable
from benchkit.basics.texts import alike, file_stem, shown_line
from benchkit.boards.batch import BATCH, read_batch
from benchkit.boards.job import read_job
from tests.board_command import ROBOTS, BoardCommand
from tests.commands import Told
from tests.workflow import Workflow

NAMES = (
    "../../x", "..", ".", "/etc/x", "a/b", "a\\b", "..\\..\\x", "a:b", "C:x", "C:\\x", "\\\\host\\share", "CON",
    "con", "con.txt", "NUL", "aux.json", "COM1", "lpt9.a", "dot.", ".hidden", "...", "space ", " space", "~root",
    "$HOME", "%TEMP%", "`id`", "$(id)", "a;b", "a|b", "a*b", "a?b", "<b>", '"b"', "'b'", "-rf", "--help", "a\nb",
    "a\tb", "\x1b[31m", "a\x00b", "\u202eb", "\u2028", "x" * 300, "é" * 300, "😀", "日本", "Größe", "GRÖSSE", "grösse",
    "e\u0301", "é", "ﬁ", "fi", "İ", "i", "ı", "ß", "ss", "K", "k", "X", "x", "Report", "report", "x-a-559aead08264",
    "A", "recordings", "keywords",
)
LONGEST_FILE_NAME = 255
DEVICES = {"con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))}


class FileNames(unittest.TestCase):
    def random_names(self, count: int) -> list[str]:
        chance = random.Random(5)
        letters = "aAbB01.-_:/\\ x\u00e9\u0301\u0130ß\x00\n"
        return ["".join(chance.choices(letters, k=chance.randrange(12))) for _ in range(count)]

    def test_no_name_leaves_the_folder_on_any_system(self) -> None:
        for name in (*NAMES, *self.random_names(3000)):
            stem = file_stem(name)
            with self.subTest(name=name):
                for file in (stem + ".jsonl", stem + ".json"):
                    self.assertEqual((1, 1), (len(PurePosixPath(file).parts), len(PureWindowsPath(file).parts)))
                    self.assertNotIn(file.partition(".")[0], DEVICES)
                    self.assertRegex(file, r"\A[a-z0-9_-][a-z0-9._-]*\Z")
                    self.assertLessEqual(len(file), LONGEST_FILE_NAME)

    def test_no_two_names_share_a_file_whatever_the_disk_makes_of_capitals(self) -> None:
        names = set(NAMES) | set(self.random_names(3000)) | {file_stem(name) for name in NAMES[:5]}
        self.assertEqual(len(names), len({file_stem(name).casefold() for name in names}))


class InAFolderBelow(Workflow):
    """The commands are used in a folder below another one, which must stay as it was."""

    def setUp(self) -> None:
        super().setUp()
        self.outside = self.folder
        (self.outside / "cases.json").replace(self.outside / "kept.json")
        self.folder = self.outside / "in" / "side"
        self.folder.mkdir(parents=True)
        os.chdir(self.folder)
        self.put_cases(self.cases)

    def assert_well(self, told: Told) -> None:
        """An answer, or one line; and nothing outside."""
        self.assertIn(told.code, (0, 2), told)
        self.assertNotIn("Traceback", told.stderr)
        for line in (told.stdout + told.stderr).split("\n"):
            self.assertEqual(shown_line(line, 10_000), line)
        self.assertEqual(["in", "kept.json"], sorted(path.name for path in self.outside.iterdir()))
        self.assertEqual(["side"], sorted(path.name for path in self.folder.parent.iterdir()))

    def tell(self, *words: str) -> Told:
        """Run a command with these words as they are."""
        told = self.type(shlex.join(words))
        self.assert_well(told)
        return told

    def test_a_system_of_any_name_is_recorded_below_recorded(self) -> None:
        (self.folder / "robots.py").write_text(ROBOTS, encoding="utf-8")
        names = [name for name in NAMES if "\x00" not in name][::4]
        for name in names:
            with self.subTest(name=name):
                told = self.tell("bench.py", "--system", f"robots:{name}", "--trials", "1", "--quiet")
                self.assertEqual(0, told.code, told)
                log = Path("recorded", file_stem(name) + ".jsonl")
                self.assertTrue(log.is_file())
                told = self.tell("harness.py", "run", "--system", f"replay:{log}")
                self.assertEqual(0, told.code, told)
                self.assertTrue(Path("runs", file_stem(name) + ".json").is_file())
        self.assertEqual(len(names), len(list(Path("recorded").glob("*.jsonl"))))
        self.assertEqual(2 * len(names), len(list(Path("recorded").iterdir())))
        self.assertEqual(len(names), len(list(Path("runs").iterdir())))

    def test_cases_and_tags_of_any_name_become_no_files(self) -> None:
        ids = [name for name in NAMES if shown_line(name, 1000) == name == name.strip()]
        ids = list({alike(name): name for name in ids}.values())
        self.assertGreater(len(ids), 40)
        self.put_cases([{**self.cases[0], "id": name, "tags": [name, f"{name[:250]} again"]} for name in ids])
        self.assertEqual(0, self.tell("bench.py", "--system", "baselines:keywords", "--trials", "1").code)
        for words in (("harness.py", "run", "--system", "replay:recorded/keywords.json"), ("harness.py", "check"),
                      ("outputs_digest.py", "recorded/keywords.jsonl", "--update", "recorded/book.json", "--label=x"),
                      ("outputs_digest.py", "--check", "recorded/book.json"),
                      ("report.py", "runs/keywords.json", "--html", "a.html", "--csv", "a.csv", "--markdown", "a.md",
                       "--junit", "a.xml", "--out", "a.json")):
            with self.subTest(words=words):
                self.assertEqual(0, self.tell(*words).code)
        for name in ids[::8]:
            self.assertEqual(0, self.tell("report.py", "runs/keywords.json", f"--case={name}").code)
        files = {"cases.json", "recorded/keywords.jsonl", "recorded/keywords.json", "recorded/book.json", "a.json",
                 "runs/keywords.json", "a.html", "a.csv", "a.md", "a.xml"}
        self.assertEqual(files, self.files().keys())

    def test_ids_that_only_look_different_are_refused_and_it_is_said_in_what_they_differ(self) -> None:
        case, form = ", but for case\n", ", but for the way its letters are encoded (Unicode normal form)\n"
        unseen = ", but for joiners and variation selectors, which nobody sees\n"
        for one, other, but_for in (
            ("Mail", "mail", case), ("STRASSE", "straße", case), ("K", "k", case), ("ﬁ", "FI", case),
            ("mail", "mail", "\n"), ("caf\u00e9", "cafe\u0301", form), ("caf\u00e9", "CAFE\u0301", form),
            ("\uff21", "A", form), ("\u1e9b\u0323", "\u1e61\u0323", case),
            ("\u2764", "\u2764\ufe0f", unseen), ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u062e", unseen),
        ):
            with self.subTest(one=one, other=other):
                self.put_cases([{**self.cases[0], "id": one}, {**self.cases[0], "id": other}])
                self.assertIn(f"cases[1] ({other}).id is the same as cases[0] ({one}).id{but_for}",
                              self.tell("harness.py", "check").stderr)

    def test_a_letter_that_nobody_sees_is_refused_in_ids_splits_and_tags_by_its_number(self) -> None:
        fields = ("id", "split", "tags")
        for number, code in enumerate((
                0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180E, 0x180F, 0x200B, 0x2060, 0x2065, 0x2800,
                0x3164, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFE, 0xE000, 0xF8FF, 0xFDD0, 0x1BCA0, 0x1D173, 0xE0041, 0xE0FFF,
                0xF0000, 0x10FFFF)):
            field, value = fields[number % 3], f"a{chr(code)}b"
            with self.subTest(code=hex(code), field=field):
                self.put_cases([{**self.cases[0], field: [value] if field == "tags" else value}])
                told = self.tell("harness.py", "check")
                self.assertEqual((2, 1), (told.code, told.stderr.count("\n")))
                self.assertIn(f"holds U+{code:04X}, which nobody sees", told.stderr)

    def test_joined_emoji_and_letters_of_any_script_are_ids(self) -> None:
        ids = ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\u0645\u06cc\u200c\u062e", "\u0600\u0661",
               "\u0915\u094d\u200d\u0937", "\u8fbb\U000e0100", "\ud55c\uae00", "\U0001f1e9\U0001f1ea")
        self.put_cases([{**self.cases[0], "id": name, "split": "development"} for name in ids])
        self.assertEqual(0, self.tell("bench.py", "--system", "baselines:keywords", "--trials", "1").code)

    def test_labels_hardware_splits_and_files_of_any_name(self) -> None:
        self.assertEqual(0, self.tell("bench.py", "--system", "baselines:keywords", "--trials", "1").code)
        for number, name in enumerate([name for name in NAMES if "\x00" not in name][1::5]):
            with self.subTest(name=name):
                self.tell("outputs_digest.py", "recorded/keywords.jsonl", "--update", "recorded/book.json",
                          f"--label={name}")
                self.tell("bench.py", "--system", "baselines:coin", "--trials", "1", f"--hardware={name}", "--log",
                          f"recorded/{number}.jsonl", "--quiet")
                self.tell("bench.py", "--system", "baselines:coin", f"--split={name}", f"--case={name}", "--dry-run")
                self.tell("harness.py", "run", "--system", f"replay:{name}", f"--task={name}")

    def test_a_log_that_names_a_system_or_a_task_of_any_name_is_read_and_nothing_of_it_is_a_path(self) -> None:
        for name in ("../../x", "CON", "a\x00b", "x" * 300):
            with self.subTest(name=name):
                self.log = Path("recorded/keywords.jsonl")
                for path in Path("recorded").glob("*"):
                    path.unlink()
                self.assertEqual(0, self.tell("bench.py", "--system", "baselines:keywords", "--trials", "1").code)
                task = {"module": name, "name": name, "version": name}
                self.alter(1, systems=[name], task=task, kit=name, split=name)
                self.alter(2, system=name)
                for number in range(4, 7):
                    self.alter(number, system=name)
                self.tell("bench.py", "--log", "recorded/keywords.jsonl", "--status")
                self.tell("bench.py", "--log", "recorded/keywords.jsonl", "--convert", "recorded/other.json")
                self.tell("bench.py", "--log", "recorded/keywords.jsonl", "--trials", "2")
                self.tell("harness.py", "run", "--system", "replay:recorded/keywords.jsonl")
                self.assertLessEqual(set(self.files()), {"cases.json", "recorded/keywords.jsonl", "recorded/other.json",
                                                         "recorded/keywords.json", "runs/keywords.json"})


class Boards(BoardCommand):
    def test_a_job_whose_name_is_no_plain_one_is_refused(self) -> None:
        for name in NAMES:
            if "/" in name or "\x00" in name or len(name.encode()) > 200 or name in (".", ".."):
                continue
            path = self.home / "jobs" / f"{name}.toml"
            path.write_text((self.home / "jobs" / "tiny.toml").read_text(encoding="utf-8"), encoding="utf-8")
            with self.subTest(name=name):
                if file_stem(name) == name:
                    self.assertEqual(name, read_job(path).name)
                else:
                    with self.assertRaisesRegex(Unusable, "the name becomes a folder"):
                        read_job(path)

    def test_what_a_job_names_is_never_looked_for_outside(self) -> None:
        for keys in ({"pack": '"../../x"'}, {"pack": '"/etc"'}, {"pack": '"a.b"'}, {"pack": '"CON"'},
                     {"systems": '["../x:y"]'}, {"systems": '["os:system"]'}):
            with self.subTest(keys=keys):
                self.job(**keys)
                told = self.type("run jobs/tiny.toml")
                self.assertEqual((2, 1), (told.code, told.stderr.count("\n")), told)
        self.assertFalse((self.home / "runs").exists() and any((self.home / "runs").iterdir()))

    def test_a_batch_that_gives_its_job_another_name_is_refused(self) -> None:
        self.well("run jobs/tiny.toml --offline")
        folder = self.batch()
        fields = json.loads((folder / BATCH).read_text(encoding="utf-8"))
        for name in NAMES:
            if file_stem(name) != name:
                with self.subTest(name=name):
                    (folder / BATCH).write_text(json.dumps({**fields, "job_name": name}), encoding="utf-8")
                    with self.assertRaisesRegex(Unusable, "job_name"):
                        read_batch(folder)

    def test_batches_are_found_by_name_and_nowhere_outside(self) -> None:
        self.well("run jobs/tiny.toml --offline")
        for name in NAMES:
            if "\x00" not in name and not name.startswith("-"):
                with self.subTest(name=name):
                    told = self.type(f"recompute {shlex.quote(name)}")
                    self.assertEqual((2, 1), (told.code, told.stderr.count("\n")), told)
