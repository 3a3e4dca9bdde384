"""Plots of the search by meaning: the tokens of query and hit, and a map of all sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnviz.figures.plots import ABOVE, TITLE, Spec, axis, figure, heatmap
from attnviz.figures.style import Palette, cell_texts, escape
from attnviz.formatting import number, percent

if TYPE_CHECKING:
    from torch import Tensor

NUMBERED = 16
"""Up to this many tokens, the cells show their numbers"""
CELL = 28
"""px: the height of a cell with a number"""
MAP, LARGE = 370, 470
"""px: the height of the map, and its height in a lecture"""
LINE, LONGEST, SHORTEST = 50, 220, 90
"""Characters: in a line of a point's tooltip, in the whole text, and in the whole text if there are many points"""
MANY = 1500
"""With more texts than this, points are small and their texts short"""


def token_heatmap(
    cosine: Tensor, query: Sequence[str], hit: Sequence[str], palette: Palette, *, is_large: bool = False
) -> Spec:
    """Return the figure of the cosines of all pairs of tokens, (Tq, Th), with their labels; `is_large` in a lecture."""
    rows, columns = _numbered(query), _numbered(hit)
    spec = heatmap(cosine, rows, columns, palette, across="token of the hit", limit=1.0)
    layout = spec["layout"]
    layout["yaxis"]["title"] = {"text": "token of the query", "standoff": TITLE}
    if max(cosine.shape) <= NUMBERED:
        spec["data"][0] |= {"text": cell_texts(cosine, number), "texttemplate": "%{text}"}
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
    """Return the map of all sentences in a plane. The customdata of a point is the number of its sentence.

    Args:
        texts: the N sentences, and the query last.
        places: (N + 1, 2), in the same order.
        kept: the share of the variance along each axis.
        nearest: the sentences that are nearest to the query in all dimensions, the nearest first.
        hit: the hit that the page shows.
        palette: the colours of the theme.
        is_large: whether it is for a lecture.
    """
    data = _points(texts, places, nearest, hit, palette, 3 if is_large else 0)
    x, y = (f"component {n + 1}: {percent(share, 1)} of the variance" for n, share in enumerate(kept))
    return figure(
        [trace for trace in data if trace["x"]], palette, LARGE if is_large else MAP,
        hovermode="closest", dragmode="pan", clickmode="event+select", showlegend=True, legend=ABOVE,
        xaxis=axis(x, palette), yaxis=axis(y, palette, scaleanchor="x"),
    )  # fmt: skip


UNFADED: Spec = {"selected": {"marker": {}}, "unselected": {"marker": {}}}
"""A click on a point does not fade the others"""


def _points(
    texts: Sequence[str], places: Tensor, nearest: Sequence[int], hit: int, palette: Palette, grown: int
) -> list[Spec]:
    """Return the traces of a map, with points enlarged by `grown` px."""
    ink, are_many = palette.ink, len(texts) > MANY

    def points(name: str, which: Sequence[int], **marker: object) -> Spec:
        chosen, longest = places[list(which)], SHORTEST if are_many else LONGEST
        return {
            "type": "scatter", "mode": "markers", "name": name, "x": chosen[:, 0].tolist(), "y": chosen[:, 1].tolist(),
            "customdata": list(which), "text": [_lines(texts[n], longest) for n in which], "marker": marker,
            "hovertemplate": "%{text}<extra></extra>", **UNFADED,
        }  # fmt: skip

    marked = {*nearest, hit}
    rest = [sentence for sentence in range(len(texts) - 1) if sentence not in marked]
    return [
        points("sentences", rest, color=palette.text, opacity=0.45, size=(4 if are_many else 7) + grown),
        points("best hits", [sentence for sentence in nearest if sentence != hit], color=ink.key, size=10 + grown),
        points("the hit", [hit], color=ink.key, size=15 + grown, line={"width": 3, "color": palette.text}),
        points("query", [len(texts) - 1], color=ink.query, symbol="diamond", size=16 + grown)
        | {"customdata": None, "hovertemplate": "query: %{text}<extra></extra>"},
    ]


def _numbered(labels: Sequence[str]) -> list[str]:
    """Make the labels unique, because the same token may occur twice."""
    return [f"{label} {number}" for number, label in enumerate(labels)]


def _lines(text: str, longest: int) -> str:
    """Shorten a text and break it into lines, for a point's tooltip."""
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "<br>".join(escape(line) for line in textwrap.wrap(short, LINE))
