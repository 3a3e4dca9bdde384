"""What grids of all heads share: a square over each head that takes clicks, and frames around chosen heads."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attnviz.figures.plots import Spec
from attnviz.figures.style import Palette

Head = tuple[int, int]
"""Layer and head"""
TARGET = 34
"""px: of the invisible square over a head"""
INSET = 0.43
"""Half a side of a frame, in cells: frames of neighbours stay apart"""


def targets(said: Mapping[Head, str]) -> Spec:
    """Return the trace of a square for each head, whose customdata is its layer and head.

    Args:
        said: what each says while it is pointed at, after its layer and head.
    """
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [head for _, head in said],
        "y": [layer for layer, _ in said],
        "marker": {"symbol": "square", "size": TARGET, "opacity": 0},
        "customdata": [list(place) for place in said],
        "hovertemplate": [f"layer {layer} · head {head}{text}<extra></extra>" for (layer, head), text in said.items()],
    }


def frames(heads: Collection[Head], palette: Palette) -> list[Spec]:
    """Return a frame around each of these heads."""
    return [
        {
            "type": "rect", "x0": head - INSET, "x1": head + INSET, "y0": layer - INSET, "y1": layer + INSET,
            "line": {"width": 3, "color": palette.ink.key},
        }
        for layer, head in heads
    ]  # fmt: skip
