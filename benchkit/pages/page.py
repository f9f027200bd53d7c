"""A whole page: its policy, its style sheet, its landmarks and its contents, as a stream of text."""
from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from benchkit.pages.html import Html, breakable, element, html_text, joined, stream

LIGHT = """
  --paper: #fdfdfc; --panel: #f4f5f4; --ink: #1d2226; --quiet: #5a646d; --line: #d9dddf; --grid: #e4e7e8;
  --link: #0b56a8; --focus: #0b56a8; --after: #1d222612; --shade: #1d22262e;
  --pass: #00705e; --pass-tint: #d6efe7; --fail: #b8340d; --fail-tint: #fbe2d8; --on-tone: #ffffff;
  --flaky: #7d5700; --flaky-tint: #fbedc4; --incomplete: #59636c; --incomplete-tint: #e8ebed;
  --plain: #2b5f9e; --plain-tint: #dfe9f5;
  --series-1: #1f62ad; --series-2: #b35000; --series-3: #00705e; --series-4: #8b3f9e; --series-5: #7d5700;
  --series-6: #59636c;
"""
DARK = """
  --paper: #15181b; --panel: #1d2125; --ink: #e4e7e9; --quiet: #a2acb4; --line: #383f45; --grid: #2a3035;
  --link: #82b9f2; --focus: #9ccaff; --after: #ffffff14; --shade: #ffffff38;
  --pass: #56cdb0; --pass-tint: #12382f; --fail: #ff9a76; --fail-tint: #4b2113; --on-tone: #14181b;
  --flaky: #e6bd58; --flaky-tint: #3d3210; --incomplete: #b0b9c1; --incomplete-tint: #2c3339;
  --plain: #8ab8ee; --plain-tint: #1d3049;
  --series-1: #82b9f2; --series-2: #f2a35e; --series-3: #56cdb0; --series-4: #d59ce4; --series-5: #e6bd58;
  --series-6: #b0b9c1;
"""

_COLOURS = """
:root { color-scheme: light dark;""" + LIGHT + """}
@media (prefers-color-scheme: dark) { :root {""" + DARK + """} }
.pass { --tone: var(--pass); --tint: var(--pass-tint); }
.fail { --tone: var(--fail); --tint: var(--fail-tint); }
.flaky { --tone: var(--flaky); --tint: var(--flaky-tint); }
.incomplete, .absent { --tone: var(--incomplete); --tint: var(--incomplete-tint); }
.plain { --tone: var(--plain); --tint: var(--plain-tint); }
.series-1 { --tone: var(--series-1); --dash: none; }
.series-2 { --tone: var(--series-2); --dash: 7 4; }
.series-3 { --tone: var(--series-3); --dash: 2 4; }
.series-4 { --tone: var(--series-4); --dash: 10 3 2 3; }
.series-5 { --tone: var(--series-5); --dash: 4 2; }
.series-6 { --tone: var(--series-6); --dash: 1 3; }
"""

_TEXT = """
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 0 1.25rem 3rem; max-width: 68rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial,
  sans-serif;
  overflow-wrap: anywhere; font-variant-numeric: tabular-nums;
}
h1, h2, h3, h4 { line-height: 1.25; font-weight: 650; text-wrap: balance; }
h1 { font-size: 1.75rem; letter-spacing: -.01em; margin: 2rem 0 .5rem; }
h2 { font-size: 1.3rem; margin: 0 0 1rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1rem 0 .5rem; }
p { margin: 0 0 .75rem; max-width: 46rem; }
a { color: var(--link); text-underline-offset: .15em; text-decoration-thickness: 1px; }
a:hover { text-decoration-thickness: 2px; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; border-radius: 2px; }
main:focus { outline: none; }
:target { scroll-margin-top: 1rem; }
.folded:target { scroll-margin-top: 3.5rem; }
li:target { scroll-margin-top: 9rem; }
article:target, .folded:target, li:target { box-shadow: -4px 0 0 var(--focus); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: .875em; }
code { background: var(--panel); padding: .1em .3em; border-radius: 3px; }
:is(th, td, h3, h4, a) > code { background: none; padding: 0; }
:is(h3, h4) > code { font-size: 1em; }
mark { background: var(--flaky-tint); color: inherit; box-shadow: inset 0 -2px 0 var(--flaky); }
.quiet { color: var(--quiet); font-size: .875rem; }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--paper); }
.skip:focus { left: 1rem; top: .5rem; z-index: 2; }
nav ul { list-style: none; margin: 1.5rem 0 0; padding: .75rem 0; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem;
  border-block: 1px solid var(--line); font-size: .9375rem; }
section { padding-top: 2.5rem; }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet);
  font-size: .875rem; }
/* no content-visibility here: closed details are cheap already, and guessed heights led links astray in Chromium */
article { padding: .25rem 0 .75rem .75rem; margin-left: -.75rem; }
"""

_PARTS = """
.callout { border-left: 4px solid var(--tone); background: var(--tint); padding: .75rem 1rem; margin: 0 0 1rem;
  border-radius: 0 4px 4px 0; }
.callout > :last-child { margin-bottom: 0; }
.callout ul { margin: 0; padding-left: 1.25rem; }
.callout-title { font-weight: 650; margin-bottom: .25rem; }
summary.callout-title { padding: 0; }
details.callout:not([open]) > summary { margin-bottom: 0; }
.callout .sign { display: inline-block; min-width: 1.1em; margin-right: .4em; color: var(--tone); font-weight: 700; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11.5rem, 100%), 1fr)); gap: 1px;
  margin: 1.25rem 0; background: var(--line); border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.figure { background: var(--paper); padding: .75rem 1rem .85rem; }
.figure dt { color: var(--quiet); font-size: .875rem; }
.figure dd { margin: 0; }
.figure .value { font-size: 1.75rem; line-height: 1.3; font-weight: 600; letter-spacing: -.01em; }
.figure .value.long { font-size: 1.3rem; line-height: 1.75; }
.figure.pass .value, .figure.fail .value, .figure.flaky .value { color: var(--tone); }
.figure .detail { color: var(--quiet); font-size: .875rem; line-height: 1.4; }
.facts { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .3rem 1.25rem; margin: 0 0 1rem;
  font-size: .9375rem; }
.facts dt { color: var(--quiet); }
.facts dd { margin: 0; min-width: 0; }
details { margin: 0 0 .25rem; }
summary { cursor: pointer; padding: .2rem 0; }
summary:hover { color: var(--link); }
.folded { padding: .5rem 0 .75rem 1.1rem; }
.text { margin: 0 0 1rem; min-width: 0; }
.text-title { color: var(--quiet); font-size: .875rem; margin: 0 0 .25rem; }
pre { margin: 0 0 .25rem; padding: .65rem .8rem; background: var(--panel); border: 1px solid var(--line);
  border-radius: 4px; white-space: pre-wrap; overflow: auto; max-height: 24rem; line-height: 1.5; }
.side-by-side { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 0 1.5rem; }
.mark { display: inline-block; width: 1.6em; height: 1.6em; line-height: 1.5em; text-align: center; font-weight: 700;
  font-size: .875rem; border-radius: 3px; border: 1px solid transparent; text-decoration: none; color: var(--tone);
  background: var(--tint); }
.mark.fail { color: var(--on-tone); background: var(--tone); }
.mark.incomplete { background: none; border: 1px dashed var(--tone); }
.mark.absent { background: none; }
a.mark:hover { border: 1px solid var(--tone); }
.badge { display: inline-block; padding: .05rem .5rem; border-radius: 1rem; background: var(--tint);
  color: var(--tone); font-size: .8125rem; font-weight: 600; white-space: nowrap; }
:is(h3, h4, p) .badge { white-space: normal; }
.badge .sign { margin-right: .3em; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.25rem; padding: 0; margin: .5rem 0 1rem;
  font-size: .875rem; color: var(--quiet); }
.legend li { display: flex; align-items: center; gap: .45rem; min-width: 0; }
"""

_TABLES = """
.together { display: inline-block; }
/* a line and a shade at the right edge while there is more to scroll to: a cover that scrolls along hides them */
.scroll { overflow-x: auto; margin: 0 0 1.5rem;
  background: linear-gradient(to left, var(--paper) 50%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--quiet) 1px, var(--shade) 1px, transparent) right / 1.25rem 100% no-repeat scroll; }
/* collapsed borders stay behind when a cell of the first column sticks, and its background hides them */
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .9375rem; }
caption, figcaption { text-align: left; font-weight: 600; padding: 0 0 .5rem; }
th, td { padding: .35rem .75rem .35rem 0; text-align: left; vertical-align: baseline; font-weight: 400; }
thead th { color: var(--quiet); font-size: .875rem; border-bottom: 1px solid var(--line); vertical-align: bottom; }
tbody tr + tr > * { border-top: 1px solid var(--grid); }
.scroll th:not(:first-child), .scroll td { overflow-wrap: normal; min-width: 3rem; }
.scroll td:not(.number, .marks, .short) { overflow-wrap: anywhere; min-width: 8rem; }
.scroll tbody th { position: sticky; left: 0; background: var(--paper); min-width: 7rem; max-width: 16rem; }
.scroll .systems tbody th { min-width: 11.5rem; }
.scroll .ranking tbody th { min-width: 15rem; }
.observations :is(th, td) { padding-block: .15rem; }
.scroll .observations tbody th { min-width: 2.5rem; }
.scroll .observations td.short { min-width: 3.5rem; overflow-wrap: normal; }
td.short { white-space: nowrap; }
th.number, td.number { text-align: right; white-space: nowrap; }
.scroll thead th.number { white-space: normal; }
.scroll :is(th, td).number { padding-left: .75rem; padding-right: 1.25rem; }
.scroll .systems :is(th, td).number { padding-left: .5rem; padding-right: .75rem; }
.scroll :is(th, td).number:last-child { padding-right: .25rem; }
:is(th, td).marks { text-align: center; padding: .15rem .1rem; width: 2rem; min-width: 1.8rem; }
th.marks:last-of-type, td.marks:last-of-type { padding-right: .25rem; }
.rows { table-layout: fixed; margin: 0 0 1.5rem; }
.rows col.label { width: 30%; }
.rows col.note { width: 9rem; }
.rows :is(th, td) { padding-block: .15rem; vertical-align: middle; line-height: 1.3; }
.rows tbody tr + tr > * { border: 0; }
.rows .track { padding-inline: 0; background-image: linear-gradient(to right, var(--grid) 1px, transparent 1px);
  background-size: 25% 100%; box-shadow: inset -1px 0 0 var(--grid); }
.rows thead .track, .timeline .track { background-image: none; box-shadow: none; padding-block: 0; }
.rows .number { padding: 0 0 0 .75rem; white-space: normal; overflow-wrap: break-word; }
.timeline td.track { overflow: hidden; }
.around-zero tbody .track { background-size: 1px 100%, 25% 100%; background-position: 50% 0, 0 0;
  background-image: linear-gradient(var(--quiet), var(--quiet)),
    linear-gradient(to right, var(--grid) 1px, transparent 1px);
  background-repeat: no-repeat, repeat; }
"""

_CHARTS = """
figure { margin: 0 0 2rem; }
.chart { display: block; overflow: visible; }
.chart text { fill: var(--quiet); font-size: .8125rem; }
.chart.curves { padding: 0 .75rem 0 3.4rem; }
.chart.distribution { padding: 0 .25rem; }
.chart.stacked { position: relative; top: .2rem; min-width: 6rem; }
.open, .at, .stretched { overflow: visible; }
.grid { stroke: var(--grid); stroke-width: 1; }
.axis { stroke: var(--quiet); stroke-width: 1; }
.curve { fill: none; stroke: var(--tone); stroke-width: 2; stroke-dasharray: var(--dash); stroke-linejoin: round;
  vector-effect: non-scaling-stroke; }
.band { fill: var(--tone); fill-opacity: .13; stroke: none; }
.single { stroke: var(--tone); stroke-opacity: .45; stroke-width: 3; vector-effect: non-scaling-stroke; }
.shape { fill: var(--tone); stroke: var(--paper); stroke-width: 1; }
.shape.cross { fill: none; stroke: var(--tone); stroke-width: 2.5; }
.shape.ring { fill: var(--paper); stroke: var(--tone); stroke-width: 2; }
.strong-ring { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.bar { fill: var(--tone); fill-opacity: .28; }
.dot { fill: var(--tone); stroke: var(--paper); stroke-width: 1.5; }
.interval { stroke: var(--ink); stroke-width: 1.5; }
.interval.thin { stroke: var(--quiet); stroke-width: 1; }
.bin { fill: var(--plain); fill-opacity: .55; stroke: var(--paper); stroke-width: 1; }
.percentile { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; }
.moment { stroke: var(--fail); stroke-width: 2; }
.chart text.moment-name { fill: var(--fail); font-weight: 600; }
.after { fill: var(--after); }
.part { fill: var(--tone); stroke: var(--paper); stroke-width: 1; }
.part.pass { fill: var(--tint); stroke: var(--tone); }
.part.incomplete, .part.absent { fill: none; stroke: var(--tone); stroke-dasharray: 3 2; }
.chart text.on-part { fill: var(--on-tone); font-weight: 700; }
.chart text.on-part:is(.pass, .incomplete, .absent) { fill: var(--tone); }
.swatch { flex: none; }
.group { margin: .75rem 0 .25rem; }
figure > .quiet { margin-top: .5rem; }
"""

_PLACES = """
@media (max-width: 40rem) {
  body { padding-inline: 1rem; }
  h1 { font-size: 1.45rem; }
  .scroll { margin-inline: -1rem; padding-inline: 1rem; }
  .scroll tbody th, .scroll :is(.systems, .ranking) tbody th { min-width: 8.5rem; max-width: 9rem; }
  .scroll .ranking tbody th { min-width: 6.75rem; max-width: 7rem; }
  .scroll .ranking :is(th, td) { padding-inline: 0 .4rem; min-width: 2.5rem; }
  .rows col.label { width: 31%; }
  .rows col.note { width: 5.4rem; }
  .around-zero col.note { width: 6.25rem; }
  .rows .number { padding-left: .5rem; font-size: .8125rem; }
  .chart text.quarter { display: none; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .5rem; }
  .figures { grid-template-columns: repeat(2, 1fr); }
  .figure:last-child:nth-child(odd) { grid-column: span 2; }
  .figure { padding: .6rem .75rem; }
  .figure .value { font-size: 1.4rem; }
  .figure .value.long { font-size: 1.05rem; line-height: 1.75; }
}
@media (forced-colors: active) { .mark, .badge, .callout, .bar, .part { forced-color-adjust: none; } }
@media print {
  :root { """ + LIGHT + """ --paper: #fff; --ink: #000; --quiet: #444; --line: #bbb; --grid: #ddd; --link: #000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .skip { display: none; }
  pre { max-height: none; overflow: visible; }
  /* paper does not scroll: wide tables are pressed into its width */
  .scroll { overflow: visible; background: none; }
  .scroll table { font-size: 8pt; }
  .scroll :is(th, td) { min-width: 0 !important; padding-inline: .2rem !important; white-space: normal !important; }
  h2, h3, summary { break-after: avoid; }
  tr, figure, .figure, .callout { break-inside: avoid; }
  .mark, .badge, .callout, .chart, .figures { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""

STYLE = _COLOURS + _TEXT + _PARTS + _TABLES + _CHARTS + _PLACES


@dataclass(frozen=True, slots=True)
class PageSection:
    """A part of a page with a heading of its own. `anchor` is a plain name; `body` is read once, when it is written."""

    anchor: str
    title: str
    body: Iterable[Html]


def document(title: str, lead: Html, sections: Sequence[PageSection], footer: Html) -> Iterator[str]:
    """The text of a page, in pieces: what stands under its title, the contents, the sections, the last lines."""
    yield (f'<!doctype html>\n<html lang="en">\n<head>\n'
           f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
           '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
           '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
           f'<title>{html_text(title)}</title>\n<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n</head>\n'
           "<body>\n")
    yield element("a", "Skip to the content", class_="skip", href="#content")
    yield element("header", element("h1", breakable(title)), lead)
    yield "\n"
    if sections:
        links = [element("li", element("a", one.title, href=f"#{one.anchor}")) for one in sections]
        yield element("nav", element("ul", *links), aria_label="Contents")
    yield '\n<main id="content" tabindex="-1">\n'
    for section in sections:
        heading = f"{section.anchor}-heading"
        headed = joined(element("h2", breakable(section.title), id=heading), "\n")
        yield from stream("section", chain([headed], section.body), id=section.anchor, aria_labelledby=heading)
        yield "\n"
    yield "</main>\n"
    yield element("footer", footer)
    yield "\n</body>\n</html>\n"


def policy() -> str:
    """The Content-Security-Policy of every page. (frame-ancestors and sandbox do not work in a meta element.)"""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
            "base-uri 'none'; form-action 'none'")
