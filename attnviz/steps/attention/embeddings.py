"""Embeddings: a row of numbers for each token, the input X."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.formulas.tree import Box, Row
from attnviz.marked import marked
from attnviz.steps.attention.formula import X, projection_formula
from attnviz.steps.picture import Operation, Picture, panel, picture
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


def _notice(walk: Walk) -> str:
    if walk.parts is None:
        return "This is what the layer receives: a row of numbers for each token, position included."
    return marked(
        "Each token is now a row of numbers. [Position](matrix=positions) must be added, for attention itself knows no "
        "order."
    )


def _picture(walk: Walk) -> Picture | None:
    if walk.layer.query_input is None:
        return None
    if walk.parts is None:
        title = "X embeddings" if walk.block is None else "X input"
        return picture(((panel("embeddings", title, bar=True),),), (1,))
    names = ("token_embeddings", "positions", "embeddings")
    row = (
        panel("token_embeddings", "token", limit=names),
        panel("positions", "+ position", limit=names),
        panel("embeddings", "= X embeddings", limit=names, bar=True),
    )
    return picture((row,), (1, 1, 1), operations={"embeddings": Operation("sum", names[:2])})


STEP: Step[Walk] = Step(
    name="embeddings",
    title="Embeddings",
    formula=lambda walk: Row((Box(X), *projection_formula(walk).formulas)),
    notice=_notice,
    code=lambda walk: "x = token_embeddings + positions" if walk.parts else "x = embeddings",
    picture=_picture,
    matrices={
        "token_embeddings": ("query", "feature"),
        "positions": ("query", "feature"),
        "embeddings": ("query", "feature"),
        "embeddings_k": ("key", "feature"),
    },
    needs=("embeddings",),
    is_of_head=False,
)
