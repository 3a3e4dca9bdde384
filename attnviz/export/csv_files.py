"""Tables as CSV files in which no spreadsheet reads a text as a formula (OWASP, "CSV injection").

A text is protected by an apostrophe where a cell may begin: at its start, and after a separator, since in many
countries spreadsheets split cells at a separator other than the comma. `PROTECTED` finds the apostrophes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attnviz.tokens.value import label_of

if TYPE_CHECKING:
    import pandas as pd

    from attnviz.measures.score_parts import ScoreParts
    from attnviz.training.generation import GeneratedToken


_START, _SIGNS = r"""((?:^|[;,\t\r\n])["\s]*)""", r"[=+\-@＝＋－＠]"
_FORMULA = re.compile(rf"{_START}(?='*{_SIGNS})")
PROTECTED = re.compile(rf"{_START}'(?='*{_SIGNS})")
"""Matches what `protected` wrote, up to the apostrophe that it added"""


def protected(text: str) -> str:
    """Return a text that no spreadsheet reads as a formula; a number is returned unchanged."""
    try:
        float(text)
    except ValueError:
        return _FORMULA.sub(r"\1'", text)
    return text


def rows_csv(header: Sequence[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows as CSV in UTF-8 with a byte order mark, by which spreadsheets recognise it; texts are quoted."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(map(protected, header))
    writer.writerows([protected(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
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


def score_csv(parts: ScoreParts) -> bytes:
    """Return all products of a score's dimensions, and all pairs of parts of its query and key, as CSV."""
    return rows_csv(parts.columns, parts.rows())


MOST_LISTED = 128
"""How many of the likeliest tokens of a draw are listed; the drawn token follows if it is not among them"""
DRAW_COLUMNS = (
    "step", "position", "rank", "character", "logit", "logit / T", "probability", "probability after top-k and top-p",
    "drawn number", "drawn",
)  # fmt: skip


def draws_csv(drawn: Iterable[GeneratedToken], characters: Sequence[str], *, begin: int) -> bytes:
    """Return CSV with a row for each of the likeliest tokens of each draw, in UTF-8 with a byte order mark.

    `step` counts the draws from 1, `position` the characters of the whole text from 0, `rank` the tokens of a draw from
    1. `probability` is the softmax of logit / T over the whole vocabulary; if the choice is greedy (T = 0), logit / T
    is the logit itself and no number is drawn. A character follows its id in square brackets, so that no spreadsheet
    reads it as a formula (OWASP, "CSV injection").

    Args:
        drawn: the draws.
        characters: the vocabulary, (V,).
        begin: the number of characters in the prompt.
    """
    rows = (
        [step + 1, begin + step, *row] for step, draw in enumerate(drawn) for row in _rows_of_draw(draw, characters)
    )
    return rows_csv(DRAW_COLUMNS, rows)


def _rows_of_draw(draw: GeneratedToken, characters: Sequence[str]) -> Iterator[list[object]]:
    """Yield the cells of each listed token of a draw, from its rank on."""
    order = draw.order.tolist()
    softmax = draw.scaled.softmax(-1)
    ranks = list(range(min(MOST_LISTED, len(order))))
    if (drawn_rank := order.index(draw.id)) not in ranks:
        ranks.append(drawn_rank)
    for rank in ranks:
        token = order[rank]
        numbers = (float(values[token]) for values in (draw.logits, draw.scaled, softmax, draw.probabilities))
        label = f"[{token}] {label_of(characters[token])}"
        number = "" if draw.number is None else draw.number
        yield [rank + 1, label, *(float(f"{value:.9g}") for value in numbers), number, int(token == draw.id)]
