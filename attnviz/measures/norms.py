"""How much a key has to give: the length of the vector that a weight multiplies."""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.trace.layer import LayerTrace


def moved_norms(layer: LayerTrace) -> Tensor:
    """Compute ‖f(xⱼ)‖ of each head and key, (H, Tk), with f(x) = (x W_V + b_V) W_O, W_O being the head's own rows.

    A query's output is the sum of α f(xⱼ) over keys and heads, plus b_O; so the norm of what key j adds to it is
    α ‖f(xⱼ)‖, whatever the query. Kobayashi et al. 2020, "Attention is Not Only a Weight".

    Raises:
        ValueError: a layer whose W_O is not known.
    """
    if layer.output_projection is None:
        raise ValueError("W_O of this layer is not known, so the norms of what its heads move are not either")
    width = layer.value.shape[-1]
    per_head = layer.output_projection.weight.unflatten(0, (layer.heads, width)).double()  # (H, D, C)
    # ‖v W‖² = v (W Wᵀ) vᵀ: a (D, D) matrix a head instead of a vector of C numbers for each key.
    gram = per_head @ per_head.transpose(1, 2)  # (H, D, D)
    value = layer.value.double()
    squared: Tensor = torch.linalg.vecdot(value @ gram, value)  # (H, Tk)
    return squared.clamp_min(0).sqrt().float()
