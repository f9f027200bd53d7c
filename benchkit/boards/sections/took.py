"""How the questions were made; what answers took and what is missing: tokens, latencies, incomplete cells; and who
answered, as served.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import as_given, count_of, names_of, percent, shown_line
from benchkit.boards.board import LONGEST_LINE, Board
from benchkit.boards.job import BatchGate, FromPack, Job
from benchkit.boards.question_gates import GateFigures
from benchkit.boards.sections.wording import SYSTEMS, counts_of, held, of_system, synthetic_mark
from benchkit.boards.usage import CACHE_ONLY, NO_REPLY, NOT_REPORTED
from benchkit.render import document as doc
from benchkit.reports.figures import NOT_AVAILABLE, latency, number, per_second, spread
from benchkit.reports.speed import COLD
from benchkit.statistics.intervals import wilson
from benchkit.statistics.percentiles import PERCENTS

GEOMETRIES = {"single": "single: one prompt, one answer", "gated": "gated: observations are bought, then answered"}
ABSENT = {CACHE_ONLY: "no call was made", NOT_REPORTED: "the server said nothing",
          NO_REPLY: "no request brought a whole reply"}
AGREEMENT = ("How often a system said the same word as a baseline where both answered. Near 100 % with a baseline "
             "that always says the same, a system says the same, too.")
DROPPED = doc.Cut(10, 200, "dropped question")
FAILURES = doc.Cut(10, 50, "reason")
SETTINGS = doc.Cut(60, 60, "setting")


def making_blocks(board: Board) -> Iterator[doc.Block]:
    """Where the questions come from, and what both gates said."""
    figures = board.batch.figures
    yield doc.Facts(list(_facts(board)))
    yield doc.Table("The batch gate", [doc.Column("batch gate"), doc.Column("found"), doc.Column("allowed"),
                                       doc.Column("held", doc.Kind.WORD)],
                    list(_rules(board.batch.job.batch_gate, figures)))
    if figures.dropped:
        columns = [doc.Column("case"), doc.Column("reason"), doc.flexible("why")]
        rows = [(doc.Code(one.case), one.reason, doc.Code(one.detail, LONGEST_LINE)) for one in figures.dropped]
        yield doc.Fold(f"{count_of(len(rows), 'question')} dropped, and why",
                       [doc.Table("Dropped questions", columns, rows, DROPPED)])


def _facts(board: Board) -> Iterator[tuple[str, doc.Spans]]:
    batch, pack = board.batch, board.pack
    job, figures, asks = batch.job, batch.figures, batch.job.asks
    source = f"pack {asks.pack}" if isinstance(asks, FromPack) else f"task {asks.task}"
    yield "Questions", (f"{source} ({pack.name} {pack.version}), judges of version {batch.scoring.judge_version}",
                        *synthetic_mark(board))
    yield "Made", f"{_how(job)} ({batch.made_at[:10]} {batch.made_at[11:19]} UTC)"
    yield "Asked", f"{GEOMETRIES.get(job.geometry, job.geometry)}; {count_of(job.trials, 'trial')} of each question"
    if board.is_gated:
        yield "To spend", _to_spend(batch.dataset.parts["prices"])
    dropped = (f"dropped for: {counts_of(Counter(one.reason for one in figures.dropped))}" if figures.dropped else
               "the emission gate dropped none")
    yield "Emission gate", f"{count_of(figures.made, 'question')} made, {figures.kept} kept; {dropped}"
    yield "Right answers", counts_of(figures.answers)
    tokens = batch.usage.gen_usage
    absent = tokens.to_wire()
    yield "Tokens for making", f"{absent} ({ABSENT.get(absent, '')})" if isinstance(absent, str) else (
        f"{number(tokens.prompt_tokens)} in, {number(tokens.output_tokens)} out, over "
        f"{count_of(tokens.calls, 'call')}, {number(tokens.reported)} of which reported them")
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
    budget, costs, steps = told.get("budget"), told.get("prices"), told.get("steps")
    items = costs.items() if isinstance(costs, Mapping) else ()
    menu = ", ".join(f"{shown_line(str(name), 80)} {cost:g}" for name, cost in items if isinstance(cost, int | float))
    return (f"{budget if isinstance(budget, int | float) else 0:g} {shown_line(str(told.get('unit')), 80)} in "
            f"{count_of(steps if isinstance(steps, int) else 0, 'message')}; prices: {menu}")


def _rules(gate: BatchGate, figures: GateFigures) -> Iterator[list[doc.Cell]]:
    """The rules of the batch gate: what each is about, what was found, what it allows, and whether it held."""
    yield ["questions left", str(figures.kept), f"at least {gate.least_questions}",
           held(figures.kept >= gate.least_questions)]
    answer, most = max(figures.answers.items(), key=lambda one: one[1], default=("none", 0))
    share = most / figures.kept if figures.kept else 0.0
    yield ["most of one answer", f"{percent(share, gate.most_one_answer)} % ({shown_line(answer, 60)})",
           f"at most {as_given(gate.most_one_answer)} %", held(most <= gate.most_one_answer * figures.kept)]
    for name, score in sorted(figures.blind.items(), key=lambda one: -one[1])[:1]:
        yield ["best that does not see the truth",
               (f"{percent(score, gate.most_blind_score)} % (", doc.Code(f"baselines:{name}"), ")"),
               f"at most {as_given(gate.most_blind_score)} %", held(score <= gate.most_blind_score)]


def token_blocks(board: Board) -> Iterator[doc.Block]:
    """Tokens of each system, never money."""
    columns = [doc.Column("system"), doc.number("calls"), doc.number("with figures"), doc.number("prompt tokens"),
               doc.number("output tokens"), doc.number("output tokens per s"), doc.number("cells repeated")]
    rows: list[list[doc.Cell]] = []
    absent = set()
    for one in board.facts:
        tokens, told = one.tokens, one.tokens.to_wire()
        counts: list[doc.Cell] = [tokens.calls, tokens.reported, *(
            NOT_AVAILABLE if count is None else count for count in (tokens.prompt_tokens, tokens.output_tokens))]
        if isinstance(told, str):
            absent.add(told)
            counts = [NOT_AVAILABLE if tokens.calls else 0, 0, doc.Code(told), doc.Code(told)]
        rows.append([of_system(one), *counts, per_second(one.output_per_second), one.attempts])
    yield doc.Table("Tokens and attempts", columns, rows, SYSTEMS)
    meaning = "".join(f"; {word} means that {why}" for word, why in ABSENT.items() if word in absent)
    yield doc.quiet(f"Tokens as the servers counted them, never money{meaning}. Calls are requests, those that failed "
                    "or were given up included. Cells repeated took more than one attempt.")


def latency_blocks(board: Board) -> Iterator[doc.Block]:
    """Latencies of warm and cold trials by nearest rank."""
    rows: list[list[doc.Cell]] = [
        [of_system(one), word, column.n, column.timeouts,
         *(latency(some.value) if some else NOT_AVAILABLE for some in column.percentiles)]
        for one in board.facts for word, column in (("warm", one.warm), ("cold", one.cold)) if column.n]
    if not rows:
        yield doc.words("No latency was recorded.")
        return
    yield doc.Table("Latency of one trial, in seconds", [
        doc.Column("system"), doc.Column("trials are"), doc.number("trials"), doc.number("timeouts"),
        *(doc.number(f"p{one}", hint=f"p{one}, seconds") for one in PERCENTS)], rows, SYSTEMS)
    yield doc.quiet(f"Seconds of judged trials and timeouts, by nearest rank; n/a: too few for that percentile; {COLD}."
                    + (" A trial is the sum of its requests." if board.is_gated else ""))


def incomplete_blocks(board: Board) -> Iterator[doc.Block]:
    """Cells without a verdict, by type of error, and each way in which they ended."""
    kinds = sorted({kind for one in board.facts for kind in one.incomplete})
    if not kinds:
        yield doc.words("None: every planned cell has an answer, and every answer was judged.")
        return
    planned = {one.system: one.planned for one in board.ranking}
    yield doc.Table("Incomplete cells, by type of error", [
        doc.Column("system"), *(doc.number(doc.Code(kind)) for kind in kinds), doc.number("planned")], [
        (of_system(one), *(one.incomplete.get(kind, 0) for kind in kinds), planned.get(one.system))
        for one in board.facts], SYSTEMS)
    yield doc.Table("Why, and which", [
        doc.Column("system"), doc.Column("error"), doc.flexible("message"), doc.number("cells"), doc.Column("which")], [
        (of_system(one), doc.Code(some.type), doc.Code(some.message, LONGEST_LINE), len(some.cells),
         names_of(some.cells)) for one in board.facts for some in one.failed], FAILURES)
    yield doc.quiet("An incomplete cell has no answer that could be judged: it is neither right nor wrong, and is "
                    "never dropped. NotRun: it was never asked.")


def agreement_blocks(board: Board) -> Iterator[doc.Block]:
    """What systems said, and how often that is what a baseline says."""
    if any(one.said for one in board.facts):
        yield doc.Table("What was said, in the words of the pack",
                        [doc.Column("system"), doc.Column("said, how often")],
                        [(of_system(one), counts_of(one.said)) for one in board.facts], SYSTEMS)
        trials, answers = board.batch.job.trials, board.batch.figures.answers
        yield doc.quiet(f"Right would be: {counts_of({word: count * trials for word, count in answers.items()})}.")
    if not board.agreements:
        yield doc.words("No cell was answered by a model and by a baseline to hold it against.")
        return
    bars, rows = [], []
    for one in board.agreements:
        system, baseline = doc.Code(one.system), doc.Code(one.baseline)
        share, ends = (one.equal / one.cells, wilson(one.equal, one.cells)) if one.cells else (None, None)
        low, high = (ends.low, ends.high) if ends else (None, None)
        bars.append(doc.Bar((system, " and ", baseline), share, low, high,
                            f"{percent(share)} of {one.cells}" if one.cells else "no cell"))
        rows.append((system, baseline, percent(share), spread(low, high), one.cells))
    columns = [doc.Column("system"), doc.Column("baseline"), doc.number("same word %"), doc.number("95 %"),
               doc.number("cells")]
    title, cut = "Agreement with baselines, 95 % Wilson intervals", doc.Cut(100, None, "pair")
    yield doc.Chart(doc.Bars(title, "system and baseline", "same word", "% of cells", bars, cut),
                    instead=[doc.Table(title, columns, rows, cut)])
    yield doc.quiet(AGREEMENT)


def system_blocks(board: Board) -> Iterator[doc.Block]:
    """The machines, and the settings of every system as served."""
    yield doc.Bullets(board.machines)
    for one in board.facts:
        if one.settings:
            rows = [(doc.Code(name), doc.Code(canonical(value), LONGEST_LINE))
                    for name, value in sorted(one.settings.items())]
            yield doc.Fold((*of_system(one), ", as served"), [
                doc.Table(f"Settings of {doc.Code(one.system).line}", [doc.Column("setting"), doc.Column("value")],
                          rows, SETTINGS)])
