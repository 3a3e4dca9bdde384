"""The matrices of a walk by their names, and the axes of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from attnviz.trace.context import OF_BLOCK

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.layer import LayerTrace, Operand
    from attnviz.trace.position_bias import TermName
    from attnviz.trace.walk import Walk

AXES: dict[str, tuple[str, ...]] = {
    "token_embeddings": ("query", "model"), "positions": ("query", "model"), "embeddings": ("query", "model"),
    "embeddings_k": ("key", "key_model"),
    "W_query": ("model", "dim"), "W_key": ("key_model", "dim"), "W_value": ("key_model", "value_dim"),
    "U_query": ("query", "key"), "U_key": ("key", "key"), "U_value": ("key", "key"),
    "b_query": ("dim",), "b_key": ("dim",), "b_value": ("value_dim",),
    "query": ("query", "dim"), "key": ("key", "dim"), "key_t": ("dim", "key"), "value": ("key", "value_dim"),
    "cos": ("query", "pair"), "sin": ("query", "pair"),
    "query_angles": ("query", "pair"), "key_angles": ("key", "pair"),
    "gamma_query": ("dim",), "beta_query": ("dim",), "gamma_key": ("dim",), "beta_key": ("dim",),
    "root_query": ("query",), "root_key": ("key",),
    "normed_query": ("query", "dim"), "normed_key": ("key", "dim"),
    "rotated_query": ("query", "dim"), "rotated_key": ("key", "dim"),
    "scores": ("query", "key"), "scaled": ("query", "key"), "capped": ("query", "key"), "mask": ("query", "key"),
    "relative_positions": ("query", "key"),
    "position_key": ("relative", "dim"), "position_query": ("relative", "dim"),
    "content_to_position": ("query", "key"), "position_to_content": ("query", "key"),
    "position_bias": ("query", "key"), "biased": ("query", "key"),
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
`value_dim`: D of the values. pair: the pairs of dimensions that rotary positions turn. relative:
relative positions. concat: H·D. output: C of the
output projection. hidden: F. vocabulary: the entries shown; outcome: the same, and one for all others.
"""
QKV = ("query", "key", "value")
NORMED = ("normed_query", "normed_key")
"""Queries and keys after their norms, if the layer has them"""
NORM_WEIGHTS = ("gamma_query", "beta_query", "gamma_key", "beta_key")
"""The weights of these norms, by head"""
ROTATED = ("rotated_query", "rotated_key")
"""Queries and keys after the rotation of their layer, if it has one"""
POSITION_TABLES = ("position_key", "position_query")
"""The keys and the queries of relative positions, if the layer's position bias has these terms"""
POSITION_TERMS: tuple[TermName, ...] = ("content_to_position", "position_to_content")
"""The terms of a position bias, if it has some"""
OF_BIAS = ("position_bias", *POSITION_TERMS)
"""The matrices of queries by keys that are kept by their vectors, if it has terms"""
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


def before_rotation(layer: LayerTrace, name: Operand) -> str:
    """Return the name of the matrix of queries, or of keys, that a rotation turns: normed, or as projected."""
    return f"normed_{name}" if layer.norms else name


def operand(layer: LayerTrace, name: Operand) -> str:
    """Return the name of the matrix of queries, or of keys, from which the scores are computed."""
    return before_rotation(layer, name) if layer.rotation is None else f"rotated_{name}"


def heads_matrix(layer: LayerTrace, name: str, heads: Sequence[int] | None = None) -> Tensor | None:
    """Return a matrix of some heads of a layer, such as `query` or `W_query`, (h, ...), or None if it is not known.

    Args:
        layer: the layer.
        name: one of `QKV`, one of these with the prefix "W_", "U_" or "b_", or one of `NORMED`, `NORM_WEIGHTS`,
            `ROTATED`, `POSITION_TABLES` and `POSITION_TERMS`; or `sinks`, or `position_bias`.
        heads: the heads; None takes all.

    Raises:
        KeyError: there is no such name.
    """
    if name in ("query", "key"):
        return layer.projected("query" if name == "query" else "key", heads)
    if name in NORMED:
        return layer.normed("query" if name == "normed_query" else "key", heads) if layer.norms else None
    if name in OF_BIAS:
        return _of_bias(layer, name, heads)
    of_all = _OF_HEADS[name](layer)
    return of_all if of_all is None or heads is None or len(heads) == len(of_all) else of_all[list(heads)]


def _of_head(name: str, walk: Walk) -> Tensor | None:
    of_heads = heads_matrix(walk.layer, name, [walk.head])
    return None if of_heads is None else of_heads[0]


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


def _turned(name: str, layer: LayerTrace) -> Tensor | None:
    """Return the queries or keys after a rotation, (H, T, D); None if there is none."""
    turned: Tensor = getattr(layer, name)
    return None if layer.rotation is None else turned


def _norm_weight(letter: str, name: Operand, layer: LayerTrace) -> Tensor | None:
    """Return γ or β of the norm of queries or keys, (H, D), if it has one."""
    norm = layer.norms.get(name)
    return None if norm is None else norm.weight if letter == "gamma" else norm.bias


def _root(name: Operand, walk: Walk) -> Tensor | None:
    """Return what a norm over all heads divides each row by, (T,); None of a norm of each head's own numbers."""
    norm = walk.layer.norms.get(name)
    return norm.root(walk.layer.projected(name)).flatten() if norm is not None and norm.is_joint else None


def _of_rotation(name: str, walk: Walk) -> Tensor | None:
    """Return a table of the rotation, (T, R / 2), if there is one."""
    table: Tensor | None = getattr(walk.layer.rotation, name, None)
    return table


def _of_bias(layer: LayerTrace, name: str, heads: Sequence[int] | None) -> Tensor | None:
    """Return what is added to the scores of these heads by distance, or a term of it, (h, Tq, Tk), if there is one."""
    bias, chosen = layer.position_bias, list(range(layer.heads) if heads is None else heads)
    if bias is None:
        return None
    if name == "position_bias":
        return bias.of_heads(chosen).expand(len(chosen), layer.query.shape[1], layer.key.shape[1])
    return next((bias.terms.term(term, chosen) for term in POSITION_TERMS if term == name and bias.terms), None)


def _position_table(name: str, layer: LayerTrace) -> Tensor | None:
    """Return the keys, or the queries, of relative positions, (H, R, D), if there are some."""
    table: Tensor | None = getattr(getattr(layer.position_bias, "terms", None), name, None)
    return table


def _relative_positions(walk: Walk) -> Tensor | None:
    """Return the relative position of each cell, (Tq, Tk), if the position bias has terms."""
    bias = walk.layer.position_bias
    return None if bias is None or bias.terms is None else bias.terms.relative_positions.float()


_OF_HEADS: dict[str, Callable[[LayerTrace], Tensor | None]] = {
    "value": attrgetter("value"),
    **{f"rotated_{name}": partial(_turned, name) for name in ("query", "key")},
    "gamma_query": partial(_norm_weight, "gamma", "query"),
    "beta_query": partial(_norm_weight, "beta", "query"),
    "gamma_key": partial(_norm_weight, "gamma", "key"),
    "beta_key": partial(_norm_weight, "beta", "key"),
    **{f"W_{name}": partial(_weight, name, False) for name in QKV},
    **{f"U_{name}": partial(_weight, name, True) for name in QKV},
    **{f"b_{name}": partial(_bias, name) for name in QKV},
    **{name: partial(_position_table, name) for name in POSITION_TABLES},
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
    **{name: partial(_of_head, name) for name in ("query", "key", *NORMED, *_OF_HEADS, *OF_BIAS)},
    "relative_positions": _relative_positions,
    "root_query": partial(_root, "query"),
    "root_key": partial(_root, "key"),
    **{name: partial(_of_rotation, name) for name in ("cos", "sin")},
    **{name: partial(_of_rotation, "angles") for name in ("query_angles", "key_angles")},
    "key_t": lambda walk: walk.layer.key[walk.head].T,
    **{name: attrgetter(f"steps.{name}") for name in ("scores", "scaled", "masked", "weights", "head_outputs")},
    "capped": lambda walk: None if walk.layer.cap is None else walk.steps.capped,
    "biased": lambda walk: None if walk.layer.position_bias is None else walk.steps.biased,
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
