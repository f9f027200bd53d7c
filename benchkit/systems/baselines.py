"""Systems without a model: the baselines of the task, and three that fit any task.

    constant       always the first case's expected answer
    most-common    the expected answer that is most common among the cases of the split
    coin           right or wrong by the seed, each with one chance in two

They show what a score is worth: a model that does not beat `most-common` has learned nothing of the task.
What does not live here: the task's own baselines (its module).
"""
from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchkit.basics.canonical import canonical, sha256_hex
from benchkit.basics.errors import TrialError, Unusable
from benchkit.basics.names import shown_line
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.systems.system import Loaded, SystemOptions

Answer = Callable[[Case, int], str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A function of (case, seed) as a system. It is handed the whole case, labels included."""

    function: Answer
    source_sha256: str
    cases: Mapping[str, Case]

    def open(self) -> Mapping[str, JSON]:
        """No server."""
        return {"server": None, "server_version": None}

    def settings(self) -> Mapping[str, JSON]:
        """The digest of the function's source text: another rule is another system."""
        return {"baseline_sha256": self.source_sha256}

    def warm(self) -> Loaded:
        """Nothing to load."""
        return Loaded(load_s=0.0)

    def answer(self, request: Request) -> Reply:
        """The function's text. An exception in it is a ServerError of this trial."""
        try:
            text = self.function(self.cases[request.case], request.seed)
        except Exception as error:
            raise TrialError("ServerError", f"the baseline raised {type(error).__name__}") from error
        if not isinstance(text, str):
            raise TrialError("BadReply", f"the baseline gave {type(text).__name__}, not text")
        return Reply(output=text)

    def close(self) -> None:
        """Nothing to let go of."""


def baseline_system(name: str, options: SystemOptions) -> Baseline:
    """The baseline of that name: the task's own first, then the generic ones. Raises Unusable with the list."""
    own = options.task.baselines.get(name)
    generic = GENERIC.get(name)
    if own is not None:
        return Baseline(own, _source_sha256(own), {case.id: case for case in options.cases})
    if generic is not None:
        return Baseline(generic(options.cases), _source_sha256(generic), {case.id: case for case in options.cases})
    known = ", ".join(sorted({*options.task.baselines, *GENERIC}))
    raise Unusable(f"--system baselines:{shown_line(name)}: the task {options.task.module} has no such baseline; "
                   f"there are {known}")


def _source_sha256(function: Callable[..., object]) -> str:
    text = inspect.getsource(function).replace("\r\n", "\n")
    return sha256_hex(text.encode("utf-8"))


def constant(cases: tuple[Case, ...]) -> Answer:
    """Always the first case's expected answer."""
    text = canonical(cases[0].expected)
    return lambda case, seed: text


def most_common(cases: tuple[Case, ...]) -> Answer:
    """The expected answer that is most common; of several, the one that comes first in the file."""
    counted = Counter(canonical(case.expected) for case in cases)
    text = counted.most_common(1)[0][0]
    return lambda case, seed: text


def coin(cases: tuple[Case, ...]) -> Answer:
    """The case's expected answer, or nothing, with one chance in two each; the seed and the case decide."""
    def answer(case: Case, seed: int) -> str:
        is_right = random.Random(f"{seed}/{case.id}").random() < 0.5
        return canonical(case.expected) if is_right else ""
    return answer


GENERIC: Mapping[str, Callable[[tuple[Case, ...]], Answer]] = {
    "constant": constant, "most-common": most_common, "coin": coin}
