"""Layout of the step Q, K, V: the input, the projections and their results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from attnviz.figures.panels import Layout, Panel
from attnviz.figures.products import as_array, share
from attnviz.trace.walk import Walk

NAMES = {"query": "Q query", "key": "K key", "value": "V value"}


def lay_out_qkv(walk: Walk, _: bool) -> Layout:
    """Lay out X, W and Q, K, V, as far as the source provides them."""
    layer, head = walk.layer, walk.head
    x = layer.query_input
    steps = walk.steps
    results = [
        Panel(name, NAMES[name], as_array(values), rows, "dim")
        for name, values, rows in (
            ("query", steps.query, "query"), ("key", steps.key, "key"), ("value", steps.value, "key"),
        )
    ]  # fmt: skip
    if layer.projections is None or x is None:
        return Layout((results,), (1, 1, 1), (1,))
    input_panel = Panel("embeddings", "X embeddings", as_array(x), "query", "model")
    other = layer.key_input
    if other is not None and other is not x:
        return _cross_qkv(
            walk, input_panel, Panel("embeddings_k", "X encoder's", as_array(other), "key", "model"), results
        )
    kind = layer.projections["query"].kind
    if kind == "identity":
        return Layout(((input_panel, *results),), (1, 1, 1, 1), (1,))
    maps = {name: p.weight[head] for name, p in layer.projections.items() if p.weight is not None}
    if kind == "positions":
        return _position_mixing(input_panel, maps, results)
    products: dict[str, dict[str, Any]] = {}
    weights = []
    for result in results:
        bias = layer.projections[result.name].bias
        weights.append(Panel(f"W_{result.name}", f"W {result.name}", as_array(maps[result.name]), "model", "dim"))
        products[result.name] = {
            "left": "embeddings", "right": f"W_{result.name}", "bias": None if bias is None else bias[head].tolist(),
        }  # fmt: skip
    return Layout(
        grid=((None, *weights), (input_panel, *results)),
        widths=(1.2, 1, 1, 1),
        heights=share(x.shape[1], x.shape[0]),
        products=products,
        between="X · W = Q, K, V" if layer.projections["query"].bias is None else "X · W + b",
    )


def _cross_qkv(walk: Walk, x: Panel, other: Panel, results: list[Panel]) -> Layout:
    """Lay out cross-attention: queries from the decoder's states, keys and values from the encoder's."""
    products, weights = {}, []
    for result in results:
        projection = (walk.layer.projections or {})[result.name]
        if projection.weight is None:
            continue
        weights.append(
            Panel(f"W_{result.name}", f"W {result.name}", as_array(projection.weight[walk.head]), "model", "dim")
        )
        bias = None if projection.bias is None else projection.bias[walk.head].tolist()
        source = x.name if result.name == "query" else other.name
        products[result.name] = {"left": source, "right": f"W_{result.name}", "bias": bias}
    query, key, value = results
    w_query, w_key, w_value = weights
    return Layout(
        grid=((None, w_query, None, w_key, w_value), (x, query, other, key, value)),
        widths=(1.2, 1, 1.2, 1, 1),
        heights=(1, 1),
        products=products,
    )


def _position_mixing(x: Panel, maps: dict[str, Tensor], results: list[Panel]) -> Layout:
    """Lay out U @ X: each row of the grid has one mixing matrix and its product with the X above."""
    products = {r.name: {"left": f"U_{r.name}", "right": "embeddings_k", "bias": None} for r in results}
    rows = [(Panel(f"U_{r.name}", f"U {r.name}", as_array(maps[r.name]), r.rows, "key"), r) for r in results]
    return Layout(
        grid=((None, replace(x, name="embeddings_k", rows="key")), *rows),
        widths=share(x.values.shape[0], x.values.shape[1]),
        heights=(1, 1, 1, 1),
        products=products,
        between="U · X",
    )
