"""What the file formats do alike: numbers in their cells, hatching, colour bars with the top on top, turned text."""

from __future__ import annotations

import io
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pptx import Presentation
from pptx.enum.text import PP_ALIGN
from pypdf import PageObject, PdfReader
from pypdf.generic import ContentStream

from attnviz.export.drawing import fonts
from attnviz.export.drawing.fonts import width
from attnviz.export.drawing.marks import Anchor, Drawing, Text
from attnviz.export.files.pdf import write_pdf
from attnviz.export.files.slides import write_slides
from attnviz.export.files.svg import write_svg
from attnviz.export.files.tikz import tex, write_tikz
from attnviz.export.sheets import Sheet, draw_sheet, sheets
from attnviz.figures.style import AXIS_TITLE
from attnviz.steps import steps_of
from attnviz.tokens import CharVocab
from tests.unit.export.test_walk import DRAWING, causal_toy, read, toy, weights_of_torch

WHITE, PURPLE = "#FFFFFF", "#5E3C99"


def sheet_of(step: str) -> Sheet:
    return sheets(causal_toy(), [step])[0]


def page_of(sheet: Sheet) -> PageObject:
    return PdfReader(io.BytesIO(write_pdf([draw_sheet(sheet)]))).pages[0]


def slide_of(sheet: Sheet) -> Any:
    return Presentation(io.BytesIO(write_slides([sheet]))).slides[0]


def test_in_the_pdf_each_weight_is_in_its_cell() -> None:
    sheet, expected = sheet_of("weights"), weights_of_torch(causal_toy())
    matrix = next(one for one in draw_sheet(sheet).matrices if one.name == "weights")
    found = np.zeros(expected.shape)

    def see(text: str, cm: list[float], tm: list[float], *_: object) -> None:
        x, y = (tm[4] * cm[0] + cm[4]) / 0.75, 720 - (tm[5] * cm[3] + cm[5]) / 0.75
        row, col = int((y - matrix.y) // matrix.cell[1]), int((x - matrix.x) // matrix.cell[0])
        if re.fullmatch(r"\d\.\d\d", text.strip()) and 0 <= row < 5 and 0 <= col < 5 and y > matrix.y and x > matrix.x:
            found[row, col] = read(text.strip())

    page_of(sheet).extract_text(visitor_text=see)
    np.testing.assert_allclose(found, expected, atol=0.005 + 1e-6)


@pytest.mark.parametrize(("anchor", "share"), [("start", 0.0), ("middle", 0.5), ("end", 1.0)])
def test_a_text_of_a_pdf_stands_at_its_anchor_under_its_link_and_its_page_is_in_the_outline(
    anchor: Anchor, share: float
) -> None:
    text = Text(300, 200, "A link", 20, PURPLE, anchor=anchor, link="http://a.example/")
    reader = PdfReader(io.BytesIO(write_pdf([Drawing(1280, 720, (text,), title="A page")])))
    assert [entry["/Title"] for entry in reader.outline] == ["A page"]
    page, begins = reader.pages[0], []
    page.extract_text(
        visitor_text=lambda said, cm, tm, *_: begins.append((tm[4] * cm[0] + cm[4]) / 0.75) if said.strip() else None
    )
    wide = width("A link", 20, bold=False)
    assert begins == [pytest.approx(300 - share * wide, abs=0.01)]
    left, bottom, right, top = (float(edge) / 0.75 for edge in page["/Annots"][0].get_object()["/Rect"])
    assert (left, right) == pytest.approx((300 - share * wide, 300 - share * wide + wide), abs=0.01)
    assert bottom < 520 < top  # 200 from the top


def test_every_colour_that_latex_needs_is_defined() -> None:
    walk = causal_toy()
    source = write_tikz(sheets(walk, list(steps_of(walk))))
    before, _, slides = source.partition(r"\begin{document}")
    defined = re.findall(r"\\definecolor\{av([0-9A-F]{6})\}\{HTML\}\{\1\}", before)
    assert set(re.findall(r"\bav([0-9A-F]+)\b", slides)) == set(defined)


def test_a_long_text_and_a_models_long_name_leave_the_title_its_room() -> None:
    walk = replace(causal_toy(), name="organisation/" + "name-of-a-model-" * 20)
    named = sheets(replace(walk, query_tokens=CharVocab.from_text("ab ").tokenize("ab " * 200)), ["tokens"])[0]
    title, about, text, *_ = draw_sheet(named).texts
    for beside in (about, text):
        assert beside.anchor == "end" and "…" in beside.text
        left = beside.x - width(beside.text, beside.size, beside.bold)
        assert left > title.x + width(title.text, title.size, title.bold)
        assert left > 400


@pytest.mark.parametrize(
    ("count", "named"), [(1, "U+4E00"), (8, "U+4E06, U+4E07"), (9, "U+4E07 and 1 more"), (12, "U+4E07 and 4 more")]
)
def test_a_pdf_names_the_first_eight_characters_that_its_font_lacks(count: int, named: str) -> None:
    lacking = "".join(chr(0x4E00 + number) for number in range(count))
    drawing = Drawing(1280, 720, (Text(9, 99, f"a{lacking}", 12, "#000000"),))
    said = PdfReader(io.BytesIO(write_pdf([drawing]))).pages[0].extract_text()
    assert said.strip().endswith(named) and said.count("U+") == min(count, 8)


def test_in_the_pdf_visible_cells_have_their_colours_and_hidden_ones_are_hatched() -> None:
    sheet = sheet_of("masked")
    matrix = next(one for one in draw_sheet(sheet).matrices if one.name == "masked")
    page = page_of(sheet)
    filled, clipped, path, colour = {}, set(), [], ()
    for operands, operator in ContentStream(page.get_contents(), page.pdf).operations:
        if operator == b"rg":
            colour = tuple(round(255 * float(channel)) for channel in operands)
        elif operator == b"re":  # by the cell that it is in, in the drawing's pixels
            x, y, wide, high = map(float, operands)
            col, row = (x + wide / 2 - matrix.x) / matrix.cell[0], (720 - y - high / 2 - matrix.y) / matrix.cell[1]
            path.append((int(row // 1), int(col // 1)))
        elif operator in (b"W", b"W*"):
            clipped.update(path)
        elif operator in (b"f", b"f*"):
            filled.update(dict.fromkeys(path, colour))
        if operator in (b"n", b"f", b"f*", b"S"):
            path = []
    hidden = {(i, j) for i in range(5) for j in range(i + 1, 5)}
    cells = {(i, j) for i in range(5) for j in range(5)}
    assert clipped & cells == hidden
    assert {cell: filled[cell] for cell in filled.keys() & cells} == {
        cell: tuple(matrix.colours[cell].tolist()) for cell in cells - hidden
    }


def colours_from_the_top(sheet: Sheet, kind: str) -> list[str]:
    """Read a colour bar in a file, from its top to its bottom."""
    if kind == "svg":
        bar = re.search(
            r'<linearGradient id="\w+" x1="0" y1="0" x2="0" y2="1">(.*?)</linear', write_svg(draw_sheet(sheet))
        )
        stops = re.findall(r'offset="([\d.]+)" stop-color="(#\w+)"', bar[1])
        return [colour for _, colour in sorted(stops, key=lambda stop: float(stop[0]))]
    if kind == "tikz":
        parts = re.findall(
            r"\\shade\[top color=av(\w+),bottom color=av(\w+)\] \([\d.]+,([\d.]+)\)", write_tikz([sheet])
        )
        parts.sort(key=lambda part: float(part[2]))
        return [f"#{parts[0][0]}", *(f"#{part[1]}" for part in parts)]
    if kind == "pdf":
        ((shading,),) = [list(page_of(sheet)["/Resources"]["/Shading"].values())]
        shading = shading.get_object()
        function = shading["/Function"].get_object()
        parts = [one.get_object() for one in function.get("/Functions", [function])]
        ends = [parts[0]["/C0"], *(part["/C1"] for part in parts)]
        colours = ["#" + "".join(f"{round(float(channel) * 255):02X}" for channel in end) for end in ends]
        _, start, _, end = (float(edge) for edge in shading["/Coords"])
        return colours if start > end else colours[::-1]  # PDF's y axis points up
    bars = [shape for shape in slide_of(sheet).shapes if shape._element.find(f".//{DRAWING}gradFill") is not None]
    found: list[str] = []
    for shape in sorted(bars, key=lambda one: one.top):
        assert shape._element.find(f".//{DRAWING}lin").get("ang") == "5400000"  # downwards
        stops = sorted(shape._element.iter(f"{DRAWING}gs"), key=lambda stop: int(stop.get("pos")))
        ends = ["#" + stop.find(f"{DRAWING}srgbClr").get("val") for stop in stops]
        assert not found or found[-1] == ends[0]
        found += ends[1:] if found else ends
    return found


@pytest.mark.parametrize("kind", ["svg", "tikz", "pdf", "pptx"])
@pytest.mark.parametrize(
    ("step", "colours"), [("weights", [PURPLE, WHITE]), ("scores", [PURPLE, "#B2ABD2", WHITE, "#FDB863", "#B35806"])]
)
def test_the_colour_of_the_largest_number_is_at_the_top_of_the_bar(kind: str, step: str, colours: list[str]) -> None:
    assert colours_from_the_top(sheet_of(step), kind) == colours


def test_the_axis_of_the_queries_reads_upwards_in_every_format() -> None:
    sheet, title = sheet_of("weights"), AXIS_TITLE["query"]
    turned = re.search(rf"rotate\((-?\d+) [^>]*>{re.escape(title)}", write_svg(draw_sheet(sheet)))
    assert turned
    assert turned[1] == "-90"  # SVG turns clockwise
    (shape,) = [shape for shape in slide_of(sheet).shapes if shape.has_text_frame and shape.text_frame.text == title]
    assert shape.rotation % 360 == 270  # and so does PowerPoint
    assert re.search(rf"rotate=90\] at [^\n]*{re.escape(tex(title))}", write_tikz([sheet]))
    matrices = []
    page_of(sheet).extract_text(
        visitor_text=lambda text, cm, tm, *_: matrices.append((cm, tm)) if text.strip() == title else None
    )
    ((cm, tm),) = matrices
    up = np.array(tm[:4]).reshape(2, 2) @ np.array(cm[:4]).reshape(2, 2)  # where the text's x axis points
    np.testing.assert_allclose(up[0] / np.abs(up[0]).max(), [0, 1], atol=1e-6)


def test_slanted_labels_of_slides_end_where_those_of_the_svg_end() -> None:
    words = [f"a-long-word-{number}" for number in range(12)]
    sheet = sheets(toy(" ".join(words)), ["weights"])[0]
    with fonts.in_any_font():  # labels have as much room as on a slide
        svg = write_svg(draw_sheet(sheet))
    pattern = r'text-anchor="end"[^>]* transform="rotate\((-?[\d.]+) ([\d.]+) ([\d.]+)\)"[^>]*>([^<]+)<'
    ends = re.findall(pattern, svg)
    slanted = [shape for shape in slide_of(sheet).shapes if shape.has_text_frame and shape.rotation % 90]
    shown = [text for *_, text in ends]
    assert shown == [shape.text_frame.text for shape in slanted]
    assert len(shown) == 2 * len(words)  # of two matrices
    for shape, found in zip(slanted, ends, strict=True):
        turn, x, y = map(float, found[:3])
        assert shape.rotation % 360 == pytest.approx(turn % 360)  # both turn clockwise
        assert shape.text_frame.paragraphs[0].alignment == PP_ALIGN.RIGHT
        left, top, width, height = (length / 9525 for length in (shape.left, shape.top, shape.width, shape.height))
        along = np.array([np.cos(np.radians(turn)), np.sin(np.radians(turn))])  # where the text reads to, y downwards
        end = np.array([left + width / 2, top + height / 2]) + along * width / 2
        assert np.abs(end - [x, y]).max() < 8  # half a line of text
        assert along[0] > 0 > along[1]  # it reads upwards, to the cell's column


def test_in_a_slides_formula_an_index_is_below_the_line_and_the_step_is_marked() -> None:
    frame = next(shape for shape in slide_of(sheet_of("scores")).shapes if shape.name == "formula").text_frame
    (index,) = [run for run in frame.paragraphs[0].runs if run.text == "O"]  # of W_O
    assert int(index.font._rPr.get("baseline")) < 0
    marked = [run.text for run in frame.paragraphs[0].runs if run.font._rPr.find(f"{DRAWING}highlight") is not None]
    assert "".join(marked).replace("\N{THIN SPACE}", "").startswith("QK")


def test_a_link_too_long_for_powerpoint_is_in_the_notes_alone() -> None:
    sheet = sheets(toy("word " * 500), ["tokens"])[0]
    assert len(sheet.link) > 2000
    slide = slide_of(sheet)
    assert sheet.link in slide.notes_slide.notes_text_frame.text
    assert not [run for shape in slide.shapes if shape.has_text_frame for paragraph in shape.text_frame.paragraphs
                for run in paragraph.runs if run.hyperlink.address]  # fmt: skip


@pytest.mark.parametrize(
    ("letter", "written"),
    [("è", r"\`{e}"), ("é", r"\'{e}"), ("ê", r"\^{e}"), ("ñ", r"\~{n}"), ("ö", r'\"{o}'), ("å", r"\r{a}"),
     ("č", r"\v{c}"), ("ç", r"\c{c}"), ("ő", r"\H{o}"), ("ā", r"\={a}"), ("ă", r"\u{a}"), ("ż", r"\.{z}"),
     ("í", r"\'{\i}"), ("ß", r"\ss{}"), ("≤", r"\ensuremath{\leq}"), ("≥", r"\ensuremath{\geq}"),
     ("−", r"\ensuremath{-}"), ("名前。", r"\avmissing{540D}\dots{}"), ("名a", r"\avmissing{540D}a"),
     ("ạ", r"\avmissing{1EA1}"), ("が", r"\avmissing{304C}"), ("é名", r"\'{e}\avmissing{540D}")],
)  # fmt: skip
def test_letters_of_other_languages_are_latexs_commands(letter: str, written: str) -> None:
    """As in the LaTeX companion's tables of accents and symbols."""
    assert tex(letter) == written


def test_the_same_sheets_give_the_same_pdf() -> None:
    assert len({write_pdf([draw_sheet(sheet_of("weights")), draw_sheet(sheet_of("tokens"))]) for _ in range(2)}) == 1


def test_pdfs_that_are_written_at_the_same_time_are_as_those_written_one_after_the_other() -> None:
    drawings = [draw_sheet(sheet_of(step)) for step in ("tokens", "scores", "weights", "output")]
    alone = [write_pdf([drawing]) for drawing in drawings]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda drawing: write_pdf([drawing]), drawings * 4))
    assert together == alone * 4


def test_one_token_and_one_head_are_no_plurals_in_notes() -> None:
    alone = replace(causal_toy(), query_tokens=CharVocab.from_text("ab").tokenize("b"))
    sheet = sheets(alone, ["tokens"])[0]
    assert sheet.alt == "1 token with its id: b 1."
    assert sheet.fact.startswith("Here 1 token, from a vocabulary of 2.")
    assert " 1 head of width " in sheets(toy("a b", heads="1", head="0"), ["tokens"])[0].notes
