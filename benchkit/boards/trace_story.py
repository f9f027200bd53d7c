"""One trial as a story, in the order of time: what the solver was shown, what it said, what that brought.

Pure: a segment in, lines of text out, safe for a terminal.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchkit.basics.json_text import canonical
from benchkit.basics.texts import count_of, shown, shown_line
from benchkit.boards.trace_events import (
    ATTEMPT,
    CALL,
    END,
    ERROR,
    MESSAGE,
    RESULT,
    START,
    SYSTEM,
    USER,
    SegmentKey,
)
from benchkit.boards.trace_file import Segment
from benchkit.reports.figures import seconds

_INDENT = "    "


def story_of(segment: Segment) -> Iterator[str]:
    """The lines of the story. An open segment ends in a line that says so."""
    yield _heading(segment.key, segment.events[0].geometry)
    for event in segment.events:
        for number, line in enumerate(_TELLERS[event.type](event.data)):
            yield f"{event.at[11:23]}  {line}" if number == 0 else _INDENT + line
    if not segment.is_closed:
        yield "the trace of this trial is open: it was cut off here, and counts for nothing"


def _heading(key: SegmentKey, geometry: str) -> str:
    cell = key.cell
    return (f"case {shown_line(cell.case)}, {shown_line(cell.system)}, trial {cell.trial}, attempt {key.attempt}, "
            f"session {key.session}, {geometry}")


def _start(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"the trial begins, with seed {data['seed']}"
    prices = data["prices"]
    if prices:
        yield "for sale: " + shown_line(canonical(prices))


def _shown_as(role: str) -> Callable[[Mapping[str, Any]], Iterator[str]]:
    def tell(data: Mapping[str, Any]) -> Iterator[str]:
        yield f"it is shown, as {role}:"
        yield from _quoted(data["text"])
    return tell


def _message(data: Mapping[str, Any]) -> Iterator[str]:
    if data["request"] is None:
        yield "it is shown, as an example of what it says:"
    else:
        tokens = data["usage"].get("output_tokens")
        told = f", {count_of(tokens, 'token')}" if tokens is not None else ""
        after = "" if data["latency_s"] is None else f" after {seconds(data['latency_s'])} s"
        yield f"it says,{after}{told} (request {data['request']}):"
    yield from _quoted(data["text"])
    if data["reasoning"]:
        yield "its reasoning, which no judge reads:"
        yield from _quoted(data["reasoning"])


def _attempt(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"no whole reply: {data['error']}: {shown_line(data['message'])} (request {data['request']})"
    if data["text"] is not None:
        yield "what had come, which counts for nothing:"
        yield from _quoted(data["text"])


def _call(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"that is call {shown_line(data['call_id'], 20)}"


def _result(data: Mapping[str, Any]) -> Iterator[str]:
    tool = shown_line(data["tool"], 40) if data["tool"] is not None else "nothing"
    if data["error"] is not None:
        yield f"it brings nothing, for {data['cost']:g}: {shown_line(data['error'])}"
        return
    grounded = "" if data["grounded"] else ", asked for without having seen why"
    count = len(data["observation"])
    yield f"it buys {tool} for {data['cost']:g}{grounded}: {count} observation{'' if count == 1 else 's'}"
    for one in data["observation"]:
        yield "| " + shown_line(canonical(one))


def _error(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"the trial is incomplete: {data['type']}: {shown_line(data['message'])}"


def _end(data: Mapping[str, Any]) -> Iterator[str]:
    how = {"answer": "with an answer", "last message": "with the last message it had", "error": "with an error"}
    count = data["messages"]
    yield f"the trial ends {how[data['ended']]}; {count} message{'' if count == 1 else 's'}, {data['cost']:g} spent"


def _quoted(text: str) -> Iterator[str]:
    if not text:
        yield "| (an empty text)"
    for line in text.split("\n") if text else ():
        yield "| " + shown(line)


_TELLERS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    START: _start, SYSTEM: _shown_as("system"), USER: _shown_as("user"), MESSAGE: _message, ATTEMPT: _attempt,
    CALL: _call, RESULT: _result, ERROR: _error, END: _end,
}
"""How an event of each type is told."""

