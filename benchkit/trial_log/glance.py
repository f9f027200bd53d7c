r"""What one pass needs of a trial line, taken from its bytes without parsing them.

Parsing strictly takes four times as long as `json.loads`; a log of a million trials is read at every start. The
shape accepts a part of what `lines.line_of` accepts, and nothing else (a test holds that): a trial line as the
kit writes it, whole, in canonical order. Whatever else there is takes the long way.
"""
from __future__ import annotations

import json
import re
from dataclasses import dataclass

from benchkit.basics.errors import ERROR_TYPES
from benchkit.trial_log.lines import MOST_ATTEMPTS, MOST_CELLS

# possessive (*+, ++): a text is never read twice, however it ends; the escapes leave out lone surrogates
_TEXT = (
    r'"[ !#-\[\]-~]*+(?:\\(?:["\\/bfnrt]|u(?:[0-9a-ce-f][0-9a-f]{3}|d[0-7][0-9a-f]{2}'
    r'|d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}))[ !#-\[\]-~]*+)*+"'
)
_COUNT = r"(?:0|[1-9][0-9]{0,9})"
_SECONDS = r"(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,17})?(?:e-[0-9]{2})?"
_STAMP = r'"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{3}Z"'
_HEX_16 = r"[0-9a-f]{16}"
_TEXT_OR_NULL, _COUNT_OR_NULL, _SECONDS_OR_NULL = f"(?:null|{_TEXT})", f"(?:null|{_COUNT})", f"(?:null|{_SECONDS})"


def _object_of(value: str, *names: str, begins: str = "") -> str:
    return r"\{" + begins + ",".join(f'"{name}":{value}' for name in names) + r"\}"


_ERROR = rf'\{{"message":{_TEXT},"partial":{_TEXT_OR_NULL},"type":"({"|".join(ERROR_TYPES)})"\}}'
_TIMINGS = _object_of(_SECONDS_OR_NULL, "first_token_s", "load_s", "other_s", "output_s", "prompt_s")
_USAGE = _object_of(_COUNT_OR_NULL, "cached_tokens", "output_tokens", "prompt_tokens",
                    begins=f'(?:"asked_letters":{_COUNT},)?')
_HEAD = rf'\{{"attempt":({_COUNT}),"case":({_TEXT}),'
_MIDDLE = rf'"kind":"trial","latency_s":{_SECONDS_OR_NULL},"n":({_COUNT}),'
_BINDING = rf'"request":"{_HEX_16}","retries":{_COUNT},"seed":({_COUNT}),"session":"({_HEX_16})",'
_TIMES = rf'(?:"slept_s":{_SECONDS},)?"started_at":{_STAMP},"system":({_TEXT}),'
_END = rf'"waited_s":{_SECONDS},"sum":"{_HEX_16}"\}}'
_REPLY = re.compile((
    rf'{_HEAD}"finish":{_TEXT_OR_NULL},{_MIDDLE}"output":{_TEXT},"reasoning":{_TEXT_OR_NULL},{_BINDING}{_TIMES}'
    rf'"timings":{_TIMINGS},"trial":({_COUNT}),"usage":{_USAGE},{_END}').encode("ascii"))
_FAILURE = re.compile(
    rf'{_HEAD}"error":{_ERROR},{_MIDDLE}{_BINDING}{_TIMES}"trial":({_COUNT}),{_END}'.encode("ascii"))


@dataclass(slots=True)
class Glimpse:
    """A trial line as one pass needs it. Not frozen: making a frozen one takes twice as long."""

    session: str
    n: int
    system: str
    case: str
    trial: int
    attempt: int
    error_type: str | None


def glance(line: bytes) -> Glimpse | None:
    """What a whole trial line says, or None if it takes the long way (which says what is wrong, if anything)."""
    found = _REPLY.fullmatch(line)
    if found:
        attempt, case, n, seed, session, system, trial = found.groups()
        error_type = None
    else:
        found = _FAILURE.fullmatch(line)
        if not found:
            return None
        attempt, case, error_type, n, seed, session, system, trial = found.groups()
    glimpse = Glimpse(
        session.decode("ascii"), int(n), _text_of(system), _text_of(case), int(trial), int(attempt),
        None if error_type is None else error_type.decode("ascii"))
    return glimpse if _is_possible(glimpse, int(seed)) else None


def _is_possible(glimpse: Glimpse, seed: int) -> bool:
    return (
        1 <= glimpse.trial <= MOST_CELLS and seed == 1000 + glimpse.trial
        and 1 <= glimpse.attempt <= MOST_ATTEMPTS and glimpse.system != "" and glimpse.case != "")


def _text_of(quoted: bytes) -> str:
    if b"\\" in quoted:
        text: str = json.loads(quoted)
        return text
    return quoted[1:-1].decode("ascii")
