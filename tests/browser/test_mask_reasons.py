"""Why a mask hides a cell: the browser says it as Python does, in words, hatchings and legends."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pytest

from attnviz.figures.style import DARK, hatching
from attnviz.mask_reasons import REASONS, MaskReasons, Reason, legend
from attnviz.toy.block import mask_of
from attnviz.toy.config import ToyConfig
from tests.browser.modules import Run

SETTINGS = [
    {"causal": causal, "window": window, "padding": padding}
    for causal in (False, True)
    for window in (None, 1, 4, 6)
    for padding in (0, 2, 9)
]

ALL = """
  return given.map(({ reasons, n }) => {
    const at = Array.from({ length: n }, (_, i) => i);
    const codes = at.map((q) => at.map((k) => m.reasonOf(reasons, q, k)));
    const boxes = at.map(() => at.map(() => null));
    for (const { reason, row, column, rows, columns } of m.reasonBoxes(reasons, [n, n])) {
      for (let q = row; q < row + rows; q += 1) {
        for (let k = column; k < column + columns; k += 1) boxes[q][k] = reason;
      }
    }
    return { codes, boxes, legend: m.legend(reasons) };
  });
"""


def reasons_of(settings: dict[str, Any], n: int) -> MaskReasons:
    reasons = MaskReasons.of(mask_of(ToyConfig(**settings), n).hidden((n, n)))
    assert reasons is not None
    return reasons


@pytest.mark.parametrize("n", [1, 2, 9])
def test_cells_boxes_and_legends_are_those_of_python(run: Run, n: int) -> None:
    reasons = [reasons_of(settings, n) for settings in SETTINGS]
    seen = run("core/mask_reasons.ts", ALL, [{"reasons": asdict(each), "n": n} for each in reasons])
    for each, shown in zip(reasons, seen, strict=True):
        codes = each.codes(n, n)
        assert numbers(shown["codes"]) == codes.tolist()
        # What no box covers is hatched as the future is.
        np.testing.assert_array_equal(np.maximum(numbers(shown["boxes"]), codes > 0), codes)
        assert shown["legend"] == legend(codes)


def numbers(names: list[list[Reason | None]]) -> list[list[int]]:
    return [[0 if name is None else 1 + REASONS.index(name) for name in row] for row in names]


def cells_in(source: str, n: int) -> list[list[int]]:
    """Return the code of each cell that an image of hatching shows: what is drawn last lies on top."""
    codes = np.zeros((n, n), int)
    for path, reason in re.findall(r"<path d='M([^']*)' fill='url\(#(\w+)\)'/>", unquote(source)):
        for rectangle in path.split("M"):
            x, y, width, height = (float(number) for number in re.findall(r"[\d.]+", rectangle)[:4])
            left, top, right, bottom = (round(edge * n / 240) for edge in (x, y, x + width, y + height))
            codes[top:bottom, left:right] = 1 + REASONS.index(reason)  # type: ignore[arg-type]
    return codes.tolist()


@pytest.mark.parametrize("n", [1, 9])
def test_a_plotly_chart_hatches_each_hidden_cell_for_its_reason(run: Run, n: int) -> None:
    """What no reason covers is hatched as the future is, and lies behind visible cells."""
    reasons = [reasons_of(settings, n) for settings in SETTINGS]
    body = """
      return given.map(({ reasons, n }) => {
        const data = new Float32Array(n * n).fill(NaN);
        const panel = { name: "masked", title: "", rows: "query", cols: "key", low: 0, high: 1, scale: "weights",
          shape: [n, n], data, reasons };
        const labels = { query: Array(n).fill("a"), key: Array(n).fill("a") };
        const picture = { panels: [panel], grid: [[0]], widths: [1], heights: [1], labels, products: {} };
        const { images, annotations } = m.figureOf(picture, { theme: "dark", pin: { q: null, k: null } }).layout;
        return [images[0].source, annotations[0].text];
      });
    """
    figures = run("chart/figure.ts", body, [{"reasons": asdict(each), "n": n} for each in reasons])
    for each, (source, title) in zip(reasons, figures, strict=True):
        codes = each.codes(n, n)
        assert title.endswith(f"{n} × {n}" + (legend(codes) and f" · {legend(codes)}") + "</span>")
        assert cells_in(source, n) == cells_in(hatching(DARK.hatch, codes), n) == np.maximum(codes, 1).tolist()
        assert all(colour in source for colour in map(quote, DARK.hatch["future"]))
