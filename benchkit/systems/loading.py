"""Finding a system by its name: `module:name`, where the module holds `system(name, options) -> System`.

The kit's own come first, whatever modules there are: `baselines:NAME`, `ollama:TAG`, `openai:MODEL`, `replay:FILE`.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.secrets import Redactor, secrets_in
from benchkit.basics.texts import shown_line
from benchkit.systems.baselines import baseline_system
from benchkit.systems.guarding import guarded
from benchkit.systems.redaction import redacting
from benchkit.systems.server_session import SignsFromOutside
from benchkit.systems.system import System, SystemOptions
from benchkit.tasks.modules import load_module, module_name_of

GIVEN_AS = "--system"


def split_name(name: str, given_as: str = GIVEN_AS) -> tuple[str, str]:
    """(module, rest) of a system's name, cut at the first colon. Raises Unusable, naming it as it was given."""
    module, colon, rest = name.partition(":")
    if module.endswith(".py") and module_name_of(module):
        raise Unusable(f"{given_as} {shown_line(name)}: a system is named after its module, not after the file: give "
                       f"{module_name_of(module)}:{shown_line(rest) or 'NAME'}")
    if not (module and colon and rest):
        raise Unusable(f"{given_as} {shown_line(name)}: a system is named module:name, such as model_triage:gemma "
                       f"or baselines:keywords")
    return module, rest


def is_baseline(name: str) -> bool:
    """Whether a system is a baseline: if and only if its name begins with `baselines:`."""
    return name.startswith("baselines:")


def load_system(name: str, options: SystemOptions, folders: Sequence[Path], given_as: str = GIVEN_AS) -> System:
    """The system of that name, not opened yet. Raises Unusable, naming it as it was given."""
    module_name, rest = split_name(name, given_as)
    if module_name == "replay":
        raise Unusable(f"{given_as} {shown_line(name)}: a replay is judged, not recorded: give python3 harness.py run "
                       f"this --system, with the --task and --cases it was recorded with")
    if is_baseline(name):
        return baseline_system(rest, options)
    if module_name == "ollama":
        from benchkit.systems.ollama import ollama_system
        return ollama_system(rest, options)
    if module_name == "openai":
        from benchkit.systems.openai import openai_system
        return openai_system(rest, options)
    redactor = Redactor(secrets_in(options.environment))
    safe = replace(options, say=lambda line: options.say(redactor.text(line)))
    with redacting(redactor):
        return _of_a_module(name, safe, folders, given_as, redactor)


def _of_a_module(
    name: str, options: SystemOptions, folders: Sequence[Path], given_as: str, redactor: Redactor
) -> System:
    module_name, rest = split_name(name, given_as)
    module = load_module(module_name, folders)
    make = getattr(module, "system", None)
    if not callable(make):
        raise Unusable(f"{module_name}.py has no function system(name, options); see model_triage.py for the pattern")
    signs = SignsFromOutside(options.say, options.clock)
    quiet = replace(options, say=signs.say)
    return guarded(f"{given_as} {name}", Path(str(module.__file__)), lambda: make(rest, quiet), options.clock,
                   redactor, partial(signs.while_loading, shown_line(name, 80)))
