r"""HTML that is hard to get wrong, and escaping for every format: all ways in which a text of strangers enters a file.

A text is escaped unless it is `Html`, which only the builders here make. Nothing is stripped: what a format cannot
hold, or what would turn the reading direction, is shown (`\x1b`).
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from typing import TypeAlias

from benchkit.basics.texts import shown, shown_line

# most texts hold nothing else, and stay as they are
_HARMLESS = re.compile(r"[ !#-%(-;=?-~\n\t]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BACKTICKS = re.compile(r"`+")
# mentions and mail addresses, issues (#12, owner/repository#56, GH-12), advisories (GHSA-...), commits
_REFERENCE = re.compile(r"@|#(?=[0-9])|\bGH(?:SA)?\\?-|\b[0-9a-f]{6}(?=[0-9a-f]+\b)", re.IGNORECASE)
# a spreadsheet may skip what is blank or not seen before the sign, and takes wide and small signs for the usual ones
_FORMULA = re.compile("[\t\r\0]|[\\s\0-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*"
                      "[=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]")
_CSV_SPECIAL = re.compile(r'[",\r\n]')


def html_text(text: str) -> str:
    """A text for the content of an HTML element or for a quoted attribute."""
    if _HARMLESS.fullmatch(text):
        return text
    return escape(shown(text), quote=True)


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
    escaped = html_text(shown(text).replace("\n", " ").replace("\t", " ").strip())
    # where a renderer would link, it finds a comment: no backslash would keep it, for it looks in the finished text
    return _REFERENCE.sub(r"\g<0><!-- -->", escaped)


def csv_field(text: str) -> str:
    """A text as a field of RFC 4180; a `'` before what a spreadsheet may run as a formula.

    Nothing else is changed but lone surrogates, which no file can hold: they are shown.
    """
    field = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if _FORMULA.match(field):
        field = "'" + field
    if _CSV_SPECIAL.search(field):
        return '"' + field.replace('"', '""') + '"'
    return field


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


class Html(str):
    """Markup that is safe to write as it is. Any change to it (adding, slicing, formatting) makes it a text again."""

    __slots__ = ()


Child: TypeAlias = str | int | None
"""What an element holds: Html as it is, a text escaped, a number as text, nothing for None."""
Attribute: TypeAlias = str | int | float | bool | None
"""The value of an attribute; True is the attribute without a value, None and False leave it out."""

_TAG = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ -]*")
_PLACE = re.compile(r"#[A-Za-z][A-Za-z0-9_-]*")
_ATTRIBUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_REFUSED_TAGS = {"script", "style", "iframe", "frame", "object", "embed", "base", "link", "meta", "form", "input",
                 "img", "image", "foreignObject", "use", "template"}
_REFUSED_ATTRIBUTES = {"style", "src", "srcset", "srcdoc", "action", "formaction", "data", "background", "xlink-href"}
_NAMING_ATTRIBUTES = {"id", "class", "for", "headers", "aria-labelledby", "aria-describedby", "aria-controls"}
_VOID = {"br", "hr", "col", "wbr"}
_VERBATIM = {"pre", "code", "mark", "text", "title", "desc"}
_BEFORE_A_UNIT = re.compile(r" (?<=\d )(?=%|points?\b|m?s\b)")
PIECE = 8_192
"""Characters that a piece of a stream has at least, but for the last."""
_BEHIND_PUNCTUATION = re.compile(r"[_:/.]+(?=\w)")


def element(name: str, *children: Child, **attributes: Attribute) -> Html:
    """An element. Attribute names are written `class_`, `aria_label`, `viewBox`; the values are quoted and escaped.

    In <pre>, <code> and charts every character stays as it was; elsewhere a number and its unit stay on one line.
    Raises ValueError for what the policy of a page would refuse (scripts, style attributes, things loaded from
    elsewhere), for an `id` or class that is not plain letters, digits and hyphens, and for a link that leads off the
    page.
    """
    start = _start(name, **attributes)
    if name in _VOID:
        return start
    if name in _VERBATIM:
        inner = "".join([child if type(child) is Html else "" if child is None else html_text(str(child))
                         for child in children])
    else:
        inner = "".join([child if type(child) is Html else _content(child) for child in children])
    return Html(f"{start}{inner}</{name}>")


def stream(name: str, children: Iterable[Child], **attributes: Attribute) -> Iterator[Html]:
    """An element in pieces, so that a long one is never held whole. Raises ValueError as element does."""
    held, size = [_start(name, **attributes)], 0
    for child in children:
        piece = child if type(child) is Html else _content(child)
        held.append(piece)
        size += len(piece)
        # what it stands in hands every piece on, so they are not too small
        if size > PIECE:
            yield whole(held)
            held, size = [], 0
    yield Html(f"{whole(held)}</{name}>")


def joined(*children: Child) -> Html:
    """Several children as one piece, nothing between them."""
    return Html("".join([child if type(child) is Html else _content(child) for child in children]))


def whole(pieces: Iterable[Html]) -> Html:
    """A stream as one piece."""
    return Html("".join(pieces))


def breakable(text: str) -> Html:
    """A name in a narrow place: where it needs several lines, they end behind its punctuation rather than anywhere."""
    return Html(_BEHIND_PUNCTUATION.sub(r"\g<0><wbr>", _content(text)))


def _content(child: Child) -> Html:
    if child is None or type(child) is Html:
        return child or Html()
    text = html_text(str(child))
    return Html(_BEFORE_A_UNIT.sub("\u00a0", text) if " " in text else text)


@lru_cache(4_096, typed=True)
def _start(name: str, /, **attributes: Attribute) -> Html:
    """The start tag; most are the same as thousands of others."""
    if not _TAG.fullmatch(name) or name in _REFUSED_TAGS:
        raise ValueError(f"no page may have an element {name!r}")
    return Html(f"<{name}{''.join([_attribute(key, value) for key, value in attributes.items()])}>")


def _attribute(key: str, value: Attribute) -> str:
    name = _attribute_name(key)
    if value is None or value is False:
        return ""
    if value is True:
        return f' {name}=""'
    text = value if isinstance(value, str) else format(value, "")
    if name in _NAMING_ATTRIBUTES and not _NAME.fullmatch(text):
        raise ValueError(f"{name} of an element must be plain letters, digits and hyphens")
    if name == "href" and not _PLACE.fullmatch(text):
        raise ValueError("a link of a page must lead to a place on it")
    return f' {name}="{html_text(text)}"'


@lru_cache
def _attribute_name(key: str) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name) or name in _REFUSED_ATTRIBUTES or name.lower().startswith("on"):
        raise ValueError(f"no element may have an attribute {name!r}")
    return name
