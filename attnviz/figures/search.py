"""Plots of the search by meaning: the tokens of query and hit, and all sentences in a plane."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnviz.figures.plots import TITLE, Spec, base, heatmap
from attnviz.figures.style import Palette, escape

if TYPE_CHECKING:
    from torch import Tensor

NUMBERED = 16
"""Up to so many tokens the cells have their numbers"""
CELL = 28
"""px: the height of a cell with a number"""
MAP, LARGE = 370, 470
"""px: the height of the map, and in a lecture"""
LINE, LONGEST, SHORTEST = 50, 220, 90
"""Characters: of a line of the text beside a point, of the whole text, and of it where there are many points"""
MANY = 1500
"""From so many points on they are small, and their texts short"""


def token_heatmap(
    cosine: Tensor, query: Sequence[str], hit: Sequence[str], palette: Palette, *, is_large: bool = False
) -> Spec:
    """Return the figure of the cosines of all pairs of tokens, (Tq, Th), with their labels; `is_large` in a lecture."""
    rows, columns = _numbered(query), _numbered(hit)
    spec = heatmap(cosine, rows, columns, palette, across="token of the hit", limit=1.0)
    layout = spec["layout"]
    layout["yaxis"]["title"] = {"text": "token of the query", "standoff": TITLE}
    if max(cosine.shape) <= NUMBERED:
        spec["data"][0]["texttemplate"] = "%{z:.2f}"
        layout["height"] = max(layout["height"], (CELL + 6 * is_large) * len(rows) + 130)
    return spec


def plane_map(
    texts: Sequence[str],
    places: Tensor,
    kept: tuple[float, float],
    nearest: Sequence[int],
    hit: int,
    palette: Palette,
    *,
    is_large: bool = False,
) -> Spec:
    """Return the figure of all sentences in a plane. The customdata of a point is the number of its sentence.

    Args:
        texts: the N sentences, and the query last.
        places: (N + 1, 2), in the same order.
        kept: the share of the variance along each axis.
        nearest: the sentences that are nearest to it in all dimensions, the nearest first.
        hit: the one that is looked at.
        palette: the colours of the theme.
        is_large: in a lecture.
    """
    data = _points(texts, places, nearest, hit, palette, 3 if is_large else 0)
    titles = (f"component {n + 1}: {100 * share:.1f} % of the variance" for n, share in enumerate(kept))
    x, y = ({"title": {"text": title}, "gridcolor": palette.rule, "automargin": True} for title in titles)
    return {
        "data": [one for one in data if one["x"]],
        "layout": {
            **base(palette, LARGE if is_large else MAP),
            "hovermode": "closest", "dragmode": "pan", "clickmode": "event+select",
            "showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            "xaxis": {**x, "zeroline": False}, "yaxis": {**y, "zeroline": False, "scaleanchor": "x"},
        },
    }  # fmt: skip


UNFADED: Spec = {"selected": {"marker": {}}, "unselected": {"marker": {}}}
"""A point that is clicked leaves the others as they are"""


def _points(
    texts: Sequence[str], places: Tensor, nearest: Sequence[int], hit: int, palette: Palette, grown: int
) -> list[Spec]:
    """Return the traces of a map, of points that are larger by `grown` px."""
    ink, are_many = palette.ink, len(texts) > MANY

    def points(name: str, which: Sequence[int], **marker: object) -> Spec:
        chosen, longest = places[list(which)], SHORTEST if are_many else LONGEST
        return {
            "type": "scatter", "mode": "markers", "name": name, "x": chosen[:, 0].tolist(), "y": chosen[:, 1].tolist(),
            "customdata": list(which), "text": [_lines(texts[one], longest) for one in which], "marker": marker,
            "hovertemplate": "%{text}<extra></extra>", **UNFADED,
        }  # fmt: skip

    marked = {*nearest, hit}
    rest = [one for one in range(len(texts) - 1) if one not in marked]
    return [
        points("sentences", rest, color=palette.text, opacity=0.45, size=(4 if are_many else 7) + grown),
        points("best hits", [one for one in nearest if one != hit], color=ink.key, size=10 + grown),
        points("the hit", [hit], color=ink.key, size=15 + grown, line={"width": 3, "color": palette.text}),
        points("query", [len(texts) - 1], color=ink.query, symbol="diamond", size=16 + grown)
        | {"customdata": None, "hovertemplate": "query: %{text}<extra></extra>"},
    ]


def _numbered(labels: Sequence[str]) -> list[str]:
    """Return labels that differ, though tokens may be the same."""
    return [f"{label} {number}" for number, label in enumerate(labels)]


def _lines(text: str, longest: int) -> str:
    """Return a text in lines, shortened, for the box beside a point."""
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "<br>".join(escape(line) for line in textwrap.wrap(short, LINE))
