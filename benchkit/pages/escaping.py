r"""Escaping at the sink: every way in which a text of strangers enters HTML, XML, Markdown and CSV.

Nothing is stripped: what a format cannot hold, or what would turn the reading direction, is shown (`\x1b`).
"""
from __future__ import annotations

import re
from html import escape

from benchkit.basics.texts import shown, shown_line

_NONCHARACTER = re.compile("[\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BACKTICKS = re.compile(r"`+")
# mentions and mail addresses, issues (#12, owner/repository#56, GH-12), advisories (GHSA-...), commits
_REFERENCE = re.compile(r"@|#(?=[0-9])|\bGH(?:SA)?\\?-|\b[0-9a-f]{6}(?=[0-9a-f]+\b)", re.IGNORECASE)
_APART = "<!-- -->"
# a spreadsheet may skip what is blank or not seen before the sign, and takes wide and small signs for the usual ones
_FORMULA = re.compile("[\t\r\0]|[\\s\0-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*"
                      "[=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]")
_CSV_SPECIAL = re.compile(r'[",\r\n]')


def html_text(text: str) -> str:
    """A text for the content of an HTML element or for a quoted attribute."""
    visible = shown(text)
    if not visible.isascii():
        visible = _NONCHARACTER.sub(_named, visible)
    return escape(visible, quote=True)


def xml_text(text: str) -> str:
    """A text for the content of an XML 1.0 element: the same, since all that XML cannot hold is shown in pages too."""
    return html_text(text)


def xml_attribute(text: str) -> str:
    """A text for a quoted XML attribute: as xml_text, and line ends and tabs outlive the parser's normalisation."""
    return xml_text(text).replace("\n", "&#10;").replace("\t", "&#9;")


def markdown_cell(text: str, most: int = 200) -> str:
    """A text as a code span on one line of at most `most` characters, fit for a table cell; nothing for no text."""
    line = shown_line(text, most)
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    # a span loses one space at each end if both ends have one, and must not touch its fence with a backtick
    pad = " " if line.strip(" ") and (line[0] in " `" or line[-1] in " `") else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def markdown_block(text: str) -> str:
    """A text as a fenced block, without a final line end. It must begin at the start of a line."""
    body = shown(text)
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}text\n{body}\n{fence}"


def markdown_summary(text: str) -> str:
    """A text on one line inside an HTML element that stands at the start of a block, where Markdown has no say."""
    return _unlinked(html_text(shown(text).replace("\n", " ").replace("\t", " ").strip()))


def _unlinked(escaped: str) -> str:
    """The same to a reader; where a renderer would link, it finds a comment in between.

    It looks for links in the finished text, so that no backslash keeps it from them; a link to an issue would even be
    written down there.
    """
    return _REFERENCE.sub(rf"\g<0>{_APART}", escaped)


def csv_field(text: str) -> str:
    """A text as a field of RFC 4180; a `'` before what a spreadsheet may run as a formula.

    The text stays as it is otherwise, control characters included; only lone surrogates, which no file can hold,
    are shown.
    """
    field = _SURROGATE.sub(_named, text)
    if _FORMULA.match(field):
        field = "'" + field
    if _CSV_SPECIAL.search(field):
        return '"' + field.replace('"', '""') + '"'
    return field


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


def _named(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
