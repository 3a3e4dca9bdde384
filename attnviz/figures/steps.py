"""Which matrices each step shows, and how they lie: operands and result where they meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from attnviz.figures.compose import Spec, compose
from attnviz.figures.panels import Layout, Panel, Pin
from attnviz.figures.style import LIGHT, Palette
from attnviz.figures.walk import Walk
from attnviz.vocabulary import number

if TYPE_CHECKING:
    import plotly.graph_objects as go

FEW = 8
"""Up to this many tokens two matrices side by side both have room for their numbers."""

NAMES = {"query": "Q query", "key": "K key", "value": "V value"}


def draw_step(walk: Walk, step: str, **options: Any) -> go.Figure:
    """Draw one step of a walk as a Plotly figure; the options are those of `step_spec`."""
    import plotly.graph_objects as go  # slow to import, and the app does without it

    return go.Figure(step_spec(walk, step, **options))


def step_spec(
    walk: Walk,
    step: str,
    *,
    pin: Pin | None = None,
    stretch: bool = False,
    height: int | None = None,
    palette: Palette = LIGHT,
) -> Spec:
    """Specify the figure of one step of a walk, from `embeddings` to `output`.

    Args:
        walk: the head and its tokens.
        step: a name of the vocabulary.
        pin: the query and the key to outline.
        stretch: end the colours of `weights` at their largest value instead of at 1.
        height: pixels; the container's own height when None.
        palette: the colours of the theme.

    Raises:
        KeyError: a step that has no matrices.
    """
    layout = lay_out(walk, step, stretch=stretch)
    return compose(layout, walk.labels, pin=pin, height=height, palette=palette)


def lay_out(walk: Walk, step: str, *, stretch: bool = False) -> Layout:
    """Return the matrices of one step and their places, whoever draws them.

    Raises:
        KeyError: a step that has no matrices.
    """
    return LAYOUTS[step](walk, stretch)


def describe(layout: Layout) -> str:
    """Say in one sentence what a picture shows, for readers who do not see it."""
    panels = [panel for row in layout.grid for panel in row if panel is not None]
    parts = []
    for panel in panels:
        rows, cols = panel.values.shape
        seen = panel.values[np.isfinite(panel.values)]
        span = f", from {number(float(seen.min()))} to {number(float(seen.max()))}" if seen.size else ""
        parts.append(f"{panel.title}, {rows} rows by {cols} columns{span}")
    return f"Heatmaps, row is query and column is key: {'; '.join(parts)}."


def as_array(tensor: Tensor) -> npt.NDArray[np.float32]:
    """Return the numbers as they are; −inf, which no colour has, becomes NaN."""
    array = tensor.detach().to(torch.float32).numpy()
    return np.where(np.isneginf(array), np.float32(np.nan), array) if np.isneginf(array).any() else array


def _share(operand: int, result: int) -> tuple[float, float]:
    """Split the room between an operand and a result by their sizes, leaving both readable."""
    share = operand / max(1, operand + result)
    share = min(0.42, max(0.24, share))
    return share, 1 - share


def colour_limit(*tensors: Tensor) -> float:
    """Return the colour domain that several matrices share: their largest finite magnitude."""
    finite = [t[torch.isfinite(t)] for t in tensors]
    return max((float(t.abs().max()) for t in finite if t.numel()), default=1.0) or 1.0


def _shared(walk: Walk) -> float:
    """Return the one colour domain of scores, scaled and masked."""
    return colour_limit(walk.steps.scores, walk.steps.scaled, walk.steps.masked)


def lay_product(left: Panel, right: Panel, result: Panel, text: str, bias: Tensor | None = None) -> Layout:
    """Lay out left @ right = result: left at the left, right on top, the result where they meet."""
    product = {"left": left.name, "right": right.name, "bias": None if bias is None else bias.tolist()}
    return Layout(
        grid=((None, right), (left, result)),
        widths=_share(left.values.shape[1], result.values.shape[1]),
        heights=_share(right.values.shape[0], result.values.shape[0]),
        products={result.name: product},
        between=text,
    )


def _embeddings(walk: Walk, _: bool) -> Layout:
    x = walk.layer.query_input
    if x is None:
        return Layout((), (), ())
    if walk.parts is None:
        return Layout(((Panel("embeddings", "X embeddings", as_array(x), "query", "model", bar=True),),), (1,), (1,))
    tokens, positions = walk.parts
    limit = colour_limit(tokens, positions, x)
    panels = (
        Panel("token_embeddings", "token", as_array(tokens), "query", "model", limit),
        Panel("positions", "+ position", as_array(positions), "query", "model", limit),
        Panel("embeddings", "= X embeddings", as_array(x), "query", "model", limit, bar=True),
    )
    return Layout((panels,), (1, 1, 1), (1,))


def _qkv(walk: Walk, _: bool) -> Layout:
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
        heights=_share(x.shape[1], x.shape[0]),
        products=products,
        between="X · W = Q, K, V" if layer.projections["query"].bias is None else "X · W + b",
    )


def _cross_qkv(walk: Walk, x: Panel, other: Panel, results: list[Panel]) -> Layout:
    """Lay out cross-attention: queries from the decoder's rows, keys and values from the encoder's."""
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
    """Lay out U @ X: each row of the grid is one mixing matrix, and what it makes of the X above."""
    products = {r.name: {"left": f"U_{r.name}", "right": "embeddings_k", "bias": None} for r in results}
    rows = [(Panel(f"U_{r.name}", f"U {r.name}", as_array(maps[r.name]), r.rows, "key"), r) for r in results]
    return Layout(
        grid=((None, replace(x, name="embeddings_k", rows="key")), *rows),
        widths=_share(x.values.shape[0], x.values.shape[1]),
        heights=(1, 1, 1, 1),
        products=products,
        between="U · X",
    )


def _scores(walk: Walk, _: bool) -> Layout:
    steps = walk.steps
    return lay_product(
        Panel("query", "Q query", as_array(steps.query), "query", "dim"),
        Panel("key_t", "Kᵀ key", as_array(steps.key.T), "dim", "key"),
        Panel(
            "scores",
            "scores",
            as_array(steps.scores),
            "query",
            "key",
            colour_limit(steps.scores, steps.scaled),
            bar=True,
        ),
        "Q · Kᵀ = scores",
    )


def _pair(left: Panel, right: Panel) -> Layout:
    """Lay out before and after side by side; with many tokens the result takes most of the room, for its numbers."""
    few = right.values.shape[1] <= FEW
    return Layout(((replace(left, numbered=few), right),), (1, 1 if few else 2), (1,))


def _scaled(walk: Walk, _: bool) -> Layout:
    steps = walk.steps
    limit = _shared(walk)
    return _pair(
        Panel("scores", "scores", as_array(steps.scores), "query", "key", limit),
        Panel(
            "scaled",
            f"scaled = scores × {number(steps.scale, 3)}",
            as_array(steps.scaled),
            "query",
            "key",
            limit,
            bar=True,
        ),
    )


def _masked_title(walk: Walk) -> str:
    """Say what the mask does: hide cells, or, where it holds relative positions too, add to them."""
    mask = walk.layer.mask
    adds = mask is not None and mask.dtype.is_floating_point and bool((mask.isfinite() & (mask != 0)).any())
    return "masked = scaled + M" if adds else "masked = scaled, or −∞"


def _masked(walk: Walk, _: bool) -> Layout:
    steps = walk.steps
    limit = _shared(walk)
    return _pair(
        Panel("scaled", "scaled", as_array(steps.scaled), "query", "key", limit),
        Panel("masked", _masked_title(walk), as_array(steps.masked), "query", "key", limit, bar=True),
    )


def _weights(walk: Walk, stretch: bool) -> Layout:
    steps = walk.steps
    sums = steps.weights.sum(-1, keepdim=True)
    limit, few = _shared(walk), steps.weights.shape[1] <= FEW
    return Layout(
        grid=(
            (
                Panel("masked", "masked", as_array(steps.masked), "query", "key", limit, numbered=few),
                _weights_panel(walk, stretch, bar=True),
                Panel("row_sum", "Σ", as_array(sums), "query", "", 1.0, "weights"),
            ),
        ),
        widths=(8, 8 if few else 16, 1.4),
        heights=(1,),
    )


def _weights_panel(walk: Walk, stretch: bool, *, bar: bool = False) -> Panel:
    weights = walk.steps.weights
    limit = (float(weights.max()) if weights.numel() else 1.0) if stretch else 1.0
    title = "weights (colours stretched)" if stretch else "weights = softmax of each row" if bar else "weights"
    shown = as_array(weights.masked_fill(torch.isneginf(walk.steps.masked), -torch.inf))
    return Panel("weights", title, shown, "query", "key", limit or 1.0, "weights", bar=bar)


def _head_outputs(walk: Walk, stretch: bool) -> Layout:
    steps = walk.steps
    return lay_product(
        _weights_panel(walk, stretch),
        Panel("value", "V value", as_array(steps.value), "key", "dim"),
        Panel("head_outputs", "head outputs", as_array(steps.head_outputs), "query", "dim", bar=True),
        "weights · V",
    )


def _head_ticks(walk: Walk) -> dict[int, str]:
    """Label the middle column of each head in a concatenation."""
    size = walk.steps.head_outputs.shape[-1]
    return {h * size + size // 2: f"head {h}" if walk.layer.heads <= 4 else str(h) for h in range(walk.layer.heads)}


def _parts(walk: Walk) -> tuple[int, int]:
    return walk.steps.head_outputs.shape[-1], walk.head


def _concat(walk: Walk, _: bool) -> Layout:
    limit = colour_limit(walk.concat)
    return Layout(
        grid=(
            (
                Panel("head_outputs", f"head {walk.head}", as_array(walk.steps.head_outputs), "query", "dim", limit),
                Panel("concat", "concat: all heads", as_array(walk.concat), "query", "concat", limit,
                      col_ticks=_head_ticks(walk), parts=_parts(walk), bar=True),
            ),
        ),
        widths=_share(1, walk.layer.heads),
        heights=(1,),
    )  # fmt: skip


def _output(walk: Walk, _: bool) -> Layout:
    concat = Panel(
        "concat", "concat", as_array(walk.concat), "query", "concat", col_ticks=_head_ticks(walk), parts=_parts(walk)
    )
    projection = walk.layer.output_projection
    if projection is None:
        return Layout(((concat,),), (1,), (1,))
    return lay_product(
        concat,
        Panel("W_output", "W_O", as_array(projection.weight), "concat", "model"),
        Panel("output", "output", as_array(projection.apply(walk.concat)), "query", "model", bar=True),
        "concat · W_O" if projection.bias is None else "concat · W_O + b",
        projection.bias,
    )


LAYOUTS: dict[str, Callable[[Walk, bool], Layout]] = {
    "embeddings": _embeddings,
    "qkv": _qkv,
    "scores": _scores,
    "scaled": _scaled,
    "masked": _masked,
    "weights": _weights,
    "head_outputs": _head_outputs,
    "concat": _concat,
    "output": _output,
}
