"""Serialises a layout for the board in the browser: a JSON header, and the matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.figures.panels import Layout, Panel
from attnviz.steps.picture import MADE_FROM, ROLE

Arrays = dict[str, npt.NDArray[np.float32]]


def board_picture(layout: Layout, labels: Mapping[str, Sequence[str]]) -> tuple[dict[str, Any], Arrays]:
    """Serialise a layout for the board.

    Args:
        layout: the matrices and their places.
        labels: the tokens of the axis kinds "query" and "key".

    Returns:
        The header (`panels`, `grid` of panel numbers, `widths`, `heights`, `products`, `between`, `labels`) and the
        matrices, (rows, cols) float32 each, keyed by the panel's number as a string.
    """
    panels = [panel for row in layout.grid for panel in row if panel is not None]
    numbers = {id(panel): index for index, panel in enumerate(panels)}
    header = {
        "panels": [_describe(panel) for panel in panels],
        "grid": [[None if panel is None else numbers[id(panel)] for panel in row] for row in layout.grid],
        "widths": list(layout.widths),
        "heights": list(layout.heights),
        "products": layout.products,
        "between": layout.between,
        "labels": {kind: list(tokens) for kind, tokens in labels.items()},
    }
    return header, {str(index): panel.values for index, panel in enumerate(panels)}


def _describe(panel: Panel) -> dict[str, Any]:
    limit = panel.limit if panel.limit is not None else panel.largest or 1.0
    signed = panel.scale == "signed"
    described: dict[str, Any] = {
        "name": panel.name,
        "title": panel.title,
        "role": ROLE.get(panel.name),
        "rows": panel.rows,
        "cols": panel.cols,
        "low": -limit if signed else 0.0,
        "high": limit,
        "scale": panel.scale,
        "numbered": panel.numbered,
        "bar": panel.bar,
    }
    if panel.name in MADE_FROM:
        described["made_from"] = asdict(MADE_FROM[panel.name])
    if panel.col_ticks:
        described["ticks"] = panel.col_ticks
    if panel.parts is not None:
        described["parts"] = {"width": panel.parts[0], "followed": panel.parts[1]}
    return described
