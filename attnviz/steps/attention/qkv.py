"""Q, K, V: the three roles that each token's row plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attnviz.formulas.tree import Box
from attnviz.marked import marked
from attnviz.steps.attention.embeddings import input_title
from attnviz.steps.attention.formula import projection_formula, projection_kind
from attnviz.steps.picture import PanelSpec, Picture, Product, panel, picture, share
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk

_NOTICE = {
    "linear": marked(
        "One input, three roles: [a query](matrix=query) asks, [a key](matrix=key) answers, and "
        "[a value](matrix=value) is what gets passed on. Like a search: the query is typed in, keys are titles, values "
        "are contents. But a soft one: it returns no single hit, but the mean of all contents, weighted."
    ),
    "identity": marked(
        "Nothing is learned here: query, key and value are all [X](matrix=embeddings), so a token mostly matches "
        "itself."
    ),
    "positions": (
        "U (T × T) mixes positions, where a transformer's W (C × D) mixes features. So U fits one length only, treats "
        "a position alike whatever word stands there, and lets every token see the future before any mask."
    ),
}


def _code(walk: Walk) -> str:
    projections = walk.layer.projections
    if projections is None:
        return "# this family's projections are not available; query, key and value are as attention received them"
    if projections["query"].kind == "identity":
        return "query = key = value = x"
    lines = []
    for name, projection in projections.items():
        own = "x" if source_of(walk) == "embeddings" else source_of(walk)
        source = "x_key" if name != "query" and walk.layer.key_input is not walk.layer.query_input else own
        if projection.kind == "positions":
            lines.append(f"{name} = U_{name} @ {source}")
        else:
            lines.append(f"{name} = {source} @ W_{name}" + ("" if projection.bias is None else f" + b_{name}"))
    return "\n".join(lines)


def source_of(walk: Walk) -> str:
    """Return the name of what queries are made of: X, or in a pre-norm block its norm."""
    return "input_norm" if walk.block is not None and "input_norm" in walk.block.matrices else "embeddings"


def _title(walk: Walk, source: str) -> str:
    """Return the title of what queries are made of."""
    return "norm of X" if source == "input_norm" else input_title(walk)


_TITLES = {"query": "Q query", "key": "K key", "value": "V value"}


def _picture(walk: Walk) -> Picture:
    """Return X, W and Q, K, V, as far as the source provides them."""
    layer, x = walk.layer, walk.layer.query_input
    results = [panel(name, title) for name, title in _TITLES.items()]
    if layer.projections is None or x is None:
        return picture((results,), (1, 1, 1))
    if layer.key_input is not None and layer.key_input is not x:
        return _cross(walk, results)
    kind = projection_kind(walk)
    source = source_of(walk)
    input_panel = panel(source, _title(walk, source))
    if kind == "identity":
        return picture(((input_panel, *results),), (1, 1, 1, 1))
    positions, features = x.shape
    if kind == "positions":
        return _position_mixing(results, share(positions, features))
    weights, products = _maps(layer, dict.fromkeys(_TITLES, source))
    between = "X · W = Q, K, V" if layer.projections["query"].bias is None else "X · W + b"
    grid = ((None, *weights), (input_panel, *results))
    return picture(grid, (0.6, 1, 1, 1), share(features, positions), products, between)


def _maps(layer: LayerTrace, inputs: Mapping[str, str]) -> tuple[list[PanelSpec], dict[str, Product]]:
    """Return the weights of query, key and value, and the products of these inputs with them."""
    weights, products = [], {}
    for name, projection in (layer.projections or {}).items():
        weights.append(panel(f"W_{name}", f"W {name}"))
        bias = None if projection.bias is None else f"b_{name}"
        products[name] = Product(inputs[name], f"W_{name}", bias)
    return weights, products


def _cross(walk: Walk, results: list[PanelSpec]) -> Picture:
    """Return cross-attention: queries from the decoder's states, keys and values from the encoder's."""
    source = source_of(walk)
    inputs = {"query": source, "key": "embeddings_k", "value": "embeddings_k"}
    (w_query, w_key, w_value), products = _maps(walk.layer, inputs)
    query, key, value = results
    x, other = panel(source, _title(walk, source)), panel("embeddings_k", "X encoder's")
    grid = ((None, w_query, None, w_key, w_value), (x, query, other, key, value))
    return picture(grid, (1.2, 1, 1.2, 1, 1), (1, 1), products)


def _position_mixing(results: list[PanelSpec], widths: tuple[float, float]) -> Picture:
    """Return U @ X: each row of the grid has one mixing matrix and its product with the X above."""
    rows = [(panel(f"U_{result.name}", f"U {result.name}"), result) for result in results]
    products = {result.name: Product(mixing.name, "embeddings_k") for mixing, result in rows}
    grid = ((None, panel("embeddings_k", "X embeddings")), *rows)
    return picture(grid, widths, (1, 1, 1, 1), products, "U · X")


_AXES = {"query": ("query", "dim"), "key": ("key", "dim"), "value": ("key", "dim")}

STEP: Step[Walk] = Step(
    name="qkv",
    title="Q, K, V",
    formula=lambda walk: Box(projection_formula(walk)),
    notice=lambda walk: _NOTICE[projection_kind(walk)],
    code=_code,
    picture=_picture,
    weights={
        **{f"W_{name}": ("feature", "dim") for name in _AXES},
        **{f"U_{name}": (axis, "key") for name, (axis, _) in _AXES.items()},
        **{f"b_{name}": ("bias", "dim") for name in _AXES},
    },
    matrices=_AXES,
    needs=("embeddings", "projections"),
)
