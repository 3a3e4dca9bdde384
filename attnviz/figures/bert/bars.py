"""Horizontal bars, several beside each other for each label. Plotly draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attnviz.figures.plots import SIDE, Spec, base, labelled
from attnviz.figures.style import Palette, escape

BAR, AROUND = 15, 80
"""px: of one bar, and of the axis and its title"""
BESIDE = 1.18
"""How much longer than the longest bar the axis is, for the number beside it"""


def bars(
    series: Mapping[str, Sequence[float]],
    labels: Sequence[str],
    palette: Palette,
    *,
    title: str,
    bar: int = BAR,
) -> Spec:
    """Return the figure of bars from 0, the first label at the top; beside each its number in three digits, if not 0.

    Args:
        series: the numbers of each colour, by its name: one a label. There are two names at most.
        labels: what the numbers belong to.
        palette: the colours of the theme.
        title: what the numbers are.
        bar: the height of a bar in px.
    """
    colours = (palette.ink.attention, palette.rule)
    largest = max((number for numbers in series.values() for number in numbers), default=0) or 1
    return {
        "data": [_trace(*one, colour) for one, colour in zip(series.items(), colours, strict=False)],
        "layout": {
            **base(palette, AROUND + bar * (len(series) + 1) * len(labels)),
            "margin": {"l": 60, "r": SIDE, "t": 8, "b": 40},
            "barmode": "group",
            "bargap": 0.25,
            "showlegend": len(series) > 1,
            "legend": {"x": 1, "xanchor": "right", "y": 0, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
            "xaxis": {
                "title": {"text": title, "standoff": 6, "font": {"color": palette.text}},
                "automargin": True,
                "range": [0, BESIDE * largest],
                "showgrid": False,  # each bar has its number
                "zeroline": False,
                "nticks": 5,
            },
            "yaxis": labelled(labels, "", palette) | {"autorange": "reversed", "showgrid": False},
        },
    }


def _trace(name: str, numbers: Sequence[float], colour: str) -> Spec:
    """Return the bars of one colour."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": escape(name),
        "x": list(numbers),
        "y": list(range(len(numbers))),
        "text": [f"{number:.3g}" if number else "" for number in numbers],
        "textposition": "outside",
        "textangle": 0,
        "constraintext": "none",
        "cliponaxis": False,
        "marker": {"color": colour},
        "hovertemplate": f"{escape(name)}<br>%{{y}}: <b>%{{x:,}}</b><extra></extra>",
    }
