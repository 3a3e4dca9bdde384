"""Pictures as PNG: each cell has its colour and its number, hidden cells are hatched, texts stand where they should."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFont

from attnviz.export.drawing import fonts
from attnviz.export.drawing.marks import THEMES, Drawing, Gradient, Text
from attnviz.export.files import images
from attnviz.export.files.images import write_png
from attnviz.export.sheets import draw_sheet, sheets
from tests.unit.export.test_walk import causal_toy


def pixels(drawing: Drawing) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(write_png(drawing, 2))).convert("RGB"))


@pytest.mark.parametrize("theme", THEMES)
def test_each_cell_has_its_colour_and_hidden_ones_are_hatched(theme: str) -> None:
    drawing = draw_sheet(sheets(causal_toy(), ["masked"], THEMES[theme])[0])
    seen = pixels(drawing)
    assert seen.shape == (1440, 2560, 3)
    assert drawing.matrices
    for matrix in drawing.matrices:
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                x, y, width, height = matrix.box(i, j)
                # Beside the number, near the upper left corner.
                cell = seen[
                    round(2 * y) + 3 : round(2 * (y + height / 5)), round(2 * x) + 3 : round(2 * (x + width)) - 3
                ]
                colours = {tuple(colour) for colour in cell.reshape(-1, 3).tolist()}
                if matrix.hidden[i, j]:
                    assert len(colours) == 2
                else:
                    assert colours == {tuple(matrix.colours[i, j].tolist())}


def ink(drawing: Drawing) -> tuple[int, int, int, int]:
    """Return the box of all that is not paper: left, top, right, bottom, in the drawing's own pixels."""
    dark = (pixels(drawing) != pixels(Drawing(drawing.width, drawing.height, ()))).any(-1)
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    return columns[0] // 2, rows[0] // 2, columns[-1] // 2, rows[-1] // 2


def test_texts_are_anchored_and_turned() -> None:
    word = "Hamburg"
    wide = fonts.width(word, 20)
    for anchor, left in (("start", 100), ("middle", 100 - wide / 2), ("end", 100 - wide)):
        text = Text(100, 100, word, 20, "#000000", anchor=anchor)  # type: ignore[arg-type]
        box = ink(Drawing(200, 200, (text,)))
        assert box[0] == pytest.approx(left + 2, abs=2)
        assert box[2] == pytest.approx(left + wide - 2, abs=2)
        assert 80 < box[1] < box[3] <= 106
    turned = ink(Drawing(200, 200, (Text(100, 100, word, 20, "#000000", turn=90),)))  # upwards
    assert turned[1] == pytest.approx(100 - wide, abs=3)
    assert turned[3] == pytest.approx(99, abs=3)
    assert 80 < turned[0] < turned[2] <= 106


def test_a_colour_bar_runs_from_its_first_colour_at_the_top_to_its_last() -> None:
    seen = pixels(Drawing(40, 120, (Gradient(10, 10, 12, 100, ("#FF0000", "#00FF00", "#0000FF")),)))
    assert seen[21, 30].tolist() == pytest.approx([255, 0, 0], abs=4)
    assert seen[120, 30].tolist() == pytest.approx([0, 255, 0], abs=4)
    assert seen[218, 30].tolist() == pytest.approx([0, 0, 255], abs=4)


def test_a_pillow_that_reads_no_woff2_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Text(10, 40, "Hamburg 12", 20, "#000000"), Text(110, 40, "Σ bold", 20, "#000000", bold=True)
    usual = pixels(Drawing(200, 60, texts)).astype(int)
    real = ImageFont.truetype

    def no_woff2(font: Any, *args: Any, **kwargs: Any) -> ImageFont.FreeTypeFont:
        if isinstance(font, str):
            raise OSError("unknown file format")
        return real(font, *args, **kwargs)

    monkeypatch.setattr(ImageFont, "truetype", no_woff2)
    images._font.cache_clear()
    instead = pixels(Drawing(200, 60, texts))
    images._font.cache_clear()
    assert (usual != 255).any()
    assert np.abs(instead - usual).mean() < 1  # the edges of letters may differ by a shade
