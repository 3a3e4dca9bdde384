"""The survey of all heads of one kind of attention on one text: thumbnails, measures, labels, norms.

It is computed once per text, a few heads at a time: all weights of 12 x 12 heads at 512 tokens would take 150 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from attnviz.measures.layers import mean_weights, rollout, transformed_norms, weights_by_chunk
from attnviz.measures.summary import Measure, choose_measures, label_heads, measure_head, uniform_measures
from attnviz.measures.thumbnails import thumbnails
from attnviz.reprs import ArraysSize
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

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
    """(M,): the values of uniform attention"""
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
    # A decoder's mask hides later keys even if it also adds relative positions.
    causal = kind == "decoder"
    measures = choose_measures(len(trace.query_tokens(kind)), keys, same_text=kind != "cross", causal=causal)
    surveyed = [_survey_layer(layer, measures) for layer in layers]
    values = np.stack([of_layer for of_layer, _ in surveyed])
    uniform = uniform_measures(torch.from_numpy(hidden), measures).numpy()
    norms = None
    if all(layer.output_projection is not None for layer in layers):
        norms = _frozen(np.stack([transformed_norms(layer).numpy() for layer in layers]))
    return Survey(
        name,
        measures,
        _frozen(values),
        _frozen(uniform),
        tuple(tuple(map(tuple, layer)) for layer in label_heads(values, uniform, measures)),
        _frozen(np.stack([small for _, small in surveyed])),
        norms,
        _frozen(hidden),
        all(layer.mask.kind == "causal" for layer in layers),
        trace.numbers[kind],
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
