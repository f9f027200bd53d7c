"""README.md is true: its commands run and print what it says, its table has the flags, its tree is the folder."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import unittest
from dataclasses import dataclass

from model_triage import MODELS
from tests.commands import HANGS_S, ROOT, put_python3
from tests.fake_ollama import FakeOllama
from tests.shipped import copy_of_the_tree
from tests.test_tasks_task import InAFolder
from tests.workflow import NOWHERE

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TESTS = "python3 -m unittest"
NEEDS_MODEL = re.compile(r"bench\.py( --budget-s 30)?$|model_triage:(gemma|qwen)|recorded/qwen")


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of the README, and the output that stands right behind its block (None: none does)."""

    command: str
    output: str | None


def shown() -> list[Shown]:
    """Every command of every sh block, in order."""
    blocks = BLOCK.findall(README)
    found = []
    for number, (kind, text) in enumerate(blocks):
        if kind != "sh":
            continue
        behind = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
        commands = text.splitlines()
        found += [Shown(command, None) for command in commands[:-1]]
        found.append(Shown(commands[-1], behind[1] if behind[0] == "text" else None))
    return found


def rebuild_commands() -> list[str]:
    """The commands that build everything again; test_rebuild runs them."""
    found = re.search(r"^## Build everything again.*?^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1).splitlines()


class Commands(InAFolder):
    """The commands, typed in order into a shell in a copy of the tree."""

    def setUp(self) -> None:
        super().setUp()
        self.tree = copy_of_the_tree(self.folder / "tree")
        binaries = self.folder / "bin"
        put_python3(binaries)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "OLLAMA"))}
        self.environment = {**kept, "PATH": f"{binaries}{os.pathsep}{kept['PATH']}",
                            "OLLAMA_HOST": NOWHERE}

    def type(self, command: str, host: str = NOWHERE) -> subprocess.CompletedProcess[str]:
        """What the shell says; a command in the background is waited for."""
        wait = "\nwait\n" if command.endswith("&") else ""
        return subprocess.run(
            ["sh", "-c", command + wait], cwd=self.tree, env={**self.environment, "OLLAMA_HOST": host}, text=True,
            capture_output=True, check=False, timeout=HANGS_S, stdin=subprocess.DEVNULL)

    def test_every_command_works_in_the_order_of_the_page_and_prints_what_stands_behind_it(self) -> None:
        with FakeOllama(dict(MODELS.values())) as server:
            elsewhere = rebuild_commands()
            for one in shown():
                if one.command.startswith(TESTS) or one.command in elsewhere:
                    continue
                is_alone = one.output is not None or not NEEDS_MODEL.search(one.command)
                with self.subTest(command=one.command):
                    told = self.type(one.command, NOWHERE if is_alone else server.host)
                    if one.output is not None:
                        said = (told.stdout + told.stderr).replace(NOWHERE, "127.0.0.1:11434")
                        self.assertEqual(one.output, said)
                    else:
                        more = [line for line in told.stderr.splitlines() if not line.startswith("written: ")]
                        self.assertEqual((0, []), (told.returncode, more if is_alone else []), told.stderr)

    def test_the_first_command_needs_nothing_and_the_second_is_the_tests(self) -> None:
        commands = [one.command for one in shown()]
        self.assertEqual("python3 bench.py --system baselines:keywords --budget-s 30", commands[0])
        self.assertEqual(TESTS, commands[1])


class Page(unittest.TestCase):
    def test_the_tree_is_the_folder(self) -> None:
        tree = re.search(r"^## The tree\n\n((?:    .*\n|\n)+)", README, re.MULTILINE)
        assert tree is not None
        named = set(re.findall(r"^    (\S+) ", tree.group(1), re.MULTILINE))
        floors = set(re.findall(r"^      (\S+/) ", tree.group(1), re.MULTILINE))
        # what somebody put beside the commands is theirs
        command = ["git", "-C", str(ROOT), "ls-files", "--cached"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        if listed.returncode:
            self.skipTest("this is no git checkout, so what belongs to the project is not known")
        files = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
        top = {name.split("/")[0] + ("/" if "/" in name else "") for name in files}
        self.assertEqual(sorted(top), sorted(named))
        self.assertEqual({name.split("/")[1] + "/" for name in files if re.match(r"benchkit/\w+/", name)}, floors)

    def test_the_table_of_commands_has_every_flag_of_every_command_and_no_other(self) -> None:
        for cli, module in ((path.name, path.stem) for path in sorted(ROOT.glob("*.py"))):
            if not hasattr(__import__(module), "parser"):
                continue
            row = re.search(rf"^\| `{cli}` \|.*$", README, re.MULTILINE)
            assert row is not None, cli
            told = subprocess.run([sys.executable, "-c", FLAGS.format(module=module)], cwd=ROOT, capture_output=True,
                                  text=True, check=True)
            self.assertEqual(sorted(set(told.stdout.split())), sorted(set(re.findall(r"--[a-z-]+", row.group()))), cli)

    def test_every_file_that_it_links_to_is_there(self) -> None:
        for path in re.findall(r"\]\(([\w./-]+)\)", README):
            self.assertTrue((ROOT / path).exists(), path)


FLAGS = """
import argparse, {module}
def flags(parser):
    for action in parser._actions:
        yield from (one for one in action.option_strings if one.startswith("--") and one not in ("--help", "--version"))
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from flags(inner)
print(*flags({module}.parser()))
"""
