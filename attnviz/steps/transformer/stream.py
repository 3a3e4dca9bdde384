"""What the steps around an attention read: the names of their inputs in a part of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.trace.matrices import matrix

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.part import BlockPart
    from attnviz.trace.walk import Walk

TITLES = {
    "embeddings": "X input", "output": "attention output", "input_norm": "norm of X",
    "attention_residual": "X + output", "attention_norm": "its norm", "feed_forward_norm": "its norm",
    "feed_forward_hidden": "hidden", "feed_forward_output": "feed-forward",
    "feed_forward_residual": "sum", "block_output": "block output", "final_norm": "final norm",
    "transform_inner": "x · W_T", "transform_hidden": "dense", "transform_norm": "its norm",
    "W_transform": "W_T", "W_vocabulary": "W vocabulary", "logits_and_rest": "logits",
    "W_1": "W₁", "W_2": "W₂", "logits": "logits", "probabilities": "probabilities",
}  # fmt: skip
"""The titles of matrices in pictures, by name"""


def part_of(walk: Walk) -> BlockPart:
    """Return the part of a block that a walk goes through.

    Raises:
        TypeError: the walk has none, so that it has none of these steps.
    """
    if walk.block is None:
        raise TypeError("this walk has no steps around its attention")
    return walk.block


def has(walk: Walk, name: str) -> bool:
    """Return whether a walk has this matrix of a block."""
    return walk.block is not None and name in walk.block.matrices


def first_of(walk: Walk, *names: str) -> str:
    """Return the first of these names that the walk's part of a block has; the last if it has none of the others."""
    return next((name for name in names if has(walk, name)), names[-1])


def read_by_feed_forward(walk: Walk) -> str:
    """Return the name of what the feed-forward reads."""
    return first_of(walk, "feed_forward_norm", "attention_norm", "attention_residual")


def before_feed_forward(walk: Walk) -> str:
    """Return the name of the stream to which the feed-forward is added."""
    return first_of(walk, "attention_norm", "attention_residual")


def end_of_block(walk: Walk) -> str:
    """Return the name of the block's output."""
    return first_of(walk, "block_output", "feed_forward_residual", "attention_residual")


def end_of_stack(walk: Walk) -> str:
    """Return the name of the last hidden state."""
    return first_of(walk, "final_norm", "block_output", "feed_forward_residual", "attention_residual")


def read_by_vocabulary(walk: Walk) -> str:
    """Return the name of what the map to the vocabulary reads: the last hidden state, or what a head made of it."""
    return "transform_norm" if has(walk, "transform_norm") else end_of_stack(walk)


def row(walk: Walk, index: int) -> str:
    """Return the number and the token of a row, for sentences."""
    return f"row {index}, “{walk.query_labels[index]}”"


def lengths(walk: Walk, name: str) -> Tensor:
    """Return the length of each row of a matrix, (Tq,)."""
    found: Tensor = matrix(walk, name).norm(dim=-1)
    return found
