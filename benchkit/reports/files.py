"""The files a report can be written to: what each is called, how it begins, and who renders it."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from benchkit.reports.comparison import SideBySide
from benchkit.reports.documents import markdown_report, page_report
from benchkit.reports.junit import junit_report
from benchkit.reports.report_json import report_bytes
from benchkit.reports.trials_csv import trials_csv


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file. `start` matches how each such file begins, so that no other one is taken for it."""

    kind: str
    start: re.Pattern[bytes]
    render: Callable[[SideBySide], Iterator[bytes]]


def _text(render: Callable[[SideBySide], Iterator[str]]) -> Callable[[SideBySide], Iterator[bytes]]:
    return lambda side: (piece.encode() for piece in render(side))


_PAGE = re.compile(rb'<!doctype html>\n<html lang="en">\n<head>\n<meta http-equiv="Content-Security-Policy"')
FORMATS: Mapping[str, Format] = {
    "--out": Format("report", re.compile(rb'\s*\{\s*"report"\s*:'), lambda side: iter([report_bytes(side.runs, side)])),
    "--html": Format("page of a report", _PAGE, _text(page_report)),
    "--markdown": Format("report in Markdown", re.compile(rb"## "), _text(markdown_report)),
    "--junit": Format("JUnit file of a report", re.compile(rb'<\?xml [^>]*\?>\s*<testsuites name="report"'),
                      _text(lambda side: junit_report(side.runs))),
    "--csv": Format("CSV of trials", re.compile(rb"run,system,"), _text(lambda side: trials_csv(side.runs))),
}
"""By the flag of report.py that asks for it."""
