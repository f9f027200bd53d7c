"""The questions of a batch: made once, kept in cases.jsonl with their truth, and checked on every read.

One canonical line a question: {"expected", "id", "input", "sha256", "split", "tags"}; `sha256` is over {id, input,
expected, tags}. The answers of a model that rewords questions are kept as received beside the pack, so that the same
questions can be made again: packs/<pack>/_llm_cache/<64 hex of {system, prompt}>.txt.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from benchkit.basics import json_text
from benchkit.basics.errors import EnvironmentFailure, TrialError, Unusable
from benchkit.basics.fields import Fields
from benchkit.basics.json_text import canonical, digest, sha256_hex
from benchkit.basics.texts import CRLF, cases_named, encoding_fault, first_alike, shown_line, unseen_in
from benchkit.basics.values import JSON, Case, Request
from benchkit.boards.game import GameRules
from benchkit.boards.job import MOST_COUNT, FromPack, Job
from benchkit.boards.pack import Pack, Reword
from benchkit.boards.question_gates import GateFigures, emission_gate, gate_figures
from benchkit.boards.usage import NOTHING_USED, tokens_of
from benchkit.disk.whole_files import read_whole, shown_path, write_whole
from benchkit.systems.guarding import answered
from benchkit.tasks.modules import named
from benchkit.tasks.task import case_sha256

if TYPE_CHECKING:
    from benchkit.basics.clock import Clock
    from benchkit.systems.system import System

MOST_BYTES, MOST_FILE_BYTES = 2**20, 256 * 2**20
SEED = 1000
_MEND = "put the file back as it was, or make it again: python3 board.py run JOB --rebuild"


class Rewording:
    """Prompt -> text of a system, from the folder where it was asked before. `used` counts the calls that were made.

    The system is opened and warmed at the first call, for a full folder needs no server; None: nobody (offline). With
    `regenerate` everything is asked again, each prompt once, and the answers replaced.
    """

    def __init__(
        self, folder: Path, name: str, system: System | None, clock: Clock, timeout_s: float, regenerate: bool = False,
    ) -> None:
        self._folder, self._name, self._system, self._regenerate = folder, name, system, regenerate
        self._clock, self._timeout_s = clock, timeout_s
        self._said: dict[str, str] = {}
        self.used = NOTHING_USED

    def __call__(self, prompt: str) -> str:
        """The answer to a prompt. Raises EnvironmentFailure if nobody is there to give it, Unusable for a bad file."""
        if prompt not in self._said:
            path = self._folder / f"{digest({'system': self._name, 'prompt': prompt})}.txt"
            if self._regenerate or not path.exists():
                self._said[prompt] = self._asked(prompt, path)
            else:
                try:
                    self._said[prompt] = read_whole(path, MOST_BYTES).decode("utf-8")
                except UnicodeDecodeError as error:
                    raise Unusable(f"{shown_path(path)}: it is not UTF-8 at byte {error.start}; delete it, or ask "
                                   "again with --regen") from None
        return self._said[prompt]

    def _asked(self, prompt: str, path: Path) -> str:
        name = shown_line(self._name, 80)
        if self._system is None:
            raise EnvironmentFailure(f"{shown_path(self._folder)} has no answer of {name} to "
                                     f"{shown_line(prompt, 60)!r}; run once without --offline")
        if not self.used.calls:
            self._system.open()
            self._system.warm()
        try:
            reply = answered(self._system, Request("rewording", 1, 1, SEED, [{"role": "user", "content": prompt}], None,
                                                   self._clock.monotonic() + self._timeout_s))
            self.used += tokens_of([reply])
            write_whole(path, [reply.output.encode("utf-8")])
        except TrialError as error:
            raise EnvironmentFailure(f"{name} was to reword the questions, and did not answer: "
                                     f"{error.message}") from error
        except UnicodeEncodeError:
            raise EnvironmentFailure(f"{name} was to reword the questions, and gave a text with a lone surrogate, "
                                     "which no file can hold") from None
        return reply.output


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked, and what the gates saw. Where `figures.blocked` says why, nothing of it is asked."""

    cases: tuple[Case, ...]
    figures: GateFigures

    @property
    def cases_sha256(self) -> dict[str, str]:
        """The digest of each case, in order."""
        return {case.id: case_sha256(case) for case in self.cases}

    @property
    def lines(self) -> tuple[bytes, ...]:
        """The lines of cases.jsonl."""
        return tuple(line_of(case) for case in self.cases)

    @property
    def sha256(self) -> str:
        """The digest of cases.jsonl."""
        return sha256_hex(b"".join(self.lines))


@dataclass(frozen=True, slots=True)
class KeptQuestions:
    """The questions as they stand in cases.jsonl. `altered` says what is not as it was made; empty: nothing."""

    cases: tuple[Case, ...]
    altered: tuple[str, ...] = ()


def rules_of(job: Job) -> GameRules:
    """How a job asks its questions."""
    return GameRules(job.geometry, job.limits.budget, job.limits.steps)


def make_questions(job: Job, pack: Pack, reword: Reword | None = None) -> Questions:
    """The questions of a job, through both gates. Raises Unusable where the pack fails."""
    asks = job.asks
    place = f"pack {pack.module}: build"
    with named(place):
        built = tuple(pack.build(asks.seed if isinstance(asks, FromPack) else 0,
                                 MOST_COUNT if asks.count is None else asks.count, reword))
    cases = tuple(_as_kept(f"{place}, question {number}", case) for number, case in enumerate(built, 1))
    _check_ids(place, cases)
    games, dropped = emission_gate(pack, cases, rules_of(job))
    return Questions(tuple(game.case for game in games), gate_figures(pack, games, dropped, job.batch_gate))


def _as_kept(place: str, case: object) -> Case:
    """The case as it reads back from its line: what is asked is what is kept. Raises Unusable if there is none."""
    if not isinstance(case, Case) or not isinstance(case.id, str) or not case.id or shown_line(case.id) != case.id:
        raise Unusable(f"{place} is no Case with an id of one line")
    if unseen := unseen_in(case.id):
        raise Unusable(f"{place} ({case.id}): its id holds {unseen}, which nobody sees; leave it out")
    try:
        return _case_of(json_text.parse(line_of(case)))[0]
    except (TypeError, ValueError, RecursionError) as error:
        raise Unusable(f"{place} ({case.id}) is not JSON that can be kept: {shown_line(str(error))}") from None


def line_of(case: Case) -> bytes:
    r"""The line of a case, "\n" included. Raises TypeError or ValueError for what JSON cannot say."""
    return canonical({"id": case.id, "split": case.split, "input": case.input, "expected": case.expected,
                      "tags": list(case.tags), "sha256": case_sha256(case)}).encode("ascii") + b"\n"


def read_questions(
    path: Path, cases_sha256: Mapping[str, str], questions_sha256: str, *, accept_altered: bool = False,
) -> KeptQuestions:
    """The questions of a batch, held against the digests in its batch.json.

    Raises Unusable for a line that is no question, and for questions that were altered, naming them; with
    `accept_altered` these are read as they are, and named in the value.
    """
    where = shown_path(path)
    if not path.exists():
        raise Unusable(f"{where}: there is no such file; {_MEND}")
    data = read_whole(path, MOST_FILE_BYTES)
    fault = encoding_fault(data)
    if fault:
        raise Unusable(f"{where}: {fault}")
    if data and not data.endswith(b"\n"):
        raise Unusable(f"{where}: its last line is cut off; {_MEND}")
    # line by line: a list of millions of empty lines takes many times the memory of the file
    pairs = []
    for number, line in enumerate(BytesIO(data), 1):
        try:
            pairs.append(_case_of(json_text.parse(line.removesuffix(b"\n"))))
        except ValueError as error:
            raise Unusable(f"{where}, line {number}: {error}") from None
    cases = tuple(case for case, _ in pairs)
    _check_ids(where, cases)
    wrong = _altered(pairs, cases_sha256)
    if not wrong and sha256_hex(data) != questions_sha256:
        if sha256_hex(data.replace(b"\r\n", b"\n")) == questions_sha256:
            raise Unusable(f"{where}: {CRLF}")
        wrong = ("the order or the form of its lines",)
    if wrong and not accept_altered:
        what = cases_named(wrong) if wrong[0] in cases_sha256 else wrong[0]
        raise Unusable(f"{where}: {what} is not as this batch was made with; {_MEND}, or report on it as it is with "
                       "--accept-altered (the board says so)")
    return KeptQuestions(cases, wrong)


def _case_of(value: JSON) -> tuple[Case, str]:
    """The case of a line, and the digest that stands in it. Raises ValueError naming the field."""
    fields = Fields(value)
    fields.has_exactly(("id", "split", "input", "expected", "tags", "sha256"))
    name = fields.text("id")
    if not name or shown_line(name) != name:
        raise fields.wrong("id", "a text of one line")
    return Case(name, fields.text("split"), fields.json("input"), fields.json("expected"),
                fields.texts("tags")), fields.text("sha256")


def _check_ids(place: str, cases: Sequence[Case]) -> None:
    found = first_alike([case.id for case in cases])
    if found is not None:
        number, _first, but_for = found
        raise Unusable(f"{place}: the id {cases[number].id} stands twice{but_for}")


def _altered(pairs: Sequence[tuple[Case, str]], cases_sha256: Mapping[str, str]) -> tuple[str, ...]:
    found = [case.id for case, sha256 in pairs
             if case.id in cases_sha256 and not case_sha256(case) == sha256 == cases_sha256[case.id]]
    there = {case.id for case, _ in pairs}
    found += [f"case {name} (it is missing)" for name in cases_sha256 if name not in there]
    return (*found, *(f"case {case.id} (it was added)" for case, _ in pairs if case.id not in cases_sha256))
