r"""Texts in Markdown: own words stay as they are, but for what a renderer would take for markup.

A backslash stands only where a character would begin markup at this place, and a comment where GitHub would make a link
or a mention of a text in spite of a backslash. So no text can break its line, whoever wrote it.
"""
from __future__ import annotations

import re

from benchkit.basics.texts import shown
from benchkit.pages.escaping import markdown_cell

APART = "<!-- -->"
_MARKUP = re.compile(
    # an underscore within a word is none
    r"(?<=[A-Za-z0-9])(_+)(?=[A-Za-z0-9])"
    r"|[\\`*\[|~$_]"
    r"|<(?=[A-Za-z/!?]|$)"
    r"|&(?=#?\w+;|$)"
    # bare addresses
    r"|(?<=[a-z]):(?=/)|(?<=mailto):|(?<=xmpp):|(?<=www)\.", re.IGNORECASE)
# mentions, mail, issues, advisories, commits, emoji: made of the finished text
_REFERENCE = re.compile(
    r"(?<![A-Za-z0-9_])@(?=\w)|@(?=[\w-]+\.\w)|#(?=[0-9])|\bGH(?:SA)?-(?=\w)|\b[0-9a-f]{6}(?=[0-9a-f]+\b)"
    r"|:(?=[a-z0-9+_-]*[a-z+][a-z0-9+_-]*:)|:(?=-1:)", re.IGNORECASE)
# what begins a heading, quotation, list, line or underlined title
_START = re.compile(r"^(?:#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=](?=[-= ]*$)|\d{1,9}(?=[.)](?:\s|$)))")


def markdown_words(text: str) -> str:
    """A text within a line."""
    flat = shown(text).replace("\n", " ").replace("\t", " ")
    return _REFERENCE.sub(rf"\g<0>{APART}", _MARKUP.sub(_escaped, flat))


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[1] else "\\" + found[0]


def markdown_line(inline: str) -> str:
    """A line of finished words that begins a block, so that its beginning is not taken for a list or a heading."""
    found = _START.match(inline := inline.strip())
    if found is None:
        return inline
    return f"{found[0]}\\{inline[found.end():]}" if found[0][0].isdecimal() else "\\" + inline


def markdown_code(text: str, most: int, is_in_table: bool = False) -> str:
    """A text as a code span of at most `most` characters; nothing for no text."""
    span = markdown_cell(text, most)
    return span if is_in_table else span.replace("\\|", "|")
