"""What the attention of each head looks like on a text, to be compared with what the head does to the output.

Shapes: L layers, H heads, T tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.attention import attend
from attnviz.measures.layers import weights_by_chunk
from attnviz.measures.rows import distance, entropy
from attnviz.trace.layer import LayerTrace
from attnviz.trace.trace import Trace

MEASURES = ("largest", "words", "entropy", "distance", "norm")
"""Names of the measures, as in links"""


@dataclass(frozen=True, slots=True, eq=False)
class HeadMeasures:
    """Measures of all heads of the encoder on one text, (L, H) each. Words are the tokens that are not special."""

    largest: Tensor
    """The largest weight that a word gives to a word, the mean over the words"""
    words: Tensor
    """The weight that words give to words, the mean over the words: the rest goes to [CLS] and [SEP]"""
    entropy: Tensor
    """In bits, the mean over all tokens (Clark et al. 2019)"""
    distance: Tensor
    """In tokens, the mean over all tokens (Vig and Belinkov 2019)"""
    norm: Tensor
    """The norm of what the head adds to the output, ‖Σⱼ αᵢⱼ f(xⱼ)‖, the mean over all tokens. Kobayashi et al. (2020)
    take the norm of each term αᵢⱼ f(xⱼ)"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(getattr(self, name).nbytes for name in MEASURES)


def head_measures(trace: Trace) -> HeadMeasures:
    """Measure all heads of an encoder on a text. `largest` and `words` are NaN if the text has no word.

    Raises:
        ValueError: a layer's W_O is not known.
    """
    is_word = ~torch.tensor(trace.tokens.special)
    with torch.inference_mode():
        layers = [_of_layer(layer, is_word) for layer in trace.layers["encoder"]]
    return HeadMeasures(**{name: torch.stack([one[name] for one in layers]) for name in MEASURES})


def _of_layer(layer: LayerTrace, is_word: Tensor) -> dict[str, Tensor]:
    """Return the measures of the heads of a layer, (H,) each."""
    found: dict[str, list[Tensor]] = {name: [] for name in MEASURES if name != "norm"}
    for _, weights in weights_by_chunk(layer):
        between = weights[:, is_word][..., is_word]  # (h, words, words)
        nothing = between.new_full((len(weights),), torch.nan)
        has_words = bool(is_word.any())
        found["largest"].append(between.amax(-1).mean(-1) if has_words else nothing)
        found["words"].append(between.sum(-1).mean(-1) if has_words else nothing)
        found["entropy"].append(entropy(weights).mean(-1))
        found["distance"].append(distance(weights).mean(-1))
    return {**{name: torch.cat(parts) for name, parts in found.items()}, "norm": _added(layer).mean(-1)}


def _added(layer: LayerTrace) -> Tensor:
    """Return the norm of what each head adds to each token's output, (H, T): of its output times its rows of W_O."""
    if layer.output_projection is None:
        raise ValueError("the layer's W_O is not known, so what its heads add can't be computed")
    per_head = layer.output_projection.weight.unflatten(0, (layer.heads, -1))  # (H, D, C)
    steps = (attend(*one, scale=layer.scale) for one in zip(layer.query, layer.key, layer.value, strict=True))
    return torch.stack([(one.head_outputs @ rows).norm(dim=-1) for one, rows in zip(steps, per_head, strict=True)])


def spearman(x: Tensor, y: Tensor) -> float:
    """Return Spearman's rank correlation of two rows of numbers, (N,) each; equal numbers share their mean rank.

    NaN if one of them is the same number throughout, if there are fewer than two, or if one is NaN or infinite.

    Raises:
        ValueError: they differ in length.
    """
    if x.shape != y.shape:
        raise ValueError(f"{tuple(x.shape)} and {tuple(y.shape)} differ")
    if x.numel() < 2 or not (x.isfinite().all() and y.isfinite().all()):
        return torch.nan
    ranks = torch.stack([_ranks(x.flatten()), _ranks(y.flatten())])
    centred = ranks - ranks.mean(-1, keepdim=True)
    return float((centred[0] * centred[1]).sum() / (centred[0].norm() * centred[1].norm()))


def _ranks(values: Tensor) -> Tensor:
    """Return the rank of each number, (N,), from 1; equal numbers share the mean of theirs."""
    _, places, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    mean: Tensor = (last - (counts - 1) / 2)[places]
    return mean
