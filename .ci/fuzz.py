#!/usr/bin/env python3
"""Looks for inputs that a reader neither refuses in one line nor reads rightly, led by what code they reach (atheris).

    .ci/fuzz [SECONDS [KIND]]      a bounded run over every kind of file, or over one

One process a kind: the fuzzer of LLVM ends its process when it is done, or when it found something. What must be true
of what was read stands in tests/hostile_inputs.py, as for the seeded mutations of the tests.
exit code 1 (or the fuzzer's own) for a fault; the input that shows it is left in the working folder as crash-*.
"""
from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import atheris  # type: ignore[import-untyped]  # noqa: E402

with atheris.instrument_imports(include=["benchkit"]):
    from benchkit.basics.errors import Unusable
    from benchkit.basics.json_text import SUM_BYTES, is_whole
    from tests.hostile_board_inputs import KINDS, RESEALED
    from tests.hostile_inputs import Kind
    from tests.mutator import sealed

SECONDS = 20
LONGEST_LINE = 1500


def fuzz(kind: Kind, seconds: int) -> None:
    """Run the fuzzer over a kind of file; it ends the process."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    examples = kind.examples(folder)
    path = folder / kind.file
    for number, example in enumerate(examples):
        (corpus / str(number)).write_bytes(_opened(kind, example))

    def look(data: bytes) -> None:
        path.write_bytes(_closed(kind, data))
        try:
            kind.look(path, examples[0])
        except Unusable as error:
            if "\n" in str(error) or len(str(error)) > LONGEST_LINE:
                raise AssertionError(f"told at length: {error!r}") from error

    atheris.Setup([sys.argv[0], str(corpus), f"-max_total_time={seconds}", "-timeout=5", "-rss_limit_mb=1024",
                   "-max_len=20000", "-verbosity=0", "-print_final_stats=1"], look)
    atheris.Fuzz()


def _opened(kind: Kind, data: bytes) -> bytes:
    """An example as the fuzzer gets it: it cannot guess sums, so those are left out where they are put back."""
    if kind not in RESEALED:
        return data
    return b"".join(line[:-SUM_BYTES] + b"\n" if is_whole(line) else line + b"\n" for line in data.splitlines())


def _closed(kind: Kind, data: bytes) -> bytes:
    return b"".join(map(sealed, data.split(b"\n"))) if kind in RESEALED else data


def main() -> int:
    """Fuzz every kind in a process of its own, or one kind in this one."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    kinds = {kind.name: kind for kind in (*KINDS, *RESEALED) if not kind.is_sealed}
    if len(sys.argv) > 2:
        fuzz(kinds[sys.argv[2]], seconds)
    for name in kinds:
        print(f"== {name}", flush=True)
        code = subprocess.run([sys.executable, __file__, str(seconds), name], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
