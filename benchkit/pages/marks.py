"""Verdicts and states as marks: each has a colour, a letter-like sign and words, never a colour alone."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchkit.pages.html import Html, element, whole
from benchkit.pages.scales import percent
from benchkit.pages.svg import bar, picture


class Tone(StrEnum):
    """What a mark, a badge or a bar says; the value is its class in the style sheet."""

    PASS = "pass"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    FLAKY = "flaky"
    ABSENT = "absent"
    PLAIN = "plain"

    @property
    def sign(self) -> str:
        """The sign that tells the tone without its colour; none for PLAIN."""
        return {"pass": "\u2713", "fail": "\u00d7", "incomplete": "?", "flaky": "~", "absent": "\u00b7"}.get(self, "")


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a whole: how many are of a tone."""

    tone: Tone
    count: int


_WORDS = {Tone.PASS: "pass", Tone.FAIL: "fail", Tone.INCOMPLETE: "incomplete", Tone.FLAKY: "flaky",
          Tone.ABSENT: "not run", Tone.PLAIN: "other"}
_ROOM_FOR_A_SIGN = 0.12


def mark(tone: Tone, words: str, anchor: str = "", sign: str = "") -> Html:
    """A coloured sign with its words as text alternative; a link to a place on the page if there is one."""
    shown = sign or tone.sign
    if anchor:
        return element("a", shown, class_=f"mark {tone}", href=f"#{anchor}", title=words, aria_label=words)
    return element("span", shown, class_=f"mark {tone}", role="img", title=words, aria_label=words)


def badge(tone: Tone, words: str) -> Html:
    """Words with their sign and colour, such as the state of a case."""
    sign = element("span", tone.sign, aria_hidden="true", class_="sign") if tone.sign else None
    return element("span", sign, words, class_=f"badge {tone}")


def legend(tones: Sequence[Tone]) -> Html:
    """What the marks mean."""
    items = [element("li", element("span", tone.sign, class_=f"mark {tone}", aria_hidden="true"), _WORDS[tone])
             for tone in tones]
    return element("ul", *items, class_="legend")


def stacked_bar(title: str, parts: Sequence[BarPart]) -> Html:
    """A small bar cut into parts by their counts, read aloud as `title: 7 pass, 2 fail`; empty for no counts."""
    shown = [part for part in parts if part.count > 0]
    total = sum(part.count for part in shown)
    told = ", ".join(f"{part.count} {_WORDS[part.tone]}" for part in shown) or "nothing"
    drawn, before = [], 0
    for part in shown:
        drawn.append(_stacked_part(part, before / total, (before + part.count) / total))
        before += part.count
    return picture(18, f"{title}: {told}", "", whole(drawn), class_="stacked")


def _stacked_part(part: BarPart, start: float, end: float) -> Html:
    told = f"{part.count} {_WORDS[part.tone]}"
    # incomplete parts are lower as well as grey, so that they are seen to be missing in black and white too
    top = 5 if part.tone in (Tone.INCOMPLETE, Tone.ABSENT) else 1
    drawn = [bar(start, end, top, 18 - 2 * top, f"part {part.tone}", told)]
    if end - start >= _ROOM_FOR_A_SIGN:
        drawn.append(element("text", part.tone.sign, x=percent((start + end) / 2), y="13.5", text_anchor="middle",
                             class_=f"on-part {part.tone}"))
    return whole(drawn)
