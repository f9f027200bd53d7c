"""The verdict of a task's checks on one output, and every problem of a task before any model is asked."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchkit.basics.errors import Unusable
from benchkit.basics.json_text import canonical
from benchkit.basics.texts import cases_named, count_of, shown_line
from benchkit.basics.values import Case, ErrorFacts
from benchkit.tasks.modules import Raised, called, told
from benchkit.tasks.task import Task, prompt_of, without_labels

MOST_EXPLAINED = 200
"""Letters of one explanation; it stands in a table."""
ODD_OUTPUTS = ("", "{}", "[]", "null", "no JSON at all", '{"a": {"b": [1, null, true]}}', "[" * 60 + "]" * 60)
"""Outputs that models do give; a check must have an answer to each."""
SEED = 1001
MOST_LABELS = 20
"""A field of `expected` with more different values is no label."""
PROBED_CASES = 10
"""So many cases are looked at before a run: a check that raises on what models say raises on any case."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`verdict` is pass, fail or incomplete; incomplete has an `error` and no checks.

    `checks` are sorted by name: equal answers of a task are then equal bytes, however it built them.
    `explain` holds only names of failed checks; None where there is nothing to say.
    """

    verdict: str
    checks: Mapping[str, bool] | None = None
    explain: Mapping[str, str] | None = None
    error: ErrorFacts | None = None


class _NoAnswerError(ValueError):
    """A check gave something that is neither true nor false."""


def judge(task: Task, case: Case, output: str) -> Judgement:
    """The verdict on an output: fail only if some check is False; incomplete if a check could not be asked."""
    try:
        checks = called(_checks, task, case, output, passing=(_NoAnswerError,))
    except _NoAnswerError as error:
        return Judgement("incomplete", error=ErrorFacts("CheckError", str(error)))
    except Raised as raised:
        return Judgement("incomplete", error=ErrorFacts("CheckError", f"check {told(raised.error, task.check)}"))
    failed, explain = [name for name, holds in checks.items() if not holds], task.explain
    if not failed:
        return Judgement("pass", checks)
    if explain is None:
        return Judgement("fail", checks)

    def explanations() -> Mapping[str, object]:
        given = explain(case, output)
        return {name: given[name] for name in failed if name in given}
    try:
        found = called(explanations)
    except Raised as raised:
        # an explanation that raises must not change the verdict, but is seen
        found = dict.fromkeys(failed, f"explain {told(raised.error, explain)}")
    return Judgement(
        "fail", checks, {name: shown_line(str(text), MOST_EXPLAINED) for name, text in found.items()} or None)


def _checks(task: Task, case: Case, output: str) -> Mapping[str, bool]:
    given: object = task.check(case, output)
    if not isinstance(given, Mapping) or not given:
        raise _NoAnswerError("check gave no {name: true or false}")
    for name, answer in given.items():
        if not isinstance(name, str) or not name or shown_line(name) != name:
            raise _NoAnswerError("check gave a name that is no text of one line")
        if type(answer) is not bool:
            raise _NoAnswerError(f"check {shown_line(name, 60)} gave {type(answer).__name__}, not true or false")
    return dict(sorted(given.items()))


def problems_of(task: Task, cases: Sequence[Case]) -> Iterator[str]:
    """Every problem of a task over its cases, as a sentence with task, cases and field; none is a usable task.

    One that several cases have is told once, with the first of them: it is one fault.
    """
    names = tuple(judge(task, cases[0], "").checks or ())
    found: dict[str, list[str]] = {}
    for case in cases:
        for problem in (*_problems_of_labels(task, case), *_problems_of_prompt(task, case),
                        *_problems_of_check(task, case, names), *_problems_of_baselines(task, case)):
            found.setdefault(problem, []).append(case.id)
    for problem, ids in found.items():
        yield f"task {task.module}, {cases_named(dict.fromkeys(ids))}: {problem}"


def refuse_raising(task: Task, cases: Sequence[Case], command: object) -> None:
    """Raise Unusable where a check has no answer to an output that models do give, with what it raised and where.

    `command` is the one that says what else is wrong.
    """
    for case in cases[:PROBED_CASES]:
        for output in ODD_OUTPUTS:
            error = judge(task, case, output).error
            if error is not None:
                raise Unusable(
                    f"task {task.module}, case {shown_line(case.id, 80)}: {error.message}, on the output "
                    f"{shown_line(output, 30)!r}; models do give such answers, and a check says false to them: mend it "
                    f"({command} says what else is wrong), or record all the same with bench.py --unchecked")


def summary_text(task: Task, cases: Sequence[Case], given_as: str, generic: Sequence[str]) -> str:
    """What a task and its cases (`given_as`: their file) consist of, a line each, in order of first appearance.

    `generic` are the baselines that fit any task.
    """
    labels: dict[str, Counter[str]] = {}
    for case in cases:
        fields = case.expected if isinstance(case.expected, Mapping) else {"expected": case.expected}
        for field, label in fields.items():
            if isinstance(label, str | bool):
                word = label if isinstance(label, str) else canonical(label)
                labels.setdefault(field, Counter())[word] += 1
    baselines = [name + (" (sees labels)" if name in task.sees_labels else "") for name in task.baselines]
    rows = (("cases:", _counted(Counter(case.split for case in cases))),
            *((f"{field}:", _counted(counts)) for field, counts in labels.items() if len(counts) <= MOST_LABELS),
            ("tags:", _counted(Counter(tag for case in cases for tag in case.tags)) or "none"),
            ("checks:", ", ".join(judge(task, cases[0], "").checks or ())),
            ("baselines:", ", ".join(baselines) or "none"),
            ("for any task:", ", ".join(f"{name} (sees labels)" for name in generic if name not in task.baselines)))
    width = max(len(name) for name, _ in rows)
    lines = [f"  {shown_line(name).ljust(width)} {shown_line(text, 2000)}" for name, text in rows]
    return "\n".join((f"{given_as} and {task.module} ({task.name} {task.version}) can be used", *lines))


def _counted(counts: Mapping[str, int]) -> str:
    """`billing 12, bug 9`, in the order given."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _problems_of_labels(task: Task, case: Case) -> Iterator[str]:
    ask = task.problems
    found = () if ask is None else _answer(lambda: ask(case))
    if isinstance(found, BaseException):
        yield f"problems {told(found, ask)}"
    elif not isinstance(found, list | tuple):
        yield f"problems: it gave {type(found).__name__}, not a list of texts"
    else:
        yield from map(str, found)


def _problems_of_prompt(task: Task, case: Case) -> Iterator[str]:
    try:
        prompt = prompt_of(task, case)
    except Unusable as error:
        yield str(error).partition(": ")[2]
        return
    # once more with the labels in hand: a prompt that changes has looked at them
    if _answer(lambda: list(task.messages(case))) != list(prompt.messages):
        yield "messages depends on expected or tags: the prompt would give the answer away"
    if _answer(lambda: list(task.messages(without_labels(case)))) != list(prompt.messages):
        yield "messages gives another prompt when it is asked again"


def _problems_of_check(task: Task, case: Case, names: tuple[str, ...]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for output in ODD_OUTPUTS:
        judgement = judge(task, case, output)
        given = tuple(judgement.checks or ())
        if judgement.error is not None:
            problem = judgement.error.message
        elif names and given != names:
            problem = f"check gives {', '.join(given)}, and elsewhere {', '.join(names)}"
        elif judgement != judge(task, case, output):
            problem = "check answers otherwise when it is asked again"
        else:
            continue
        found.setdefault(problem, []).append(shown_line(output, 30))
    for problem, (first, *others) in found.items():
        more = f" and on {count_of(len(others), 'other odd one')}" if others else ""
        yield f"{problem}, on the output {first!r}{more}"


def _problems_of_baselines(task: Task, case: Case) -> Iterator[str]:
    for name, function in task.baselines.items():
        given = _answer(lambda function=function: function(case, SEED))  # type: ignore[misc]
        if isinstance(given, BaseException):
            yield f"baseline {name} {told(given, function)}"
        elif not isinstance(given, str):
            yield f"baseline {name}: it gave {type(given).__name__}, not a text"


def _answer(question: Callable[[], object]) -> object:
    """What the user's function gives, or the error that it raised: the caller says so."""
    try:
        return called(question)
    except Raised as raised:
        return raised.error
