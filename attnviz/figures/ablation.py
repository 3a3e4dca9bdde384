"""The plot of all heads by a measure of their attention and by their effect on the output."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from attnviz.figures.plots import ABOVE, Spec, axis, figure
from attnviz.figures.style import Palette

Head = tuple[int, int]

BESIDE, LARGE = 340, 420
"""px: the height of the plot, and in a lecture"""
LEAST = 1e-7
"""The smallest effect on a logarithmic axis: smaller ones are float32's rounding, and are drawn here"""
NUMBERED = 6
"""The most switched-off heads that are named in the plot of effects"""


def against(
    measure: Sequence[float], effects: Sequence[float], off: Collection[Head], palette: Palette, *, title: str,
    heads: int, height: int = BESIDE,
) -> Spec:  # fmt: skip
    """Return the figure of all heads as points: a measure of attention to the right, the effect upwards.

    Args:
        measure: a number for each head, layer by layer, (L · H,).
        effects: 1 − cosine of each head, in the same order.
        off: the heads that are switched off, which are marked and named.
        palette: the colours of the theme.
        title: the title of the measure, with its unit.
        heads: H.
        height: in px.
    """
    places = [divmod(number, heads) for number in range(len(effects))]
    raised = [max(effect, LEAST) for effect in effects]
    last = places[-1][0]
    data = []
    for name, is_last in (("other layers", False), (f"layer {last}", True)):
        chosen = [n for n, place in enumerate(places) if (place[0] == last) == is_last and place not in off]
        points = _points(name, chosen, places, measure, raised, palette)
        points["marker"] |= {"symbol": "circle" if is_last else "circle-open"}
        data.append(points)
    crossed = [n for n, place in enumerate(places) if place in off]
    marks = _points("switched off", crossed, places, measure, raised, palette)
    marks["marker"] = {"symbol": "x", "size": 11, "color": palette.ink.key}
    if len(crossed) <= NUMBERED:
        names = [f"{layer} · {head}" for layer, head in (places[n] for n in crossed)]
        marks |= {"mode": "markers+text", "text": names, "textposition": "top center"}
    effect = axis("1 − cosine", palette, type="log", dtick=1, exponentformat="none", fixedrange=True)
    return figure(
        [*data, marks], palette, height, legend=ABOVE, xaxis=axis(title, palette, fixedrange=True), yaxis=effect,
        dragmode=False, clickmode="event+select",
    )  # fmt: skip


def _points(
    name: str, chosen: Sequence[int], places: Sequence[Head], x: Sequence[float], y: Sequence[float], palette: Palette
) -> dict[str, Any]:
    """Return the trace of the heads with the numbers `chosen`."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [x[n] for n in chosen],
        "y": [y[n] for n in chosen],
        "marker": {"size": 9, "color": palette.ink.attention, "line": {"width": 1.5, "color": palette.ink.attention}},
        "customdata": [list(places[n]) for n in chosen],
        "hovertemplate": "layer %{customdata[0]} · head %{customdata[1]}<br>%{x:.3g} · 1 − cosine %{y:.3g}"
        "<extra></extra>",
        "cliponaxis": False,
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
    }
