"""HTML that is hard to get wrong: a text is escaped unless it is `Html`, and only builders make `Html`.

Attributes are always quoted. Names and classes are the program's, links lead to places on the same page only, and what
the page's policy would refuse (scripts, style attributes, things loaded from elsewhere) cannot be built.
In running text a number and its unit stay on one line; in <pre>, <code> and charts every character is as it was.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeAlias

from benchkit.pages.escaping import html_text


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
_BEFORE_A_UNIT = re.compile(r"(?<=\d) (?=(?:%|points?\b|m?s\b))")
_BEHIND_PUNCTUATION = re.compile(r"[_:/.]+(?=\w)")


def element(name: str, *children: Child, **attributes: Attribute) -> Html:
    """An element. Attribute names are written `class_`, `aria_label`, `viewBox`; the values are escaped.

    Raises ValueError for an element or attribute that no page of the kit may have, for an `id` or class that is not
    plain letters, digits and hyphens, and for a link that leads off the page.
    """
    start = _start(name, attributes)
    if name in _VOID:
        return Html(start)
    inner = _verbatim(children) if name in _VERBATIM else joined(*children)
    return Html(f"{start}{inner}</{name}>")


def stream(name: str, children: Iterable[Child], **attributes: Attribute) -> Iterator[Html]:
    """An element, child by child, so that a long one is never held whole. Raises ValueError as element does."""
    yield _start(name, attributes)
    for child in children:
        yield child if type(child) is Html else _content(child)
    yield Html(f"</{name}>")


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
    if isinstance(child, Html):
        return child
    return Html("" if child is None else _BEFORE_A_UNIT.sub("\u00a0", html_text(str(child))))


def _verbatim(children: Iterable[Child]) -> str:
    return "".join("" if child is None else child if isinstance(child, Html) else html_text(str(child))
                   for child in children)


def _start(name: str, attributes: dict[str, Attribute]) -> Html:
    _require_tag(name)
    return Html(f"<{name}{''.join([_attribute(key, value) for key, value in attributes.items()])}>")


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = _attribute_name(key)
    if value is True:
        return f' {name}=""'
    text = value if isinstance(value, str) else format(value, "")
    if name in _NAMING_ATTRIBUTES and not _NAME.fullmatch(text):
        raise ValueError(f"{name} of an element must be plain letters, digits and hyphens")
    if name == "href" and not _PLACE.fullmatch(text):
        raise ValueError("a link of a page must lead to a place on it")
    return f' {name}="{html_text(text)}"'


@cache
def _require_tag(name: str) -> None:
    if not _TAG.fullmatch(name) or name in _REFUSED_TAGS:
        raise ValueError(f"no page may have an element {name!r}")


@cache
def _attribute_name(key: str) -> str:
    name = key.rstrip("_").replace("_", "-")
    if not _ATTRIBUTE.fullmatch(name) or name in _REFUSED_ATTRIBUTES or name.lower().startswith("on"):
        raise ValueError(f"no element may have an attribute {name!r}")
    return name
