"""The board's modules one at a time in the browser: layout, pooling, numbers, and the morph as a function of t."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.apps.sight import serving
from tests.browser.test_frontend_modules import imported


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """Serve the packaged files."""
    with serving() as url:
        yield url


def product(rows: int, inner: int, cols: int) -> dict[str, Any]:
    """Describe left (rows, inner) @ right (inner, cols) = result as the board is told of it."""
    panels = [
        {"name": "key_t", "title": "Kᵀ", "shape": [inner, cols], "rows": "dim", "cols": "key"},
        {"name": "query", "title": "Q", "shape": [rows, inner], "rows": "query", "cols": "dim"},
        {"name": "scores", "title": "scores", "shape": [rows, cols], "rows": "query", "cols": "key", "bar": True},
    ]
    labels = {"query": [f"word{i}" for i in range(rows)], "key": [f"word{i}" for i in range(cols)]}
    grid = [[None, 0], [1, 2]]
    return {"panels": panels, "grid": grid, "widths": [0.4, 0.6], "heights": [0.4, 0.6], "labels": labels}


PLACE = """
  const span = (kind, count) => count;
  const size = { width: given.width, height: given.height };
  const found = m.place(given.picture, size, { widthOf: (text) => 7 * text.length, span });
  return found.map(({ panel, x, y, width, height, rowLabels, columnLabels }) =>
    ({ name: panel.name, x, y, width, height, rowLabels, columnLabels }));
"""


@pytest.mark.parametrize(("rows", "inner", "cols"), [(1, 2, 1), (4, 8, 4), (11, 8, 11), (16, 32, 16), (512, 64, 512)])
@pytest.mark.parametrize(("width", "height"), [(366, 420), (640, 430), (1150, 800)])
def test_operands_line_up_with_their_product_and_nothing_leaves_the_picture(
    page: Page, served: str, rows: int, inner: int, cols: int, width: int, height: int
) -> None:
    given = {"picture": product(rows, inner, cols), "width": width, "height": height}
    places = {place["name"]: place for place in imported(page, served, "board_layout.js", PLACE, given)}
    left, right, result = places["query"], places["key_t"], places["scores"]
    assert (left["y"], left["height"]) == pytest.approx((result["y"], result["height"]))
    assert (right["x"], right["width"]) == pytest.approx((result["x"], result["width"]))
    assert left["x"] + left["width"] < result["x"]
    assert right["y"] + right["height"] < result["y"]
    for place in places.values():
        assert min(place["width"], place["height"]) > 0
        assert place["x"] >= 0
        assert place["x"] + place["width"] <= width
        assert place["y"] + place["height"] <= height
    assert left["rowLabels"]
    assert not result["rowLabels"]
    assert result["columnLabels"]


def test_cells_have_one_size_where_there_is_room(page: Page, served: str) -> None:
    given = {"picture": product(6, 8, 6), "width": 900, "height": 600}
    places = {place["name"]: place for place in imported(page, served, "board_layout.js", PLACE, given)}
    sizes = {(round(p["width"] / n, 6), round(p["height"] / m, 6)) for p, (m, n) in (
        (places["query"], (6, 8)), (places["key_t"], (8, 6)), (places["scores"], (6, 6)),
    )}  # fmt: skip
    assert len(sizes) == 1


def test_a_long_label_shortens_in_the_middle_to_its_room(page: Page, served: str) -> None:
    body = "return given.map(([text, room]) => m.shorten(text, room, (t) => 10 * Array.from(t).length))"
    said = imported(
        page, served, "board_layout.js", body, [["short", 50], ["abcdefghij", 60], ["🙂🙃🙂🙃", 30], ["x", 1]]
    )
    assert said == ["short", "abc…ij", "🙂…🙃", "…"]


def test_thinned_labels_say_which_they_are(page: Page, served: str) -> None:
    many = [f"w{i}" for i in range(40)]
    body = """
      const few = given.slice(0, 10);
      return [m.labelText(given, 8, 1), m.labelText(given, 8, 4), m.labelText(few, 8, 4), m.ticks(0, 40, 3, 11)];
    """
    alone, thinned, few, shown = imported(page, served, "board_layout.js", body, many)
    assert (alone, thinned, few) == ("w8", "8 w8", "w8")
    assert shown == {"shown": list(range(0, 40, 4)), "every": 4}


def test_pooling_keeps_the_largest_of_each_block_and_its_sign(page: Page, served: str) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(50, 70)).astype(np.float32)
    matrix[3, 69] = -99
    matrix[10:20, 10:20] = np.nan
    body = """
      const data = Float32Array.from(given.data.map((x) => x ?? NaN));
      const { data: pooled, shape } = m.pool(data, [50, 70], { rows: 10.5, cols: 7 });
      return { shape, pooled: [...pooled].map((x) => Number.isNaN(x) ? null : x) };
    """
    listed = [None if np.isnan(x) else float(x) for x in matrix.ravel()]
    found = imported(page, served, "board_image.js", body, {"data": listed})
    assert found["shape"] == [10, 7]
    blocks = matrix.reshape(10, 5, 7, 10).transpose(0, 2, 1, 3).reshape(10, 7, 50)
    for row, line in enumerate(blocks):
        for col, block in enumerate(line):
            seen = block[~np.isnan(block)]
            got = found["pooled"][row * 7 + col]
            if seen.size:
                assert got == pytest.approx(float(seen[np.abs(seen).argmax()]))
            else:
                assert got is None


@pytest.mark.parametrize(
    ("panel", "cell", "way"),
    [
        ({"largest": 3.2, "low": -4, "scale": "signed"}, [40, 20], (2, False)),
        ({"largest": 13.4, "low": -14, "scale": "signed"}, [40, 20], (1, False)),
        ({"largest": 1, "low": 0, "scale": "weights"}, [30, 20], (2, False)),
        ({"largest": 1, "low": 0, "scale": "weights"}, [13, 20], (2, True)),
        ({"largest": 1, "low": 0, "scale": "weights"}, [6, 20], None),
        ({"largest": 0.6, "low": -0.6, "scale": "signed"}, [16, 20], (2, True)),
        ({"largest": 3.2, "low": -4, "scale": "signed"}, [40, 6], None),
    ],
)
def test_numbers_are_written_while_they_fit(
    page: Page, served: str, panel: dict[str, Any], cell: list[int], way: tuple[int, bool] | None
) -> None:
    body = "return m.numbering(given.panel, { width: given.cell[0], height: given.cell[1] })"
    found = imported(page, served, "board_paint.js", body, {"panel": panel, "cell": cell})
    assert (found and (found["decimals"], found["bare"])) == way


MORPH = """
  const place = (name, data, x) => ({
    panel: { name, data: Float32Array.from(data), shape: [2, 2] }, x, y: 0, width: 10, height: 10,
  });
  const before = [place('scaled', [1, 2, 3, 4], 0), place('masked', [1, 2, 3, 4], 20)];
  const after = [
    place('masked', [1, 2, 3, 4], 0), place('weights', [0.1, 0.9, 0.5, 0.5], 20), place('row_sum', [1, 1, 1, 1], 40),
  ];
  const pixelsOf = ({ panel }) => ({
    pixels: Uint32Array.from(panel.data, (x) => (0xff000000 | Math.round(x * 40)) >>> 0), width: 2, height: 2,
  });
  const at = (t) => m.pairs(before, after).map((pair) => {
    const shown = m.between(pair, t);
    const cells = shown.mix ? [...m.mixed(shown.mix, pixelsOf).pixels].map((p) => p & 0xff) : null;
    const [from, to] = [pair.from, pair.to].map((end) => end?.panel.name ?? null);
    return { from, to, x: shown.x, alpha: shown.alpha, cells };
  });
  return given.map(at);
"""


def test_the_morph_is_a_function_of_t_from_the_one_picture_to_the_other(page: Page, served: str) -> None:
    start, middle, end = imported(page, served, "board_morph.js", MORPH, [0, 0.5, 1])
    assert [(pair["from"], pair["to"]) for pair in start] == [
        ("masked", "masked"), ("masked", "weights"), (None, "row_sum"), ("scaled", None),
    ]  # fmt: skip
    moved, normalised, comes, goes = start
    assert (moved["x"], normalised["x"]) == (20, 20)
    assert normalised["cells"] == [40, 80, 120, 160]
    assert (comes["alpha"], goes["alpha"]) == (0, 1)
    moved, normalised, comes, goes = end
    assert (moved["x"], normalised["x"]) == (0, 20)
    assert normalised["cells"] == [4, 36, 20, 20]
    assert (comes["alpha"], goes["alpha"]) == (1, 0)
    top, bottom = middle[1]["cells"][:2], middle[1]["cells"][2:]
    assert top == [4, 36], "the softmax normalises the upper row first"
    assert bottom[0] not in (20, 120)


def test_an_axis_zooms_about_a_cell_and_never_leaves_its_matrix(page: Page, served: str) -> None:
    body = """
      const views = new m.AxisViews();
      const seen = [];
      const note = () => seen.push(views.of('key', 100));
      views.zoom('key', 100, 30, 0.5); note();
      views.scroll('key', 100, 500); note();
      views.reveal('key', 100, 3); note();
      views.zoom('key', 100, 10, 1e-9); note();
      views.zoom('key', 100, 10, 1e9); note();
      return { seen, zoomed: views.zoomed, other: views.of('query', 7) };
    """
    found = imported(page, served, "board_view.js", body)
    assert found["seen"] == [[15, 65], [50, 100], [3, 53], pytest.approx([10 - 4 * 7 / 50, 14 - 4 * 7 / 50]), [0, 100]]
    assert not found["zoomed"]
    assert found["other"] == [0, 7]
