"""Each mark of a drawing in each format, with numbers that all differ: places, sizes, colours, anchors and links."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from PIL import Image
from pypdf import PageObject, PdfReader

from attnviz.export.drawing.marks import (
    LIGHT_THEME,
    THEMES,
    Box,
    Drawing,
    Gradient,
    Line,
    Mark,
    Matrix,
    Text,
    Theme,
)
from attnviz.export.files.images import _places, render
from attnviz.export.files.pdf import write_pdf
from attnviz.export.files.svg import write_svg
from attnviz.export.files.tikz import BIG_POINT, picture, tex_address
from tests.unit.export.painted import State, painted

SVG = "{http://www.w3.org/2000/svg}"
XLINK = "href"
LINE = Line(11.5, 22, 133, 44, "#102030", 2.5)
FILLED, OUTLINED = Box(10, 20, 30, 45, fill="#112233"), Box(5, 7, 90, 80, outline="#445566", line=3)
BOTH = Box(10, 20, 30, 45, fill="#112233", outline="#445566", line=3)
PLAIN = Text(12, 34, "a <b> & “c”", 17, "#0A0B0C")
TURNED = Text(56, 78, "turned", 13.25, "#0D0E0F", bold=True, anchor="end", turn=55, link="https://x.example/?a=1&b=2")
MIDDLE = Text(90, 91, "mid", 9, "#010203", anchor="middle")


def elements(*marks: Mark) -> list[ET.Element]:
    root = ET.fromstring(write_svg(Drawing(300, 200, marks, "what it shows", "its <title>")))
    assert (root.get("viewBox"), root.get("width"), root.get("height")) == ("0 0 300 200", "300", "200")
    assert (root.find(f"{SVG}title").text, root.find(f"{SVG}desc").text) == ("its <title>", "what it shows")  # type: ignore[union-attr]
    return list(root)[4:]  # after title, description, definitions and paper


def numbers(element: ET.Element, *names: str) -> list[float]:
    return [float(element.get(name, "nan")) for name in names]


def test_lines_and_boxes_of_an_svg() -> None:
    line, filled, outlined, both = elements(LINE, FILLED, OUTLINED, BOTH)
    assert numbers(line, "x1", "y1", "x2", "y2", "stroke-width") == [11.5, 22, 133, 44, 2.5]
    assert line.get("stroke") == "#102030"
    assert numbers(filled, "x", "y", "width", "height") == [10, 20, 30, 45]
    assert (filled.get("fill"), filled.get("stroke")) == ("#112233", None)
    assert (outlined.get("fill"), outlined.get("stroke"), outlined.get("stroke-width")) == ("none", "#445566", "3")
    assert (both.get("fill"), both.get("stroke")) == ("#112233", "#445566")


def test_texts_of_an_svg() -> None:
    plain, link, middle = elements(PLAIN, TURNED, MIDDLE)
    assert plain.text == PLAIN.text
    assert numbers(plain, "x", "y", "font-size") == [12, 34, 17]
    assert [plain.get(name) for name in ("fill", "text-anchor", "font-weight", "transform")] == ["#0A0B0C", *[None] * 3]
    assert link.get(XLINK) == TURNED.link
    (turned,) = link
    assert turned.get("transform") == "rotate(-55 56 78)"
    assert (turned.get("text-anchor"), turned.get("font-weight"), turned.get("font-size")) == ("end", "600", "13.25")
    assert middle.get("text-anchor") == "middle"


def test_the_fonts_of_an_svg_hold_the_letters_of_their_weight() -> None:
    source = write_svg(Drawing(300, 200, (replace(PLAIN, text="abc"), replace(TURNED, text="xyz"))))
    faces = dict(re.findall(r"font-weight:(\d+);src:url\(data:font/woff2;base64,([^)]+)\)", source))
    letters = {weight: set(TTFont(io.BytesIO(b64decode(data))).getBestCmap()) for weight, data in faces.items()}
    assert letters == {"400": set(map(ord, "abc")), "600": set(map(ord, "xyz"))}
    assert "font-weight:600" not in write_svg(Drawing(300, 200, (PLAIN,)))


def matrix(rows: int, cols: int, numbers_: tuple[tuple[str, ...], ...] = ()) -> Matrix:
    values = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols)
    values[0, -1] = np.nan
    colours = np.random.default_rng(0).integers(0, 256, (rows, cols, 3), np.uint8)
    return Matrix("any", 20, 30, 120, 90, values, colours, numbers_, 15)


def test_cells_of_an_svg_are_shapes_and_many_of_them_one_picture() -> None:
    small = matrix(2, 3, (("1", "2", ""), ("4", "5", "6")))
    (group,) = elements(small)
    assert (group.get("data-name"), group.get("data-rows"), group.get("data-cols")) == ("any", "2", "3")
    *cells, frame = group.findall(f"{SVG}rect")
    assert len(cells) == 6 and numbers(frame, "x", "y", "width", "height") == [20, 30, 120, 90]
    assert cells[2].get("fill") == "url(#hatch)"
    for place, cell in enumerate(cells):
        i, j = divmod(place, 3)
        assert numbers(cell, "x", "y", "width", "height") == [20 + 40 * j + 0.5, 30 + 45 * i + 0.5, 39, 44]
        red, green, blue = small.colours[i, j]
        assert place == 2 or cell.get("fill") == f"#{red:02X}{green:02X}{blue:02X}"
    texts = [(text.text, *numbers(text, "x", "y")) for text in group.iter(f"{SVG}text")]
    assert [text[0] for text in texts] == ["1", "2", "4", "5", "6"]
    assert texts[3][1:] == pytest.approx((80, 97.5 + 0.34 * 15), abs=0.01)
    large = matrix(33, 32)
    (group,) = elements(large)
    (image,) = group.findall(f"{SVG}image")
    assert numbers(image, "x", "y", "width", "height") == [20, 30, 120, 90]
    pixels = np.asarray(Image.open(io.BytesIO(b64decode(image.get(XLINK, "").partition(",")[2]))))
    down, across = pixels.shape[0] // 33, pixels.shape[1] // 32
    np.testing.assert_array_equal(pixels[::down, ::across][1:], large.colours[1:])


def of_pdf(*marks: Mark, theme: Theme = LIGHT_THEME) -> PageObject:
    (page,) = PdfReader(io.BytesIO(write_pdf([Drawing(300, 200, marks, title="a title", theme=theme)]))).pages
    return page


def seen_in(page: PageObject) -> list[tuple[str, State]]:
    return [(name.removesuffix("*"), state) for name, state in painted(page)]


def test_lines_and_boxes_of_a_pdf() -> None:
    line, filled, outlined, both = seen_in(of_pdf(LINE, FILLED, OUTLINED, BOTH))
    ends = [point for _, place in line[1]["path"] for point in place]
    assert (line[0], ends, line[1]["RG"], line[1]["w"]) == ("S", [11.5, 22, 133, 44], (0x10, 0x20, 0x30), 2.5)
    assert (filled[0], filled[1]["path"]) == ("f", [("re", (10, 65, 40, 20))]) and filled[1]["rg"] == (0x11, 0x22, 0x33)
    assert (outlined[0], outlined[1]["path"], outlined[1]["w"]) == ("S", [("re", (5, 87, 95, 7))], 3)
    assert outlined[1]["RG"] == (0x44, 0x55, 0x66)
    assert (both[0], both[1]["rg"], both[1]["RG"]) == ("B", (0x11, 0x22, 0x33), (0x44, 0x55, 0x66))
    dark = THEMES["dark"]
    ((name, paper),) = seen_in(of_pdf(theme=dark))
    assert (name, paper["path"]) == ("f", [("re", (0, 200, 300, 0))])
    assert paper["rg"] == tuple(bytes.fromhex(dark.paper[1:]))
    assert seen_in(of_pdf()) == [], "white needs no background"


def test_cells_of_a_pdf_are_shapes_and_many_of_them_one_picture() -> None:
    small = matrix(2, 3, (("1", "2", ""), ("4", "5", "6")))
    page = of_pdf(small)
    cells = [state for name, state in seen_in(page) if name == "f" and not state["clip"]]
    assert [cell["rg"] for cell in cells] == [tuple(small.colours[divmod(at, 3)].tolist()) for at in (0, 1, 3, 4, 5)]
    assert cells[2]["path"] == [("re", (20.5, 119.5, 59.5, 75.5))]
    assert page.extract_text().split() == ["1", "2", "4", "5", "6"]
    hatching = [state for _, state in seen_in(page) if state["clip"]]
    assert {state["clip"] for state in hatching} == {(("re", (100.5, 74.5, 139.5, 30.5)),)}
    ground, stripe = (tuple(bytes.fromhex(colour[1:])) for colour in LIGHT_THEME.hatch["future"])
    assert hatching[0]["rg"] == ground and {state["RG"] for state in hatching[1:]} == {stripe}
    ends = [[point for _, place in state["path"] for point in place] for state in hatching[1:]]
    assert {(right - left, below - above) for left, below, right, above in ends} == {(90, 90)}, "parallel, at 45°"
    large = matrix(33, 32)
    page = of_pdf(large)
    (name, state), (_, frame) = seen_in(page)
    assert (name, state["path"]) == ("Do", [("image", (20, 120, 140, 30))])
    assert frame["path"] == [("re", (20, 120, 140, 30))]
    seen = np.asarray(page.images[0].image)
    down, across = seen.shape[0] // 33, seen.shape[1] // 32
    np.testing.assert_array_equal(seen[::down, ::across][1:], large.colours[1:])


def test_marks_of_tikz() -> None:
    _, source = picture([LINE, BOTH, OUTLINED, FILLED, PLAIN, TURNED, MIDDLE])
    lines = source.splitlines()[2:-1]
    point = 0.0125 * 72.27 / 2.54
    assert lines[0] == f"\\draw[av102030,line width={2.5 * point:.2f}pt] (11.5,22) -- (133,44);"
    wide = f"{3 * point:.2f}"
    assert lines[1] == f"\\path[fill=av112233,draw=av445566,line width={wide}pt] (10,20) rectangle (40,65);"
    assert lines[2] == f"\\path[draw=av445566,line width={wide}pt] (5,7) rectangle (95,87);"
    assert lines[3] == "\\path[fill=av112233,] (10,20) rectangle (40,65);"
    assert lines[4].startswith(f"\\node[anchor=base west,text=av0A0B0C] at (12,34) {{\\avsize{{{17 * point:.2f}}}a ")
    assert lines[5].startswith("\\node[anchor=base east,text=av0D0E0F,rotate=55] at (56,78) {")
    assert lines[5].endswith("\\bfseries turned};")
    assert lines[6].startswith("\\node[anchor=base,text=av010203] at (90,91)")
    assert tex_address("https://x.example/?a=1&b=2#c{d}\\e%20 é") == r"https://x.example/?a=1\&b=2\#cd/e\%20"


def test_a_colour_bar_of_tikz_has_its_colours_below_each_other() -> None:
    _, source = picture([Gradient(3, 4, 12, 100, ("#FF0000", "#00FF00", "#0000FF"))])
    assert source.splitlines()[2:-1] == [
        "\\shade[top color=avFF0000,bottom color=av00FF00] (3,4) rectangle (15,54);",
        "\\shade[top color=av00FF00,bottom color=av0000FF] (3,54) rectangle (15,104);",
    ]


def test_matrices_of_tikz_are_cells_up_to_16_and_pictures_beyond() -> None:
    defined, source = picture([matrix(16, 16), matrix(2, 17), matrix(17, 2)])
    assert source.count("\\avcell{") == 16 * 16 - 1 and "\\avhidden{0}{15}{1}" in source
    _, signed = picture([matrix(1, 3, (("−1.25", "0.5", ""),))])
    assert [cell.rpartition("{")[2] for cell in signed.split("}\n") if "avcell" in cell] == ["$-1.25$", "$0.5$"]
    assert defined.count("\\def\\avimage") == 2
    (first, second) = re.findall(
        r"\\def\\avimage(\w)\{\\avimage\{([-\d.]+)\}\{([-\d.]+)\}.*?\}\{(\d+)\}\{(\d+)\}\{", defined
    )
    assert (first[0], second[0]) == ("A", "B")
    assert [float(one) for one in first[1:3]] == pytest.approx([20 * BIG_POINT, -120 * BIG_POINT], abs=1e-3)
    assert (first[3:], second[3:]) == (("17", "2"), ("2", "17"))
    assert source.index("\\avimageA") < source.index("% any, 2 x 17") < source.index("\\avimageB")


def pixels(*marks: Mark) -> np.ndarray:
    return np.asarray(render(Drawing(150, 150, marks), 2)).astype(int)


def test_lines_and_boxes_of_a_png() -> None:
    seen = pixels(FILLED)
    assert (seen[40:130, 20:80] == (0x11, 0x22, 0x33)).all() and (seen[39, 19:] == 255).all()
    assert (seen[130] == 255).all() and (seen[:, 80] == 255).all()
    seen = pixels(OUTLINED)
    ink = (seen == (0x44, 0x55, 0x66)).all(-1)
    assert ink[14:20, 10:190].all() and ink[14:174, 10:16].all() and not ink[20:168, 16:184].any()
    assert not ink[:14].any() and not ink[174:].any()
    drawn = (pixels(Line(10, 40, 70, 40, "#102030", 3)) != 255).any(-1)
    rows, columns = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
    assert len(rows) == 6 and rows.mean() == pytest.approx(80, abs=1)
    assert (columns[0], columns[-1]) == (20, 140)
    assert render(Drawing(10.1, 7, ()), 1.25).size == (13, 9)


def test_cells_of_a_png_have_paper_between_them() -> None:
    small = replace(matrix(2, 3), values=np.ones((2, 3), np.float32))
    seen = pixels(small)
    for i in range(2):
        for j in range(3):
            assert seen[60 + 90 * i + 45, 40 + 80 * j + 40].tolist() == small.colours[i, j].tolist()
    assert (seen[60 + 45, [120, 121, 200, 201]] == 255).all() and (seen[[150, 151], 40 + 40] == 255).all()
    assert (seen[60 + 45, [119, 122]] == small.colours[0, [0, 1]]).all()


def test_a_large_matrix_of_a_png_has_its_colours_in_its_box() -> None:
    large = replace(matrix(40, 30), x=20, y=10, width=120, height=80)
    seen = pixels(large)[20:180, 40:280]
    middles = seen.reshape(40, 4, 30, 8, 3)[:, 2, :, 4]
    np.testing.assert_array_equal(middles[1:-1, 1:-1], large.colours[1:-1, 1:-1])


def test_each_pixel_of_a_side_has_its_cell() -> None:
    cell, after = _places(7, 3)
    assert cell.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert after.tolist() == [0, 1, 2, 0, 1, 0, 1]
    assert [part.tolist() for part in _places(4, 4)] == [[0, 1, 2, 3], [0] * 4]


def test_a_colour_bar_of_an_svg_has_evenly_spaced_colours() -> None:
    gradient, box = elements(Gradient(3, 4, 12, 100, ("#FF0000", "#00FF00", "#0000FF")))
    stops = [(float(stop.get("offset", "")), stop.get("stop-color")) for stop in gradient]
    assert stops == [(0, "#FF0000"), (0.5, "#00FF00"), (1, "#0000FF")]
    assert box.get("fill") == f"url(#{gradient.get('id')})"
    assert numbers(box, "x", "y", "width", "height") == [3, 4, 12, 100]
