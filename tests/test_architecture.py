"""The architecture, held by a test: layers in order, no cycles, the standard library only."""

from __future__ import annotations

import ast
import functools
import re
import sys
import unittest
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import benchkit

ROOT = Path(benchkit.__file__).resolve().parent.parent
LAYERS = re.findall(r"^    (\w+)  ", benchkit.__doc__ or "", re.MULTILINE)
PACKAGES = {"benchkit", "tests", "benchmarks"}
TOP = {path.stem for path in ROOT.glob("*.py")} | PACKAGES
WRITING = r"\bos\.(replace|write|open)\(|\.write_(text|bytes)\(|\bopen\([^)]*[\"'][wax]"
USERS = {"triage_task", "model_triage", "test_bench"}


@functools.cache
def tree(path: Path) -> ast.Module:
    """A file as Python reads it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def modules(folder: Path) -> dict[str, Path]:
    """Every module below a folder, by its dotted name from the root."""
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
            for path in sorted(folder.rglob("*.py"))}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below one, at any depth."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """The dotted names of all that a file imports, at any depth of it."""
    found: set[str] = set()
    for node in statements(tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.update({node.module or ""}, {f"{node.module}.{alias.name}" for alias in node.names})
    return frozenset(found)


MODULES = modules(ROOT / "benchkit")
EVERY_FILE = [*MODULES.values(), *(ROOT / f"{name}.py" for name in TOP - PACKAGES),
              *(path for name in ("tests", "benchmarks", "packs") for path in modules(ROOT / name).values())]


def layer(name: str) -> int | None:
    """The number of a module's layer; None for the entrance (benchkit itself and command.py)."""
    parts = name.split(".")
    return LAYERS.index(parts[1]) if len(parts) > 2 or parts[-1] in LAYERS else None


class TheArchitecture(unittest.TestCase):
    def test_every_folder_is_a_layer_and_every_layer_a_folder(self) -> None:
        folders = {path.parent.name for path in (ROOT / "benchkit").glob("*/__init__.py")}
        self.assertEqual(sorted(folders), sorted(LAYERS))

    def test_a_module_imports_only_from_its_own_layer_or_from_below(self) -> None:
        for name, path in MODULES.items():
            for other in imports(path) & MODULES.keys():
                here, there = layer(name), layer(other)
                if here is not None and there is not None:
                    self.assertLessEqual(there, here, f"{name} imports {other}, which is above it")

    def test_no_two_modules_need_each_other(self) -> None:
        graph = {name: (imports(path) & MODULES.keys()) - {name} for name, path in MODULES.items()}
        try:
            tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            self.fail(f"import cycle: {error.args[1]}")

    def test_a_module_imports_no_command_no_user_module_and_not_the_commands_helper(self) -> None:
        outside = (TOP - {"benchkit"}) | {"benchkit.cli"}
        for name, path in MODULES.items():
            self.assertFalse(imports(path) & outside, name)

    def test_a_command_imports_no_other_command(self) -> None:
        for name in TOP - USERS - PACKAGES:
            self.assertFalse(imports(ROOT / f"{name}.py") & (TOP - {"benchkit"}), name)

    def test_only_tests_and_benchmarks_import_a_benchmark(self) -> None:
        allowed = {*modules(ROOT / "tests").values(), *modules(ROOT / "benchmarks").values()}
        for path in set(EVERY_FILE) - allowed:
            self.assertFalse({name.split(".")[0] for name in imports(path)} & {"benchmarks"}, path)

    def test_a_benchmark_imports_no_command(self) -> None:
        for name, path in modules(ROOT / "benchmarks").items():
            self.assertFalse(imports(path) & (TOP - PACKAGES), name)

    def test_the_project_and_its_tests_import_the_standard_library_only(self) -> None:
        for path in EVERY_FILE:
            for name in imports(path):
                top = name.split(".")[0]
                self.assertTrue(top in sys.stdlib_module_names or top in TOP | {"packs"}, f"{path}: {name}")

    def test_no_top_level_module_takes_a_name_of_the_standard_library(self) -> None:
        self.assertFalse(TOP & sys.stdlib_module_names)

    def test_only_the_network_layer_opens_sockets_and_only_the_disk_layer_writes(self) -> None:
        network = {"socket", "http.client", "urllib.request", "ssl"}
        for name, path in MODULES.items():
            if not name.startswith("benchkit.network"):
                self.assertFalse(imports(path) & network, name)
            if not name.startswith("benchkit.disk"):
                text = path.read_text(encoding="utf-8")
                if name != "benchkit.cli":
                    self.assertNotRegex(text, WRITING, name)

    def test_every_public_name_of_the_package_is_there_and_no_other(self) -> None:
        listed = {name for names in benchkit._MODULES.values() for name in names} | {"VERSION"}
        self.assertEqual(listed, set(benchkit.__all__))
        for module, names in benchkit._MODULES.items():
            for name in names:
                self.assertIs(getattr(benchkit, name), getattr(sys.modules[module], name))
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            _ = benchkit.nothing

    def test_every_module_says_what_lives_there(self) -> None:
        for name, path in {**MODULES, **modules(ROOT / "benchmarks")}.items():
            self.assertTrue(ast.get_docstring(tree(path)), name)
