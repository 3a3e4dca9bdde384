"""Norms of the transformed value vectors, which the weights multiply."""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.trace.layer import LayerTrace


def transformed_norms(layer: LayerTrace) -> Tensor:
    """Compute ‖f(xⱼ)‖ for each head and key, (H, Tk), where f(x) = (x W_V + b_V) W_O with the head's rows of W_O.

    A query's output is Σ αᵢⱼ f(xⱼ) over keys and heads, plus b_O. So key j contributes a vector of norm αᵢⱼ ‖f(xⱼ)‖.
    Kobayashi et al. 2020, "Attention is Not Only a Weight".

    Raises:
        ValueError: the layer's W_O is not known.
    """
    if layer.output_projection is None:
        raise ValueError("the layer's W_O is not known, so its transformed norms can't be computed")
    width = layer.value.shape[-1]
    per_head = layer.output_projection.weight.unflatten(0, (layer.heads, width)).double()  # (H, D, C)
    # ‖v W‖² = v (W Wᵀ) vᵀ needs one (D, D) matrix per head instead of a vector of C numbers per key.
    gram = per_head @ per_head.transpose(1, 2)  # (H, D, D)
    value = layer.value.double()
    squared: Tensor = torch.linalg.vecdot(value @ gram, value)  # (H, Tk)
    return squared.clamp_min(0).sqrt().float()
