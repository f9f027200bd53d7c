"""The files a report can be written to: what each is called, how it begins, and who renders it."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchkit.reports.comparison import SideBySide, side_by_side
from benchkit.reports.junit import junit_report
from benchkit.reports.markdown import markdown_report
from benchkit.reports.page import page_report
from benchkit.reports.report_json import report_bytes
from benchkit.reports.run_report import RunReport
from benchkit.reports.trials_csv import trials_csv


@dataclass(frozen=True, slots=True)
class Contents:
    """What a report is about; `side` is None for a single run, which is compared with nothing."""

    runs: Sequence[RunReport]
    side: SideBySide | None


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file. `start` matches how each such file begins, so that no other one is taken for it."""

    kind: str
    start: re.Pattern[bytes]
    render: Callable[[Contents], Iterator[bytes]]


def _json(contents: Contents) -> Iterator[bytes]:
    yield report_bytes(contents.runs, contents.side)


def _html(contents: Contents) -> Iterator[bytes]:
    return (piece.encode() for piece in page_report(contents.side or side_by_side(contents.runs)))


def _markdown(contents: Contents) -> Iterator[bytes]:
    return (piece.encode() for piece in markdown_report(contents.side or side_by_side(contents.runs)))


def _junit(contents: Contents) -> Iterator[bytes]:
    return (piece.encode() for piece in junit_report(contents.runs))


def _csv(contents: Contents) -> Iterator[bytes]:
    return (line.encode() for line in trials_csv(contents.runs))


_PAGE = re.compile(rb'<!doctype html>\n<html lang="en">\n<head>\n<meta http-equiv="Content-Security-Policy"')
FORMATS: Mapping[str, Format] = {
    "--out": Format("report", re.compile(rb'\s*\{\s*"report"\s*:'), _json),
    "--html": Format("page of a report", _PAGE, _html),
    "--markdown": Format("report in Markdown", re.compile(rb"## "), _markdown),
    "--junit": Format("JUnit file of a report", re.compile(rb'<\?xml [^>]*\?>\s*<testsuites name="report"'), _junit),
    "--csv": Format("CSV of trials", re.compile(rb"run,system,"), _csv),
}
"""By the flag of report.py that asks for it."""
