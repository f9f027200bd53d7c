"""A pair of runs that is compared: its verdict, its numbers, the cases won and lost by name, the rules of a gate."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from benchkit.basics.texts import all_of, as_given, count_of, names_of, verb_for, word_for
from benchkit.pages.tones import Tone
from benchkit.render import document as doc
from benchkit.reports import figures, verdicts
from benchkit.reports.comparison import Comparison, Pair, SideBySide
from benchkit.reports.figures import latency, percent, points, points_spread, probability, share
from benchkit.reports.paired_cases import CaseDifference, CaseOutcome, Repeat
from benchkit.reports.sections.lead import warning_blocks
from benchkit.reports.speed import NOT_SAID, measured_on
from benchkit.reports.tally import passed_cell, state_words
from benchkit.reports.verdicts import Finding, Gate, GateAnswer, answer_line, title_of, verdict_of
from benchkit.statistics.permutation import About

Fact: TypeAlias = tuple[str, doc.Spans]
CaseAnchor: TypeAlias = Callable[[int, str], str]
"""Where a case of a run stands, by the place of the run and the id of the case; empty for nowhere."""

CASES = doc.Cut(12, 500, "case")
MOST_IN_FULL, MOST_IN_WORDS = 3, 24
"""Of more pairs only the verdicts stand where space is short, and of more than these not even they."""
FEW_NAMED, MOST_NAMED = 12, 300
AROUND = 30
"""Characters shown of each of two outputs from where they differ."""
_TONES = {Finding.BETTER: Tone.PASS, Finding.WORSE: Tone.FAIL, Finding.NOT_COMPARED: Tone.INCOMPLETE,
          Finding.NOTHING_KNOWN: Tone.INCOMPLETE}
_ANSWERS = {GateAnswer.REFUSED: Tone.FAIL, GateAnswer.ACCEPTED: Tone.PASS}


def nowhere(run: int, case: str) -> str:
    """The anchor of a case in a document of pairs alone."""
    return ""


def pair_anchor(side: SideBySide, number: int) -> str:
    """Where a pair that is compared stands, by its place among the pairs; empty for others."""
    return "" if side.pairs[number].comparison is None else f"pair-{number + 1}"


def pair_title(side: SideBySide, pair: Pair, to: str = "") -> tuple[doc.Span, ...]:
    """`candidate against base`, which leads to an anchor."""
    candidate, base = (doc.Link(to, doc.Code(side.labels[one], verdicts.LONGEST_LABEL))
                       for one in (pair.candidate, pair.base))
    return candidate, " against ", base


def tone_of(finding: Finding) -> Tone:
    """Better, worse, unknown, or none of these."""
    return _TONES.get(finding, Tone.PLAIN)


def compared_blocks(side: SideBySide, case_anchor: CaseAnchor = nowhere) -> Iterator[doc.Block]:
    """Every pair that is compared, in a section of its own."""
    numbers = [number for number, pair in enumerate(side.pairs) if pair.comparison is not None]
    for place, number in enumerate(numbers):
        pair = side.pairs[number]
        yield doc.Section(pair_anchor(side, number), pair_title(side, pair),
                          partial(pair_blocks, side, pair, case_anchor), is_part=True,
                          detail=doc.LEAD if place < MOST_IN_WORDS else doc.MORE)
    if len(numbers) > MOST_IN_WORDS:
        yield doc.quiet(f"{count_of(len(numbers), 'pair')} in all.")


def pair_blocks(side: SideBySide, pair: Pair, case_anchor: CaseAnchor = nowhere, most_tied: int = MOST_NAMED,
                ) -> Iterator[doc.Block]:
    """The verdict, the numbers, what to trust less, the cases; of many pairs the verdict alone is for every reader."""
    verdict, found = verdict_of(side, pair), pair.comparison
    yield doc.Callout(tone_of(verdict.finding), str(verdict.finding).capitalize(), [doc.words(f"{verdict.text}.")])
    if found is None:
        return
    least = doc.LEAD if side.tests <= MOST_IN_FULL else doc.MORE
    for block in (*_numbers(side, pair, found), *warning_blocks(found.warnings),
                  *_changed(pair, found, case_anchor), *_unchanged(pair, found, case_anchor, most_tied)):
        yield block._replace(detail=max(block.detail, least))


def _changed(pair: Pair, found: Comparison, case_anchor: CaseAnchor) -> Iterator[doc.Block]:
    """The cases that regressed, were lost and won, those that changed most first."""
    lost = [case for case in found.with_outcome(CaseOutcome.LOST) if not case.is_regression]
    for title, cases in (("Regressions: passed every time, and do not any more", found.regressions),
                         ("Lost otherwise" if found.regressions else "Lost", lost),
                         ("Won", found.with_outcome(CaseOutcome.WON))):
        if cases:
            caption = f"{title} ({count_of(len(cases), 'case')})"
            yield _case_chart(caption, sorted(cases, key=lambda case: -abs(case.difference or 0)), pair, case_anchor)


def _case_chart(caption: str, cases: Sequence[CaseDifference], pair: Pair, case_anchor: CaseAnchor) -> doc.Chart:
    columns = [doc.flexible("case"), doc.Column("base"), doc.Column("candidate"), doc.number("points"),
               doc.flexible("state")]
    rows, bars = [], []
    for case in cases:
        was = doc.Link(case_anchor(pair.base, case.id), passed_cell(case.base))
        now = doc.Link(case_anchor(pair.candidate, case.id), passed_cell(case.candidate))
        states = dict.fromkeys((state_words(case.base.state), state_words(case.candidate.state)))
        rows.append((doc.Code(case.id), was, now, points(case.difference), " -> ".join(states)))
        difference = float(case.difference or 0)
        bars.append(doc.Bar(doc.Code(case.id), difference, None, None, (now, ", was ", was),
                            Tone.PASS if difference > 0 else Tone.FAIL))
    return doc.Chart(doc.Bars(caption, "case", "difference in pass rate", "passed", bars, CASES, is_signed=True),
                     instead=[doc.Table(caption, columns, rows, CASES, is_titled=True)])


def _unchanged(pair: Pair, found: Comparison, case_anchor: CaseAnchor, most_tied: int) -> Iterator[doc.Block]:
    for title, outcome, most in (("tied", CaseOutcome.TIED, most_tied),
                                 ("not judged on both sides", CaseOutcome.UNKNOWN, MOST_NAMED)):
        cases = found.with_outcome(outcome)
        names = [doc.Link(case_anchor(pair.candidate, case.id), doc.Code(case.id, 60)) for case in cases]
        if names:
            yield doc.Fold(f"{count_of(len(names), 'case')} {title}", [doc.Paragraph(_cut_short(names, most))],
                           detail=doc.ALL)


# the numbers: first what decides, then what explains


def _numbers(side: SideBySide, pair: Pair, found: Comparison) -> Iterator[doc.Block]:
    """All that was counted and tested over the common cases."""
    is_asked = found.margin is not None
    sameness = list(_sameness(found))
    yield doc.Facts([*_test(side, pair, found), *(sameness if is_asked else ()), *_counts(found)],
                    [*(() if is_asked else sameness), *_latency(side, pair, found),
                     *(() if found.repeat is None else _repeat(found.repeat))])


def _test(side: SideBySide, pair: Pair, found: Comparison) -> Iterator[Fact]:
    yield "difference", (
        f"{points(found.difference)} points in pass^1 "
        f"(95 %: {points_spread(found.interval.low, found.interval.high)}) over "
        f"{count_of(found.compared, 'case')} judged on both sides")
    by = f"{probability(found.p)} by sign-flip"
    if found.p > found.sign_flip:
        by = (f"{probability(found.p)} by exchanging trials within each case, for the numbers of judged trials differ "
              f"({probability(found.sign_flip)} by sign-flip, which needs equal ones)")
    worst = f", up to {probability(found.p_worst)} as incomplete trials go" if found.p_worst > found.p else ""
    about = figures.about_words((found.p, found.sign_flip, found.p_worst))
    adjusted = figures.NOT_AVAILABLE if pair.adjusted_p is None else probability(pair.adjusted_p)
    holm = f", {adjusted} after Holm over {side.tests} pairs" if side.tests > 1 else ""
    yield "p", (f"{by}{worst}{about}{holm}; the smallest it could be is {probability(found.smallest_p)}, with "
                f"{count_of(found.differing, 'differing case')}")


def _sameness(found: Comparison) -> Iterator[Fact]:
    """Nothing of sameness where the two differ and nobody asked."""
    if found.margin is None and found.is_apart:
        return
    margin = figures.distance(found.smallest_margin, found.margin)
    smallest = f"the interval lies within {margin} points of no difference"
    if any(found.incomplete):
        where = all_of(len(found.cases), "common case")
        smallest = f"over {where} {smallest}, whatever becomes of the incomplete trials"
    if found.margin is None:
        yield "sameness", f"{smallest}: no smaller margin could call them the same"
    else:
        answer = "the same" if found.same_within_margin else "not shown to be the same"
        yield "sameness", f"{answer} within {as_given(found.margin)} points; {smallest}"


def _counts(found: Comparison) -> Iterator[Fact]:
    """What is incomplete, how many cases changed, stopped passing every time or began to, and which were left out."""
    base, candidate = found.incomplete
    if found.bounds is not None and base + candidate:
        who = f"the {found.robust} is ahead either way" if found.robust else "who is ahead is open"
        where, spread = all_of(len(found.cases), "common case"), points_spread(found.bounds.low, found.bounds.high)
        yield "incomplete", (f"{count_of(base, 'trial')} of the base and {candidate:,} of the candidate: as they go, "
                             f"the difference over {where} is {spread} points; {who}")
    lost, won, tied, unknown = (len(found.with_outcome(one)) for one in (
        CaseOutcome.LOST, CaseOutcome.WON, CaseOutcome.TIED, CaseOutcome.UNKNOWN))
    yield "cases", (f"{lost:,} lost, {won:,} won, {tied:,} tied"
                    f"{f', {unknown:,} not judged on both sides' if unknown else ''}")
    fallen, before, p = len(found.regressions), found.passed_every_time, found.mirror_p
    yield "regressions", (f"{share(fallen, before)} {word_for(before, 'case')} that passed every time "
                          f"{verb_for(fallen, before, 'does', 'do')} not any more")
    if p is not None and fallen + found.progressed:
        yield "changes", (f"{fallen:,} stopped passing every time, {found.progressed:,} began to: p {probability(p)} "
                          f"by the {'' if isinstance(p, About) else 'exact '}sign test")
    may = [doc.Code(case.id, 60) for case in found.open_regressions]
    if may:
        yield "open", (f"{count_of(len(may), 'case')} may have regressed: not all trials were judged: ",
                       *_cut_short(may, FEW_NAMED))
    for side, ids in (("base", found.only_base), ("candidate", found.only_candidate)):
        if ids:
            yield "left out", (f"{count_of(len(ids), 'case')} of the {side} only: ",
                               *_cut_short([doc.Code(one, 60) for one in ids], MOST_NAMED))


def _latency(side: SideBySide, pair: Pair, found: Comparison) -> Iterator[Fact]:
    """The medians of both sides, and how much longer the candidate takes."""
    for one in found.latency:
        told = (f"{latency(one.candidate.median)} s against {latency(one.base.median)} s, medians of "
                f"{one.candidate.n:,} and {count_of(one.base.n, f'{one.warmth} trial')}")
        yield "latency", told if one.ratio is None else f"{told}: {figures.times_as_long(one.ratio)}"
    hardware = [measured_on(side.runs[one].record.sessions) for one in (pair.candidate, pair.base)]
    if found.latency and any(hardware):
        names = dict.fromkeys(text or NOT_SAID for text in hardware)
        yield "measured on", doc.listed((doc.Code(text, 200) for text in names), " against ")


def _repeat(repeat: Repeat) -> Iterator[Fact]:
    """What two recordings of one system have in common."""
    yield "same system", (
        f"{'one recording' if repeat.is_one_log else 'two recordings'}; did anything change in these same cases? p "
        f"{probability(repeat.p)}, permuting the labels within each case")
    for one in repeat.repetitions:
        yield "outputs", (f"{one.warmth}: {share(one.equal, one.compared)} equal, and "
                          f"{share(one.verdicts_equal, one.verdicts_compared)} verdicts")
    if not repeat.repetitions:
        yield "outputs", "no trial gave one on both sides"
    yield from (("errors", text) for text in repeat.errors.texts("the base", "the candidate"))
    if repeat.only_base or repeat.only_candidate:
        yield "one-sided", (f"{count_of(repeat.only_base, 'trial')} ran in the base only, {repeat.only_candidate:,} in "
                            "the candidate only")
    base, candidate = (figures.NOT_AVAILABLE if one is None else f"{percent(one)} %"
                       for one in (repeat.self_base, repeat.self_candidate))
    yield "by itself", (f"two warm outputs of one case are equal in {base} of pairs inside the base, {candidate} "
                        "inside the candidate")
    if repeat.parting is not None:
        yield "parting", tuple(_parting(repeat))
    elif repeat.repetitions:
        yield "parting", "no output differs: an observation, not a promise"


def _parting(repeat: Repeat) -> Iterator[doc.Span]:
    if (parting := repeat.parting) is None:
        return
    base, candidate, at = parting.base, parting.candidate, parting.character
    yield from (f"first in trial {base.trial} of ", doc.Code(base.case, 60), f" ({parting.warmth})")
    if at is None or base.output is None or candidate.output is None:
        yield ", where a side has no output"
    else:
        yield from (f", at character {at + 1}: ", _piece(base.output, at), " in the base, ",
                    _piece(candidate.output, at), " in the candidate")
    yield f"; verdicts {base.verdict} and {candidate.verdict}"


def _piece(text: str, at: int) -> doc.Code:
    told = json.dumps(text[at:at + AROUND], ensure_ascii=False) + ("..." if at + AROUND < len(text) else "")
    return doc.Code(told if at < len(text) else "the end", 200)


def _cut_short(names: Sequence[doc.Span], most: int) -> tuple[doc.Span, ...]:
    """So many of some names, and how many more there are."""
    return *doc.listed(names[:most]), f" and {len(names) - most:,} more" if len(names) > most else ""


# what `harness.py compare` says

MOST_TIED = 12
"""So many tied cases are named there; nothing became of them."""


def gate_document(side: SideBySide, pair: Pair, gate: Gate) -> doc.Document:
    """The verdict, the rules, the numbers of a pair that is compared, and last why the exit code is what it is."""
    if (found := pair.comparison) is None:
        return doc.Document(title_of(side, pair), (), ())
    return doc.Document(title_of(side, pair), [
        doc.Callout(_ANSWERS.get(gate.answer, Tone.FLAKY), _gate_line(side, pair, found, gate)),
        doc.Section("rules", "Rules", [doc.Facts(list(_rules(found, gate)))]),
        doc.Section("numbers", pair_title(side, pair), list(pair_blocks(side, pair, most_tied=MOST_TIED))),
        doc.Section("exit", f"Exit code {1 if gate.broken else 0}", [
            doc.words(answer_line(gate, title_of(side, pair)))])], ())


def _gate_line(side: SideBySide, pair: Pair, found: Comparison, gate: Gate) -> str:
    """`NOT DECIDED: B 70.0 %, A 73.3 % (4 differing cases; 6 would be needed)`."""
    rules = count_of(len(gate.results), "rule")
    match gate.answer:
        case GateAnswer.REFUSED:
            reason = f"{len(gate.broken)} of {rules} broken: {', '.join(result.code for result in gate.broken)}"
        case GateAnswer.NOT_DECIDED:
            reason = "; ".join(result.briefly for result in gate.results if result.why_open)
        case GateAnswer.UNSURE:
            reason = "; ".join(gate.doubts)
        case _:
            reason = f"none of {rules} broken"
    rates = "in no case did both judge a trial" if found.difference is None else (
        f"{verdicts.label_of(side, pair.candidate)} {percent(found.candidate_rate)} %, "
        f"{verdicts.label_of(side, pair.base)} {percent(found.base_rate)} %{verdicts.of_tries(found)}")
    return f"{gate.answer.upper()}: {rates} ({reason})"


def _rules(found: Comparison, gate: Gate) -> Iterator[Fact]:
    for result in sorted(gate.results, key=lambda result: (not result.is_broken, not result.why_open)):
        yield "broken" if result.is_broken else "open" if result.why_open else "held", result.text
    for where, ids in (("base", found.only_base), ("candidate", found.only_candidate)):
        if ids:
            yield "aside", (f"{count_of(len(ids), 'case')} of the {where} only, left out of the figures: "
                            f"{names_of(ids)}")
