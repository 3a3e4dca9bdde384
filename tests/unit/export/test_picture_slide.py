"""Pictures that a browser records, as a slide: its shapes, read back with python-pptx, and what clips cut off."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pptx import Presentation

from attnviz.export.drawing import fonts
from attnviz.export.files import picture_slide
from attnviz.export.files.picture_slide import cut_area, cut_lines, cut_pixels, polygons, write_picture_slides
from attnviz.export.recording import LIMITS, Pixels, RecordingError, read_recordings
from tests.unit.export.test_recording import (
    CLEAR,
    RED,
    changed_anywhere,
    picture,
    png,
    recorded,
    seen,
    shape,
    words,
    written,
)
from tests.unit.export.test_slides import box_of
from tests.unit.export.test_walk import DRAWING

SCALE, LEFT, TOP = 2.4, (1280 - 2.4 * 400) / 2, 0.0
"""A picture of 400 × 300 on a slide of 1280 × 720 pixels: how much larger it is, and where it begins"""


def read_deck(*pictures: dict[str, Any]) -> Any:
    return Presentation(io.BytesIO(write_picture_slides(read_recordings(json.dumps(pictures).encode()))))


def deck_of(*marks: dict[str, Any], **more: Any) -> Any:
    return read_deck(recorded(*marks, **more))


def shapes_of(*marks: dict[str, Any], **more: Any) -> list[Any]:
    (slide,) = deck_of(*marks, **more).slides
    return list(slide.shapes)


def on_picture(found: Any) -> list[float]:
    """Return left, top, right and bottom of a shape in the picture's own pixels."""
    x, y, wide, high = box_of(found)
    return [round(edge, 1) for edge in ((x - LEFT) / SCALE, (y - TOP) / SCALE, (x + wide - LEFT) / SCALE,
                                        (y + high - TOP) / SCALE)]  # fmt: skip


def points_of(found: Any) -> list[tuple[str, list[tuple[float, float]]]]:
    """Return the steps of a shape's outline in the picture's own pixels."""
    x, y, *_ = on_picture(found)
    (path,) = found._element.iter(f"{DRAWING}path")
    return [
        (step.tag.removeprefix(DRAWING),
         [(round(x + int(one.get("x")) / 9525 / SCALE, 1), round(y + int(one.get("y")) / 9525 / SCALE, 1))
          for one in step.iter(f"{DRAWING}pt")])
        for step in path
    ]  # fmt: skip


def test_a_deck_has_one_slide_with_the_picture_s_title_caption_and_paper() -> None:
    deck = deck_of(paper="#14141b")
    (slide,) = deck.slides
    assert (deck.slide_width.inches, deck.slide_height.inches) == pytest.approx((40 / 3, 7.5))
    assert deck.core_properties.title == "a title"
    assert slide.notes_slide.notes_text_frame.text == "a title\n\na caption"
    assert str(slide.background.fill.fore_color.rgb) == "14141B"
    for paper in (None, "#ffffff"):
        (slide,) = deck_of(paper=paper).slides
        assert slide._element.cSld.find("{*}bg") is None, "it has the background of the deck that it is pasted into"


def test_curves_are_lines_with_their_points_colours_and_dashes() -> None:
    curve = [["M", 10, 20], ["C", 30, 40, 50, 60, 70, 80], ["L", 90, 105]]
    line, area = shapes_of(
        shape(curve, fill=None, stroke="#0072b2", lineWidth=2, dash=[6, 4], alpha=0.5),
        shape([["R", 10, 20, 30, 40]], fill="#d55e00"),
    )
    assert on_picture(line) == [10, 20, 90, 105]
    assert points_of(line) == [
        ("moveTo", [(10, 20)]), ("cubicBezTo", [(30, 40), (50, 60), (70, 80)]), ("lnTo", [(90, 105)])
    ]  # fmt: skip
    assert str(line.line.color.rgb) == "0072B2"
    assert line.line.width.inches * 96 == pytest.approx(2 * SCALE, abs=0.01)
    (dash,) = line._element.iter(f"{DRAWING}ds")
    assert (dash.get("d"), dash.get("sp")) == ("300000", "200000")
    (opacity,) = line._element.iter(f"{DRAWING}alpha")
    assert opacity.get("val") == "50000"
    assert line.fill.type == 5 and str(area.fill.fore_color.rgb) == "D55E00"  # no background: nothing is filled
    assert on_picture(area) == [10, 20, 40, 60]
    assert points_of(area)[-1] == ("close", [])
    assert len({one.shape_id for one in (line, area)}) == 2


@pytest.mark.parametrize(("anchor", "share"), [("start", 0.0), ("middle", 0.5), ("end", 1.0)])
@pytest.mark.parametrize("turned", [False, True])
def test_text_is_text_and_no_wider_than_in_the_picture(anchor: str, share: float, *, turned: bool) -> None:
    matrix = [0, -1, 1, 0, 100, 150] if turned else [1, 0, 0, 1, 100, 150]
    (text,) = shapes_of(words(written("validation loss"), anchor=anchor, matrix=matrix, bold=True, alpha=0.5))
    (run,) = text.text_frame.paragraphs[0].runs
    assert (run.text, run.font.bold, str(run.font.color.rgb)) == ("validation loss", True, "808080")
    size, own = run.font.size.inches * 96, fonts.width("validation loss", 20 * SCALE, bold=True)
    with fonts.in_any_font():
        widest = fonts.width("validation loss", size, bold=True)
    assert widest <= own + 0.1 and size > 0.75 * 20 * SCALE
    assert text.rotation % 360 == (270 if turned else 0)
    left, top, right, bottom = on_picture(text)
    if not turned:
        assert left + share * (right - left) == pytest.approx(100, abs=2)
        assert top < 150 < bottom
    else:  # it is upright before it is turned around its middle
        assert (top + bottom) / 2 == pytest.approx(150 + (share - 0.5) * (right - left), abs=2)


def test_texts_of_one_size_stay_of_one_size() -> None:
    texts = shapes_of(words(written("1.98")), words(written("mm")), words(written("mm"), size=10))
    first, second, smaller = (text.text_frame.paragraphs[0].runs[0].font.size for text in texts)
    assert first == second > 2 * smaller * 0.9
    with fonts.in_any_font():
        assert fonts.width("1.98", first.inches * 96) <= fonts.width("1.98", 20 * SCALE)


def test_text_that_no_font_is_sure_to_write_is_its_image() -> None:
    before, image = shapes_of(words(written("to "), seen("你好"), anchor="end"))
    assert before.text_frame.text == "to "
    assert image.shape_type == 13 and image._element.nvPicPr.cNvPr.get("descr") == "你好"
    assert on_picture(image) == [70, 40, 100, 54]


def test_cells_are_an_image_of_squares_that_stays_sharp() -> None:
    (image,) = shapes_of(picture(png([[RED, CLEAR], [(1, 2, 3, 255), RED]]), cells=True, alpha=0.5))
    assert on_picture(image) == [10, 20, 50, 50]
    pixels = np.array(Image.open(io.BytesIO(image.image.blob)))
    assert min(pixels.shape[:2]) >= 100
    half = len(pixels) // 2
    assert (pixels[:half, :half] == (255, 0, 0, 128)).all() and (pixels[half:, :half] == (1, 2, 3, 128)).all()
    assert (pixels[:half, half:, 3] == 0).all()


@settings(max_examples=100)
@given(st.data())
def test_a_recording_with_any_part_changed_is_refused_or_on_a_slide(data: st.DataObject) -> None:
    try:
        deck = read_deck(changed_anywhere(data))
    except RecordingError:
        return
    assert len(deck.slides) == 1


@pytest.mark.parametrize("scale", [0, 0.01, 1e5])
def test_text_that_is_too_small_or_too_large_for_a_slide_is_left_out(scale: float) -> None:
    assert shapes_of(words(written("a"), matrix=[scale, 0, 0, scale, 50, 50])) == []


CLIPS = [{"path": [["R", 0, 0, 60, 200]], "parent": None}, {"path": [["R", 20, 10, 100, 50]], "parent": 0}]
"""Of which the second leaves 20 to 60 across, 10 to 60 down"""


def test_what_lies_outside_a_clip_is_cut_off() -> None:
    line, area, whole, image, *moved, word = shapes_of(
        shape([["M", 0, 30], ["L", 100, 30]], fill=None, stroke="#000000", clip=1),
        shape([["R", 0, 0, 30, 30]], clip=1),
        shape([["R", 25, 20, 10, 10]], clip=1),
        shape([["R", 70, 70, 10, 10]], clip=1),
        picture(png([[RED] * 4]), cells=False, clip=1),
        picture(png([[RED] * 4]), cells=False, clip=1, x=13),
        picture(png([[RED] * 4]), cells=False, clip=1, x=26),
        picture(png([[RED]] * 3), cells=False, clip=1, y=3),
        words(written("in"), matrix=[1, 0, 0, 1, 30, 40], clip=1),
        words(written("out"), matrix=[1, 0, 0, 1, 70, 40], clip=1),
        clips=CLIPS,
    )
    assert on_picture(line) == [20, 30, 60, pytest.approx(30, abs=0.1)]
    assert on_picture(area) == [20, 10, 30, 30]
    assert on_picture(whole) == [25, 20, 35, 30]
    assert on_picture(image) == [20, 20, 50, 50]
    # Of an image, pixels are left out of which less than half is in the box.
    assert [on_picture(one) for one in moved] == [[23, 20, 53, 50], [26, 20, 56, 50], [10, 13, 50, 33]]
    assert word.text_frame.text == "in"


def test_a_curve_that_leaves_a_box_and_comes_back_is_two_lines_on_it() -> None:
    (points,) = polygons((("M", (0.0, 0.0)), ("C", (30.0, 40.0, 60.0, 40.0, 90.0, 0.0))))
    assert len(points) == 13 and points[-1] == (90, 0)
    first, last = cut_lines(points, (0, 0, 90, 20))
    assert first[0] == (0, 0) and first[-1][1] == pytest.approx(20) and last[0][1] == pytest.approx(20)
    assert first[-1][0] + last[0][0] == pytest.approx(90)
    assert all(x0 < x1 for line in (first, last) for (x0, _), (x1, _) in pairwise(line))
    assert cut_lines([(0, 30), (90, 30)], (0, 0, 90, 20)) == []
    triangle = [(0.0, 0.0), (20.0, 0.0), (0.0, 20.0), (0.0, 0.0)]
    corners = {(round(x), round(y)) for x, y in cut_area(triangle, (5, 5, 50, 50))}
    assert corners == {(5, 5), (15, 5), (5, 15)}
    assert cut_area(triangle, (30, 30, 50, 50)) == []
    assert cut_pixels(Pixels(Image.new("RGBA", (4, 4)), (0, 0, 4, 4)), (5, 0, 9, 9)) is None


def test_a_ring_that_a_clip_cuts_stays_a_ring() -> None:
    """Its hole lies in the same path, so that it isn't filled."""
    ring = [["R", 0, 0, 80, 40], ["R", 10, 10, 60, 20]]
    area, line = shapes_of(
        shape(ring, stroke="#000000", clip=0), clips=[{"path": [["R", 0, 0, 40, 90]], "parent": None}]
    )
    outlines = [points for kind, points in points_of(area) if kind == "moveTo"]
    assert len(outlines) == 2
    corners = {point for _, points in points_of(area) for point in points}
    assert corners == {(0, 0), (40, 0), (40, 40), (0, 40), (10, 10), (40, 10), (40, 30), (10, 30)}
    assert (area.fill.type, line.fill.type) == (1, 5)  # solid, and nothing
    drawn = {point for _, points in points_of(line) for point in points}
    assert drawn == corners
    assert on_picture(area) == on_picture(line) == [0, 0, 40, 40]


def test_a_picture_of_too_many_shapes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_slide, "MOST_SHAPES", 2)
    marks = [shape([["R", 0, 0, 5, 5]])] * 3
    assert len(shapes_of(*marks[:2])) == 2
    for pictures in ([recorded(*marks)], [recorded(*marks[:2]), recorded(*marks[2:])]):
        with pytest.raises(RecordingError, match="too many shapes for slides"):
            read_deck(*pictures)
    left, clips = shape([["R", 0, 0, 5, 5]], stroke="#000000", clip=0), [{"path": [["R", 0, 0, 3, 9]], "parent": None}]
    for many in (words(*[written("a")] * 3), words(*[seen("a")] * 3), words(written("a"), seen("a"), written("b"))):
        with pytest.raises(RecordingError, match="too many shapes for slides"):
            read_deck(recorded(many))
    assert len(shapes_of(left, clips=clips)) == 2  # the area, and its line
    with pytest.raises(RecordingError, match="too many shapes for slides"):
        read_deck(recorded(left, clips=clips), recorded(words(written("a"))))
    outside = shape([["R", 50, 50, 5, 5]], clip=0)
    assert len(shapes_of(outside, outside, *marks[:2], clips=clips)) == 2, "what is cut off does not count"
    monkeypatch.setitem(LIMITS, "path segments", 2)
    with pytest.raises(RecordingError, match="too many path segments"):  # all slides have the limit of one picture
        read_deck(*[recorded(marks[0])] * 3)
    with pytest.raises(RecordingError, match="no picture"):
        read_deck()


def test_each_picture_has_a_slide_of_its_own() -> None:
    clip = {"path": [["R", 0, 0, 9, 9]], "parent": None}
    box = shape([["R", 0, 0, 5, 5]], clip=0)
    deck = read_deck(recorded(box, clips=[clip], caption="one"), recorded(box, box, clips=[clip], caption="two"))
    assert [len(slide.shapes) for slide in deck.slides] == [1, 2]
    assert [slide.notes_slide.notes_text_frame.text for slide in deck.slides] == ["a title\n\none", "a title\n\ntwo"]
    with pytest.raises(RecordingError, match="not a picture as attnviz records it"):  # clips are each picture's own
        read_deck(recorded(box, clips=[clip]), recorded(box))
