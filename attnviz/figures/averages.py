"""Layouts of the four ways from an average over the past to attention."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from attnviz.attention import AttentionSteps
from attnviz.figures.panels import Layout, Panel
from attnviz.figures.products import as_array, colour_limit, lay_product
from attnviz.toy.averages import Averages


def lay_out_way(way: str, x: Tensor, averages: Averages, attended: AttentionSteps) -> Layout:
    """Lay out the matrices of one way: "loop", "matrix", "softmax" or "data".

    Args:
        way: the name of the way.
        x: the vectors to average, (T, C).
        averages: the three uniform averages of x.
        attended: causal attention with x as its values.
    """
    limit = colour_limit(x)
    source = Panel("embeddings", "X embeddings", as_array(x), "key", "model", limit)
    if way == "loop":
        by_loop = Panel("averages", "Y averages so far", as_array(averages.by_loop), "query", "model", limit, bar=True)
        return Layout(((replace(source, rows="query"), by_loop),), (1, 1), (1,))
    matrix, result, name = {
        "matrix": (averages.triangle, averages.by_matrix, "A, lower triangle"),
        "softmax": (averages.softmax_weights, averages.by_softmax, "softmax of masked zeros"),
        "data": (attended.weights, attended.head_outputs, "weights from the data"),
    }[way]
    hidden = averages.masked_zeros.isneginf()
    shown = as_array(matrix.masked_fill(hidden, -float("inf")))
    return lay_product(
        Panel("weights", name, shown, "query", "key", 1.0, "weights"),
        source,
        Panel("averages", "Y = weights · X", as_array(result), "query", "model", limit, bar=True),
        "A · X = Y" if way == "matrix" else "weights · X = Y",
    )
