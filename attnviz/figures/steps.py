"""The matrices of each step and their layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnviz.figures.colour_limit import as_array, colour_limit, darkened_limit, end_text
from attnviz.figures.compose import Spec, compose
from attnviz.figures.panels import Layout, Panel, Pin
from attnviz.figures.style import LIGHT, Palette
from attnviz.steps import steps_of
from attnviz.steps.picture import MatrixProduct, PanelSpec, darkens
from attnviz.trace.matrices import matrix
from attnviz.trace.walk import Walk

if TYPE_CHECKING:
    import plotly.graph_objects as go


WITH_HIDDEN_CELLS = ("position_bias", "biased", "masked", "weights")
"""The matrices that may have no number in cells that the mask hides"""


def draw_step(walk: Walk, step: str, **options: Any) -> go.Figure:
    """Draw one step as a Plotly figure, with the options of `step_spec`."""
    import plotly.graph_objects as go  # slow to import, and not needed by the app

    return go.Figure(step_spec(walk, step, **options))


def step_spec(
    walk: Walk,
    step: str,
    *,
    pin: Pin | None = None,
    stretch: bool | None = None,
    height: int | None = None,
    palette: Palette = LIGHT,
) -> Spec:
    """Return the Plotly specification of one step, from `embeddings` to `output`, or of a way to average.

    Args:
        walk: the head and its tokens.
        step: the name of the step.
        pin: the query and the key to outline.
        stretch: whether the colour domain of `weights` ends at the largest weights instead of at 1 (see
            `figures.colour_limit.darkened_limit`); None: only in a long text.
        height: in pixels; None fills the container.
        palette: the colours of the theme.

    Raises:
        KeyError: the step has no matrices.
    """
    layout = lay_out(walk, step, stretch=stretch)
    return compose(layout, walk.labels, pin=pin, height=height, palette=palette)


def lay_out(walk: Walk, step: str, *, stretch: bool | None = None) -> Layout:
    """Return the layout of one step's matrices: its picture with the numbers of a walk.

    Raises:
        KeyError: the step has no matrices.
    """
    shown_step = steps_of(walk)[step]
    if not shown_step.matrices:
        raise KeyError(step)
    picture = shown_step.picture(walk)
    if picture is None:
        return Layout((), (), ())
    panels = [_panel(walk, spec, stretch) for spec in picture.panels]
    return Layout(
        grid=tuple(tuple(None if number is None else panels[number] for number in row) for row in picture.grid),
        widths=picture.widths,
        heights=picture.heights,
        products={result: _product(walk, product) for result, product in picture.products.items()},
        between=picture.between,
    )


def _panel(walk: Walk, spec: PanelSpec, stretch: bool | None) -> Panel:
    values = _matrix(walk, spec.name)
    stretched = bool(spec.stretched) and darkens(stretch, values.shape[1])
    dark = darkened_limit(as_array(values)) if stretched else 1
    limit = spec.limit
    title = str(spec.title)
    if dark < 1:
        limit = dark
        title = spec.stretched.format(end_text(limit))
    elif limit is None or isinstance(limit, tuple):
        limit = colour_limit(*(_matrix(walk, name) for name in limit or (spec.name,)))
    reasons = walk.layer.mask_reasons if spec.name in WITH_HIDDEN_CELLS else None
    return Panel(
        spec.name,
        title,
        as_array(values),
        spec.rows,
        spec.cols,
        limit,
        spec.scale,
        dict(spec.ticks),
        None if spec.part_width is None else (spec.part_width, walk.head),
        spec.bar,
        spec.numbered,
        None if reasons is None else reasons.codes(*values.shape),
    )


def _matrix(walk: Walk, name: str) -> Tensor:
    """Return a matrix as it is shown: −inf in hidden cells, even if the mask fills in another number."""
    values, steps = matrix(walk, name), walk.steps
    if name in ("weights", "softmax_weights"):
        return values.masked_fill(steps.hidden_weights, -torch.inf)
    return values.masked_fill(steps.hidden, -torch.inf) if name == "masked" else values


def _product(walk: Walk, product: MatrixProduct) -> dict[str, Any]:
    bias = None if product.bias is None else _matrix(walk, product.bias).tolist()
    return {"left": product.left, "right": product.right, "bias": bias}


def describe(layout: Layout) -> str:
    """Return the alternative text of a picture, one sentence."""
    panels = [panel for row in layout.grid for panel in row if panel is not None]
    return f"Heatmaps: {'; '.join(panel.text for panel in panels)}."
