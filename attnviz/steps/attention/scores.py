"""Scores: how well each query matches each key."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.marked import marked
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.picture import Picture, panel, product_picture
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

_NOTICE = marked(
    "Each cell is one dot product: a query's [row of Q](matrix=query) with a key's [column of Kᵀ](matrix=key_t). Large "
    "means: they match."
)


def _picture(walk: Walk) -> Picture:
    _, queries, width = walk.layer.query.shape
    return product_picture(
        panel("query", "Q query"),
        panel("key_t", "Kᵀ key"),
        panel("scores", "scores", limit=("scores", "scaled"), bar=True),
        (queries, width, walk.layer.key.shape[1]),
        "Q · Kᵀ = scores",
    )


STEP: Step[Walk] = Step(
    name="scores",
    title="Scores",
    formula=partial(attention_formula, boxed="scores"),
    notice=lambda _: _NOTICE,
    code=lambda _: "scores = query @ key.T",
    picture=_picture,
    matrices={"scores": ("query", "key")},
    is_by_cell=True,
    cell="the score",
    can_be_covered=True,
)
