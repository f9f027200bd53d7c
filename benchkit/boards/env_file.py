"""KEY=VALUE files: what a system may need and nobody must ever see.

No value reaches an error: what is wrong is said by the file and the number of the line, and by the variable's name.
What does not live here: where the values go (the environment of the process, by the door).
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchkit.basics.encodings import MARK, encoding_fault
from benchkit.basics.errors import Surroundings, Unusable
from benchkit.disk.whole_files import read_whole, shown_path

MOST_BYTES = 64 * 1024
TOGETHER = (("OPENAI_BASE_URL", "OPENAI_API_KEY"),)
"""An address, and the key that belongs to it: one of the file never meets one of the environment."""
_LINE = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]{0,99})[ \t]*=[ \t]*(.*)")
_COMMENT_BEHIND = re.compile(r"[ \t]+#.*")


@dataclass(frozen=True, slots=True)
class Secrets:
    """Values by name; they do not show when this is printed."""

    values: Mapping[str, str] = field(repr=False)

    def beside(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Those that the environment does not have: what is set there already holds.

        An address that stands here with its key is taken with it or not at all: no key goes to another host.
        """
        taken = {name: value for name, value in self.values.items() if name not in environment}
        for address, key in TOGETHER:
            if address in self.values and key in self.values:
                if address not in environment:
                    taken[key] = self.values[key]
                elif environment[address] != self.values[address]:
                    taken.pop(key, None)
        return taken


def read_env_file(path: Path) -> Secrets:
    """The values of a file. Raises Surroundings if it is missing, Unusable with file and line."""
    if not path.exists():
        raise Surroundings(f"{shown_path(path)}: the job's env_file is not there, and a chosen system may need it; "
                           "write it (KEY=VALUE lines), or choose baselines only with --offline")
    data = read_whole(path, MOST_BYTES)
    fault = encoding_fault(data.removeprefix(MARK))
    if fault:
        raise Unusable(f"{shown_path(path)}: {fault}")
    try:
        return parse_env(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise Unusable(f"{shown_path(path)}, line {number}: it is not UTF-8") from None
    except ValueError as error:
        raise Unusable(f"{shown_path(path)}, {error}") from None


def parse_env(text: str) -> Secrets:
    """The values of KEY=VALUE lines: comments, empty lines, `export` and quotes are known, `$` is a letter.

    A name that stands twice has its last value. Raises ValueError(`line 3: ...`), never with a value in it.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise ValueError(f"line {number}: it is not KEY=VALUE")
        name, value = match.groups()
        found[name] = _value(value, f"line {number}: the value of {name}")
    return Secrets(found)


def _value(text: str, place: str) -> str:
    value = _unquoted(text, place) if text[:1] in ("'", '"') else _COMMENT_BEHIND.sub("", text).strip()
    # a key with a line break or a typographic quote in it fails in a header, far from here
    if not all(" " <= letter <= "~" for letter in value):
        raise ValueError(f"{place} holds something else than printable ASCII")
    return value


def _unquoted(text: str, place: str) -> str:
    end = text.find(text[0], 1)
    behind = text[end + 1:].strip()
    if end < 0 or (behind and not behind.startswith("#")):
        raise ValueError(f"{place} begins with a quote and does not end with it")
    return text[1:end]
