"""A whole page: its policy, its style, its landmarks and its contents, as a stream of text.

The page loads nothing, runs nothing and sends nothing: the policy stands first in the head, and names the one style
sheet by its digest.
"""
from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchkit.pages.escaping import html_text
from benchkit.pages.html import Html, breakable, element, joined, stream
from benchkit.pages.style import STYLE


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of a page with a heading of its own. `anchor` is a plain name; `body` is read once, when it is written."""

    anchor: str
    title: str
    body: Iterable[Html]


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its title, what stands under the title, its sections (the contents are made of them), its last lines."""

    title: str
    lead: Html
    sections: Sequence[PageSection]
    footer: Html


def document(page: Page) -> Iterator[str]:
    """The text of a page, in pieces."""
    yield _head(page.title)
    yield "<body>\n"
    yield element("a", "Skip to the content", class_="skip", href="#content")
    yield element("header", element("h1", breakable(page.title)), page.lead)
    yield "\n"
    yield _contents(page.sections)
    yield '\n<main id="content" tabindex="-1">\n'
    for section in page.sections:
        yield from _section(section)
        yield "\n"
    yield "</main>\n"
    yield element("footer", page.footer)
    yield "\n</body>\n</html>\n"


def policy() -> str:
    """The Content-Security-Policy of every page. (frame-ancestors and sandbox do not work in a meta element.)"""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
            "base-uri 'none'; form-action 'none'")


def _head(title: str) -> str:
    return (f'<!doctype html>\n<html lang="en">\n<head>\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
            '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
            f'<title>{html_text(title)}</title>\n<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n</head>\n')


def _contents(sections: Sequence[PageSection]) -> Html:
    links = [element("li", element("a", section.title, href=f"#{section.anchor}")) for section in sections]
    return element("nav", element("ul", *links), aria_label="Contents") if links else Html()


def _section(section: PageSection) -> Iterator[Html]:
    heading = f"{section.anchor}-heading"
    title = element("h2", breakable(section.title), id=heading)
    yield from stream("section", _headed(title, section.body), id=section.anchor, aria_labelledby=heading)


def _headed(title: Html, body: Iterable[Html]) -> Iterator[Html]:
    yield joined(title, "\n")
    yield from body
