"""Panels in a grid: their places, labels, titles and the numbers in their cells."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.figures.compose import compose
from attnviz.figures.panels import Layout, Panel, Pin, place_panels
from attnviz.figures.style import DARK, LIGHT, Palette, shorten

LABELS = {"query": ["a", "b"], "key": ["x", "y", "z"]}


def panel(name: str = "scores", values: Any = ((1, 2, 3), (4, 5, 6)), **options: Any) -> Panel:
    return Panel(name, name, np.array(values, np.float32), **{"rows": "query", "cols": "key", **options})


def product() -> Layout:
    right = panel("key_t", [[1, 2, 3]] * 4, rows="dim")
    left = panel("query", [[1, 2, 3, 4]] * 2, cols="dim")
    return Layout(((None, right), (left, panel(bar=True))), (1, 3), (2, 1), between="Q · Kᵀ <")


def test_panels_share_the_figure_by_their_widths_and_heights_and_none_lies_over_another() -> None:
    right, left, result = place_panels(product())
    assert [one.axis for one in (right, left, result)] == [1, 2, 3]
    assert [one.suffix for one in (right, left, result)] == ["", "2", "3"]
    assert [(one.bottom, one.leftmost) for one in (right, left, result)] == [(False, True), (True, True), (True, False)]
    sizes = [(one.box[1] - one.box[0], one.box[3] - one.box[2]) for one in (right, left, result)]
    assert sizes[0][0] == pytest.approx(3 * sizes[1][0])
    assert sizes[0][1] == pytest.approx(2 * sizes[1][1])
    assert sizes[2] == pytest.approx((sizes[0][0], sizes[1][1]))
    assert right.box[:2] == result.box[:2]
    assert left.box[2:] == result.box[2:]
    assert (left.box[0], left.box[2], right.box[1], right.box[3]) == pytest.approx((0, 0, 1, 1))
    for one, other in combinations((right, left, result), 2):
        apart_x = max(one.box[0], other.box[0]) - min(one.box[1], other.box[1])
        apart_y = max(one.box[2], other.box[2]) - min(one.box[3], other.box[3])
        assert max(apart_x, apart_y) > 0.04


def test_labels_are_below_the_lowest_and_beside_the_leftmost_and_the_operation_is_in_the_empty_corner() -> None:
    spec = compose(product(), LABELS)
    go.Figure(spec)
    layout = spec["layout"]
    assert [layout[f"xaxis{n}"]["showticklabels"] for n in ("", "2", "3")] == [False, True, True]
    assert [layout[f"yaxis{n}"]["showticklabels"] for n in ("", "2", "3")] == [True, True, False]
    assert layout["xaxis3"]["title"]["text"] == "key (to)"
    assert layout["yaxis2"]["title"]["text"] == "query (from)"
    assert layout["yaxis3"]["title"]["text"] == layout["xaxis"]["title"]["text"] == ""
    assert layout["xaxis3"]["ticktext"] == ["x", "y", "z"]
    assert layout["xaxis2"]["ticktext"] == ["0", "1", "2", "3"]
    assert (layout["xaxis3"]["tickangle"], layout["xaxis2"]["tickangle"]) == (-55, 0)
    assert (layout["xaxis3"]["range"], layout["yaxis3"]["range"]) == ([-0.5, 2.5], [1.5, -0.5])
    operation = layout["annotations"][-1]
    right, left, _ = place_panels(product())
    assert (operation["text"], operation["x"]) == ("Q · Kᵀ &lt;", left.box[0])
    assert right.box[2] < operation["y"] < right.box[3]
    without = compose(Layout(((panel(),),), (1,), (1,)), LABELS)["layout"]
    assert len(without["annotations"]) == 1
    assert layout["margin"]["r"] > without["margin"]["r"]  # the colour bar
    long = compose(product(), {"query": ["a" * 11, "b"], "key": ["x" * 12, "y", "z"]})["layout"]["margin"]
    longer = compose(product(), {"query": ["a" * 12, "b"], "key": ["x" * 99, "y", "z"]})["layout"]["margin"]
    assert long["l"] > layout["margin"]["l"] and long["b"] > layout["margin"]["b"]
    assert longer["l"] > long["l"] and longer["b"] == long["b"]  # labels have 12 letters at most


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_a_title_has_the_shape_the_range_and_the_colour_of_its_quantity(palette: Palette) -> None:
    values = [[np.nan, -1, 2], [3.5, 0, 1]]
    titles = compose(Layout(((panel("query", values), panel("other", values)),), (1, 1), (1,)), LABELS, palette=palette)
    query, other = titles["layout"]["annotations"]
    assert query["text"].startswith("<b>query</b>")
    assert "2 × 3 · −1.00 … 3.50<" in query["text"]
    assert (query["font"]["color"], other["font"]["color"]) == (palette.text_ink.query, None)
    sums = compose(Layout(((panel("row_sum", [[1], [1]], cols=""),),), (1,), (1,)), LABELS)["layout"]["annotations"]
    assert sums[0]["text"].endswith("2 × 1</span>")


@pytest.mark.parametrize(
    ("values", "options", "written"),
    [
        ([[9.99, -9.99]], {}, [["9.99", "−9.99"]]),
        ([[9.996, 0]], {}, [["10.0", "0.0"]]),
        ([[-9.996, np.nan]], {}, [["−10.0", ""]]),
        ([[-0.001, 0.125]], {}, [["0.00", "0.12"]]),
        ([[0.5] * 16] * 16, {}, [["0.50"] * 16] * 16),
        ([[0.5] * 17], {}, None),
        ([[0.5]] * 17, {}, None),
        ([[0.5]], {"numbered": False}, None),
    ],
)
def test_small_matrices_have_numbers_that_fit(
    values: Any, options: dict[str, Any], written: list[list[str]] | None
) -> None:
    (cells,) = compose(Layout(((panel(values=values, rows="dim", cols="dim", **options),),), (1,), (1,)), LABELS)[
        "data"
    ]
    assert cells.get("text") == written
    assert cells.get("texttemplate") == (written and "%{text}")


@pytest.mark.parametrize(
    ("values", "options", "domain"),
    [
        ([[1, -4]], {}, (-4, 4)),
        ([[1, np.nan]], {"limit": 3}, (-3, 3)),
        ([[0.5, 0.25]], {"scale": "weights"}, (0, 0.5)),
        ([[0.5, 0.25]], {"scale": "weights", "limit": 1.0}, (0, 1)),
        ([[0, 0]], {}, (-1, 1)),
        ([[np.nan, np.nan]], {}, (-1, 1)),
    ],
)
def test_the_colours_end_where_they_should(values: Any, options: dict[str, Any], domain: tuple[float, float]) -> None:
    (cells,) = compose(Layout(((panel(values=values, **options),),), (1,), (1,)), LABELS)["data"]
    assert (cells["zmin"], cells["zmax"]) == domain
    assert cells["colorscale"] == (LIGHT.weights if "scale" in options else LIGHT.signed)


@pytest.mark.parametrize(("size", "hidden", "gap"), [(48, False, True), (49, False, False), (48, True, False)])
def test_cells_are_apart_where_there_are_few_and_no_hatching_shows_through(size: int, hidden: bool, gap: bool) -> None:
    values = np.ones((2, size))
    values[1, -1] = np.nan if hidden else 1
    spec = compose(Layout(((panel(values=values),),), (1,), (1,)), LABELS | {"key": ["x"] * size})
    assert ("xgap" in spec["data"][0]) == gap
    assert [(one["x"], one["y"], one["sizex"], one["sizey"]) for one in spec["layout"]["images"]] == (
        [(-0.5, -0.5, size, 2)] if hidden else []
    )


@pytest.mark.parametrize(("keys", "first"), [(50, ["w0", "w1"]), (51, ["0 w0", "2 w2"]), (102, ["0 w0", "4 w4"])])
def test_labels_that_do_not_fit_are_left_out_and_the_rest_have_numbers(keys: int, first: list[str]) -> None:
    """A label of a column takes 11 of 560 pixels."""
    spec = compose(
        Layout(((panel(values=np.ones((1, keys))),),), (1,), (1,)),
        {"query": ["a"], "key": [f"w{n}" for n in range(keys)]},
    )
    axis = spec["layout"]["xaxis"]
    assert axis["ticktext"][:2] == first
    assert list(axis["tickvals"])[1] == int(first[1].split("w")[-1])
    assert max(axis["tickvals"]) < keys


def test_labels_of_rows_are_left_out_where_their_panel_is_low() -> None:
    """A label of a row takes 9 of 380 pixels."""

    def labelled(rows: int, *grid: int) -> list[str]:
        one = panel(values=np.ones((rows, 1)))
        layout = Layout(tuple((one,) * count for count in grid), (1,) * grid[0], (1,) * len(grid))
        spec = compose(layout, {"query": [f"w{n}" for n in range(rows)], "key": ["x"]})
        return list(spec["layout"]["yaxis"]["ticktext"][:2])

    assert [labelled(rows, 1) for rows in (42, 43)] == [["w0", "w1"], ["0 w0", "2 w2"]]
    assert labelled(30, 3) == ["w0", "w1"], "beside each other they are as high as the figure"
    assert labelled(30, 1, 1) == ["0 w0", "2 w2"]


def test_a_title_is_above_its_matrix() -> None:
    titles = compose(product(), LABELS)["layout"]["annotations"]
    for one, title in zip(place_panels(product()), titles, strict=False):
        assert (title["x"], title["y"], title["yanchor"]) == (one.box[0], one.box[3], "bottom")


def test_pins_beyond_a_matrix_outline_nothing() -> None:
    layout = Layout(((panel(),),), (1,), (1,))
    found = [
        len(compose(layout, LABELS, pin=Pin(*at))["layout"]["shapes"]) for at in ((1, 2), (2, 3), (1, None), (0, 0))
    ]
    assert found == [2, 0, 1, 2]


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [("abcdefghijkl", 12, "abcdefghijkl"), ("abcdefghijklm", 12, "abcdef…ijklm"), ("abcdef", 5, "ab…ef")],
)
def test_a_label_is_as_long_as_it_may_be(text: str, limit: int, short: str) -> None:
    assert shorten(text, limit) == short
