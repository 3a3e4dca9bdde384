"""The pictures of the four ways from an average over the past to attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from attnviz.attention import AttentionSteps
from attnviz.figures.compose import Spec, compose
from attnviz.figures.panels import Layout, Panel
from attnviz.figures.steps import as_array, colour_limit, lay_product
from attnviz.figures.style import LIGHT, Palette
from attnviz.toy.averages import Averages


def way_spec(
    way: str,
    x: Tensor,
    averages: Averages,
    attended: AttentionSteps,
    labels: Sequence[str],
    *,
    palette: Palette = LIGHT,
) -> Spec:
    """Specify the figure of one way: "loop", "matrix", "softmax" or "data".

    Args:
        way: which.
        x: (T, C), what is averaged.
        averages: the three uniform averages of x.
        attended: attention over the past, whose values are x.
        labels: the tokens.
        palette: the colours of the theme.
    """
    limit = colour_limit(x)
    source = Panel("embeddings", "X embeddings", as_array(x), "key", "model", limit)
    if way == "loop":
        by_loop = Panel("averages", "Y averages so far", as_array(averages.by_loop), "query", "model", limit, bar=True)
        layout = Layout(((replace(source, rows="query"), by_loop),), (1, 1), (1,))
    else:
        matrix, result, name = {
            "matrix": (averages.triangle, averages.by_matrix, "A, lower triangle"),
            "softmax": (averages.softmax_weights, averages.by_softmax, "softmax of masked zeros"),
            "data": (attended.weights, attended.head_outputs, "weights from the data"),
        }[way]
        hidden = averages.masked_zeros.isneginf()
        shown = as_array(matrix.masked_fill(hidden, -float("inf")))
        layout = lay_product(
            Panel("weights", name, shown, "query", "key", 1.0, "weights"),
            source,
            Panel("averages", "Y = weights · X", as_array(result), "query", "model", limit, bar=True),
            "A · X = Y" if way == "matrix" else "weights · X = Y",
        )
    return compose(layout, {"query": labels, "key": labels}, palette=palette)
