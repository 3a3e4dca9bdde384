"""The matrices of each step and their layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from attnviz.figures.compose import Spec, compose
from attnviz.figures.panels import Layout, Panel, Pin
from attnviz.figures.products import as_array, colour_limit, lay_product, share
from attnviz.figures.projections import lay_out_qkv
from attnviz.figures.style import LIGHT, Palette
from attnviz.formatting import number
from attnviz.trace.walk import Walk

if TYPE_CHECKING:
    import plotly.graph_objects as go

FEW = 8
"""Up to this many tokens, two matrices side by side can both show their numbers."""


def draw_step(walk: Walk, step: str, **options: Any) -> go.Figure:
    """Draw one step as a Plotly figure, with the options of `step_spec`."""
    import plotly.graph_objects as go  # slow to import, and not needed by the app

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
    """Return the Plotly specification of one step, from `embeddings` to `output`.

    Args:
        walk: the head and its tokens.
        step: the name of the step.
        pin: the query and the key to outline.
        stretch: end the colour domain of `weights` at their largest value instead of 1.
        height: in pixels; None fills the container.
        palette: the colours of the theme.

    Raises:
        KeyError: the step has no matrices.
    """
    layout = lay_out(walk, step, stretch=stretch)
    return compose(layout, walk.labels, pin=pin, height=height, palette=palette)


def lay_out(walk: Walk, step: str, *, stretch: bool = False) -> Layout:
    """Return the layout of one step's matrices.

    Raises:
        KeyError: the step has no matrices.
    """
    return LAYOUTS[step](walk, stretch)


def describe(layout: Layout) -> str:
    """Return the alternative text of a picture, one sentence."""
    panels = [panel for row in layout.grid for panel in row if panel is not None]
    parts = []
    for panel in panels:
        rows, cols = panel.values.shape
        seen = panel.values[np.isfinite(panel.values)]
        span = f", from {number(float(seen.min()))} to {number(float(seen.max()))}" if seen.size else ""
        parts.append(f"{panel.title}, {rows} rows by {cols} columns{span}")
    return f"Heatmaps, row is query and column is key: {'; '.join(parts)}."


def _shared(walk: Walk) -> float:
    """Return the shared colour domain of scores, scaled and masked."""
    return colour_limit(walk.steps.scores, walk.steps.scaled, walk.steps.masked)


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
    """Lay out before and after side by side. With many tokens the result gets most of the width, for its numbers."""
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
    """Return the title of the step: the mask hides cells, or also adds relative positions."""
    return "masked = scaled + M" if walk.layer.mask.adds else "masked = scaled, or −∞"


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
    """Return labels for the middle column of each head in the concatenation."""
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
        widths=share(1, walk.layer.heads),
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
    "qkv": lay_out_qkv,
    "scores": _scores,
    "scaled": _scaled,
    "masked": _masked,
    "weights": _weights,
    "head_outputs": _head_outputs,
    "concat": _concat,
    "output": _output,
}
