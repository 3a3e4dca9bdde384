"""Tables as CSV files in which no spreadsheet takes a text for a formula (OWASP, "CSV injection").

A text is protected by an apostrophe where a cell may begin: at its start, and after a separator, since spreadsheets
split cells at another one than the comma in many countries. `plain` takes the apostrophes away again.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_START, _SIGNS = r"""((?:^|[;,\t\r\n])["\s]*)""", r"[=+\-@＝＋－＠]"
_FORMULA = re.compile(rf"{_START}(?='*{_SIGNS})")
PROTECTED = re.compile(rf"{_START}'(?='*{_SIGNS})")
"""Matches what `protected` wrote, up to the apostrophe that it added"""


def protected(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula; a number stays as it is."""
    try:
        float(text)
    except ValueError:
        return _FORMULA.sub(r"\1'", text)
    return text


def plain(text: str) -> str:
    """Return what `protected` was given."""
    return PROTECTED.sub(r"\1", text)


def rows_csv(header: Sequence[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows as CSV in UTF-8 with a byte order mark, by which spreadsheets recognise it; texts are quoted."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(map(protected, header))
    writer.writerows([protected(one) if isinstance(one, str) else one for one in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def table_csv(table: pd.DataFrame, *, index: bool = True) -> bytes:
    """Return a table as CSV in UTF-8 with a byte order mark, with all digits of a float32.

    Args:
        table: the table.
        index: whether its index is the first column.
    """
    safe = table.map(_protected_cell).rename(columns=_protected_cell)
    if index:
        safe = safe.rename(index=_protected_cell)
    text: str = safe.to_csv(index=index, float_format="%.9g")
    return text.encode("utf-8-sig")


def _protected_cell(cell: object) -> object:
    return protected(cell) if isinstance(cell, str) else cell
