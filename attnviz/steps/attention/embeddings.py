"""Embeddings: a row of numbers for each token, the input X."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.formulas.tree import Box, Row
from attnviz.marked import marked
from attnviz.steps.attention.formula import X, projection_formula
from attnviz.steps.picture import Operation, Picture, panel, picture
from attnviz.steps.step import Step, follows_another

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


_POSITION = {True: ", position included", False: ". No position is added to it", None: ""}
"""What is said of positions where they are no matrix of their own, by whether X includes them"""


def is_later(walk: Walk) -> bool:
    """Return whether X is what an attention before has given, no embeddings."""
    return follows_another(walk.kind, walk.layer_index)


def input_title(walk: Walk) -> str:
    """Return the title of X: the embeddings, or the hidden states that a later layer receives."""
    return "X hidden states" if is_later(walk) else "X embeddings"


def _notice(walk: Walk) -> str:
    if walk.kind == "cross":
        return "Not the embeddings: queries come from what the decoder has so far, keys and values from the encoder."
    if is_later(walk):
        return "Not the embeddings: the hidden states that this layer receives from the one before, a row a token."
    if walk.parts is None:
        return f"This is what the layer receives: a row of numbers for each token{_POSITION[walk.has_positions]}."
    return marked(
        "Each token is now a row of numbers. [Position](matrix=positions) must be added, for attention itself knows no "
        "order."
    )


def _picture(walk: Walk) -> Picture | None:
    if walk.layer.query_input is None:
        return None
    if walk.parts is None:
        title = input_title(walk) if walk.block is None else "X input"
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
    later_title="Hidden states",
)
