"""Every draw of a generated text as one table in CSV.

Shapes: V tokens of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attnviz.export.csv_files import rows_csv
from attnviz.tokens.value import label_of
from attnviz.training.generation import Drawn

ROWS = 128
"""The most tokens of a draw that are listed, the likeliest; the drawn one follows if it is not among them"""
COLUMNS = (
    "step", "position", "rank", "character", "logit", "logit / T", "probability", "probability after top-k and top-p",
    "drawn number", "drawn",
)  # fmt: skip


def draws_csv(drawn: Iterable[Drawn], characters: Sequence[str], *, begin: int) -> bytes:
    """Return a row for each of the likeliest tokens of each draw, in UTF-8 with a byte order mark.

    `step` counts the draws from 1, `position` the characters of the whole text from 0, `rank` the tokens of a draw from
    1. `probability` is the softmax of logit / T over the whole vocabulary; if the choice is greedy (T = 0), logit / T
    is the logit itself and no number is drawn. A character follows its id in square brackets, so that no spreadsheet
    takes it for a formula (OWASP, "CSV injection").

    Args:
        drawn: the draws.
        characters: the vocabulary, (V,).
        begin: how many characters the text began with.
    """
    rows = ([step + 1, begin + step, *row] for step, one in enumerate(drawn) for row in _rows(one, characters))
    return rows_csv(COLUMNS, rows)


def _rows(one: Drawn, characters: Sequence[str]) -> Iterator[list[object]]:
    order = one.order.tolist()
    whole = one.scaled.softmax(-1)
    ranks = list(range(min(ROWS, len(order))))
    if (own := order.index(one.id)) not in ranks:
        ranks.append(own)
    for rank in ranks:
        at = order[rank]
        numbers = (float(of[at]) for of in (one.logits, one.scaled, whole, one.probabilities))
        label = f"[{at}] {label_of(characters[at])}"
        number = "" if one.number is None else one.number
        yield [rank + 1, label, *(float(f"{value:.9g}") for value in numbers), number, int(at == one.id)]
