"""What the attention weights of a batch of sentences show of each head. No token of padding counts for anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.corpus.sums.marks import NO_PART, PARTS, Marks
from attnviz.measures.names import NAMES
from attnviz.measures.rows import distance, entropy, weight_at
from attnviz.measures.summary import average

REACH = 16
"""The farthest relative position of which the mean weight is kept, in tokens"""
OFFSETS = tuple(range(-REACH, REACH + 1))
NEIGHBOURS = {"previous": -1, "next": 1, "same": 0}


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Of N sentences. Sums are over their tokens, float64."""

    values: npt.NDArray[np.float32]
    """(N, L, H, M): the measures, in the order of `NAMES`; NaN where a sentence has no such measure"""
    uniform: npt.NDArray[np.float32]
    """(N, M): the measures of uniform attention over the visible keys"""
    offset_sum: npt.NDArray[np.float64]
    """(L, H, R): of the weights at the relative positions `OFFSETS`, between tokens that are not special"""
    offset_count: npt.NDArray[np.int64]
    """(R,): of the pairs of tokens at these positions"""
    part_sum: npt.NDArray[np.float64]
    """(L, H, P, P): of the weight that queries of one part give to all keys of another"""
    part_count: npt.NDArray[np.int64]
    """(P,): of the queries"""


def observe(layers: Iterable[Tensor], marks: Marks, *, causal: bool = False) -> Observed:
    """Observe the heads of a self-attention on a batch.

    Args:
        layers: the weights of each layer, (B, H, T, T); 0 on padding.
        marks: of the B sentences.
        causal: whether the mask hides all later keys.
    """
    found = [_of_layer(weights, marks, causal=causal) for weights in layers]
    tokens = marks.is_token  # (B, T)
    visible = (tokens[:, None, :] & tokens[:, :, None]).float()  # (B, T, T)
    if causal:
        visible = visible.tril()
    uniform = visible / visible.sum(-1, keepdim=True).clamp_min(1)
    own = marks.parts > 0  # not special; padding is left out below
    own &= tokens
    pairs = (own[:, :, None] & own[:, None, :]).double()[:, None]  # (B, 1, T, T)
    parts = torch.nn.functional.one_hot(marks.parts, NO_PART + 1)[..., :NO_PART]  # (B, T, P)
    return Observed(
        torch.stack([values for values, _, _ in found], 1).numpy(),
        _measures(uniform[:, None], marks, causal=causal)[:, 0].numpy(),
        torch.stack([offsets for _, offsets, _ in found]).numpy(),
        _at_offsets(pairs)[0].long().numpy(),
        torch.stack([sums for _, _, sums in found]).numpy(),
        parts.sum((0, 1)).numpy(),
    )


def _of_layer(weights: Tensor, marks: Marks, *, causal: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return a layer's measures, (B, H, M), sums by relative position, (H, R), and by part, (H, P, P)."""
    own = ((marks.parts > 0) & marks.is_token).to(weights.dtype)  # (B, T)
    between = weights * own[:, None, :, None] * own[:, None, None, :]
    parts = torch.nn.functional.one_hot(marks.parts, NO_PART + 1)[:, None, :, : len(PARTS)].to(weights.dtype)
    by_part = parts.transpose(-2, -1) @ (weights @ parts)  # (B, H, P, P): from query to key
    return _measures(weights, marks, causal=causal), _at_offsets(between), by_part.double().sum(0)


def _measures(weights: Tensor, marks: Marks, *, causal: bool) -> Tensor:
    """Return the measures of heads, (B, H, M), of weights (B, H, T, T): each the mean over the sentence's queries."""
    attending = (weights.sum(-1) > 0.5) & marks.is_token[:, None]  # a padded query may have weights
    keys = torch.stack(list(marks.named.values()), -1)[:, None].to(weights.dtype)  # (B, 1, T, K)
    on_keys = dict(zip(marks.named, (weights @ keys).unbind(-1), strict=True))  # (B, H, T) each
    found = []
    for name in NAMES:
        if name in NEIGHBOURS:
            found.append(_at_neighbour(weights, marks, attending, NEIGHBOURS[name], causal=causal))
        elif name in on_keys:
            exists = marks.named[name].any(-1)[:, None]
            found.append(average(on_keys[name], attending).masked_fill(~exists, torch.nan))
        else:
            found.append(average({"entropy": entropy, "distance": distance}[name](weights), attending))
    return torch.stack(found, -1)


def _at_neighbour(weights: Tensor, marks: Marks, attending: Tensor, offset: int, *, causal: bool) -> Tensor:
    """Return the mean weight at a relative position, (B, H); NaN if no query sees such a key."""
    if causal and offset > 0:
        return weights.new_full(weights.shape[:2], torch.nan)
    is_inside = torch.arange(weights.shape[-1]) + offset < marks.lengths[:, None]  # (B, T): the key is no padding
    return average(weight_at(weights, offset), attending & is_inside[:, None])


def _at_offsets(weights: Tensor) -> Tensor:
    """Return the sums of weights, (B, H, T, T), at each relative position, (H, R) float64."""
    summed = weights.sum(0).double()  # (H, T, T)
    reach = summed.shape[-1] - 1
    nothing = summed.new_zeros(len(summed))
    return torch.stack([summed.diagonal(at, -2, -1).sum(-1) if abs(at) <= reach else nothing for at in OFFSETS], -1)
