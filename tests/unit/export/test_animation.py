"""A training as an animated picture, read back with Pillow."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image

from attnviz.export.drawing.marks import THEMES
from attnviz.export.files.images import Frame, write_animation

LABELS = ("ab", "cde"), ("x", "y", "<script>")


def frames(count: int) -> list[Frame]:
    return [Frame(np.full((2, 3), step / max(1, count - 1)), f"step {step}") for step in range(count)]


def opened(data: bytes) -> Any:
    return Image.open(BytesIO(data))


@pytest.mark.parametrize("kind", ["gif", "apng"])
def test_each_snapshot_is_a_frame_and_the_last_stays(kind: Any) -> None:
    picture = opened(write_animation(frames(4), kind, title="induction", labels=LABELS))
    assert picture.format == ("GIF" if kind == "gif" else "PNG")
    assert (picture.n_frames, picture.info["loop"]) == (4, 0)
    shades, durations = [], []
    for frame in range(4):
        picture.seek(frame)
        durations.append(picture.info["duration"])
        shades.append(np.asarray(picture.convert("RGB"), np.int64).sum())
    assert durations == [120, 120, 120, 2500]
    assert shades == sorted(shades, reverse=True), "cells grow darker as their weights rise"
    assert shades[0] > shades[-1]


def test_a_weight_of_1_has_the_last_colour_of_the_scale_in_every_frame() -> None:
    last = list(bytes.fromhex(THEMES["light"].weights[-1][1][1:]))

    def coloured(weights: Any) -> int:
        picture = opened(write_animation([Frame(weights, "")], "apng", title="", labels=LABELS))
        return int((np.asarray(picture.convert("RGB")) == last).all(axis=-1).sum())

    bar, two, four = (coloured(weights) for weights in (np.zeros((2, 3)), np.eye(2, 3), 1 - np.eye(2, 3)))
    assert two - bar > 5_000, "pixels of two cells"
    assert four - bar == pytest.approx(2 * (two - bar), rel=0.01)


def test_the_title_is_above_the_cells_and_the_caption_below_them() -> None:
    def seen(title: str, caption: str) -> Any:
        picture = opened(write_animation([Frame(np.eye(2, 3), caption)], "apng", title=title, labels=LABELS))
        return np.asarray(picture.convert("RGB"), int)

    blank = seen("", "")
    for title, caption, begin, end in (("Letters", "", 0.0, 0.1), ("", "Letters", 0.9, 1.0)):
        rows = np.flatnonzero((seen(title, caption) != blank).any((1, 2))) / len(blank)
        assert len(rows) > 10
        assert begin < rows[0] < rows[-1] < end - 1 / len(blank)


def test_hidden_cells_and_dark_colours_and_odd_texts_are_drawn() -> None:
    weights = np.array([[1, np.nan, np.nan], [0.5, 0.5, np.nan]])
    data = write_animation(
        [Frame(weights, "\ud800 שלום 👩‍👧 " * 30)], "apng", title="<b>" * 200, labels=LABELS, theme=THEMES["dark"]
    )
    assert opened(data).convert("RGB").getpixel((2, 2)) == tuple(bytes.fromhex(THEMES["dark"].paper[1:]))


@pytest.mark.parametrize("given", [[], [Frame(np.zeros((3, 3)), "")]])
def test_frames_of_another_shape_are_refused(given: list[Frame]) -> None:
    with pytest.raises(ValueError, match="2 x 3 weights"):
        write_animation(given, "gif", title="t", labels=LABELS)
