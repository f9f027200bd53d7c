"""What outputs_digest.py says of digests: lines of text, and the sides of a comparison as a person names them."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from benchkit.basics.errors import Unusable
from benchkit.basics.fields import LeafDifference
from benchkit.basics.texts import count_of, percent, shown_line
from benchkit.recordings.digest_book import DigestDifference, LogCheck, entry_named, is_book, read_book
from benchkit.recordings.digest_comparison import DigestComparison, Side
from benchkit.recordings.digests import LogDigests, TrialOf, digests_of
from benchkit.recordings.replay import Reference, recording_from, reference_of


def check_text(found: LogCheck) -> str:
    """Which entry a log equals, and how far it is from the others."""
    def told(one: DigestDifference) -> str:
        return f"{shown_line(one.label)}: {count_of(one.different, 'trial differs', 'trials differ')}"

    equal = ", ".join(map(shown_line, found.equal))
    others = [f"; {told(one)}" for one in found.differences if one.different]
    errors = f" ({found.errors:,} ended in an error)" if found.errors else ""
    ran = f"{found.name}: {count_of(found.ran, 'trial')}{errors}"
    if found.equal:
        return f"{ran}, equal to {equal}{''.join(others)}"
    return f"{ran}, equal to no entry; nearest {told(found.nearest)}, the first is {_trial_text(found.nearest.first)}"


def _trial_text(trial: TrialOf | None) -> str:
    """`case B-01, trial 3`."""
    return "none" if trial is None else f"case {shown_line(trial.case, 80)}, trial {trial.trial}"


def comparison_text(found: DigestComparison, first: str, second: str) -> Iterator[str]:
    """What was found, a line each."""
    a, b = shown_line(first), shown_line(second)
    equal = count_of(found.compared, "output that both have is equal", "outputs that both have are equal")
    yield f"{a} and {b}: {sum(group.equal for group in found.groups.values()):,} of {equal}"
    for name, group in found.groups.items():
        yield f"  {name}: {group.equal} of {group.compared} equal{in_brackets(group.share)}"
    yield from (f"  {text}" for text in found.errors.texts(a, b))
    if found.only_first or found.only_second:
        yield f"  on one side only: {count_of(found.only_first, 'trial')} of {a}, {found.only_second:,} of {b}"
    if found.other_asks:
        yield f"  left out, as they were asked something else: {', '.join(map(shown_line, found.other_asks))}"
    if not found.same_settings and not found.settings:
        yield "  the settings of the two differ; which do is not known"
    yield from _differences_text("settings", found.settings)
    yield from _differences_text("circumstances", found.circumstances)
    yield from _first_difference_text(found)
    yield (f"  equal pairs of outputs inside a case, without cold trials: {a}{in_brackets(found.self_first)}, "
           f"{b}{in_brackets(found.self_second)}")


def _differences_text(what: str, found: tuple[LeafDifference, ...]) -> Iterator[str]:
    """What differs by name, a line each."""
    if found:
        yield f"  {what} that differ:"
        yield from (f"    {one.place}: {one.one} and {one.other}" for one in found)


def _first_difference_text(found: DigestComparison) -> Iterator[str]:
    """Where the first two outputs that differ part, and where the others do."""
    first = found.first_difference
    if first is None:
        return
    where = f"  the first that differs: {_trial_text(first.trial)} ({first.group})"
    if first.character is None:
        yield where
    else:
        yield (f"{where}, from character {first.character + 1} on: \"{shown_line(first.first_text or '')}\" and "
               f"\"{shown_line(first.second_text or '')}\"")
    if found.parted_at.total() > 1:
        places = sorted(found.parted_at.elements())
        yield (f"  outputs that differ part at character {places[0] + 1} to {places[-1] + 1}, "
               f"half of them by character {places[(len(places) - 1) // 2] + 1}")


def in_brackets(share: Fraction | None) -> str:
    """` (98.3 %)`; ` n/a` where nothing could be compared."""
    return " n/a" if share is None else f" ({percent(share)} %)"


def sides_of(texts: Sequence[str], system: str | None, accept_damage: bool) -> list[Side]:
    """Both sides; where an entry holds several logs, the one that has the other side's file name."""
    stems = [Path(text.rpartition("#")[0] or text).stem for text in texts]
    return [_side_of(text, other, system, accept_damage) for text, other in zip(texts, reversed(stems), strict=True)]


def _side_of(text: str, other_stem: str, system: str | None, accept_damage: bool) -> Side:
    """A log, a recording, or `FILE#LABEL`, an entry of a file of digests; `LOG#SYSTEM` as at `replay:`."""
    reference = reference_of(text)
    if reference.system is not None and is_book(reference.path):
        entry = entry_named(reference.path, read_book(reference.path), reference.system)
        return Side(text, _log_of(text, dict(entry.logs), other_stem), None)
    recording = recording_from(Reference(Path(reference.path), reference.system or system), accept_damage)
    return Side(text, digests_of(recording), recording)


def _log_of(text: str, logs: dict[str, LogDigests], other_stem: str) -> LogDigests:
    """The log of an entry that is meant: the only one, or the one that the other side is named after."""
    if len(logs) == 1:
        return next(iter(logs.values()))
    if other_stem not in logs:
        raise Unusable(f"{text}: the entry holds {', '.join(logs)}, and the other side is called {other_stem}; "
                       "compare it with a log of one of these names")
    return logs[other_stem]
