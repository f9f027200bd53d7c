"""The verdict on one output: what a task's checks say of it, or why they say nothing.

What does not live here: what is checked (the task), and verdicts over many trials (recordings/judged.py).
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchkit.basics.names import shown_line
from benchkit.basics.values import Case, ErrorFacts
from benchkit.tasks.modules import told
from benchkit.tasks.task import Task

MOST_EXPLAINED = 200
"""Letters of one explanation; it stands in a table."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`verdict` is pass, fail or incomplete; incomplete has an `error` and no checks.

    `checks` are sorted by name: equal answers of a task are then equal bytes, however it built them.
    `explain` holds only names of failed checks; None where there is nothing to say.
    """

    verdict: str
    checks: Mapping[str, bool] | None
    explain: Mapping[str, str] | None
    error: ErrorFacts | None


def judge(task: Task, case: Case, output: str) -> Judgement:
    """The verdict on an output: fail only if some check is False; incomplete if a check could not be asked."""
    try:
        checks = _asked(task.check(case, output))
    except _NoAnswerError as error:
        return _incomplete(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the user's function can raise anything; it becomes a named error
        return _incomplete(f"check {told(error, task.check)}")
    if all(checks.values()):
        return Judgement("pass", checks, None, None)
    return Judgement("fail", checks, _explained(task, case, output, checks), None)


class _NoAnswerError(ValueError):
    """A check gave something that is neither true nor false."""


def _incomplete(message: str) -> Judgement:
    return Judgement("incomplete", None, None, ErrorFacts("CheckError", message))


def _asked(given: object) -> Mapping[str, bool]:
    if not isinstance(given, Mapping) or not given:
        raise _NoAnswerError("check gave no {name: true or false}")
    for name, answer in given.items():
        if not isinstance(name, str) or not name or shown_line(name) != name:
            raise _NoAnswerError("check gave a name that is no text of one line")
        if type(answer) is not bool:
            raise _NoAnswerError(f"check {shown_line(name, 60)} gave {type(answer).__name__}, not true or false")
    return dict(sorted(given.items()))


def _explained(task: Task, case: Case, output: str, checks: Mapping[str, bool]) -> Mapping[str, str] | None:
    if task.explain is None:
        return None
    failed = [name for name, holds in checks.items() if not holds]
    try:
        given = task.explain(case, output)
        found = {name: given[name] for name in failed if name in given}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an explanation that raises must not change the verdict, but is seen
        found = dict.fromkeys(failed, f"explain {told(error, task.explain)}")
    return {name: shown_line(str(text), MOST_EXPLAINED) for name, text in found.items()} or None
