"""Bars: their numbers, their order, and labels that are shown as they are."""

from __future__ import annotations

import plotly.graph_objects as go

from attnviz.figures.plots import bars
from attnviz.figures.style import DARK, LIGHT

LABELS = ["first", "second", "<b>third</b>"]


def test_bars_carry_their_numbers_and_the_first_label_is_at_the_top() -> None:
    figure = bars({"own": [11.72, 0, 0.0092], "<i>other</i>": [23.4, 0.6, 109]}, LABELS, LIGHT, title="millions")
    own, other = figure["data"]
    assert own["text"] == ["11.7", "", "0.0092"]
    assert other["text"] == ["23.4", "0.6", "109"]
    assert other["name"] == "&lt;i&gt;other&lt;/i&gt;"
    layout = figure["layout"]
    assert layout["yaxis"]["ticktext"] == ["first", "second", "&lt;b&gt;third&lt;/b&gt;"]
    assert layout["yaxis"]["autorange"] == "reversed"
    assert layout["xaxis"]["range"][0] == 0
    assert layout["xaxis"]["range"][1] > 109
    assert layout["showlegend"]
    go.Figure(figure)


def test_one_name_needs_no_legend_and_more_labels_need_more_room() -> None:
    few, many = (bars({"own": [1.0] * n}, ["x"] * n, DARK, title="")["layout"] for n in (2, 9))
    assert not few["showlegend"]
    assert few["height"] < many["height"]
    go.Figure(bars({"own": [0.0]}, ["x"], DARK, title=""))
