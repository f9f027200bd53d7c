"""How every section of a board says a name, a share and a count."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchkit.basics.texts import percent, shown_line
from benchkit.boards.board import Board
from benchkit.boards.findings import SystemFacts
from benchkit.boards.standings import Readings, Standing
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import spread

MOST_WORDS = 4
SYSTEMS = doc.Cut(100, None, "system")


def of_system(system: Standing | SystemFacts) -> tuple[doc.Span, ...]:
    """Its name, and that it sees the truth where it does."""
    truth = (" ", doc.Mark("sees the truth: for testing only", Tone.FLAKY)) if system.sees_truth else ()
    return doc.Code(system.system), *truth


def names(systems: Sequence[str], most: int | None = None) -> tuple[doc.Span, ...]:
    """Their names, and how many more there are than are named."""
    more = 0 if most is None else len(systems) - most
    return (*doc.listed(map(doc.Code, systems[:most])), *([f" and {more} more"] if more > 0 else []))


def share_of(readings: Readings) -> str:
    """A share in percent, or the range that incomplete cells leave open: `41.7 to 83.3`."""
    return percent(readings.worst) if readings.is_whole else spread(readings.worst, readings.best)


def counts_of(counts: Mapping[str, int], most: int = 2 * MOST_WORDS) -> str:
    """Words with their counts, and how many are left out: `none 12, under_way 4`."""
    shown = [f"{shown_line(word, 80) or '(empty)'} {count}" for word, count in list(counts.items())[:most]]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more > 0 else "") if shown else "none"


def synthetic_mark(board: Board) -> tuple[doc.Span, ...]:
    """What says at every question that nothing of it is real; nothing where all is."""
    return () if board.pack.synthetic is None else (" ", doc.Mark("SYNTHETIC", Tone.PLAIN))


def held(is_held: bool) -> doc.Mark:
    """How a gate stands."""
    return doc.Mark("held", Tone.PASS) if is_held else doc.Mark("broken", Tone.FAIL)
