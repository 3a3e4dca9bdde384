"""The same things are at the same places of a matrix on the board and in the files that Python makes.

A slide has larger type than the board, so its matrices have other sizes: places are compared in matrices of one size.
"""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from pypdf import PdfReader

from attnviz.components.payload import write_payload
from attnviz.export.drawing.marks import LIGHT_THEME, Drawing, Matrix, Text
from attnviz.export.drawing.picture import draw_layout
from attnviz.export.files.pdf import write_pdf, write_recording
from attnviz.export.recording import read_recording
from attnviz.figures.panels import Layout, Panel, Scale, in_a_row
from attnviz.figures.steps import lay_out
from attnviz.figures.style import AXIS_TITLE
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import Walk
from tests.browser.modules import Run
from tests.loaded import built_in_model
from tests.pictures import board_picture
from tests.toy import run_block

WIDTH, HEIGHT = 1200, 640
DRAWN = """
  const [{ readPayload }, { complete }, { Pen }, { boardPicture }, { recording }] = await Promise.all([
    "core/payload.ts", "board/panel.ts", "pen/pen.ts", "export/board.ts", "pen/recording.ts",
  ].map((file) => import(`/frontend/${file}`)));
  const size = { width: given.width, height: given.height };
  const boards = given.sent.map((sent) => {
    const { header, arrays } = readPayload(Uint8Array.from(atob(sent), (character) => character.charCodeAt(0)));
    const root = document.createElement("div");
    root.style.cssText = `width: ${given.width}px; height: ${given.height}px; font-family: sans-serif`;
    document.body.append(root);
    const board = new m.Board(root);
    board.show({ ...header, panels: header.panels.map((panel, i) => complete({ ...panel, ...arrays[i] })) });
    return board;
  });
  await new Promise((done) => setTimeout(done, 200));
  return boards.map((board) => {
    const pen = new Pen({ paper: null });
    boardPicture(board).paint(pen, { theme: "light" });
    const sheet = { marks: pen.marks, ...size, paper: null, title: "", caption: "" };
    return {
      places: board.places.map(({ panel, x, y, width, height }) => ({ name: panel.name, x, y, width, height })),
      texts: pen.marks.filter(({ kind }) => kind === "text"),
      recording: recording(sheet, { letters: new Set(given.letters), family: "sans-serif" }),
    };
  });
"""

DIGIT = re.compile(r"\d")
DECIMAL = re.compile(r"−?\d*\.\d")

Place = tuple[str, float, float]
"""A text, and where its middle is across the line at its anchor, in px"""


def walks() -> Iterator[Walk]:
    yield run_block(range(7), ToyConfig(causal=True)).walk(0, 1)
    yield built_in_model().trace("The animal didn't cross the street.").walk(3, 5)


def drawn(run: Run, *pictures: tuple[Layout, Walk]) -> list[Any]:
    """Draw pictures on boards, all of them on one page; return what each board holds."""
    sent = [b64encode(write_payload(*board_picture(layout, walk.labels))).decode() for layout, walk in pictures]
    letters = "".join(map(chr, range(32, 0x250))) + "−…·×"
    found: list[Any] = run(
        "board/board.ts", DRAWN, {"sent": sent, "width": WIDTH, "height": HEIGHT, "letters": letters}
    )
    return found


def of_python(layout: Layout, walk: Walk) -> Drawing:
    """Draw the same picture as files of Python have it."""
    marks = draw_layout(layout, walk.labels, x=0, y=0, width=WIDTH, height=HEIGHT, theme=LIGHT_THEME)
    return Drawing(WIDTH, HEIGHT, tuple(marks))


def middle(x: float, y: float, size: float, turn: float) -> tuple[float, float]:
    """Return the middle of the line of a text that stands on (x, y), turned by `turn` radians counter-clockwise."""
    return x - 0.33 * size * math.sin(turn), y - 0.33 * size * math.cos(turn)


def of_board(texts: list[dict[str, Any]]) -> list[Place]:
    found = []
    for text in texts:
        a, b, _, _, x, y = text["matrix"]
        found.append((text["text"], *middle(x, y, text["size"], -math.atan2(b, a))))
    return found


def of_drawing(drawing: Drawing) -> list[Place]:
    outside = [(one.text, *middle(one.x, one.y, one.size, math.radians(one.turn))) for one in drawing.texts]
    cells = [
        (number, *middle(*matrix.number_at(i, j), matrix.size, 0))
        for matrix in drawing.matrices
        for i, row in enumerate(matrix.numbers)
        for j, number in enumerate(row)
        if number
    ]
    return [*outside, *cells]


def beside(places: list[Place], box: tuple[float, float, float, float], side: str) -> dict[tuple[str, int], float]:
    """Return how far along a matrix its labels are, as shares: those of the rows left of it, of the columns below it.

    The key is a label, and how many before it read the same.
    """
    left, top, width, height = box
    found: dict[tuple[str, int], float] = {}
    for text, x, y in sorted(places, key=lambda one: (one[2], one[1])):
        across, down = (x - left) / width, (y - top) / height
        is_row = -12 < x - left < 0 and -0.01 < down < 1.01
        is_column = 0 < y - top - height < 40 and -0.01 < across < 1.01
        if not {"rows": is_row, "columns": is_column}[side] or text in AXIS_TITLE.values() or DECIMAL.match(text):
            continue
        before = sum(1 for other, _ in found if other == text)
        found[text, before] = down if side == "rows" else across
    return found


def numbers_in(
    places: list[Place], box: tuple[float, float, float, float], matrix: Matrix
) -> dict[tuple[int, int], Place]:
    """Return the numbers in the cells of a matrix by row and column, with how far along both they are, as shares."""
    left, top, width, height = box
    inside = [(text, (x - left) / width, (y - top) / height) for text, x, y in places]
    inside = [one for one in inside if 0 < one[1] < 1 and 0 < one[2] < 1]
    return {(int(matrix.rows * down), int(matrix.cols * across)): (text, across, down) for text, across, down in inside}


def test_labels_and_numbers_are_where_python_puts_them(run: Run) -> None:
    pictures = [(lay_out(walk, step), walk) for walk in walks() for step in ("scores", "weights", "head_outputs")]
    for board, (layout, walk) in zip(drawn(run, *pictures), pictures, strict=True):
        check_places(board, layout, walk)


def check_places(board: dict[str, Any], layout: Layout, walk: Walk) -> None:
    drawing = of_python(layout, walk)
    ours, pythons = of_board(board["texts"]), of_drawing(drawing)
    assert [place["name"] for place in board["places"]] == [matrix.name for matrix in drawing.matrices]
    rows_of = {panel.name: panel.rows for row in layout.grid for panel in row if panel is not None}
    compared = 0
    for place, matrix in zip(board["places"], drawing.matrices, strict=True):
        box = (place["x"], place["y"], place["width"], place["height"])
        other = (matrix.x, matrix.y, matrix.width, matrix.height)
        for side, length in (("rows", matrix.height), ("columns", matrix.width)):
            found, expected = beside(ours, box, side), beside(pythons, other, side)
            for label in found.keys() & expected.keys():
                assert abs(found[label] - expected[label]) * length < 1, (matrix.name, side, label)
            compared += len(found.keys() & expected.keys())
            if side == "rows" and rows_of[matrix.name] in walk.labels:  # of numbers, more fit in smaller type
                assert found.keys() == expected.keys(), matrix.name
        cells, others = numbers_in(ours, box, matrix), numbers_in(pythons, other, matrix)
        if matrix.numbers and cells:
            assert cells.keys() == others.keys()
            for at, (text, *where) in cells.items():
                wanted, *there = others[at]
                assert float(text.replace("−", "-")) == pytest.approx(float(wanted.replace("−", "-")), abs=0.05)
                assert abs(where[0] - there[0]) * matrix.width < 1
                assert abs(where[1] - there[1]) * matrix.height < 1
                compared += 1
    assert compared > 10


BARS: list[tuple[float, float, float | None, Scale, list[str]]] = [
    (-1.5, 1.5, None, "signed", ["1.50", "0", "−1.50"]),
    (-4.0, 3.0, 2.0, "signed", ["≥2.00", "0", "≤−2.00"]),
    (-4.0, 1.0, 2.0, "signed", ["2.00", "0", "≤−2.00"]),
    (-1.0, 4.0, 2.0, "signed", ["≥2.00", "0", "−2.00"]),
    (-12.0, 2.0, 12.0, "signed", ["12.0", "0", "−12.0"]),
    (0.0, 0.08, 0.05, "weights", ["≥0.050", "0.025", "0"]),
    (0.0, 0.9, 1.0, "weights", ["1.00", "0.50", "0"]),
]
"""The smallest and the largest number of a matrix, where its colours end, its scale, and what stands at its bar"""


def test_a_colour_bar_says_where_its_colours_end_and_whether_numbers_go_beyond(run: Run) -> None:
    walk = next(walks())
    pictures = []
    for smallest, largest, limit, scale, _ in BARS:
        values = np.linspace(smallest, largest, 49, dtype=np.float32).reshape(7, 7)
        panel = Panel("weights", "numbers", values, "query", "key", limit=limit, scale=scale, bar=True)
        pictures.append((in_a_row(panel), walk))
    for board, (layout, _), (*given, expected) in zip(drawn(run, *pictures), pictures, BARS, strict=True):
        (place,) = board["places"]
        drawing = of_python(layout, walk)
        (matrix,) = drawing.matrices
        for places, right in (
            (of_board(board["texts"]), place["x"] + place["width"]),
            (of_drawing(drawing), matrix.x + matrix.width),
        ):
            beside_it = sorted((y, text) for text, x, y in places if x > right and DIGIT.search(text))
            assert [text for _, text in beside_it] == expected, given


def texts_of(pdf: bytes) -> dict[str, list[tuple[float, float]]]:
    """Return where the lines of text of a page begin, in pixels from its upper left corner."""
    (page,) = PdfReader(BytesIO(pdf)).pages
    found: dict[str, list[tuple[float, float]]] = {}

    def see(text: str, cm: list[float], tm: list[float], *_: object) -> None:
        x, y, _ = np.array([tm[4], tm[5], 1]) @ [[cm[0], cm[1], 0], [cm[2], cm[3], 0], [cm[4], cm[5], 1]]
        if text.strip():
            found.setdefault(text.strip(), []).append((x / 0.75, (float(page.mediabox[3]) - y) / 0.75))

    page.extract_text(visitor_text=see)
    return found


def test_a_pdf_of_the_board_and_one_of_pythons_have_texts_at_the_same_places_as_what_they_are_made_of(
    run: Run,
) -> None:
    walk = next(walks())
    layout = lay_out(walk, "weights")
    (board,) = drawn(run, (layout, walk))
    of_recording = texts_of(write_recording(read_recording(board["recording"].encode())))
    upright = [one for one in board["texts"] if abs(one["matrix"][1]) < 1e-6 and one["text"] in of_recording]
    assert len(upright) > 10
    for one in upright:
        x, y = one["matrix"][4:]
        near = min(abs(y - there[1]) for there in of_recording[one["text"]])
        assert near < 1, one["text"]
        if one["anchor"] == "start":
            assert min(math.dist((x, y), there) for there in of_recording[one["text"]]) < 1, one["text"]
    drawing = of_python(layout, walk)
    of_pdf = texts_of(write_pdf([drawing]))
    compared = 0
    for text in drawing.texts:
        if isinstance(text, Text) and not text.turn and text.anchor == "start" and text.text in of_pdf:
            compared += 1
            assert min(math.dist((text.x, text.y), there) for there in of_pdf[text.text]) < 1, text.text
    assert compared > 2
