"""Systems without a model: the baselines of the task, and three that fit any task.

    constant       always the right answer of the first case
    most-common    always a right answer of the label that is most common among the cases of the split
    coin           the right answer or another case's, by the seed, each with one chance in two

They show what a score is worth: a model that does not beat `most-common` has learned nothing of the task.
The right answer of a case is what the task's baseline that sees labels gives (the first in SEES_LABELS), and where
there is none the case's `expected`: as it is if it is a text, else as canonical JSON.
"""
from __future__ import annotations

import inspect
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical, sha256_hex
from benchkit.basics.texts import shown_line
from benchkit.basics.values import JSON, Case, Reply, Request
from benchkit.systems.system import Loaded, SystemOptions
from benchkit.tasks.judging import PROBED_CASES, SEED
from benchkit.tasks.modules import Raised, called, told
from benchkit.tasks.task import Task

Answer = Callable[[Case, int], str]


@dataclass(frozen=True, slots=True)
class BaselineSystem:
    """A function of (case, seed) as a system. It is handed the whole case, labels included.

    `source_sha256` is over the text of the function that it is known by. `name` and `module` (of the task) are for the
    errors' sake.
    """

    name: str
    module: str
    function: Answer
    source_sha256: str
    cases: Mapping[str, Case]

    def open(self) -> Mapping[str, JSON]:
        """No server. Raises Unusable where the function fails on one of the first cases: most slips fail on any."""
        for case in islice(self.cases.values(), PROBED_CASES):
            self._text(case, SEED)
        return {"server": None, "server_version": None}

    def settings(self) -> Mapping[str, JSON]:
        """The digest of the function's source text: another rule is another system."""
        return {"baseline_sha256": self.source_sha256}

    def warm(self) -> Loaded:
        """Nothing to load."""
        return Loaded(load_s=0.0)

    def answer(self, request: Request) -> Reply:
        """The function's text. Raises Unusable: where it fails there is no server to blame, but the task."""
        return Reply(output=self._text(self.cases[request.case], request.seed))

    def close(self) -> None:
        """Nothing to let go of."""

    def _text(self, case: Case, seed: int) -> str:
        try:
            text = called(self.function, case, seed, passing=(MemoryError,))
        except Raised as raised:
            raise Unusable(f"{self._place(case)} {told(raised.error, self.function)}") from raised.error
        if not isinstance(text, str):
            raise Unusable(f"{self._place(case)} gave {type(text).__name__}, not a text")
        return text

    def _place(self, case: Case) -> str:
        return f"task {self.module}, case {shown_line(case.id, 80)}: baseline {shown_line(self.name, 60)}"


def baseline_system(name: str, options: SystemOptions) -> BaselineSystem:
    """The baseline of that name: the task's own first, then the generic ones. Raises Unusable with the list."""
    task = options.task
    if task is None:
        raise Unusable(f"--system baselines:{shown_line(name)}: a baseline of this kind belongs to a task")
    source: Callable[..., object]
    if name in task.baselines:
        source = function = task.baselines[name]
    elif name in GENERIC:
        source, function = GENERIC[name], GENERIC[name](options.cases, right_answer(task))
    else:
        known = ", ".join(sorted({*task.baselines, *GENERIC}))
        raise Unusable(f"--system baselines:{shown_line(name)}: the task {task.module} has no such baseline; "
                       f"there are {known}")
    return BaselineSystem(name, task.module, function, source_sha256(source), {case.id: case for case in options.cases})


def right_answer(task: Task) -> Answer:
    """The function that gives the right answer of a case, as far as the task tells it."""
    if task.sees_labels:
        return task.baselines[task.sees_labels[0]]
    return lambda case, seed: case.expected if isinstance(case.expected, str) else canonical(case.expected)


def source_sha256(function: Callable[..., object]) -> str:
    """64 hex over the source text of a function. Raises Unusable for what has none, as a `functools.partial`."""
    try:
        text = inspect.getsource(function).replace("\r\n", "\n")
    except (OSError, TypeError):
        raise Unusable(f"the baseline {shown_line(repr(function), 80)} has no source text to be known by; write it "
                       "as a function (def or lambda)") from None
    return sha256_hex(text.encode("utf-8"))


def constant(cases: tuple[Case, ...], right: Answer) -> Answer:
    """Always the right answer of the first case."""
    return lambda case, seed: right(cases[0], seed)


def most_common(cases: tuple[Case, ...], right: Answer) -> Answer:
    """Always a right answer of the most common label; of several, the one that comes first in the file."""
    label = Counter(canonical(case.expected) for case in cases).most_common(1)[0][0]
    typical = next(case for case in cases if canonical(case.expected) == label)
    return lambda case, seed: right(typical, seed)


def coin(cases: tuple[Case, ...], right: Answer) -> Answer:
    """The right answer of the case, or of the case after it in the file; the seed and the case's id decide."""
    following = dict(zip((case.id for case in cases), (*cases[1:], cases[0]), strict=True))

    def answer(case: Case, seed: int) -> str:
        is_right = random.Random(f"{seed}/{case.id}").random() < 0.5
        return right(case if is_right else following[case.id], seed)
    return answer


GENERIC: Mapping[str, Callable[[tuple[Case, ...], Answer], Answer]] = {
    "constant": constant, "most-common": most_common, "coin": coin}
