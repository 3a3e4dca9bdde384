"""What is drawn on a sheet: colours as plotly mixes them, labels beside their rows, and no token left out."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from plotly.colors import sample_colorscale

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe_font_size, wrap
from attnviz.export.drawing.marks import LIGHT_THEME, THEMES, Box, Gradient, Line, Matrix
from attnviz.export.drawing.picture import channels, colour_cells, hexadecimal, ink_on, is_raster, png, ticks
from attnviz.export.files.tikz import picture
from attnviz.export.sheets import draw_sheet, draw_tokens, sheets
from attnviz.figures.panels import Panel
from attnviz.figures.style import AXIS_TITLE, Colours
from attnviz.tokens import CharVocab
from tests.toy import tokens_of
from tests.unit.export.test_walk import causal_toy, luminance, read, toy, weights_of_torch

WORDS = "alpha beta gamma delta epsilon"


def sampled(stops: Colours) -> list[list[int]]:
    """Return 101 colours of a scale as plotly mixes them."""
    scale = [[at, f"rgb{channels(str(colour))}"] for at, colour in stops]
    mixed = sample_colorscale(scale, np.linspace(0, 1, 101).tolist())
    return [[int(channel) for channel in colour[4:-1].split(",")] for colour in mixed]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("scale", "low"), [("signed", -2.0), ("weights", 0.0)])
def test_cells_have_the_colours_of_plotlys_scale(theme: str, scale: str, low: float) -> None:
    palette = THEMES[theme].palette
    values = np.linspace(low, 2, 101, dtype=np.float32)[None]
    stops = palette.signed if scale == "signed" else palette.weights
    found = colour_cells(Panel("any", "", values, "query", "key", 2.0, scale), palette)
    np.testing.assert_allclose(found[0], sampled(stops), atol=1)  # both in whole numbers
    assert np.abs(found[0] - np.array(sampled(stops))).mean() < 0.1


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_are_in_the_ink_that_is_read_well_on_their_cell(theme: str) -> None:
    palette = THEMES[theme].palette
    for stops in (palette.signed, palette.weights):
        for colour in sampled(stops):
            light, dark = sorted((luminance(ink_on(colour)), luminance(hexadecimal(colour))), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, colour


@pytest.mark.parametrize(
    ("step", "colours"),
    [("weights", ("#5E3C99", "#FFFFFF")), ("scores", ("#5E3C99", "#B2ABD2", "#FFFFFF", "#FDB863", "#B35806"))],
)
def test_a_colour_bar_has_its_largest_number_on_top(step: str, colours: tuple[str, ...]) -> None:
    drawing = draw_sheet(sheets(causal_toy(), [step])[0])
    (bar,) = [mark for mark in drawing.flat if isinstance(mark, Gradient)]
    beside = [text for text in drawing.texts if text.x > bar.x and bar.y < text.y <= bar.y + bar.height]
    numbers = [read(text.text) for text in sorted(beside, key=lambda text: text.y)]
    largest = float(causal_toy().steps.scores.abs().max())
    assert numbers == pytest.approx([1, 0.5, 0] if step == "weights" else [largest, 0, -largest], abs=0.05)
    assert bar.colours == colours


def test_each_label_is_beside_its_row_or_below_its_column() -> None:
    drawing = draw_sheet(sheets(toy(WORDS), ["weights"])[0])
    weights = next(matrix for matrix in drawing.matrices if matrix.name == "weights")
    masked = next(matrix for matrix in drawing.matrices if matrix.name == "masked")
    for i, word in enumerate(WORDS.split()):
        middles = [text.y - 0.33 * text.size for text in drawing.texts if text.text == word and text.x < masked.x]
        assert middles == [pytest.approx(masked.y + (i + 0.5) * masked.cell[1])]
        below = [text.x for text in drawing.texts if text.text == word and text.y > weights.y + weights.height]
        assert [x for x in below if x > weights.x] == [
            pytest.approx(weights.x + (i + 0.5) * weights.cell[0], abs=weights.cell[0] / 3)
        ]
    titles = {text.text: text for text in drawing.texts}
    assert titles[AXIS_TITLE["query"]].turn == 90
    assert titles[AXIS_TITLE["key"]].turn == 0


def test_a_matrix_has_its_name_its_shape_and_its_range_above_it() -> None:
    walk = causal_toy()
    drawing, expected = draw_sheet(sheets(walk, ["weights"])[0]), weights_of_torch(walk)
    weights = next(matrix for matrix in drawing.matrices if matrix.name == "weights")
    above = sorted(
        (text for text in drawing.texts if text.x == weights.x and text.y < weights.y), key=lambda text: text.y
    )
    name, about = above[-2:]
    assert name.bold and name.text.startswith("weights") and weights.y - 40 < name.y < about.y - about.size
    shape, _, ends = about.text.partition(" · ")
    assert shape == "5 × 5"
    smallest = expected[np.tril_indices(5)].min()
    assert [read(end) for end in ends.split(" … ")] == pytest.approx([smallest, expected.max()], abs=5e-3)


def test_the_head_of_the_page_is_framed_in_the_concatenation() -> None:
    drawing = draw_sheet(sheets(toy(WORDS, heads="4"), ["concat"])[0])  # head 1
    concat = next(matrix for matrix in drawing.matrices if matrix.name == "concat")
    (frame,) = [mark for mark in drawing.flat if isinstance(mark, Box) and mark.line == 3]
    wide = concat.width / 4
    assert (frame.x, frame.width, frame.y) == pytest.approx((concat.x + wide, wide, concat.y))
    between = [mark.x1 for mark in drawing.flat if isinstance(mark, Line) and mark.x1 == mark.x2]
    assert between == pytest.approx([concat.x + wide, concat.x + 2 * wide, concat.x + 3 * wide])


@pytest.mark.parametrize("count", [1, 7, 60, 256])
def test_a_table_of_tokens_has_each_token_once(count: int) -> None:
    tokens = tokens_of(range(1000, 1000 + count), [f"t{i}" for i in range(count)])
    tables = draw_tokens(tokens, LIGHT_THEME, x=44, y=100, width=1192, height=490)
    assert {table.rows[0] for table in tables} == {("#", "token", "id")}
    rows = [row for table in tables for row in table.rows[1:]]
    assert rows == [(str(i), f"t{i}", str(1000 + i)) for i in range(count)]


def test_a_character_without_an_id_has_a_dash() -> None:
    tokens = CharVocab.from_text("ab").tokenize("a?")
    ((_, *rows),) = [table.rows for table in draw_tokens(tokens, LIGHT_THEME, x=44, y=100, width=1192, height=490)]
    assert [row[1:] for row in rows] == [("a", "0"), ("?", "–")]


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=20))
def test_wrapped_lines_hold_the_text_or_its_beginning_and_an_ellipsis(words: list[str]) -> None:
    lines = wrap(" ".join(words), 300, 20, 2)
    joined = " ".join(lines)
    if joined.endswith("…"):
        assert " ".join(words).startswith(joined[:-1])
        assert fonts.width(f"{' '.join(words)}", 20) > 300
        assert fonts.width(lines[-1], 20) > 150, "the last line is full"
    else:
        assert joined == " ".join(words)


def test_hidden_cells_of_a_large_matrix_are_hatched_and_the_others_not() -> None:
    values = np.zeros((40, 30), np.float32)
    hidden = np.triu(np.ones((40, 30), bool), 1)
    values[hidden] = np.nan
    colours = np.full((40, 30, 3), 7, np.uint8)
    matrix = Matrix("masked", 0, 0, 300, 400, values, colours)
    assert is_raster(matrix)
    picture_ = np.asarray(Image.open(io.BytesIO(png(matrix))))
    cells = picture_.reshape(40, 20, 30, 20, 3).swapaxes(1, 2)  # (rows, cols, 20, 20, 3)
    assert (cells[~hidden] == 7).all()
    hatch = {channels(colour) for colour in LIGHT_THEME.hatch}
    assert {tuple(pixel) for pixel in cells[hidden].reshape(-1, 3).tolist()} == hatch


@pytest.mark.parametrize(("cell", "every"), [(24.0, 1), (23.9, 2), (12.0, 2), (5.0, 8), (0.75, 32)])
def test_labels_are_thinned_as_little_as_leaves_24_pixels_for_each(cell: float, every: int) -> None:
    assert ticks(70, cell, 24) == (range(0, 70, every), every)


def test_numbers_fit_their_cells_in_a_font_with_wider_digits() -> None:
    matrix = Matrix("any", 0, 0, 40, 20, np.zeros((1, 1), np.float32), np.zeros((1, 1, 3), np.uint8), (("−1.25",),), 20)
    assert 1.25 * fonts.width("−1.25", safe_font_size(matrix)) < 40


def test_in_a_large_picture_of_tikz_the_largest_of_the_cells_that_share_a_pixel_is_seen() -> None:
    values = np.zeros((300, 90), np.float32)
    values[217, 40] = -1
    colours = np.full((300, 90, 3), 255, np.uint8)
    colours[217, 40] = (1, 2, 3)
    defined, _ = picture([Matrix("any", 10, 20, 30, 100, values, colours)])
    *edges, cols, rows, digits = defined.strip()[:-1].split("\\avimage")[-1].strip("{}").split("}{")
    point = 0.0125 * 72 / 2.54  # a pixel in PDF's points
    assert [float(edge) for edge in edges] == pytest.approx(
        [10 * point, -120 * point, 30 * point, 100 * point], abs=1e-3
    )
    assert (cols, rows) == ("30", "100")
    pixels = np.frombuffer(bytes.fromhex(digits.replace("\n", "")), np.uint8).reshape(100, 30, 3)
    assert [tuple(place) for place in np.argwhere((pixels != 255).all(-1))] == [(217 // 3, 40 // 3)]
    assert tuple(pixels[72, 13]) == (1, 2, 3)
