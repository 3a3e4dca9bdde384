"""Pictures that a browser records: what is in the PDF, compared with the recording, and what is refused."""

from __future__ import annotations

import io
import json
import struct
import zlib
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pypdf import PageObject, PdfReader
from pypdf.generic import ContentStream

from attnviz.export.drawing import fonts
from attnviz.export.files.pdf import OVERLAP, write_recording
from attnviz.export.recording import LIMITS, RecordingError, read_recording, read_recordings
from tests.unit.export.painted import painted

PLAIN = {"alpha": 1, "clip": None}


def png(pixels: list[list[tuple[int, int, int, int]]]) -> str:
    file = io.BytesIO()
    Image.fromarray(np.array(pixels, np.uint8)).save(file, "PNG")
    return b64encode(file.getvalue()).decode()


RED, CLEAR = (255, 0, 0, 255), (0, 0, 0, 0)
DOT = png([[RED]])
SEEN = {"png": DOT, "x": 0, "y": -10, "width": 30, "height": 14}


def shape(path: list[list[Any]], **more: Any) -> dict[str, Any]:
    looks = {"fill": "#00ff00", "stroke": None, "lineWidth": 1, "dash": []}
    return {"kind": "shape", "path": path, **looks, **PLAIN, **more}


def words(*pieces: dict[str, Any], **more: Any) -> dict[str, Any]:
    looks = {"matrix": [1, 0, 0, 1, 100, 50], "size": 20, "bold": False, "anchor": "start", "fill": "#000000"}
    return {"kind": "text", "pieces": list(pieces), **looks, **PLAIN, **more}


def written(text: str) -> dict[str, Any]:
    return {"text": text, "width": 0, "image": None}


def seen(text: str, width: float = 30) -> dict[str, Any]:
    return {"text": text, "width": width, "image": SEEN}


def picture(data: str, *, cells: bool, **more: Any) -> dict[str, Any]:
    box = {"x": 10, "y": 20, "width": 40, "height": 30}
    return {"kind": "image", "png": data, "cells": cells, **box, **PLAIN, **more}


def recorded(*marks: dict[str, Any], **more: Any) -> dict[str, Any]:
    whole = {"width": 400, "height": 300, "paper": None, "title": "a title", "caption": "a caption", "clips": []}
    return {**whole, "marks": list(marks), **more}


def pdf(recording: dict[str, Any]) -> PdfReader:
    data = write_recording(read_recording(json.dumps(recording).encode()))
    return PdfReader(io.BytesIO(data), strict=True)


def page(recording: dict[str, Any]) -> PageObject:
    (found,) = pdf(recording).pages
    return found


def test_a_page_has_the_size_title_and_paper_of_the_picture() -> None:
    document = pdf(recorded(paper="#14141b"))
    (only,) = document.pages
    assert [float(edge) for edge in only.mediabox] == [0, 0, 300, 225]
    assert document.metadata
    assert (document.metadata.title, document.metadata.subject) == ("a title", "a caption")
    ((name, state),) = painted(only)
    assert (name.rstrip("*"), state["rg"], state["path"]) == ("f", (0x14, 0x14, 0x1B), [("re", (0, 0, 400, 300))])
    assert list(painted(page(recorded()))) == []


def test_shapes_have_their_places_colours_lines_and_opacity() -> None:
    curve = [["M", 1, 2], ["C", 3, 4, 5, 6, 7, 8], ["L", 9, 10.5], ["Z"]]
    first, second, third = painted(page(recorded(
        shape([["R", 10, 20, 30, 40]], alpha=0.25),
        shape(curve, fill=None, stroke="#0000ff", dash=[3, 2], alpha=0.5),
        shape(curve, stroke="#ff0000", dash=[0, 0]),
    )))  # fmt: skip
    assert (first[0], first[1]["path"]) == ("f", [("re", (10, 20, 40, 60))])
    assert (first[1]["rg"], first[1]["ca"]) == ((0, 255, 0), 0.25)
    assert second[0] == "S"
    assert second[1]["path"] == [("m", (1, 2)), ("c", (3, 4, 5, 6, 7, 8)), ("l", (9, 10.5))]
    assert (second[1]["RG"], second[1]["CA"], second[1]["d"]) == ((0, 0, 255), 0.5, (3, 2))
    assert (third[0], third[1]["ca"], third[1]["CA"], third[1]["d"]) == ("B", 1, 1, ())


def test_a_mark_is_cut_by_its_clips_and_by_no_others() -> None:
    box = [["R", 0, 0, 5, 5]]
    clips = [{"path": [["R", at, at, 50, 50]], "parent": parent} for at, parent in ((1, None), (2, 0), (3, 0))]
    marks = [shape(box, clip=clip) for clip in (None, 1, 1, 2, 0, None)]
    around = [state["clip"] for _, state in painted(page(recorded(*marks, clips=clips)))]
    one, two, three = (("re", (at, at, at + 50.0, at + 50.0)) for at in (1, 2, 3))
    assert around == [(), (one, two), (one, two), (one, three), (one,), ()]


def test_cells_are_rectangles_and_transparent_ones_are_left_out() -> None:
    data = png([[RED, CLEAR], [(1, 2, 3, 255), RED]])
    found = [(state["rg"], state["path"], state["ca"]) for _, state in painted(page(recorded(
        picture(data, cells=True, alpha=0.5)
    )))]  # fmt: skip
    edges = [(10, 20, 30, 35), (10, 35, 30, 50), (30, 35, 50, 50)]
    boxes = [("re", (left, top, right + OVERLAP, foot + OVERLAP)) for left, top, right, foot in edges]
    assert found == [
        (colour, [box], 0.5) for colour, box in zip([(255, 0, 0), (1, 2, 3), (255, 0, 0)], boxes, strict=True)
    ]


def test_images_have_their_pixels_their_place_and_their_transparency() -> None:
    solid, faded = [[RED, (0, 0, 255, 255)]], [[RED, (0, 0, 255, 128)]]
    drawn = page(recorded(picture(png(solid), cells=False, alpha=0.5), picture(png(faded), cells=False)))
    (one, state), (other, _) = painted(drawn)
    assert one == other == "Do"
    assert (state["path"], state["ca"]) == ([("image", (10, 50, 50, 20))], 0.5)  # its first row is at the top
    images = [image.image for image in drawn.images]
    assert sorted(image.mode for image in images if image) == ["RGB", "RGBA"]
    for image in images:
        assert image
        known = faded if image.mode == "RGBA" else solid
        np.testing.assert_array_equal(np.asarray(image.convert("RGBA")), known)


@pytest.mark.parametrize("anchor", ["start", "middle", "end"])
def test_text_is_anchored_by_the_widths_of_its_pieces(anchor: str) -> None:
    found: dict[str, tuple[float, float]] = {}

    def see(text: str, cm: list[float], tm: list[float], *_: object) -> None:
        if text.strip():
            x, y, _ = [tm[4], tm[5], 1] @ np.array([[*cm[:2], 0], [*cm[2:4], 0], [*cm[4:], 1]])
            found[text.strip()] = (x / 0.75, 300 - y / 0.75)

    line = words(written("left"), seen("你好", 33), written("right"), anchor=anchor)
    page(recorded(line)).extract_text(visitor_text=see)
    left, right = (fonts.width(text, 20) for text in ("left", "right"))
    start = 100 - {"start": 0, "middle": 0.5, "end": 1}[anchor] * (left + 33 + right)
    assert found["right"] == pytest.approx((start + left + 33, 50), abs=1e-3)


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("text", ["Hällo − √d ≤ …", "Быстрая лиса", "🤖💩", "a\u00a0b"])
def test_text_that_the_font_has_is_found(text: str, *, bold: bool) -> None:
    assert fonts.missing(text) == ""
    drawn = page(recorded(words(written(text), bold=bold)))
    assert drawn.extract_text().strip() == text.replace("\u00a0", " ")
    names = [font.get_object()["/BaseFont"] for font in drawn["/Resources"]["/Font"].values()]
    assert any("Semibold" in name for name in names) == bold, names


@pytest.mark.parametrize(
    ("text", "found"),
    [*((text, text) for text in ("你好", "👩\u200d👧", "e\u0301", "\U0001f600\U00020000", "क्षि")),
     ("םולש", "שלום")],  # what is written in the order seen is found in the order read
)  # fmt: skip
def test_text_under_its_picture_is_found_and_not_drawn(text: str, found: str) -> None:
    drawn = page(recorded(words(seen(text), alpha=0.5)))
    assert drawn.extract_text().strip() == found
    assert [(name, state["ca"]) for name, state in painted(drawn)] == [("Do", 0.5)]
    modes = [operands[0] for operands, name in ContentStream(drawn.get_contents(), drawn.pdf).operations
             if name == b"Tr"]  # fmt: skip
    assert modes == [3]


def test_text_under_its_picture_is_as_wide_as_the_picture() -> None:
    """So that what a reader of the PDF selects is what is seen. A piece without a letter takes no room."""
    drawn = page(recorded(words(seen("你好吗", 45), seen("", 5))))
    fonts_of_page, widths, stretch, found = drawn["/Resources"]["/Font"], [], 100.0, []
    for operands, operator in ContentStream(drawn.get_contents(), drawn.pdf).operations:
        match operator:
            case b"Tf":
                font, size = fonts_of_page[operands[0]].get_object(), float(operands[1])
                widths = [float(width) for width in font.get("/Widths", ())]
            case b"Tz":
                stretch = float(operands[0])
            case b"Tj":
                letters = bytes(operands[0], "latin-1") if isinstance(operands[0], str) else operands[0]
                found.append(sum(widths[letter] for letter in letters) / 1000 * size * stretch / 100)
    assert found == [pytest.approx(45, abs=0.01), *[0] * (len(found) - 1)]


def test_more_than_a_fonts_256_characters_are_found() -> None:
    many = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 700))
    assert "".join(page(recorded(words(seen(many)))).extract_text().split()) == many
    ours = "".join(character for character in fonts.characters() if character.isalpha())
    assert len(ours) > 600
    assert "".join(page(recorded(words(written(ours)))).extract_text().split()) == ours


def test_characters_that_no_pdf_can_hold_are_spelled_out() -> None:
    recording = recorded(words(seen("\x07")), words(seen("\ud800")), title="\x00a", caption="\udfff")
    assert page(recording).extract_text().split() == ["U+0007", "U+D800"]


def test_the_same_recording_gives_the_same_bytes() -> None:
    data = json.dumps(recorded(words(written("abc"), seen("你")), picture(DOT, cells=False))).encode()
    assert len({write_recording(read_recording(data)) for _ in range(3)}) == 1


def test_only_characters_in_use_are_embedded() -> None:
    (font,) = (one.get_object() for one in page(recorded(words(written("abc"))))["/Resources"]["/Font"].values()
               if "/FontDescriptor" in one.get_object())  # fmt: skip
    assert len(font["/FontDescriptor"]["/FontFile2"].get_data()) < 10_000 < len(fonts.ttf()) / 5


def bomb(side: int) -> str:
    """Return a PNG of some bytes whose header says that it is large."""
    head = struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )
    return b64encode(data).decode()


def nested(clips: int) -> list[dict[str, Any]]:
    return [{"path": [], "parent": n - 1 if n else None} for n in range(clips)]


NOT_PNG = io.BytesIO()
Image.new("RGB", (2, 2)).save(NOT_PNG, "GIF")


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (recorded(width=float("nan")), "number"), (recorded(width=float("inf")), "number"),
        (recorded(width=0), "number"), (recorded(height=20_000), "number"), (recorded(width=True), "number"),
        (recorded(width="400"), "number"), (recorded(width=10**400), "number"),
        (recorded(title=1), "text"), (recorded(caption="a" * 10_001), "text"),
        (recorded(paper="red"), "colour"), (recorded(paper="#14141b\n"), "colour"), (recorded(paper=3), "colour"),
        (recorded(marks={"a": 1}), "list"), (recorded(clips=None), "list"), (recorded({"kind": "shape"}), "records it"),
        (recorded({**PLAIN, "kind": "video"}), "unknown kind"), (recorded(shape([], alpha=2)), "number"),
        (recorded(shape([["L", 1, 1]])), "begin"), (recorded(shape([["M", 1]])), "length"),
        (recorded(shape([["A", 1, 1]])), "records it"), (recorded(shape([[["M"], 1, 1]])), "records it"),
        (recorded(shape(["M11"])), "number"), (recorded(shape([], clip=0)), "records it"),
        (recorded(shape([], dash=[-1])), "number"), (recorded(shape([], fill="#00ff0")), "colour"),
        (recorded(clips=[{"path": [], "parent": 0}]), "records it"), (recorded(clips=nested(17)), "more than 15"),
        (recorded(words(written("a"), anchor="left")), "anchor"), (recorded(words(matrix=[1, 0])), "length"),
        (recorded(words(written("a" * 10_001))), "text"), (recorded(picture("@@", cells=False)), "records it"),
        (recorded(picture(DOT[:60], cells=False)), "damaged"), (recorded(picture(bomb(30_000), cells=False)), "image"),
        (recorded(picture(bomb(3000), cells=False)), "too many pixels"),
        *((recorded(shape([[kind, *[1] * count]])), "begin") for kind, count in (("C", 6), ("Z", 0))),
        (recorded(picture(b64encode(NOT_PNG.getvalue()).decode(), cells=False)), "damaged"),
    ],
)  # fmt: skip
def test_what_no_pen_records_is_refused(bad: dict[str, Any], why: str) -> None:
    with pytest.raises(RecordingError, match=why):
        read_recording(json.dumps(bad).encode())


@pytest.mark.parametrize(
    ("what", "limit", "fits", "more"),
    [
        ("marks", 2, [shape([])] * 2, [shape([])] * 3),
        ("marks", 3, [words(written("a"), written("b"))], [words(*[written("a")] * 3)]),
        ("path segments", 3, [shape([["M", 1, 1]] * 2), shape([["M", 1, 1]])], [shape([["M", 1, 1]] * 2)] * 2),
        ("images", 2, [picture(DOT, cells=False), words(seen("a"))], [picture(DOT, cells=False)] * 3),
        ("pixels", 6, [picture(png([[RED] * 3] * 2), cells=False)], [picture(png([[RED] * 2] * 4), cells=False)]),
        ("cells", 6, [picture(png([[RED] * 3] * 2), cells=True)], [picture(png([[RED] * 2] * 4), cells=True)]),
        ("cells", 1, [picture(png([[RED] * 9]), cells=False)], [picture(DOT, cells=True)] * 2),
    ],
)
def test_a_picture_at_a_limit_is_read_and_one_beyond_it_is_refused(
    what: str, limit: int, fits: list[Any], more: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS, what, limit)
    assert len(read_recording(json.dumps(recorded(*fits)).encode()).marks) == len(fits)
    with pytest.raises(RecordingError, match=f"too many {what} for this format"):
        read_recording(json.dumps(recorded(*more)).encode())


def test_a_file_has_100_pictures_at_most() -> None:
    """Also pictures without marks: each costs a slide."""
    assert len(read_recordings(json.dumps([recorded()] * 100).encode())) == LIMITS["pictures"] == 100
    with pytest.raises(RecordingError, match="too many pictures for this format"):
        read_recordings(json.dumps([recorded()] * 101).encode())


def test_a_clip_counts_each_time_that_it_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PDF holds its paths as often."""
    clips = [{"path": [["R", 0, 0, 9, 9]] * 5, "parent": None}, {"path": [["R", 1, 1, 9, 9]], "parent": 0}]
    marks = [shape([], clip=clip) for clip in (0, 0, None, 1)]
    monkeypatch.setitem(LIMITS, "path segments", 6 + 5 + 6)
    assert len(read_recording(json.dumps(recorded(*marks, clips=clips)).encode()).marks) == 4
    with pytest.raises(RecordingError, match="too many path segments"):
        read_recording(json.dumps(recorded(*marks, marks[0], clips=clips)).encode())


def test_texts_of_10000_characters_and_a_clip_in_15_others_are_read() -> None:
    long = "a" * 10_000
    read = read_recording(json.dumps(recorded(shape([], clip=15), title=long, clips=nested(16))).encode())
    assert read.title == long
    assert len(read.marks[0].clip) == 16


@pytest.mark.parametrize("data", [b"", b"\xff", b"null", b"[]", b"1", b"[" * 100_000, b'{"width":' + b"9" * 5000])
def test_what_is_no_recording_is_refused(data: bytes) -> None:
    with pytest.raises(RecordingError, match="not a picture as attnviz records it"):
        read_recording(data)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers())


def changed_anywhere(data: st.DataObject) -> dict[str, Any]:
    """Return a recording of which any one part is another value."""
    clips = [{"path": [["R", 0, 0, 9, 9]], "parent": None}]
    sound = recorded(shape([["M", 1, 2], ["Z"]]), words(written("a"), seen("你")), picture(DOT, cells=True),
                       clips=clips)  # fmt: skip
    changed: dict[str, Any] = json.loads(json.dumps(sound))
    at: Any = changed
    while True:
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            at[key] = data.draw(VALUES)
            return changed
        at = at[key]


@settings(max_examples=200)
@given(st.data())
def test_a_recording_with_any_part_changed_is_refused_or_written(data: st.DataObject) -> None:
    try:
        recording = read_recording(json.dumps(changed_anywhere(data)).encode())
    except RecordingError:
        return
    assert write_recording(recording).startswith(b"%PDF")


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_damaged_image_is_refused_or_written(at: int, value: int) -> None:
    data = bytearray(b64decode(DOT))
    data[at % len(data)] = value
    try:
        recording = read_recording(json.dumps(recorded(picture(b64encode(data).decode(), cells=False))).encode())
    except RecordingError:
        return
    assert write_recording(recording).startswith(b"%PDF")
