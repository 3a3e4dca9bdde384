"""The pen that records a picture, and what is written of its marks: SVG, pixels, and the recording that becomes PDF."""

from __future__ import annotations

import io
from base64 import b64decode
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from attnviz.export.recording import Picture, Shape, TextLine, read_recording
from tests.browser.modules import Run

SVG = "{http://www.w3.org/2000/svg}"
Array = NDArray[np.float64]

WRITTEN = """
  const [{ toSvg }, { toCanvas }, { recording }, { bounds }] = await Promise.all(
    ["svg", "canvas", "recording", "bounds"].map((name) => import(`/frontend/pen/${name}.ts`)),
  );
  const pixels = (width, height, colours) => {
    const made = document.createElement("canvas");
    [made.width, made.height] = [width, height];
    const image = new ImageData(width, height);
    image.data.set(colours.flat());
    made.getContext("2d").putImageData(image, 0, 0);
    return made;
  };
  const written = (marks, { letters = "", scale = 1 } = {}) => {
    const sheet = { marks, width: 40, height: 20, paper: null, title: "a", caption: "b" };
    return {
      svg: toSvg(sheet, { regular: "", bold: "" }),
      png: toCanvas(sheet, { scale, family: "sans-serif" }).toDataURL("image/png").split(",")[1],
      recorded: recording(sheet, { letters: new Set(letters), family: "sans-serif" }),
    };
  };
"""
"""What is written of marks, `pixels(width, height, rgba of each)` as a canvas, and `bounds`"""


def moved(x: float = 0, y: float = 0) -> Array:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]], float)


def scaled(x: float, y: float) -> Array:
    return np.diag([x, y, 1.0])


def turned(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def places(matrix: Array, points: list[tuple[float, float]]) -> list[Any]:
    found = matrix @ np.array([(x, y, 1) for x, y in points], float).T
    return [pytest.approx(at, abs=1e-9) for at in found[:2].T.tolist()]


def rgba(found: dict[str, Any]) -> NDArray[np.int64]:
    """Return the pixels of a picture, (height, width, 4)."""
    return np.array(Image.open(io.BytesIO(b64decode(found["png"]))).convert("RGBA")).astype(int)


def elements(found: dict[str, Any], tag: str) -> list[ET.Element]:
    return list(ET.fromstring(found["svg"].encode()).iter(f"{SVG}{tag}"))


def test_marks_are_where_all_transforms_together_put_them(run: Run) -> None:
    body = """
      const pen = new m.Pen();
      pen.within({ x: 100, y: 50, density: 2, opacity: 0.5 }, () => {
        pen.translate(10, 20);
        pen.rotate(0.5);
        pen.beginPath();
        pen.moveTo(1, 2);
        pen.lineTo(3, 4);
        pen.bezierCurveTo(1, 0, 0, 1, 5, 5);
        pen.stroke();
        pen.fillRect(1, 2, 3, 4);
        pen.setTransform(1, 0, 0, 3, 7, 8);
        pen.strokeRect(1, 2, 3, 4);
        pen.within({ x: 2, opacity: 0.5 }, () => {
          pen.globalAlpha = 0.5;
          pen.fillStyle = "rgba(255, 0, 0, 0.5)";
          pen.fillRect(0, 0, 1, 1);
        });
      });
      pen.scale(-1, 1);
      pen.fillRect(-30, 5, 10, 2);
      return [pen.marks, pen.place(-30, 5)];
    """
    (line, box, grown, inner, mirrored), corner = run("pen/pen.ts", body)
    base = moved(100, 50) @ scaled(0.5, 0.5)
    matrix = base @ moved(10, 20) @ turned(0.5)
    assert [(step[0], len(step)) for step in line["path"]] == [("M", 3), ("L", 3), ("C", 7)]
    numbers = np.array([x for step in line["path"] for x in step[1:]]).reshape(-1, 2).tolist()
    assert numbers == places(matrix, [(1, 2), (3, 4), (1, 0), (0, 1), (5, 5)])
    assert (line["lineWidth"], line["alpha"], line["stroke"], line["fill"]) == (0.5, 0.5, "#000000", None)
    assert [step[0] for step in box["path"]] == ["M", "L", "L", "L", "Z"]
    assert [step[1:] for step in box["path"][:4]] == places(matrix, [(1, 2), (4, 2), (4, 6), (1, 6)])
    again = base @ moved(7, 8) @ scaled(1, 3)
    (left, top), (right, below) = ((again @ np.array([x, y, 1]))[:2] for x, y in ((1, 2), (4, 6)))
    assert grown["path"] == [["R", left, top, right - left, below - top]]
    assert grown["lineWidth"] == pytest.approx(np.sqrt(np.linalg.det(again)))
    origin = (again @ moved(2) @ np.array([0, 0, 1]))[:2].tolist()
    assert inner["path"][0][1:3] == pytest.approx(origin)
    assert (inner["fill"], inner["alpha"]) == ("#ff0000", pytest.approx(0.5**4, abs=1e-3))
    assert mirrored["path"] == [["R", 20, 5, 10, 2]]  # from its left upper corner, as SVG needs it
    assert corner == [30, 5]


def test_a_pen_gives_back_what_was_saved_and_leaves_out_what_is_not_seen(run: Run) -> None:
    body = """
      const pen = new m.Pen({ paper: "#ffffff" });
      pen.setLineDash([2, 1]);
      pen.save();
      pen.beginPath();
      pen.rect(0, 0, 9, 9);
      pen.clip();
      pen.beginPath();
      pen.rect(5, 5, 9, 9);
      pen.clip();
      Object.assign(pen, { fillStyle: "hsl(0deg 100% 50%)", globalAlpha: 0.5 });
      pen.setLineDash([]);
      pen.fillRect(0, 0, 1, 1);
      pen.restore();
      pen.strokeRect(0, 0, 1, 1);
      pen.globalAlpha = 0;
      pen.fillRect(0, 0, 1, 1);
      pen.globalAlpha = 1;
      pen.fillStyle = "transparent";
      pen.fillRect(0, 0, 1, 1);
      Object.assign(pen, { fillStyle: "#00ff00", globalCompositeOperation: "destination-out" });
      pen.fillRect(0, 0, 1, 1);  // a fade at an edge
      pen.clearRect(1, 2, 3, 4);
      const bare = new m.Pen();
      bare.clearRect(1, 2, 3, 4);
      return [pen.marks, bare.marks];
    """
    (inside, after, paper), bare = run("pen/pen.ts", body)
    assert (inside["fill"], inside["alpha"]) == ("#ff0000", 0.5)
    assert inside["clip"] == {"path": [["R", 5, 5, 9, 9]], "parent": {"path": [["R", 0, 0, 9, 9]], "parent": None}}
    assert (after["clip"], after["dash"], after["alpha"]) == (None, [2, 1], 1)
    assert (paper["path"], paper["fill"]) == ([["R", 1, 2, 3, 4]], "#ffffff")  # nothing else can take away
    assert bare == []


@pytest.mark.parametrize("reason", ["future", "window", "padding"])
def test_hatching_is_lines_over_all_of_the_ground_and_inside_of_it(run: Run, reason: str) -> None:
    """Lines rise in the future and fall outside of a window; padding has both."""
    body = """
      const pen = new m.Pen();
      const hatch = { ground: "#D4D4DC", line: "#AFAFBB", lineWidth: 1.5, reason: given };
      pen.fillStyle = pen.createPattern({ hatch });
      pen.fillRect(10, 20, 12, 30);
      return pen.marks;
    """
    ground, lines = run("pen/pen.ts", body, reason)
    assert (ground["path"], ground["fill"], ground["clip"]) == ([["R", 10, 20, 12, 30]], "#d4d4dc", None)
    assert lines["clip"]["path"] == ground["path"]
    assert (lines["stroke"], lines["lineWidth"]) == ("#afafbb", 1.5)
    ends = [(start[1:], end[1:]) for start, end in zip(lines["path"][::2], lines["path"][1::2], strict=True)]
    rising = [(a, b) for a, b in ends if b[0] < a[0]]
    falling = [((32 - ax, ay), (32 - bx, by)) for (ax, ay), (bx, by) in ends if bx > ax]  # mirrored, 10 to 22
    assert [bool(rising), bool(falling)] == [reason != "window", reason != "future"]
    for side in filter(None, (rising, falling)):
        sums = [x + y for (x, y), _ in side]
        assert sums == [x + y for _, (x, y) in side]  # at 45 degrees
        assert set(np.diff(sums)) == {6}
        assert sums[0] - 30 < 6  # the left upper corner is at 10 + 20, the right lower one at 22 + 50
        assert 72 - sums[-1] <= 6


def test_a_picture_in_a_picture_has_its_cells_where_they_are(run: Run) -> None:
    """Two by three pixels of a larger image, drawn twice as wide and five times as high."""
    body = """
      const pen = new m.Pen();
      const image = pixels(4, 5, Array.from({ length: 20 }, (_, n) => [n, 100 + n, 200, n === 14 ? 0 : 255]));
      pen.globalAlpha = 0.5;
      pen.imageSmoothingEnabled = false;
      pen.drawImage(image, 1, 2, 2, 3, 10, 3, 4, 15);
      pen.drawImage(image, 1.5, 2.25, 1, 1, 0, 0, 10, 20);  // parts of pixels: whole ones, around that place
      pen.imageSmoothingEnabled = true;
      pen.drawImage(image, 0, 0, 4, 5, 0, 0, 4, 5);
      const large = pixels(65, 64, [[1, 2, 3, 255]]);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(large, 0, 0, 65, 64, 0, 0, 65, 64);
      const raw = new ImageData(2, 1);
      raw.data.fill(7);
      pen.putImageData(raw, 3, 4);
      raw.data.fill(9);
      const all = pen.marks.map(({ image, ...mark }) => ({ ...mark, of: [image.width, image.height, image.data[0]] }));
      const empty = { marks: [], width: 1, height: 1, title: "", caption: "" };
      const named = toSvg(empty, { regular: "QUJD", bold: "" });
      return [all, written(pen.marks.slice(0, 1)), written([pen.marks[3]]), named];
    """
    marks, found, large, named = run("pen/pen.ts", WRITTEN + body)
    boxes = [[mark[side] for side in ("x", "y", "width", "height")] for mark in marks]
    assert boxes == [[10, 3, 4, 15], [-5, -5, 20, 40], [0, 0, 4, 5], [0, 0, 65, 64], [3, 4, 2, 1]]
    assert [mark["of"] for mark in marks] == [[2, 3, 9], [2, 2, 9], [4, 5, 0], [65, 64, 1], [2, 1, 7]]
    assert [mark["cells"] for mark in marks] == [True, True, False, False, False]
    assert [mark["smooth"] for mark in marks] == [False, False, True, False, True]
    cells = [n for n in (9, 10, 13, 14, 17, 18) if n != 14]  # one is transparent
    rects = elements(found, "rect")
    corners = {9: (10, 3), 10: (12, 3), 13: (10, 8), 17: (10, 13), 18: (12, 13)}
    assert [(float(one.get("x", "")), float(one.get("y", ""))) for one in rects] == [corners[n] for n in cells]
    assert {(one.get("width"), one.get("height")) for one in rects} == {("2", "5")}
    assert [one.get("fill") for one in rects] == [f"#{n:02x}{100 + n:02x}c8" for n in cells]
    assert elements(found, "g")[0].get("opacity") == "0.5"
    (picture,) = read_recording(found["recorded"].encode()).marks
    assert isinstance(picture, Picture)
    assert (picture.is_cells, picture.alpha, picture.pixels.box) == (True, 0.5, (10, 3, 4, 15))
    assert picture.pixels.image.getpixel((1, 2)) == (18, 118, 200, 255)
    drawn = rgba(found)
    for n, (x, y) in corners.items():
        assert drawn[y, x, 3] == drawn[y + 4, x + 1, 3] == 128
        assert abs(drawn[y + 4, x + 1, :3] - [n, 100 + n, 200]).max() <= 1  # hard edges
    assert drawn[8, 12].tolist() == [0, 0, 0, 0]
    (image,) = elements(large, "image")
    assert (image.get("style"), image.get("preserveAspectRatio")) == ("image-rendering:pixelated", "none")
    assert "More than 64 by 64 cells" in large["svg"]
    assert "font-weight:400;src:url(data:font/woff2;base64,QUJD)" in named
    assert "font-weight:600" not in named


def test_text_is_anchored_measured_and_without_what_it_could_break_out_with(run: Run) -> None:
    hostile = 'a<b>&"c\x07\u2067'
    body = """
      const pen = new m.Pen();
      const width = {};
      for (const [text, align, font, baseline] of given) {
        Object.assign(pen, { textAlign: align, font, textBaseline: baseline, fillStyle: "#102030" });
        pen.fillText(text, 20, 10);
        width[text] = pen.measureText(text).width;
      }
      pen.rotate(Math.PI / 2);
      pen.globalAlpha = 0.25;
      pen.fillText("turned", 5, -6);
      const { charactersOf } = await import("/frontend/pen/svg.ts");
      const characters = [false, true].map((isBold) => charactersOf(pen.marks, isBold));
      return [pen.marks, width, characters, written(pen.marks).svg];
    """
    given = [
        (hostile, "left", "12px sans-serif", "alphabetic"),
        ("right", "right", "600 12.5px sans-serif", "middle"),
        ("abba", "center", "bold 9px sans-serif", "top"),
        ("שלום", "start", "500 9px sans-serif", "alphabetic"),
        ("x", "end", "9px sans-serif", "bottom"),
    ]
    marks, width, characters, svg = run("pen/pen.ts", WRITTEN + body, given)
    texts = [*ET.fromstring(svg.encode()).iter(f"{SVG}text")]
    assert [text.text for text in texts] == ['a<b>&"c\ufffd', "right", "abba", "שלום", "x", "turned"]
    assert [text.get("text-anchor") for text in texts] == [None, "end", "middle", None, "end", "end"]
    assert [text.get("font-size") for text in texts] == ["12", "12.5", "9", "9", "9", "9"]
    assert [text.get("font-weight") for text in texts] == [None, "600", "600", None, None, None]
    assert [text.get("unicode-bidi") for text in texts] == [None, None, None, "plaintext", None, None]
    assert [text.get("opacity") for text in texts] == [None] * 5 + ["0.25"]
    assert texts[4].get("textLength") is None  # one letter has no width to be kept
    for text, (name, *_) in zip(texts[:4], given, strict=False):
        assert float(text.get("textLength", "")) == pytest.approx(width[name], abs=0.01)
    # The foot of the letters lies below a line through their middle or their top, and above one under them.
    feet = [mark["matrix"][5] - 10 for mark in marks[:5]]
    assert feet[0] == feet[3] == 0
    assert 0 < feet[1] < 12.5 / 2 < feet[2] < 9 * 1.3
    assert -9 / 2 < feet[4] < 0
    turned_by = [float(x) for x in (texts[5].get("transform") or "").removeprefix("matrix(").rstrip(")").split()]
    assert turned_by[:4] == [0, 1, -1, 0]
    assert turned_by[4:] == [pytest.approx(6 - feet[4], abs=1e-3), 5]
    assert characters[1] == "abghirt"  # of "right" and "abba", each once and in order
    assert "א" not in characters[0] and "ם" in characters[0] and "\u2067" not in characters[0]


def test_the_box_of_marks_has_their_lines_and_letters_and_is_cut_by_all_clips(run: Run) -> None:
    body = """
      const one = (work) => {
        const pen = new m.Pen();
        Object.assign(pen, { font: "10px sans-serif", lineWidth: 4 });
        work(pen);
        return bounds(pen.marks);
      };
      const clipped = (pen, ...boxes) => boxes.forEach((box) => {
        pen.beginPath();
        pen.rect(...box);
        pen.clip();
      });
      const width = new m.Pen().measureText("word").width;
      const text = (align) => one((pen) => {
        pen.textAlign = align;
        pen.fillText("word", 50, 20);
      });
      return [
        one(() => {}), one((pen) => pen.strokeRect(10, 10, 20, 10)), one((pen) => pen.fillRect(10, 10, 20, 10)),
        one((pen) => {
          clipped(pen, [0, 0, 25, 100], [15, 12, 100, 100]);
          pen.fillRect(10, 10, 20, 10);
        }),
        one((pen) => {
          clipped(pen, [0, 0, 5, 5]);
          pen.fillRect(10, 10, 20, 10);
        }),
        ...["left", "center", "right"].map((align) => [text(align).x, text(align).width / width]),
        [text("left").y < 20 - 5, text("left").y + text("left").height > 20],
      ];
    """
    none, stroked, filled, cut, outside, *texts, height = run("pen/pen.ts", WRITTEN + body)
    assert (none, outside) == (None, None)
    assert stroked == {"x": 8, "y": 8, "width": 24, "height": 14}
    assert filled == {"x": 10, "y": 10, "width": 20, "height": 10}
    assert cut == {"x": 15, "y": 12, "width": 10, "height": 8}
    (left, _), (middle, _), (right, _) = texts
    assert left == 50
    assert 50 - middle == pytest.approx((50 - right) / 2)
    assert [share for _, share in texts] == [pytest.approx(1)] * 3
    assert height == [True, True]


def test_every_file_cuts_a_mark_by_its_own_clips(run: Run) -> None:
    """Two squares in nested clips, one in the outer clip, one in none; and a path of two rectangles."""
    body = """
      const pen = new m.Pen();
      const clip = (...box) => {
        pen.beginPath();
        pen.rect(...box);
        pen.clip();
      };
      pen.save();
      clip(0, 0, 20, 20);
      pen.save();
      clip(10, 0, 20, 20);
      Object.assign(pen, { fillStyle: "#ff0000", globalAlpha: 0.5 });
      pen.fillRect(0, 0, 40, 5);
      pen.fillRect(0, 5, 40, 5);
      pen.restore();
      pen.fillStyle = "#00ff00";
      pen.fillRect(0, 10, 40, 5);
      pen.restore();
      Object.assign(pen, { strokeStyle: "#0000ff", lineWidth: 2 });
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.moveTo(0, 18);
      pen.lineTo(40, 18);
      pen.stroke();
      pen.fillStyle = "#00ffff";
      pen.beginPath();
      pen.rect(30, 0, 4, 4);
      pen.rect(36, 0, -4, 4);
      pen.fill();
      return written(pen.marks, { scale: 2 });
    """
    found = run("pen/pen.ts", WRITTEN + body)
    root = ET.fromstring(found["svg"].encode())
    assert len(elements(found, "clipPath")) == 2
    outer, *rest = [one for one in root if one.tag in (f"{SVG}g", f"{SVG}rect", f"{SVG}path")]
    assert [one.tag.removeprefix(SVG) for one in rest] == ["path", "path"]
    inner, shape = [one for one in outer if one.tag in (f"{SVG}g", f"{SVG}rect")]
    assert [one.get("fill") for one in inner] == ["#ff0000"] * 2
    assert [one.get("opacity") for one in (*inner, shape)] == ["0.5", "0.5", None]
    assert rest[0].get("stroke-dasharray") == "4 4"
    assert rest[1].get("d") == "M30 0h4v4h-4ZM32 0h4v4h-4Z"
    marks = read_recording(found["recorded"].encode()).marks
    assert [len(mark.clip) for mark in marks] == [2, 2, 1, 0, 0]
    assert isinstance(marks[3], Shape)
    assert marks[3].dash == (4, 4)
    pixels = rgba(found)
    assert pixels.shape == (40, 80, 4)
    assert pixels[4, [10, 30, 50]].tolist() == [[0, 0, 0, 0], [255, 0, 0, 128], [0, 0, 0, 0]]
    assert pixels[24, [10, 30, 50]].tolist() == [[0, 255, 0, 255], [0, 255, 0, 255], [0, 0, 0, 0]]
    assert [pixels[36, x, 3] for x in (4, 12, 20, 28)] == [255, 0, 255, 0]  # a dashed line


def test_a_recording_has_pieces_that_the_font_can_write_and_images_of_the_others(run: Run) -> None:
    body = """
      const pen = new m.Pen();
      pen.font = "10px sans-serif";
      pen.rotate(1 / 3);
      for (const text of given) pen.fillText(text, 1, 2);
      const widths = given.map((text) => pen.measureText(text).width);
      return [written(pen.marks, { letters: "abcשלום" }).recorded, widths, pen.marks[0].matrix];
    """
    given = ["abcab", "a中文b", "aé", "שלום", "e\u0301a"]
    recorded, widths, matrix = run("pen/pen.ts", WRITTEN + body, given)
    marks = read_recording(recorded.encode()).marks
    words = [mark for mark in marks if isinstance(mark, TextLine)]
    pieces = [[(piece.text, piece.seen is None) for piece in mark.pieces] for mark in words]
    assert pieces == [
        [("abcab", True)],
        [("a", True), ("中文", False), ("b", True)],
        [("a", True), ("é", False)],
        [("םולש", False)],  # as it stands, from the left
        [("e\u0301", False), ("a", True)],
    ]
    for mark, width in zip(words, widths, strict=True):
        assert sum(piece.width for piece in mark.pieces) == pytest.approx(width, abs=0.5)
    seen = words[3].pieces[0].seen
    assert seen is not None
    assert np.array(seen.image)[..., 3].max() > 0
    assert words[0].matrix == pytest.approx(matrix, abs=1e-4)
