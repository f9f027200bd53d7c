"""The signs that show a tone: marks, badges, small bars of counts, the key of a chart."""
from __future__ import annotations

from collections.abc import Sequence

from benchkit.pages.html import Html, element, whole
from benchkit.pages.svg import bar, percentage, picture
from benchkit.pages.tones import Tone

SIGNS = {Tone.PASS: "\u2713", Tone.FAIL: "\u00d7", Tone.INCOMPLETE: "?", Tone.FLAKY: "~", Tone.ABSENT: "\u00b7"}
"""What tells a tone without its colour; PLAIN has none."""
_WORDS = {Tone.PASS: "pass", Tone.FAIL: "fail", Tone.INCOMPLETE: "incomplete", Tone.FLAKY: "flaky",
          Tone.ABSENT: "not run", Tone.PLAIN: "other"}
_ROOM_FOR_A_SIGN = 0.12


def mark(tone: Tone, words: str, anchor: str = "") -> Html:
    """A coloured sign with its words as text alternative; a link to a place on the page if there is one."""
    sign = SIGNS.get(tone, "")
    if anchor:
        return element("a", sign, class_=f"mark {tone}", href=f"#{anchor}", title=words, aria_label=words)
    return element("span", sign, class_=f"mark {tone}", role="img", title=words, aria_label=words)


def badge(tone: Tone, words: str) -> Html:
    """Words with their sign and colour, such as the state of a case."""
    sign = element("span", SIGNS[tone], aria_hidden="true", class_="sign") if tone in SIGNS else None
    return element("span", sign, words, class_=f"badge {tone}")


def stacked_bar(title: str, counts: Sequence[tuple[Tone, int]]) -> Html:
    """A small bar cut into parts by their counts, read aloud as `title: 7 pass, 2 fail`; empty for no counts."""
    total = sum(count for _, count in counts)
    drawn, told, end = [], [], 0
    for tone, count in counts:
        if count:
            words = f"{count} {_WORDS[tone]}"
            left, right, end = end / total, (end + count) / total, end + count
            # what is missing is lower as well as grey, so that it is seen in black and white, too
            top = 5 if tone in (Tone.INCOMPLETE, Tone.ABSENT) else 1
            drawn.append(bar(left, right, top, 18 - 2 * top, f"part {tone}", words))
            if right - left >= _ROOM_FOR_A_SIGN:
                drawn.append(element("text", SIGNS.get(tone), x=percentage((left + right) / 2), y="13.5",
                                     text_anchor="middle", class_=f"on-part {tone}"))
            told.append(words)
    return picture(18, f"{title}: {', '.join(told) or 'nothing'}", *drawn, class_="stacked")


def key(entries: Sequence[tuple[Html, str]]) -> Html:
    """What the signs of a chart mean."""
    return element("ul", whole(element("li", sign, words) for sign, words in entries), class_="legend")
