"""What `harness.py compare` says: the verdict, the rules, the numbers, and last the reason of the exit code."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.texts import count_of, names_of
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import percent
from benchkit.reports.gate import Gate, GateAnswer, answer_line
from benchkit.reports.sections.pairs import pair_blocks, pair_title
from benchkit.reports.verdicts import label_of, title_of

MOST_TIED = 12
"""So many tied cases are named; nothing became of them."""
_TONES = {GateAnswer.REFUSED: Tone.FAIL, GateAnswer.ACCEPTED: Tone.PASS}


def gate_document(side: SideBySide, pair: Pair, gate: Gate) -> doc.Document:
    """The whole answer on a pair that is compared."""
    return doc.Document(title_of(side, pair), list(gate_blocks(side, pair, gate)), ())


def gate_blocks(side: SideBySide, pair: Pair, gate: Gate) -> Iterator[doc.Block]:
    """From the verdict to why the exit code is what it is."""
    if pair.comparison is None:
        return
    yield doc.Callout(_TONES.get(gate.answer, Tone.FLAKY), verdict_line(side, pair, pair.comparison, gate))
    yield doc.Section("rules", "Rules", [doc.Facts(list(_rules(pair.comparison, gate)))])
    yield doc.Section("numbers", pair_title(side, pair), list(pair_blocks(side, pair, most_tied=MOST_TIED)))
    yield doc.Section("exit", f"Exit code {1 if gate.broken else 0}",
                      [doc.words(answer_line(gate, title_of(side, pair)))])


def verdict_line(side: SideBySide, pair: Pair, found: Comparison, gate: Gate) -> str:
    """`NOT DECIDED: B 70.0 %, A 73.3 % (4 differing cases; 6 would be needed)`."""
    judged = " of judged tries" if any(found.incomplete) else ""
    rates = "in no case did both judge a trial" if found.difference is None else (
        f"{label_of(side, pair.candidate)} {percent(found.candidate_rate)} %, "
        f"{label_of(side, pair.base)} {percent(found.base_rate)} %{judged}")
    return f"{gate.answer.upper()}: {rates} ({_reason(gate)})"


def _reason(gate: Gate) -> str:
    rules = count_of(len(gate.results), "rule")
    match gate.answer:
        case GateAnswer.REFUSED:
            return f"{len(gate.broken)} of {rules} broken: {', '.join(result.code for result in gate.broken)}"
        case GateAnswer.NOT_DECIDED:
            return "; ".join(result.briefly for result in gate.results if result.why_open)
        case GateAnswer.UNSURE:
            return "; ".join(gate.doubts)
    return f"none of {rules} broken"


def _rules(found: Comparison, gate: Gate) -> Iterator[tuple[str, str]]:
    for result in sorted(gate.results, key=lambda result: (not result.is_broken, not result.why_open)):
        yield "broken" if result.is_broken else "open" if result.why_open else "held", result.text
    for where, ids in (("base", found.only_base), ("candidate", found.only_candidate)):
        if ids:
            yield "aside", (f"{count_of(len(ids), 'case')} of the {where} only, left out of the figures: "
                            f"{names_of(ids)}")
