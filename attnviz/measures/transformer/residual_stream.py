"""What becomes of a token: its vector after every part of a stack of blocks (the residual stream).

Shapes: P parts, T tokens, C model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from attnviz.reprs import ShortRepr
from attnviz.trace.block import Block

AFTER = {
    "attention_residual": "+ attention",
    "attention_norm": "norm",
    "cross_attention_residual": "+ cross-attention",
    "cross_attention_norm": "norm",
    "feed_forward_residual": "+ feed-forward",
    "block_output": "norm",
}
"""The fields of `BlockSteps` that are the stream of a post-norm block, in order, and what each part does"""
IN_STREAM = tuple(name for name in AFTER if name.endswith("_residual"))
"""Those of a pre-norm block, whose norms are beside the stream, not in it"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stream(ShortRepr):
    """All tokens after every part."""

    parts: tuple[str, ...]
    """What each part is: "X", "block 0 + attention", "block 0 norm", ..."""
    vectors: Tensor
    """(P, T, C)"""

    @property
    def norms(self) -> Tensor:
        """‖x‖ of each token after every part, (P, T)."""
        norms: Tensor = self.vectors.norm(dim=-1)
        return norms

    def similarity_to_start(self) -> Tensor:
        """Return the cosine of each token to itself before the first part, (P, T); 0 where a vector is 0."""
        return functional.cosine_similarity(self.vectors, self.vectors[:1], dim=-1)

    def similarity_to_others(self, token: int) -> Tensor:
        """Return the cosine of one token to each token after the same part, (P, T); 0 where a vector is 0."""
        return functional.cosine_similarity(self.vectors, self.vectors[:, token, None], dim=-1)


def states(blocks: Sequence[Block]) -> list[Tensor] | None:
    """Return the input of the first block and the output of each, (T, C); None if they are not known."""
    found = [blocks[0].input, *(None if (steps := block.steps()) is None else steps.block_output for block in blocks)]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def residual_stream(blocks: Sequence[Block], numbers: Sequence[int] | None = None) -> Stream | None:
    """Return the stream through the blocks of one stack, one after another; None if their steps are not known.

    `numbers` are the blocks' own in the model; 0, 1, ... if None.
    """
    x = blocks[0].input
    if x is None:
        return None
    parts, vectors = ["X"], [x]
    for number, block in zip(range(len(blocks)) if numbers is None else numbers, blocks, strict=True):
        steps = block.steps()
        if steps is None:
            return None
        is_pre_norm = steps.is_reduced or steps.feed_forward_norm is not None
        for field in IN_STREAM if is_pre_norm else AFTER:
            vector = getattr(steps, field)
            if vector is not None:  # a block without attention to an encoder has no such fields
                parts.append(f"block {number} {AFTER[field]}")
                vectors.append(vector)
    return Stream(tuple(parts), torch.stack(vectors))
