"""What is drawn on a sheet: colours as plotly mixes them, labels beside their rows, and no token left out."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont
from plotly.colors import sample_colorscale

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe, safe_font_size, safe_lines, set_formula, wrap
from attnviz.export.drawing.marks import LIGHT_THEME, THEMES, Box, Drawing, Gradient, Line, Matrix, Table, Text
from attnviz.export.drawing.picture import (
    PlacedPanel,
    _numbers,
    channels,
    colour_cells,
    draw_layout,
    fit_title,
    hexadecimal,
    image,
    ink_on,
    is_raster,
    label_text,
    place,
    png,
    shorten,
    ticks,
)
from attnviz.export.files.tikz import picture
from attnviz.export.sheets import draw_picture, draw_sheet, draw_tokens, sheets
from attnviz.figures.panels import Layout, Panel
from attnviz.figures.steps import lay_out
from attnviz.figures.style import AXIS_TITLE, Colours
from attnviz.formulas import tree
from attnviz.tokens import CharVocab
from attnviz.toy.config import ToyConfig
from tests.toy import run_block, tokens_of
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
    palette = THEMES[theme]
    values = np.linspace(low, 2, 101, dtype=np.float32)[None]
    stops = palette.signed if scale == "signed" else palette.weights
    found = colour_cells(Panel("any", "", values, "query", "key", 2.0, scale), palette)
    np.testing.assert_allclose(found[0], sampled(stops), atol=1)  # both in whole numbers
    assert np.abs(found[0] - np.array(sampled(stops))).mean() < 0.1


@pytest.mark.parametrize("theme", THEMES)
def test_numbers_are_in_the_ink_that_is_read_well_on_their_cell(theme: str) -> None:
    palette = THEMES[theme]
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
    rows, columns = titles[AXIS_TITLE["query"]], titles[AXIS_TITLE["key"]]
    assert (rows.turn, columns.turn) == (90, 0)
    assert rows.y in [pytest.approx(matrix.y + matrix.height / 2) for matrix in drawing.matrices]
    assert columns.x in [pytest.approx(matrix.x + matrix.width / 2) for matrix in drawing.matrices]


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


@pytest.mark.parametrize("count", [1, 7, 60, 256])
def test_a_table_of_tokens_stays_between_the_heights_that_it_is_given(count: int) -> None:
    (sheet,) = sheets(toy("a " * count), ["tokens"])
    tables = [mark for mark in draw_picture(sheet, top=100, bottom=500) if isinstance(mark, Table)]
    assert sum(len(table.rows) - 1 for table in tables) == count
    assert all(100 <= table.y < table.y + len(table.rows) * table.row <= 500 + 1e-6 for table in tables)


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


@pytest.mark.parametrize("config", [
    ToyConfig(positions="alibi", causal=True, padding=2), ToyConfig(positions="buckets", causal=True, window=3),
])  # fmt: skip
def test_a_title_explains_hatchings_only_where_cells_are_hidden(config: ToyConfig) -> None:
    """Scores and bias are numbers in every cell; what the mask hides has none (NumPy's NaN)."""
    walk = run_block(range(9), config).walk(0, 1)
    for step, expected in (("biased", [False] * 3), ("masked", [False, True])):
        layout = lay_out(walk, step)
        marks = draw_layout(layout, walk.labels, x=0, y=0, width=1800, height=600, theme=LIGHT_THEME)
        titles = [mark.text for mark in marks if isinstance(mark, Text) and "9 × 9" in mark.text]
        hidden = [bool(np.isnan(panel.values).any()) for row in layout.grid for panel in row if panel is not None]
        assert ["future" in title for title in titles] == hidden
        assert hidden == expected


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
    hatch = {channels(colour) for colour in LIGHT_THEME.hatch["future"]}
    assert {tuple(pixel) for pixel in cells[hidden].reshape(-1, 3).tolist()} == hatch


@pytest.mark.parametrize(("cell", "every"), [(24.0, 1), (23.9, 2), (12.0, 2), (5.0, 8), (0.75, 32)])
def test_labels_are_thinned_as_little_as_leaves_24_pixels_for_each(cell: float, every: int) -> None:
    assert ticks(70, cell, 24) == (range(0, 70, every), every)


def test_numbers_fit_their_cells_in_a_font_with_wider_digits() -> None:
    matrix = Matrix("any", 0, 0, 40, 20, np.zeros((1, 1), np.float32), np.zeros((1, 1, 3), np.uint8), (("−1.25",),), 20)
    assert 1.25 * fonts.width("−1.25", safe_font_size(matrix)) < 40
    narrow = replace(matrix, width=20, height=40)
    assert 1.25 * fonts.width("−1.25", safe_font_size(narrow)) < 20 < 2 * fonts.width("−1.25", safe_font_size(narrow))


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


@pytest.mark.parametrize(
    ("text", "written"),
    [("a\nb\tc\rd", "a b c d"), ("\0", "U+0000"), ("\x1f", "U+001F"), (" ", " "), ("~", "~"), ("\x7f", "U+007F"),
     ("\x9f", "U+009F"), ("é", "é"), ("\ud7fb", "\ud7fb"), ("\ud800", "U+D800"), ("\udfff", "U+DFFF"),
     ("\ue000", "\ue000"), ("\ufffd", "\ufffd"), ("\ufffe", "U+FFFE"), ("\U0001fffd", "\U0001fffd"),
     ("\U0001ffff", "U+1FFFF")],
)  # fmt: skip
def test_what_xml_can_not_hold_is_spelled_out_and_nothing_else(text: str, written: str) -> None:
    """The characters that XML 1.0 allows (section 2.2), without those that it discourages."""
    assert safe(text) == written
    assert safe_lines(f"{text}\nb") == "\n".join([*(safe(line) for line in text.split("\n")), "b"])


def test_lines_are_as_full_as_they_can_be() -> None:
    room = fonts.width("aa bb", 20)
    assert wrap("aa bb cc", room, 20, 2) == ["aa bb", "cc"]
    assert wrap("aa bb cc", room - 0.01, 20, 2) == ["aa", "bb cc"]
    assert wrap("aa bb", room, 20, 1) == ["aa bb"]
    assert wrap("", room, 20, 1) == []
    (line,) = wrap("aa bb cc dd", room, 20, 1)
    fitting = ["aa bb cc dd"[:end].rstrip() for end in range(11) if fonts.width("aa bb cc dd"[:end] + "…", 20) <= room]
    assert line == fitting[-1] + "…"
    room = fonts.width("aa bb WW", 20)
    (line,) = wrap("aa bb iiiiiiiiiiiii", room, 20, 1)
    assert line.startswith("aa bb i") and fonts.width(line, 20) <= room < fonts.width(f"{line}i", 20)
    word = "abcdefghij" * 4
    lines = wrap(word, 60, 20, 99)
    assert "".join(lines) == word
    for line, after in itertools.pairwise(lines):
        assert fonts.width(line, 20) <= 60 < fonts.width(line + after[0], 20)


def test_a_subscript_is_small_and_low_a_power_small_and_high_and_each_follows_the_last() -> None:
    formula = tree.Product((tree.Indexed(tree.Symbol("W", "query"), tree.Symbol("O")),
                            tree.Power(tree.Symbol("d"), tree.Symbol("2"))))  # fmt: skip
    marks = set_formula(formula, x=30, y=90, size=20, theme=LIGHT_THEME, room=500)
    first, low, base, high = texts = [mark for mark in marks if isinstance(mark, Text)]
    assert [mark.text for mark in texts] == ["W", "O", "d", "2"]
    assert (first.x, first.y, first.size, first.colour) == (30, 90, 20, LIGHT_THEME.text_ink.query)
    assert low.y > first.y == base.y > high.y and low.size == high.size < 20
    assert {low.colour, base.colour, high.colour} == {LIGHT_THEME.text}
    for before, after in ((first, low), (base, high)):
        assert after.x == pytest.approx(before.x + fonts.width(before.text, before.size))
    (wide,) = set_formula(tree.Symbol("m" * 99), x=0, y=0, size=20, theme=LIGHT_THEME, room=300)
    assert isinstance(wide, Text)
    assert 270 < fonts.width(wide.text, wide.size) <= 300
    boxed = tree.Sum((tree.Symbol("m" * 40), tree.Box(tree.Symbol("n" * 40))))
    box, *_, last = set_formula(boxed, x=0, y=0, size=20, theme=LIGHT_THEME, room=300)
    assert isinstance(box, Box) and isinstance(last, Text)
    assert 270 < last.x + fonts.width(last.text, last.size) < box.x + box.width <= 300


def test_the_boxed_term_of_a_formula_is_inside_its_box_and_the_others_are_not() -> None:
    formula = tree.Sum((tree.Symbol("a"), tree.Box(tree.Symbol("bcd")), tree.Symbol("e")))
    box, *texts = set_formula(formula, x=30, y=90, size=20, theme=LIGHT_THEME, room=500)
    assert isinstance(box, Box)
    assert box.y < 90 - 0.7 * 20 and box.y + box.height > 90 + 0.2 * 20  # a letter's height and depth
    spans = {}
    for text in texts:
        assert isinstance(text, Text)
        spans[text.text] = text.x, text.x + fonts.width(text.text, text.size)
    assert spans["bcd"][0] - box.x == pytest.approx(6)
    assert box.x + box.width - spans["bcd"][1] == pytest.approx(6)
    for name, (left, right) in spans.items():
        assert name == "bcd" or right <= box.x + 1e-6 or left >= box.x + box.width - 1e-6, name


@pytest.mark.parametrize(
    ("limit", "scale", "value", "shade"),
    [(4.0, "signed", 4.0, "#5E3C99"), (4.0, "signed", -4.0, "#B35806"), (4.0, "signed", 2.0, "#B2ABD2"),
     (0.5, "weights", 0.5, "#5E3C99"), (None, "signed", 0.0, "#FFFFFF"), (None, "weights", 0.0, "#FFFFFF"),
     (4.0, "signed", 9.0, "#5E3C99")],
)  # fmt: skip
def test_a_limit_is_the_end_of_the_colours(limit: float | None, scale: Any, value: float, shade: str) -> None:
    panel = Panel("any", "", np.array([[value, 0]], np.float32), "query", "key", limit, scale)
    assert hexadecimal(colour_cells(panel, LIGHT_THEME)[0, 0]) == shade


def blank(rows: int, cols: int, width: float, height: float) -> Matrix:
    return Matrix("any", 50, 70, width, height, np.zeros((rows, cols), np.float32), np.zeros((rows, cols, 3), np.uint8))


def test_large_cells_have_a_pixel_between_them_and_small_ones_overlap() -> None:
    large, small = blank(2, 4, 36, 30), blank(2, 4, 35.9, 30)
    assert large.cell == (9, 15)
    x, y, wide, high = large.box(1, 2)
    assert (x, y, wide, high) == (68.5, 85.5, 8, 14)
    assert large.box(1, 3)[0] - (x + wide) == 1
    x, y, wide, high = small.box(1, 2)
    assert (x, y) == pytest.approx((50 + 2 * 35.9 / 4, 85))
    assert 0 < x + wide - small.box(1, 3)[0] < 1 and 0 < y + high - 100 < 1
    assert replace(large, size=10).number_at(1, 2) == pytest.approx((72.5, 92.5 + 3.4))


def test_matrices_of_more_than_1024_cells_are_pictures_of_two_pixels_for_each_of_the_drawing() -> None:
    assert not is_raster(blank(32, 32, 320, 320))
    assert is_raster(blank(25, 41, 320, 320))
    assert image(blank(2, 5, 50, 30)).size == (100, 60)
    assert image(blank(2, 1, 50, 30)).size == image(blank(1, 5, 50, 30)).size == (100, 60)
    assert image(blank(2, 5, 51, 31)).size == (105, 62)  # whole pixels
    assert image(blank(1300, 3, 90, 5000)).size == (180, 1300)
    assert image(blank(3000, 2, 90, 100)).size == (90 * 2, 3000)


def drawn(*rows: list[Panel | None], labels: dict[str, list[str]], wide: float = 900, high: float = 500) -> Drawing:
    layout = Layout(rows, [1.0] * len(rows[0]), [1.0] * len(rows))
    marks = draw_layout(layout, labels, x=10, y=20, width=wide, height=high, theme=LIGHT_THEME)
    return Drawing(wide, high, tuple(marks))


def one(values: Any, *, rows: str = "query", cols: str = "key", scale: Any = "signed", **more: Any) -> Panel:
    return Panel("any", "any", np.array(values, np.float32), rows, cols, None, scale, **more)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 1), (3, 4)])
def test_a_matrix_without_labels_below_it_ends_where_its_picture_does(shape: tuple[int, int]) -> None:
    panel = one(np.ones(shape), rows="", cols="")
    (at,), used = place(Layout([[panel]], [1.0], [1.0]), {}, 900, 500)
    assert not at.column_labels
    assert (at.x + at.width, at.y + at.height) == pytest.approx(used)


def test_matrices_that_share_an_axis_have_its_labels_once() -> None:
    labels = {"query": ["qa", "qb"], "key": ["ka", "kb", "kc"]}
    cells, other = one(np.ones((2, 3))), one(np.ones((3, 2)), rows="key", cols="query")
    for rows, counts in (
        (([cells, cells],), (1, 2)),  # beside each other
        (([cells], [cells]), (2, 1)),  # below each other
        (([cells, None, cells], [None, other, cells]), (3, 3)),
    ):
        drawing = drawn(*rows, labels=labels)
        assert len(drawing.matrices) == sum(one is not None for row in rows for one in row)
        assert [sum(text.text == word for text in drawing.texts) for word in ("qa", "kb")] == [*counts], rows


@pytest.mark.parametrize(
    ("value", "scale", "cell", "shown"),
    [(0.25, "weights", (60, 40), "0.25"), (0.25, "weights", (18, 20), ".25"), (0.25, "weights", (12, 12), None),
     (-0.25, "signed", (60, 40), "−0.25"), (-0.25, "signed", (22, 20), "−.25"), (0.99, "signed", (22, 20), ".99"),
     (9.99, "signed", (60, 40), "9.99"), (9.996, "signed", (60, 40), "10.0"), (-12.34, "signed", (60, 40), "−12.3"),
     (1.26, "signed", (22, 20), "1.3"), (0.0, "signed", (60, 40), "0.00"), (123.4, "signed", (70, 40), "123.4"),
     (0.25, "weights", (60, 13), None), (1.0, "weights", (26, 20), "1.00"), (123.4, "signed", (40, 30), "123.4"),
     (0.25, "weights", (18, 60), ".25"), (0.25, "weights", (12, 60), None), (-12.34, "signed", (22, 60), None),
     (0.25, "weights", (200, 15), ".25"), (1.26, "signed", (200, 13), None)],
)  # fmt: skip
def test_a_cell_shows_as_many_decimals_as_fit(
    value: float, scale: Any, cell: tuple[float, float], shown: str | None
) -> None:
    at = PlacedPanel(one([[value, np.nan]], scale=scale), 0, 0, 2 * cell[0], cell[1], False, False, 99)
    numbers, size = _numbers(at.panel, at.cell)
    assert numbers == (() if shown is None else ((shown, ""),))
    assert shown is None or (9 <= size < cell[1] and fonts.width(shown, size) < cell[0])
    assert _numbers(replace(at.panel, numbered=False), at.cell) == ((), 0.0)


def test_labels_that_are_thinned_have_their_number_where_there_are_many() -> None:
    few, many = [f"w{i}" for i in range(24)], [f"w{i}" for i in range(25)]
    assert label_text(few, 4, 2) == label_text(many, 4, 1) == "w4"
    assert label_text(many, 4, 2) == "4 w4"
    assert ticks(3, 0.001, 24)[1] == 4096


def test_a_long_text_is_shortened_in_the_middle_and_no_more_than_needed() -> None:
    text = "internationalisation"
    assert shorten(text, fonts.width(text, 20), 20) == text
    for room in (50, 90, 120, 150):
        shown = shorten(text, room, 20)
        begin, _, end = shown.partition("…")
        assert text.startswith(begin) and text.endswith(end) and 0 <= len(begin) - len(end) <= 1
        longer = text[: len(begin) + 1] + "…" + text[len(text) - len(end) :]
        assert fonts.width(shown, 20) <= room < fonts.width(longer, 20) + 12
    exact = shorten(text, 120, 20)
    assert shorten(text, fonts.width(exact, 20), 20) == exact
    assert (shorten(text, fonts.width("i…", 20), 20), shorten(text, 5, 20)) == ("i…", "…")
    bold = shorten(text, fonts.width(text, 20), 20, bold=True)
    assert "…" in bold and fonts.width(bold, 20, bold=True) <= fonts.width(text, 20)
    endless = shorten("a" * 500 + "z", 100, 20)
    assert endless.startswith("aa") and endless.endswith("z") and fonts.width(endless, 20) <= 100


def test_labels_of_columns_are_turned_where_they_are_wider_than_their_cells() -> None:
    for words, turned in ((["a", "b", "c"], False), (["international"] * 3, True)):
        drawing = drawn([one(np.ones((2, 3)))], labels={"query": ["qa", "qb"], "key": words}, wide=300)
        (matrix,) = drawing.matrices
        below = [text for text in drawing.texts if text.text == words[0]]
        assert {(text.anchor, text.turn) for text in below} == {("end", 55.0) if turned else ("middle", 0.0)}
        last = [text for text in drawing.texts if text.y > matrix.y + matrix.height][-1]
        assert last.text == AXIS_TITLE["key"], "the axis's name is below its labels"
        deepest = max(text.y + np.sin(np.radians(text.turn)) * fonts.width(text.text, text.size) for text in below)
        assert last.y - 0.7 * last.size >= deepest - 3


@pytest.mark.parametrize(
    ("cols", "wide", "labelled", "smaller"), [("key", 900, 20, False), ("key", 300, 10, True), ("dim", 300, 5, False)]
)
def test_tokens_below_columns_are_as_large_as_beside_rows_if_none_is_left_out(
    cols: str, wide: float, labelled: int, *, smaller: bool
) -> None:
    words = {"query": ["qa", "qb"], "key": [f"w{i}" for i in range(20)]}
    drawing = drawn([one(np.ones((2, 20)), cols=cols)], labels=words, wide=wide)
    (matrix,) = drawing.matrices
    beside = {text.size for text in drawing.texts if text.text in words["query"]}
    below = [text.size for text in drawing.texts
             if text.y > matrix.y + matrix.height and text.text not in AXIS_TITLE.values()]  # fmt: skip
    assert len(below) == labelled
    assert {size < max(beside) for size in below} == {smaller}


@pytest.mark.parametrize(
    ("title", "room", "shown"),
    [
        ("W value", 50, "W"), ("X hidden states", 70, "X"), ("W value", 200, "W value"),
        ("weights = softmax of each row", 150, "weights"), ("difference: half the sum of |p − q|", 150, "difference"),
        ("x · W₁ + b₁", 60, "x …b₁"), ("W query", 60, "W q…"),
    ],
)  # fmt: skip
def test_a_title_without_room_is_its_symbol_or_the_name_that_it_explains(title: str, room: float, shown: str) -> None:
    assert fit_title(title, room) == (shown, 22)


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("W key", "W"), ("X encoder's", "X"), ("U query", "U"), ("Y averages so far", "Y"), ("Y = A · X", "Y"),
        ("Q · Kᵀ", "Q…"), ("X + output", "X…"), ("scores", "s…"),
    ],
)  # fmt: skip
def test_a_title_without_room_begins_with_its_symbol(title: str, shown: str) -> None:
    """As in the browser."""
    assert fit_title(title, 38) == (shown, 22)


@pytest.mark.parametrize("room", [150, 160, 180, 400])
def test_a_title_takes_smaller_type_before_it_loses_words(room: float) -> None:
    """Beside DeBERTa's biased scores, three terms have a narrow column each."""
    shown, size = fit_title("+ content → position", room)
    assert shown == "+ content → position"
    assert 15 <= size <= 22
    assert fonts.width(shown, size, bold=True) <= (room if size == 22 else room - 10) + 1e-6
    assert (size == 22) == (room == 400)


def test_of_names_of_columns_only_the_long_one_is_left_out() -> None:
    names = {0: "one", 4: "a name that is longer than its columns", 8: "two", 12: "ten"}
    panel = one(np.ones((2, 16)), rows="query", cols="concat", col_ticks=names)
    drawing = drawn([panel], labels={"query": ["qa", "qb"]}, wide=600)
    assert [text.text for text in drawing.texts if text.text in names.values()] == ["one", "two", "ten"]


def test_names_of_columns_are_left_out_where_they_would_overlap() -> None:
    names = {4 * head: f"head {head}" for head in range(9)}
    panel = one(np.ones((2, 36)), rows="query", cols="concat", col_ticks=names)
    for wide in (200, 600, 1100):
        drawing = drawn([panel], labels={"query": ["qa", "qb"]}, wide=wide)
        (matrix,) = drawing.matrices
        shown = [text for text in drawing.texts if text.text.startswith("head ")]
        assert shown[0].text == "head 0"
        heads = [int(text.text.split()[1]) for text in shown]
        assert [text.x for text in shown] == pytest.approx([matrix.x + (4 * h + 0.5) * matrix.cell[0] for h in heads])
        apart = [after.x - before.x for before, after in itertools.pairwise(shown)]
        assert all(gap >= fonts.width("head 0", 18) for gap in apart)
        assert wide != 1100 or len(shown) == 9


@pytest.mark.parametrize(
    ("values", "scale", "numbers"),
    [([[0.05, -0.02]], "signed", ["0.050", "0", "−0.050"]), ([[0.1, 0]], "signed", ["0.10", "0", "−0.10"]),
     ([[9.99, 0]], "signed", ["9.99", "0", "−9.99"]), ([[9.996, 0]], "signed", ["10.0", "0", "−10.0"]),
     ([[0.8, 0.2]], "weights", ["0.80", "0.40", "0"]), ([[0, 0]], "signed", ["1.00", "0", "−1.00"])],
)  # fmt: skip
def test_the_numbers_of_a_colour_bar_are_its_ends_and_its_middle(values: Any, scale: Any, numbers: list[str]) -> None:
    drawing = drawn([one(values, scale=scale, bar=True)], labels={})
    (matrix,) = drawing.matrices
    (bar,) = [mark for mark in drawing.flat if isinstance(mark, Gradient)]
    assert bar.x > matrix.x + matrix.width
    assert bar.y + bar.height == pytest.approx(matrix.y + matrix.height)
    beside = [text for text in drawing.texts if text.x > bar.x]
    assert [text.text for text in beside] == numbers
    middles = [text.y - 0.33 * text.size for text in beside]
    assert middles == pytest.approx([bar.y, bar.y + bar.height / 2, bar.y + bar.height], abs=10)


def test_the_range_above_a_matrix_leaves_out_hidden_cells_and_then_itself() -> None:
    def about(values: Any, wide: float = 900) -> str:
        return drawn([one(values)], labels={}, wide=wide).texts[1].text

    assert about([[-1.5, np.nan], [0.25, -np.inf]]) == "2 × 2 · −1.50 … 0.25"
    assert about([[np.nan, np.nan, -np.inf]]) == "1 × 3"
    assert about(np.arange(40).reshape(10, 4), wide=130) == "10 × 4"


def test_the_cells_of_a_table_of_text_are_in_their_columns_and_rows() -> None:
    table = Table(10, 20, (50, 70), 30, (("#", "token"), ("0", "cat"), ("1", "dog")), 16)
    drawing = Drawing(200, 200, (table,))
    assert [(text.text, text.x, text.bold) for text in drawing.texts] == [
        ("#", 16, True), ("token", 66, True), ("0", 16, False), ("cat", 66, False), ("1", 16, False),
        ("dog", 66, False),
    ]  # fmt: skip
    assert [text.y - 0.33 * 16 for text in drawing.texts[::2]] == pytest.approx([35, 65, 95])
    lines = [mark for mark in drawing.flat if isinstance(mark, Line)]
    assert [(line.x1, line.x2, line.y1, line.y2) for line in lines] == [(10, 130, y, y) for y in (50, 80, 110)]
    assert lines[0].colour != lines[1].colour == lines[2].colour
    assert drawing.letters == ("0cat1dog", "#token")
    assert replace(drawing, marks=(replace(blank(1, 1, 9, 9), numbers=(("7",),)),)).letters == ("7", "")


@pytest.mark.parametrize("bold", [False, True])
def test_the_widths_of_letters_are_those_of_the_font_that_is_embedded(bold: bool) -> None:
    """As FreeType measures it, without kerning."""
    font = ImageFont.truetype(io.BytesIO(fonts.ttf(bold)), 1000, layout_engine=ImageFont.Layout.BASIC)
    for letter in "aWi−…é×√ᵀ0 ":
        assert fonts.width(letter, 1000, bold) == pytest.approx(font.getlength(letter), abs=1), letter
    assert fonts.width("a你", 10, bold) == pytest.approx(fonts.width("a", 10, bold) + 10)
    read_ = TTFont(io.BytesIO(fonts.subset("abca你", bold)))
    assert set(read_.getBestCmap()) == set(map(ord, "abc"))
    assert TTFont(io.BytesIO(fonts.ttf(bold)))["name"].getDebugName(6).endswith("Semibold" if bold else "Regular")


def test_what_the_font_lacks_is_named_once_and_in_order() -> None:
    assert fonts.missing("你a好你") == "你好"
    assert fonts.replace_missing("a你b") == "a\ufffdb"
    assert "a" in fonts.characters() and "你" not in fonts.characters()


def test_without_streamlits_font_a_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for spec in (None, SimpleNamespace(submodule_search_locations=None)):
        monkeypatch.setattr(fonts, "find_spec", lambda _, spec=spec: spec)
        with pytest.raises(fonts.FontError, match="install the versions in requirements"):
            fonts.variable_font()


@pytest.mark.parametrize("sizes", [((4, 8), (4, 60)), ((12, 16), (12, 40)), ((3, 3), (3, 3)), ((16, 90), (16, 16))])
@pytest.mark.parametrize("wide", [500, 900, 1300])
def test_matrices_with_and_without_numbers_stay_in_their_box_and_apart(sizes: Any, wide: float) -> None:
    panels: list[Panel | None] = [
        one(np.ones(size), cols=cols) for size, cols in zip(sizes, ("key", "dim"), strict=True)
    ]
    for grid in ([panels], [[panel] for panel in panels]):
        boxes = [
            (m.x, m.y, m.x + m.width, m.y + m.height) for m in drawn(*grid, labels={}, wide=wide, high=400).matrices
        ]
        for left, top, right, bottom in boxes:
            assert 10 <= left < right <= 10 + wide + 1e-6 and 20 <= top < bottom <= 420 + 1e-6
        first, second = boxes
        assert first[2] < second[0] or first[3] < second[1]


def test_the_labels_of_a_matrix_do_not_lie_over_the_one_before_it() -> None:
    words = {"query": ["qa", "international"], "key": ["ka", "heterogeneous", "kc"]}
    panels: list[Panel | None] = [one(np.ones((2, 4)), cols="dim"), one(np.ones((3, 5)), rows="key", cols="model")]
    drawing = drawn(panels, labels=words, wide=700)
    first, second = drawing.matrices
    for text in drawing.texts:
        if text.text in words["key"]:
            left = text.x - fonts.width(text.text, text.size)
            assert first.x + first.width + 20 < left < text.x < second.x
        if text.text in words["query"]:
            assert 10 + 20 < text.x - fonts.width(text.text, text.size) < text.x < first.x


def test_pictures_with_the_same_characters_have_the_same_font_which_is_made_once() -> None:
    font = fonts.subset("a cab")
    assert fonts.subset("bc a") is font
    assert TTFont(io.BytesIO(font)).getBestCmap().keys() == {ord(character) for character in " abc"}
    assert font not in (fonts.subset("a cab", bold=True), fonts.subset("a cab."))
