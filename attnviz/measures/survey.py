"""Measures of all heads of a layer, and the survey of all heads of one kind of attention on one text.

Weights are computed a few heads at a time: all weights of 12 x 12 heads at 512 tokens would take 150 MB. The survey has
thumbnails, measures, labels and norms, and is computed once per text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.measures.summary import (
    Measure,
    choose_measures,
    depends_on_query,
    label_heads,
    measure_head,
    of_each_mask,
    uniform_measures,
)
from attnviz.measures.thumbnails import thumbnails
from attnviz.reprs import ArraysSize
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

CHUNK_CELLS = 2**18
"""Cells per chunk: 1 MB. At 512 tokens this is three times as fast as a whole layer at once."""


def weights_by_chunk(layer: LayerTrace, heads: Sequence[int] | None = None) -> Iterator[tuple[list[int], Tensor]]:
    """Yield pairs of h head indices and their weights, (h, Tq, Tk), for the given heads in order, or for all."""
    indices = list(range(layer.heads) if heads is None else heads)
    chunk_size = max(1, CHUNK_CELLS // max(layer.query.shape[1] * layer.key.shape[1], 1))
    for first in range(0, len(indices), chunk_size):
        chunk = indices[first : first + chunk_size]
        yield chunk, layer.of_heads(chunk).weights


RESIDUAL = 0.5
"""The share of the residual connection: how much of itself a position keeps in each layer."""


def rollout(layers: Iterable[Tensor]) -> Tensor:
    """Multiply self-attention over the layers: (L, T, T), where entry l is the rollout up to and including layer l.

    Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers": Âₗ = 0.5 Aₗ + 0.5 I with normalised rows,
    where Aₗ is the mean over the heads, and R₀ = Â₀, Rₗ = Âₗ Rₗ₋₁. Every row sums to 1. Rollout ignores the
    feed-forward blocks and the values.

    Args:
        layers: the mean weights of each layer, (T, T), in order. Rows of fully masked queries are all zeros.

    Raises:
        ValueError: there are no layers, or weights are not square.
    """
    rolled: list[Tensor] = []
    for weights in layers:
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
            raise ValueError(f"rollout needs (T, T) weights, not {tuple(weights.shape)}")
        mixed = (1 - RESIDUAL) * weights + RESIDUAL * torch.eye(weights.shape[0])
        mixed = mixed / mixed.sum(-1, keepdim=True)
        rolled.append(mixed @ rolled[-1] if rolled else mixed)
    if not rolled:
        raise ValueError("rollout needs at least one layer")
    return torch.stack(rolled)


def mean_weights(layer: LayerTrace) -> Tensor:
    """Compute the mean weights over a layer's heads, (Tq, Tk)."""
    total = torch.zeros(layer.query.shape[1], layer.key.shape[1])
    for _, weights in weights_by_chunk(layer):
        total += weights.sum(0)
    return total / layer.heads


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


Labels = tuple[tuple[tuple[str, ...], ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Survey(ArraysSize):
    """Summary of all heads of a kind. L layers, H heads, M measures."""

    name: str
    """A digest of the model, the text and the result"""
    measures: tuple[Measure, ...]
    values: npt.NDArray[np.float32]
    """(L, H, M)"""
    uniform: npt.NDArray[np.float32]
    """(M,): the values of uniform attention over the cells that some layer shows"""
    labels: Labels
    overview: npt.NDArray[np.uint8]
    """(L, H, n, m): thumbnails"""
    key_norms: npt.NDArray[np.float32] | None
    """(L, H, Tk): ‖f(xⱼ)‖; None if a layer's W_O is not known"""
    hidden: npt.NDArray[np.bool_]
    """(Tq, Tk): the cells that the masks of all heads hide"""
    causal: bool
    """Whether the mask of every layer is the causal one"""
    numbers: tuple[int, ...]
    """The layers' numbers in the model, (L,)"""
    limited: tuple[bool, ...]
    """Of each layer, whether which keys a query sees depends on the query, as with a causal mask or a window"""


def survey_name(trace: Trace, kind: Kind) -> str:
    """Return a digest of the model, the text and the model's last hidden state."""
    digest = blake2b(digest_size=12)
    for tokens in (trace.tokens, trace.decoder_tokens):
        words = () if tokens is None else (tokens.tokenizer, tokens.text, tokens.pair, tokens.ids)
        digest.update(repr((kind, words)).encode())
    digest.update(trace.last_hidden_state.numpy().tobytes())
    return digest.hexdigest()


def survey(trace: Trace, kind: Kind, name: str) -> Survey:
    """Compute the survey."""
    layers = trace.layers[kind]
    keys = trace.key_tokens(kind)
    hidden = hidden_cells(layers)
    # A decoder's mask hides later keys even if it also adds numbers to others.
    causal = kind == "decoder"
    measures = choose_measures(len(trace.query_tokens(kind)), keys, same_text=kind != "cross", causal=causal)
    surveyed = [_survey_layer(layer, measures) for layer in layers]
    values = np.stack([of_layer for of_layer, _ in surveyed])
    masks = [torch.from_numpy(cells) for cells in (hidden, *(hidden_cells([layer]) for layer in layers))]
    uniform, *of_layers = of_each_mask(lambda cells: uniform_measures(cells, measures), masks).numpy()
    norms = None
    if all(layer.output_projection is not None for layer in layers):
        norms = _frozen(np.stack([transformed_norms(layer).numpy() for layer in layers]))
    return Survey(
        name,
        measures,
        _frozen(values),
        _frozen(uniform.copy()),
        tuple(tuple(map(tuple, layer)) for layer in label_heads(values, np.stack(of_layers), measures)),
        _frozen(np.stack([small for _, small in surveyed])),
        norms,
        _frozen(hidden),
        all(layer.mask.kind == "causal" for layer in layers),
        trace.numbers[kind],
        tuple(bool(depends_on_query(cells)) for cells in masks[1:]),
    )


def hidden_cells(layers: Sequence[LayerTrace]) -> npt.NDArray[np.bool_]:
    """Return the cells that the masks of all heads of all layers hide, (Tq, Tk)."""
    shape = layers[0].query.shape[1], layers[0].key.shape[1]
    hidden = torch.ones(shape, dtype=torch.bool)
    for layer in layers:
        cells = layer.mask.cells
        if cells is None:
            return np.zeros(shape, bool)
        hidden &= layer.mask.hidden(shape) if cells.ndim < 3 else layer.mask.hidden((-1, *shape)).all(0)
    return hidden.numpy()


def rolled_out(trace: Trace, kind: Kind) -> npt.NDArray[np.float32]:
    """Compute the rollout up to each layer, (L, T, T)."""
    return _frozen(rollout(mean_weights(layer) for layer in trace.layers[kind]).numpy())


def _survey_layer(
    layer: LayerTrace, measures: Sequence[Measure]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8]]:
    """Return a layer's measures, (H, M), and thumbnails, (H, n, m)."""
    values, small = [], []
    for _, weights in weights_by_chunk(layer):
        values.append(measure_head(weights, measures).numpy())
        small.append(thumbnails(weights.numpy()))
    return np.concatenate(values), np.concatenate(small)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only, because sessions share it."""
    array.flags.writeable = False
    return array
