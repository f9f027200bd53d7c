"""The modules behind the commands.

Layers, from the ground up; a module imports only from its own layer above it in this list, or from layers below:

    basics       errors, values, canonical JSON, names, the clock; knows nothing of files or networks
    statistics   formulas over counts; exact fractions in, figures out
    pages        escaping, HTML, SVG charts, Markdown and CSV text; pure: values in, text out
    render       one document of blocks, and a thin renderer for each format
    disk         the only layer that writes files
    trial_log    the trial log: its lines, its reader, its writer
    tasks        cases, the user's task, and the judgement of one output
    network      the only layer that opens sockets
    systems      who answers: the seam to the user's systems, and the baselines of the kit
    recordings   what a log amounts to: recordings, run records, digests
    running      what is left to run, and running it
    reports      run records -> report -> text and pages
    boards       many systems over a question pack: batches, traces, judges, standings
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchkit.basics.errors import ERROR_TYPES, TrialError, Unusable
    from benchkit.basics.fields import Fields
    from benchkit.basics.json_text import canonical, parse, short_digest
    from benchkit.basics.values import JSON, Case, Message, Reply, Request, Usage
    from benchkit.systems.ollama import OllamaModel, OllamaSystem
    from benchkit.systems.system import Loaded, System, SystemOptions

VERSION = "1.0.0"

__all__ = [
    "ERROR_TYPES", "JSON", "VERSION", "Case", "Fields", "Loaded", "Message", "OllamaModel", "OllamaSystem", "Reply",
    "Request", "System", "SystemOptions", "TrialError", "Unusable", "Usage", "canonical", "parse", "short_digest",
]
"""The names that tasks, systems and question packs import: `from benchkit import Case, Reply, TrialError`."""

_MODULES = {
    "benchkit.basics.json_text": ("canonical", "parse", "short_digest"),
    "benchkit.basics.errors": ("ERROR_TYPES", "TrialError", "Unusable"),
    "benchkit.basics.fields": ("Fields",),
    "benchkit.basics.values": ("JSON", "Case", "Message", "Reply", "Request", "Usage"),
    "benchkit.systems.ollama": ("OllamaModel", "OllamaSystem"),
    "benchkit.systems.system": ("Loaded", "System", "SystemOptions"),
}


def __getattr__(name: str) -> Any:
    """A public name, its module imported when it is first asked for: `--help` of a command needs none of them."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
