"""How the questions were made: from what, what the gates found and dropped, and what it cost."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchkit.basics.texts import as_given, count_of, percent, shown_line
from benchkit.boards.board import Board
from benchkit.boards.job import BatchGate, FromPack, Job
from benchkit.boards.question_gates import GateFigures
from benchkit.boards.sections.took import ABSENT
from benchkit.boards.sections.wording import LONGEST_LINE, counts_of, synthetic_mark
from benchkit.boards.usage import TokenUse
from benchkit.pages.parts import Tone
from benchkit.render import document as doc
from benchkit.reports.figures import number

DROPPED = doc.Cut(10, 200, "dropped question")
GEOMETRIES = {"single": "single: one prompt, one answer", "gated": "gated: observations are bought, then answered"}


def making_blocks(board: Board) -> Iterator[doc.Block]:
    """Where the questions come from, and what both gates said."""
    job, figures = board.batch.job, board.batch.figures
    yield doc.Facts(list(_facts(board)), detail=doc.MORE)
    yield doc.Table("The batch gate", [doc.Column("batch gate"), doc.Column("found"), doc.Column("allowed"),
                                       doc.Column("held", doc.Kind.WORD)],
                    list(_rules(job.batch_gate, figures)), detail=doc.MORE)
    if figures.dropped:
        columns = [doc.Column("case"), doc.Column("reason"), doc.flexible("why")]
        rows = [(doc.Code(one.case), one.reason, doc.Code(one.detail, LONGEST_LINE)) for one in figures.dropped]
        yield doc.Fold(f"{count_of(len(rows), 'question')} dropped, and why",
                       [doc.Table("Dropped questions", columns, rows, DROPPED)], detail=doc.MORE)


def _facts(board: Board) -> Iterator[tuple[str, doc.Spans]]:
    batch, pack = board.batch, board.pack
    job, figures, asks = batch.job, batch.figures, batch.job.asks
    source = f"pack {asks.pack}" if isinstance(asks, FromPack) else f"task {asks.task}"
    yield "Questions", (f"{source} ({pack.name} {pack.version}), judges of version {batch.scoring.judge_version}",
                        *synthetic_mark(board))
    yield "Made", f"{_how(job)} ({batch.made_at[:10]} {batch.made_at[11:19]} UTC)"
    yield "Asked", (f"{GEOMETRIES.get(job.geometry, job.geometry)}; {count_of(job.trials, 'trial')} of each question")
    if board.is_gated:
        yield "To spend", _to_spend(batch.dataset.parts["prices"])
    made = f"{count_of(figures.made, 'question')} made, {figures.kept} kept"
    yield "Emission gate", (f"{made}; dropped for: {counts_of(figures.dropped_by_reason)}" if figures.dropped else
                            f"{made}; the emission gate dropped none")
    yield "Right answers", counts_of(figures.answers)
    yield "Tokens for making", _tokens(batch.usage.gen_usage)
    yield "Fingerprints", ("world ", doc.Code(batch.dataset.fingerprint[:12]), ", scoring ",
                           doc.Code(batch.scoring.fingerprint[:12]))


def _how(job: Job) -> str:
    asks = job.asks
    if isinstance(asks, FromPack):
        reworded = f", reworded by {shown_line(asks.reword, 80)}" if asks.reword else ""
        made = count_of(asks.count, "question")
        return f"{made} from seed {asks.seed}{reworded}; the same seed makes the same questions"
    count = "all cases" if asks.count is None else f"the first {count_of(asks.count, 'case')}"
    return f"{count} of the split {shown_line(asks.split, 60)} of {shown_line(asks.cases, 100)}"


def _to_spend(prices: object) -> str:
    """What there is to spend, and on what: the price list as the batch keeps it."""
    told = prices if isinstance(prices, Mapping) else {}
    budget, costs = told.get("budget"), told.get("prices")
    items = costs.items() if isinstance(costs, Mapping) else ()
    menu = ", ".join(f"{shown_line(str(name), 80)} {cost:g}" for name, cost in items if isinstance(cost, int | float))
    steps = told.get("steps")
    return (f"{budget if isinstance(budget, int | float) else 0:g} {shown_line(str(told.get('unit')), 80)} in "
            f"{count_of(steps if isinstance(steps, int) else 0, 'message')}; prices: {menu}")


def _tokens(tokens: TokenUse) -> str:
    """Tokens as they were counted, or why there is no count."""
    told = tokens.to_wire()
    if isinstance(told, str):
        return f"{told} ({ABSENT.get(told, '')})"
    return (f"{number(tokens.prompt_tokens)} in, {number(tokens.output_tokens)} out, over "
            f"{count_of(tokens.calls, 'call')}, {number(tokens.reported)} of which reported them")


def _rules(gate: BatchGate, figures: GateFigures) -> Iterator[list[doc.Cell]]:
    """The rules of the batch gate: what each is about, what was found, what it allows, and whether it held."""
    yield ["questions left", str(figures.kept), f"at least {gate.least_questions}",
           _held(figures.kept >= gate.least_questions)]
    answer, most = max(figures.answers.items(), key=lambda one: one[1], default=("none", 0))
    share = most / figures.kept if figures.kept else 0.0
    yield ["most of one answer", f"{percent(share, gate.most_one_answer)} % ({shown_line(answer, 60)})",
           f"at most {as_given(gate.most_one_answer)} %", _held(most <= gate.most_one_answer * figures.kept)]
    for name, score in sorted(figures.blind.items(), key=lambda one: -one[1])[:1]:
        yield ["best that does not see the truth",
               (f"{percent(score, gate.most_blind_score)} % (", doc.Code(f"baselines:{name}"), ")"),
               f"at most {as_given(gate.most_blind_score)} %", _held(score <= gate.most_blind_score)]


def _held(is_held: bool) -> doc.Mark:
    return doc.Mark("held", Tone.PASS) if is_held else doc.Mark("broken", Tone.FAIL)
