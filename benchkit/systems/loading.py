"""Finding a system by its name: `module:name`, where the module holds `system(name, options) -> System`.

The kit's own come first, whatever modules there are: `baselines:NAME`, `replay:FILE`, and those of system.SERVERS.
"""
from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchkit.basics.command import Command
from benchkit.basics.errors import Unusable
from benchkit.basics.secrets import Redactor, secrets_in
from benchkit.basics.texts import shown_line
from benchkit.systems.system import SERVERS, System, SystemOptions
from benchkit.tasks.modules import load_module, module_name_of

GIVEN_AS = "--system"
SHIPPED = {"--task": ("triage_task",), "--system": ("model_triage", "baselines", *SERVERS)}
"""What a log may name by itself: the task of the example, and the kit's own kinds of system."""


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


def strangers_in(names: Mapping[str, str]) -> dict[str, str]:
    """Of the modules that a file names, by flag, those which are not the kit's own: a person has to type them."""
    return {flag: name for flag, name in names.items() if name.partition(":")[0] not in SHIPPED[flag]}


def refuse_strangers(kind: str, file: str, names: Mapping[str, str], command: Command, has_cases: bool) -> None:
    """Raise Unusable where a file of some kind names modules that nobody typed. `has_cases`: --cases was typed."""
    strangers = strangers_in(names)
    for flag, name in strangers.items():
        command = command.having(flag, name)
    if strangers:
        named = " ".join(f"{flag} {shown_line(name, 80)}" for flag, name in strangers.items())
        more = "" if has_cases else ", with --cases FILE if they are not in cases.json"
        raise Unusable(f"{file}: it was recorded with {named}; a module is never imported because a {kind} names it, "
                       f"so say it yourself{more}: {command}")


def load_system(name: str, options: SystemOptions, folders: Sequence[Path], given_as: str = GIVEN_AS) -> System:
    """The system of that name, not opened yet. Raises Unusable, naming it as it was given."""
    module_name, rest = split_name(name, given_as)
    if module_name == "replay":
        raise Unusable(f"{given_as} {shown_line(name)}: a replay is judged, not recorded: give python3 harness.py run "
                       f"this --system, with the --task and --cases it was recorded with")
    if is_baseline(name):
        from benchkit.systems.baselines import baseline_system
        return baseline_system(rest, options)
    if module_name in SERVERS:
        system: System = importlib.import_module(SERVERS[module_name].module).system(rest, options)
        return system
    from benchkit.systems.guarding import GuardedSystem, redacting
    from benchkit.systems.server_session import SignsOfLife
    redactor = Redactor(secrets_in(options.environment))
    with redacting(redactor):
        module = load_module(module_name, folders)
        make = getattr(module, "system", None)
        if not callable(make):
            raise Unusable(f"{module_name}.py has no function system(name, options); see model_triage.py for the "
                           "pattern")
        signs = SignsOfLife(lambda line: options.say(redactor.text(line)), options.clock, spare_ticks=2)
        return GuardedSystem(
            None, shown_line(f"{given_as} {name}", 120), Path(str(module.__file__)), options.clock, redactor,
            partial(signs.while_loading, shown_line(name, 80)),
        ).made(lambda: make(rest, replace(options, say=signs.say)))
