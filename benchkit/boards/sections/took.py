"""What answers took and what is missing: tokens, latencies, incomplete cells; and who answered, as served."""
from __future__ import annotations

from collections.abc import Iterator

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import names_of
from benchkit.boards.board import Board
from benchkit.boards.findings import BaselineAgreement, SystemFacts
from benchkit.boards.sections.wording import LONGEST_LINE, SYSTEMS, counts_of, more, of_system, remark
from benchkit.boards.usage import CACHE_ONLY, NO_REPLY, NOT_REPORTED
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE, latency, per_second, percent, spread
from benchkit.reports.latency_ratio import COLD
from benchkit.reports.speed import LatencyColumn
from benchkit.statistics.intervals import wilson
from benchkit.statistics.percentiles import PERCENTS

ABSENT = {CACHE_ONLY: "no call was made", NOT_REPORTED: "the server said nothing",
          NO_REPLY: "no request brought a whole reply"}
FAILURES = doc.Cut(10, 50, "reason")
SETTINGS = doc.Cut(60, 60, "setting")
AGREEMENT = ("How often a system said the same word as a baseline where both answered. Near 100 % with a baseline "
             "that always says the same, a system says the same, too.")


def token_blocks(board: Board) -> Iterator[doc.Block]:
    """Tokens of each system, never money."""
    columns = [doc.Column("system"), doc.number("calls"), doc.number("with figures"), doc.number("prompt tokens"),
               doc.number("output tokens"), doc.number("output tokens per s"), doc.number("cells repeated")]
    yield doc.Table("Tokens and attempts", columns, list(map(_tokens, board.facts)), SYSTEMS, detail=doc.MORE)
    absent = [one.tokens.to_wire() for one in board.facts]
    told = "".join(f"; {word} means that {why}" for word, why in ABSENT.items() if word in absent)
    yield remark(f"Tokens as the servers counted them, never money{told}. Calls are requests, those that failed or "
                 "were given up included. Cells repeated took more than one attempt.")


def _tokens(one: SystemFacts) -> list[doc.Cell]:
    tokens, told = one.tokens, one.tokens.to_wire()
    counts: list[doc.Cell] = [NOT_AVAILABLE if tokens.calls else 0, 0, doc.Code(told), doc.Code(told)] if isinstance(
        told, str) else [tokens.calls, tokens.reported, *(NOT_AVAILABLE if count is None else count for count in (
            tokens.prompt_tokens, tokens.output_tokens))]
    return [of_system(one), *counts, per_second(one.output_per_second), one.attempts]


def latency_blocks(board: Board) -> Iterator[doc.Block]:
    """Latencies of warm and cold trials by nearest rank."""
    rows = [_latencies(one, word, column) for one in board.facts
            for word, column in (("warm", one.warm), ("cold", one.cold)) if column.n]
    if not rows:
        yield more("No latency was recorded.")
        return
    yield doc.Table("Latency of one trial, in seconds", [
        doc.Column("system"), doc.Column("trials are"), doc.number("trials"), doc.number("timeouts"),
        *(doc.number(f"p{one}", hint=f"p{one}, seconds") for one in PERCENTS)], rows, SYSTEMS, detail=doc.MORE)
    yield remark(f"Seconds of judged trials and timeouts, by nearest rank; n/a: too few for that percentile; {COLD}."
                 + (" A trial is the sum of its requests." if board.is_gated else ""))


def _latencies(one: SystemFacts, word: str, column: LatencyColumn) -> list[doc.Cell]:
    found = (latency(some.value) if some else NOT_AVAILABLE for some in column.percentiles)
    return [of_system(one), word, column.n, column.timeouts, *found]


def incomplete_blocks(board: Board) -> Iterator[doc.Block]:
    """Cells without a verdict, by type of error, and each way in which they ended."""
    kinds = sorted({kind for one in board.facts for kind in one.incomplete})
    if not kinds:
        yield more("None: every planned cell has an answer, and every answer was judged.")
        return
    planned = {one.system: one.planned for one in board.ranking}
    yield doc.Table("Incomplete cells, by type of error", [
        doc.Column("system"), *(doc.number(doc.Code(kind)) for kind in kinds), doc.number("planned")], [
        (of_system(one), *(one.incomplete.get(kind, 0) for kind in kinds), planned.get(one.system))
        for one in board.facts], SYSTEMS, detail=doc.MORE)
    yield doc.Table("Why, and which", [
        doc.Column("system"), doc.Column("error"), doc.flexible("message"), doc.number("cells"), doc.Column("which")], [
        (of_system(one), doc.Code(some.type), doc.Code(some.message, LONGEST_LINE), len(some.cells),
         names_of(some.cells))
        for one in board.facts for some in one.failed], FAILURES, detail=doc.MORE)
    yield remark("An incomplete cell has no answer that could be judged: it is neither right nor wrong, and is never "
                 "dropped. NotRun: it was never asked.")


def agreement_blocks(board: Board) -> Iterator[doc.Block]:
    """What systems said, and how often that is what a baseline says."""
    if any(one.said for one in board.facts):
        yield doc.Table("What was said, in the words of the pack",
                        [doc.Column("system"), doc.Column("said, how often")], [
            (of_system(one), counts_of(one.said)) for one in board.facts], SYSTEMS, detail=doc.MORE)
        trials, answers = board.batch.job.trials, board.batch.figures.answers
        yield remark(f"Right would be: {counts_of({word: count * trials for word, count in answers.items()})}.")
    if not board.agreements:
        yield more("No cell was answered by a model and by a baseline to hold it against.")
        return
    columns = [doc.Column("system"), doc.Column("baseline"), doc.number("same word %"), doc.number("95 %"),
               doc.number("cells")]
    title = "Agreement with baselines, 95 % Wilson intervals"
    cut = doc.Cut(100, None, "pair")
    yield doc.Chart(doc.Bars(title, "system and baseline", "same word", "% of cells", list(map(_bar, board.agreements)),
                             cut),
                    instead=[doc.Table(title, columns, list(map(_agreed, board.agreements)), cut)], detail=doc.MORE)
    yield remark(AGREEMENT)


def _bar(one: BaselineAgreement) -> doc.Bar:
    label = (doc.Code(one.system), " and ", doc.Code(one.baseline))
    if not one.cells:
        return doc.Bar(label, None, None, None, "no cell")
    share, ends = one.equal / one.cells, wilson(one.equal, one.cells)
    return doc.Bar(label, share, ends.low, ends.high, f"{percent(share)} of {one.cells}")


def _agreed(one: BaselineAgreement) -> list[doc.Cell]:
    ends = wilson(one.equal, one.cells) if one.cells else None
    return [doc.Code(one.system), doc.Code(one.baseline), percent(one.equal / one.cells if one.cells else None),
            spread(ends.low, ends.high) if ends else NOT_AVAILABLE, one.cells]


def system_blocks(board: Board) -> Iterator[doc.Block]:
    """The machines, and the settings of every system as served."""
    yield doc.Bullets(board.machines, detail=doc.MORE)
    for one in board.facts:
        if one.settings:
            rows = [(doc.Code(name), doc.Code(canonical(one.settings[name]), LONGEST_LINE))
                    for name in sorted(one.settings)]
            yield doc.Fold((*of_system(one), ", as served"), [
                doc.Table(f"Settings of {doc.Code(one.system).line}", [doc.Column("setting"), doc.Column("value")],
                          rows, SETTINGS)],
                detail=doc.MORE)
