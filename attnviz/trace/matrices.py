"""The matrices of a walk by their names, and the axes of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from attnviz.trace.context import OF_BLOCK

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk

AXES: dict[str, tuple[str, ...]] = {
    "token_embeddings": ("query", "model"), "positions": ("query", "model"), "embeddings": ("query", "model"),
    "embeddings_k": ("key", "key_model"),
    "W_query": ("model", "dim"), "W_key": ("key_model", "dim"), "W_value": ("key_model", "value_dim"),
    "U_query": ("query", "key"), "U_key": ("key", "key"), "U_value": ("key", "key"),
    "b_query": ("dim",), "b_key": ("dim",), "b_value": ("value_dim",),
    "query": ("query", "dim"), "key": ("key", "dim"), "key_t": ("dim", "key"), "value": ("key", "value_dim"),
    "scores": ("query", "key"), "scaled": ("query", "key"), "capped": ("query", "key"), "mask": ("query", "key"),
    "masked": ("query", "key"), "sinks": ("query", "one"), "weights": ("query", "key"), "sink": ("query", "one"),
    "row_sum": ("query", "one"), "head_outputs": ("query", "value_dim"),
    "concat": ("query", "concat"), "W_output": ("concat", "output"), "b_output": ("output",),
    "output": ("query", "output"),
    "triangle": ("query", "key"), "masked_zeros": ("query", "key"), "softmax_weights": ("query", "key"),
    "by_loop": ("query", "model"), "by_matrix": ("query", "model"), "by_softmax": ("query", "model"),
    "by_data": ("query", "model"),
    **OF_BLOCK,
}  # fmt: skip
"""The axes of every matrix and vector by name. Axes with the same name have the same length.

query, key: tokens. model: C; `key_model`: C of the input of keys and values, which may come from another stack. dim: D;
`value_dim`: D of the values. concat: H·D. output: C of the output projection. hidden: F. vocabulary: the entries shown;
outcome: the same, and one for all others.
"""
QKV = ("query", "key", "value")
AVERAGES = ("by_loop", "triangle", "by_matrix", "masked_zeros", "softmax_weights", "by_softmax")
"""The matrices of `Walk.averages`"""


def matrix(walk: Walk, name: str) -> Tensor:
    """Return a matrix by its name in `AXES`, or a bias, such as `b_query`, which is a vector.

    A hidden cell of `masked` and `masked_zeros` is −inf, or the number that the mask fills in.

    Raises:
        KeyError: there is no such name, or the source does not provide this quantity.
    """
    values = find_matrix(walk, name)
    if values is None:
        raise KeyError(f"{name} is not known of this head")
    return values


def find_matrix(walk: Walk, name: str) -> Tensor | None:
    """Return a matrix as `matrix` does, or None if the source does not provide it."""
    return _MATRICES[name](walk)


def heads_matrix(layer: LayerTrace, name: str) -> Tensor | None:
    """Return a matrix of all heads of a layer, such as `query` or `W_query`, (H, ...), or None if it is not known.

    Args:
        layer: the layer.
        name: one of `QKV`, or one of these with the prefix "W_", "U_" or "b_"; or `sinks`.

    Raises:
        KeyError: there is no such name.
    """
    return _OF_HEADS[name](layer)


def _of_head(name: str, walk: Walk) -> Tensor | None:
    of_heads = _OF_HEADS[name](walk.layer)
    return None if of_heads is None else of_heads[walk.head]


def _weight(name: str, mixes_positions: bool, layer: LayerTrace) -> Tensor | None:
    """Return W, (H, C, D), or U, (H, T, T), of a projection; None if it has only the other of the two."""
    projection = (layer.projections or {}).get(name)
    if projection is None or projection.weight is None or (projection.kind == "positions") != mixes_positions:
        return None
    return projection.weight


def _bias(name: str, layer: LayerTrace) -> Tensor | None:
    """Return the biases of a projection, (H, D)."""
    projection = (layer.projections or {}).get(name)
    return None if projection is None else projection.bias


_OF_HEADS: dict[str, Callable[[LayerTrace], Tensor | None]] = {
    **{name: attrgetter(name) for name in QKV},
    **{f"W_{name}": partial(_weight, name, False) for name in QKV},
    **{f"U_{name}": partial(_weight, name, True) for name in QKV},
    **{f"b_{name}": partial(_bias, name) for name in QKV},
    "sinks": lambda layer: None if layer.sinks is None else layer.sinks.expand(-1, layer.query.shape[1], 1),
}


def _average(name: str, walk: Walk) -> Tensor | None:
    return walk.averages.get(name)


def _of_block(name: str, walk: Walk) -> Tensor | None:
    return None if walk.block is None else walk.block.matrices.get(name)


def _output(walk: Walk) -> Tensor | None:
    projection = walk.layer.output_projection
    return None if projection is None else projection.apply(walk.concat)


_MATRICES: dict[str, Callable[[Walk], Tensor | None]] = {
    "token_embeddings": lambda walk: walk.parts[0] if walk.parts else None,
    "positions": lambda walk: walk.parts[1] if walk.parts else None,
    "embeddings": lambda walk: walk.block.x if walk.block else walk.layer.query_input,
    "embeddings_k": lambda walk: walk.layer.key_input,
    **{name: partial(_of_head, name) for name in _OF_HEADS},
    "key_t": lambda walk: walk.layer.key[walk.head].T,
    **{name: attrgetter(f"steps.{name}") for name in ("scores", "scaled", "masked", "weights", "head_outputs")},
    "capped": lambda walk: None if walk.layer.cap is None else walk.steps.capped,
    "sink": attrgetter("steps.sink"),
    "row_sum": lambda walk: walk.steps.weights.sum(-1, keepdim=True),
    "concat": attrgetter("concat"),
    "W_output": lambda walk: getattr(walk.layer.output_projection, "weight", None),
    "b_output": lambda walk: getattr(walk.layer.output_projection, "bias", None),
    "output": _output,
    **{name: partial(_average, name) for name in AVERAGES},
    "by_data": lambda walk: walk.steps.head_outputs,
    **{name: partial(_of_block, name) for name in OF_BLOCK},
}
