"""Heads on subsets of the embedding: the columns of X cut into parts, attention without parameters within each part.

Shapes: T tokens, C model width, H parts of D = C / H columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.attention import AttentionSteps, attend
from attnviz.measures.rows import entropy
from attnviz.reprs import ShortRepr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Subsets(ShortRepr):
    """One softmax over all of X, and one in each of H parts of its columns."""

    whole: AttentionSteps
    """Of all C columns as one head: its scale is 1/√C"""
    parts: AttentionSteps
    """Of H heads: query, key and value are (H, T, D), the scale is 1/√D"""

    @property
    def heads(self) -> int:
        """H."""
        return len(self.parts.weights)

    @property
    def weights(self) -> Tensor:
        """(1 + H, T, T): those of the whole X, then those of each part."""
        return torch.cat([self.whole.weights[None], self.parts.weights])

    @property
    def joined(self) -> Tensor:
        """(T, C): the outputs of the parts, side by side."""
        return self.parts.concat

    @property
    def nbytes(self) -> int:
        """Bytes in memory; `scaled`, `masked` and what X holds are shared."""
        both = (self.whole, self.parts)
        return sum(one.nbytes for steps in both for one in (steps.scores, steps.scaled, steps.weights, steps.query))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Row(ShortRepr):
    """One query's row of weights under the one softmax (number 0) and under each of H (numbers 1 to H)."""

    weights: Tensor
    """(1 + H, T)"""
    largest: tuple[int, ...]
    """1 + H: the key with the largest weight"""
    other: tuple[int | None, ...]
    """1 + H: the one with the largest weight but for the query itself; None if there is no other"""
    entropy: Tensor
    """(1 + H,), in bits"""
    difference: Tensor
    """(1 + H, 1 + H): half the sum of |p − q| (total variation distance): 0 for equal rows, 1 if they share no key"""


@torch.inference_mode()
def attend_in_parts(x: Tensor, heads: int) -> Subsets:
    """Cut the columns of X, (T, C), into parts, and attend within each with Q = K = V.

    Raises:
        ValueError: the number of parts does not divide C.
    """
    length, width = x.shape
    if heads < 1 or width % heads:
        raise ValueError(f"{width} columns can't be cut into {heads} equal parts")
    parts = x.view(length, heads, width // heads).transpose(0, 1)  # (T, H, D) -> (H, T, D)
    return Subsets(attend(x, x, x), attend(parts, parts, parts))


def most_apart(subsets: Subsets) -> Tensor:
    """Return for each query how far the two heads differ that differ most, (T,), as `Row.difference`; 0 of one head."""
    weights = subsets.parts.weights  # (H, T, T)
    found = weights.new_zeros(weights.shape[1])
    for number, one in enumerate(weights):
        for other in weights[:number]:  # a pair at a time: all of 512 tokens would have 75 MB
            found = found.maximum((one - other).abs().sum(-1) / 2)
    return found


@torch.inference_mode()
def row_of(subsets: Subsets, query: int) -> Row:
    """Return what the one softmax and those of the parts give one query."""
    weights = torch.cat([subsets.whole.weights[None, query], subsets.parts.weights[:, query]])  # (1 + H, T)
    others = weights.clone()
    others[:, query] = -1
    is_alone = weights.shape[1] < 2
    return Row(
        weights,
        tuple(weights.argmax(-1).tolist()),
        tuple(None if is_alone else key for key in others.argmax(-1).tolist()),
        entropy(weights),
        (weights[:, None] - weights[None]).abs().sum(-1) / 2,
    )
