"""CSV text (RFC 4180): rows of values to lines that a spreadsheet opens without running anything."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from benchkit.pages.escaping import csv_field

CsvValue: TypeAlias = str | int | float | bool | None


def csv_line(values: Iterable[CsvValue]) -> str:
    """One row, CRLF at its end. Texts are made harmless; numbers stay numbers; None is an empty field."""
    return ",".join(map(_field, values)) + "\r\n"


def _field(value: CsvValue) -> str:
    if isinstance(value, str):
        return csv_field(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
