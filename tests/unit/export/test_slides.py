"""Marks on a slide, and what a deck says of itself, read back with python-pptx."""

from __future__ import annotations

import io
import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pptx import Presentation
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.util import Pt
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont

from attnviz.export.drawing.marks import LIGHT_THEME, THEMES, Box, Line, Mark, Matrix, Table, Text
from attnviz.export.files.slides import MAX_LINK, PIXEL, _Slide, is_table, write_slides
from attnviz.export.sheets import sheets
from attnviz.figures.style import RULE
from tests.unit.export.test_walk import DRAWING, causal_toy, toy

INCH = 96
"""Pixels: a sheet of 1280 pixels is as wide as a slide of 13.33 inches"""


def on_slide(*marks: Mark) -> list[Any]:
    """Draw marks on an empty slide, and return its shapes as the file holds them."""
    deck = Presentation()
    slide = _Slide(deck.slides.add_slide(deck.slide_layouts[6]), LIGHT_THEME)
    for mark in marks:
        slide.draw(mark)
    file = io.BytesIO()
    deck.save(file)
    return list(Presentation(file).slides[0].shapes)


def box_of(shape: Any) -> list[float]:
    """Return left, top, width and height in pixels."""
    return [round(edge.inches * INCH, 2) for edge in (shape.left, shape.top, shape.width, shape.height)]


def matrix(rows: int, cols: int, side: float = 20.0) -> Matrix:
    values = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols)
    colours = np.random.default_rng(0).integers(0, 256, (rows, cols, 3), np.uint8)
    return Matrix("any", 20, 30, side * cols, side * rows, values, colours)


def test_lines_boxes_and_texts_have_their_places_colours_and_sizes() -> None:
    line, filled, outlined, text = on_slide(
        Line(10, 20, 130, 60, "#102030", 2.5), Box(10, 20, 30, 45, fill="#112233"),
        Box(5, 7, 90, 80, outline="#445566", line=3), Text(100, 200, "a <b>", 16, "#0A0B0C", bold=True),
    )  # fmt: skip
    assert [edge.inches * INCH for edge in (line.begin_x, line.begin_y, line.end_x, line.end_y)] == [10, 20, 130, 60]
    assert (str(line.line.color.rgb), line.line.width.inches * INCH) == ("102030", pytest.approx(2.5, abs=0.01))
    assert box_of(filled) == [10, 20, 30, 45] and box_of(outlined) == [5, 7, 90, 80]
    assert str(filled.fill.fore_color.rgb) == "112233" and filled.line.fill.type != 1
    assert (str(outlined.line.color.rgb), outlined.line.width.inches * INCH) == ("445566", 3)
    assert outlined.fill.type != 1, "not filled"
    for shape in (line, filled, outlined):
        assert shape._element.find("{*}style") is None, "no shadow of the theme"
    (run,) = text.text_frame.paragraphs[0].runs
    assert (run.text, run.font.size, run.font.bold, str(run.font.color.rgb)) == ("a <b>", Pt(12), True, "0A0B0C")
    left, top, _, high = box_of(text)
    assert left == 100 and top < 200 - 0.5 * 16 and top + high > 200
    assert text.text_frame.vertical_anchor == MSO_ANCHOR.MIDDLE and text.text_frame.margin_left == 0
    assert not text.text_frame.word_wrap


def test_a_table_of_tokens_has_a_bold_header_its_widths_and_every_sign() -> None:
    rows = (("#", "token", "id"), ("0", "a <b> & c", "17"), ("1", "\N{SNOWMAN}", "–"))
    (shape,) = on_slide(Table(40, 50, (30, 200, 60), 24, rows, 16))
    table = shape.table
    assert [tuple(cell.text for cell in row.cells) for row in table.rows] == list(rows)
    assert [column.width.inches * INCH for column in table.columns] == [30, 200, 60]
    assert [row.height.inches * INCH for row in table.rows] == [24] * 3
    assert box_of(shape) == [40, 50, 290, 72]
    for i, row in enumerate(table.rows):
        for cell in row.cells:
            (run,) = cell.text_frame.paragraphs[0].runs
            assert (run.font.bold, run.font.size) == (i == 0, Pt(12))
            assert cell.margin_left.inches * INCH == 6 and cell.margin_right == 0
            assert cell.text_frame.paragraphs[0].alignment == PP_ALIGN.LEFT
            rules = {
                side: [colour.get("val") for colour in line.iter(f"{DRAWING}srgbClr")]
                for side in "LRTB" if (line := cell._tc.tcPr.find(f"{DRAWING}ln{side}")) is not None
            }  # fmt: skip
            between = LIGHT_THEME.row_rule[1:]
            above = {0: [], 1: [RULE[1:]], 2: [between]}[i]
            assert rules == {"L": [], "R": [], "T": above, "B": [between if i else RULE[1:]]}


def test_a_matrix_of_up_to_16_rows_and_columns_is_a_table_and_a_larger_one_a_picture_that_is_described() -> None:
    hidden = matrix(16, 16)
    hidden.values[3, 5] = np.nan
    numbered = replace(hidden, numbers=tuple(tuple(str(16 * i + j) for j in range(16)) for i in range(16)), size=8)
    numbered, large = replace(numbered, alt="What the table shows"), replace(matrix(17, 2), alt="What it shows")
    table, picture = on_slide(numbered, large)
    cells = [list(row.cells) for row in table.table.rows]
    assert [[cell.text for cell in row] for row in cells] == [list(row) for row in numbered.numbers]
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if (i, j) == (3, 5):
                assert cell._tc.tcPr.find(f"{DRAWING}pattFill") is not None
            else:
                assert str(cell.fill.fore_color.rgb) == "".join(f"{channel:02X}" for channel in hidden.colours[i, j])
            assert cell.text_frame.paragraphs[0].alignment == PP_ALIGN.CENTER
    assert box_of(table) == [20, 30, 320, 320] and box_of(picture) == [20, 30, 40, 340]
    assert picture.name == "any"
    assert picture._element.nvPicPr.cNvPr.get("descr") == "What it shows"
    assert table._element.nvGraphicFramePr.cNvPr.get("descr") == "What the table shows"
    seen = np.asarray(Image.open(io.BytesIO(picture.image.blob)))
    down, across = seen.shape[0] // 17, seen.shape[1] // 2
    np.testing.assert_array_equal(seen[down // 2 :: down, across // 2 :: across], large.colours)


@pytest.mark.parametrize(("rows", "cols", "side", "editable"), [
    (16, 16, 5, True), (16, 16, 4.9, False), (17, 1, 20, False), (1, 17, 20, False), (1, 1, 9, True), (0, 3, 20, False),
])  # fmt: skip
def test_only_matrices_whose_rows_powerpoint_can_make_low_enough_are_tables(
    rows: int, cols: int, side: float, *, editable: bool
) -> None:
    assert is_table(matrix(rows, cols, side)) is editable


def test_the_longest_link_that_powerpoint_opens_is_one_and_notes_keep_their_lines() -> None:
    base = replace(causal_toy(), link="https://x.example/?text=")
    length = len(sheets(base, ["scores"])[0].link)
    fits, longer = (
        sheets(replace(base, link=f"{base.link}{'a' * (characters - length)}"), ["scores"])[0]
        for characters in (MAX_LINK, MAX_LINK + 1)
    )
    assert len(fits.link) == MAX_LINK
    addresses, said = [], []
    slides = list(Presentation(io.BytesIO(write_slides([fits, longer]))).slides)
    for slide in slides:
        frame = next(shape for shape in slide.shapes if shape.name == "link").text_frame
        (run,) = frame.paragraphs[0].runs
        addresses.append(run.hyperlink.address)
        said.append(run.text)
    assert addresses == [fits.link, None]
    assert said[1] == "This step's link is too long for a slide; it is in the notes."
    notes = slides[1].notes_slide.notes_text_frame.text.split("\n")
    assert f"This step in the app: {longer.link}" in notes
    assert "In PyTorch:" in notes


def test_title_formula_picture_notice_and_link_of_a_slide_follow_each_other_downwards() -> None:
    (slide,) = Presentation(io.BytesIO(write_slides(sheets(causal_toy(), ["weights"])))).slides
    boxes = {shape.name: box_of(shape) for shape in slide.shapes}
    pictures = [box_of(shape) for shape in slide.shapes if shape.has_table or shape.shape_type == 13]
    edges = [box_of(slide.shapes.title), boxes["formula"]]
    edges += [[0, min(top for _, top, *_ in pictures), 0, 0], boxes["what to notice"], boxes["link"]]
    for (_, top, _, high), (_, below, *_) in itertools.pairwise(edges):
        assert top + high <= below + 1
    assert max(top + high for _, top, _, high in pictures) <= boxes["what to notice"][1]
    for left, top, wide, high in boxes.values():
        assert 0 <= left < left + wide <= 1280 and 0 <= top < top + high <= 720


def test_each_slide_has_the_paper_of_its_sheet_and_the_deck_its_name() -> None:
    walk = replace(toy("a b"), name="n" * 300)
    both = [sheets(walk, ["scores"], THEMES[theme])[0] for theme in ("light", "dark")]
    deck = Presentation(io.BytesIO(write_slides(both)))
    papers = [slide._element.find(".//{*}bg") is not None for slide in deck.slides]
    assert papers == [False, True]
    title = deck.core_properties.title
    assert title.startswith("Attention, step by step: nnn") and len(title) == 255
    assert deck.core_properties.author == "attnviz"


FACES = {"Arial": ("Helvetica", "Helvetica-Bold"), "DejaVu Sans": ("Vera", "VeraBd")}
"""Fonts in which a deck may be shown, and ReportLab's names of those that are as wide"""


@cache
def is_registered(face: str) -> bool:
    """Let ReportLab read the fonts of a face from its files, once; it has those of Arial's widths itself."""
    for name in FACES[face] if face == "DejaVu Sans" else ():
        pdfmetrics.registerFont(TTFont(name, f"{name}.ttf"))
    return True


def drawn_width(text: str, size: float, *, bold: bool, face: str) -> float:
    """Return the width of a line by ReportLab's own tables, in pixels."""
    assert is_registered(face)
    return float(pdfmetrics.stringWidth(text, FACES[face][bold], size))


def corners_of(shape: Any, face: str) -> np.ndarray:
    """Return where a line of text lies on the slide in a font, (4, 2): from the feet of its letters to their tops."""
    left, top, wide, high = box_of(shape)
    (paragraph,) = shape.text_frame.paragraphs
    size = paragraph.runs[0].font.size / PIXEL
    width = sum(
        drawn_width(run.text, size * (0.7 if run.font._rPr.get("baseline") else 1), bold=bool(run.font.bold), face=face)
        for run in paragraph.runs
    )
    begin = {PP_ALIGN.CENTER: -width / 2, PP_ALIGN.RIGHT: wide / 2 - width}.get(paragraph.alignment, -wide / 2)
    end = begin + width
    up = 0.36 * size  # half of a capital letter
    turn = np.radians(shape.rotation)
    about = np.array([(begin, -up), (end, -up), (end, up), (begin, up)])
    rotated = about @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    placed: np.ndarray = rotated + np.array([left + wide / 2, top + high / 2])
    return placed


def meet(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two rectangles overlap: neither a column or row of pixels nor one of their edges lies between them."""
    if (one.max(0) <= other.min(0)).any() or (other.max(0) <= one.min(0)).any():
        return False
    for box in (one, other):
        for edge in (box[1] - box[0], box[2] - box[1]):
            ends = [np.sort(corners @ edge) for corners in (one, other)]
            if ends[0][-1] <= ends[1][0] or ends[1][-1] <= ends[0][0]:
                return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "a b",
        "WWWWWWWWWWWW mmmmmmmmmmmmm {{{{{{ >>>>>>> one two three incomprehensibilities five six seven eight",
    ],
)
def test_no_text_lies_on_another_in_arial_or_in_the_wide_font_of_programs_without_it(text: str) -> None:
    deck = Presentation(io.BytesIO(write_slides(sheets(toy(text)))))
    assert len(deck.slides) > 5
    for slide, face in itertools.product(deck.slides, FACES):
        lines = [shape for shape in slide.shapes if shape.has_text_frame and shape.text_frame.text]
        caption = next(shape for shape in lines if shape.name == "what to notice")
        placed = [(shape.text_frame.text, corners_of(shape, face)) for shape in lines if shape is not caption]
        for (said, one), (other_said, other) in itertools.combinations(placed, 2):
            assert not meet(one, other), (face, said, other_said)
        for said, corners in placed:
            assert (corners >= 0).all() and (corners <= [1280, 720]).all(), (face, said)
        (run,) = caption.text_frame.paragraphs[0].runs
        _, _, wide, high = box_of(caption)
        size, rows, row = run.font.size / PIXEL, 1, ""
        for word in run.text.split():
            longer = f"{row} {word}".strip()
            fits = drawn_width(longer, size, bold=False, face=face) <= wide
            rows, row = (rows, longer) if fits else (rows + 1, word)
        assert rows * 1.17 * size <= high, f"in {face}, no line is below the box"
        for table in (shape for shape in slide.shapes if shape.has_table):
            widths = [column.width / PIXEL for column in table.table.columns]
            for cells in table.table.rows:
                for cell, room in zip(cells.cells, widths, strict=True):
                    for run in cell.text_frame.paragraphs[0].runs:
                        width = drawn_width(run.text, run.font.size / PIXEL, bold=bool(run.font.bold), face=face)
                        assert width <= room - cell.margin_left / PIXEL + 0.5, (face, run.text)
