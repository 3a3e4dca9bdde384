"""Writes a training as an animated picture: one head's attention, a frame for each snapshot, as GIF or animated PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import Drawing, Mark, Text
from attnviz.export.drawing.picture import draw_layout, shorten
from attnviz.export.drawing.themes import LIGHT_THEME, Theme
from attnviz.export.files.png import render
from attnviz.figures.panels import Layout, Panel

WIDTH, HEIGHT, MARGIN, TOP, BOTTOM = 720.0, 720.0, 24.0, 72.0, 48.0
TITLE, CAPTION = 24.0, 20.0
FRAMES = 120
"""The most frames: of more snapshots, evenly spread ones are taken, the first and the last among them"""
SECONDS, LAST_SECONDS = 0.12, 2.5
"""How long a frame is shown, and the last one"""

AnimationKind = Literal["gif", "apng"]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The attention at one snapshot."""

    weights: npt.NDArray[np.floating]
    """(Tq, Tk), from 0 to 1; NaN in hidden cells"""
    caption: str
    """What is said below, such as "step 350, accuracy 94 %" """


def write_animation(
    frames: Sequence[Frame],
    kind: AnimationKind,
    *,
    title: str,
    labels: tuple[Sequence[str], Sequence[str]],
    theme: Theme = LIGHT_THEME,
) -> bytes:
    """Return an animated picture that plays once a round, without end; the last frame stays longer.

    Args:
        frames: in the order of training; their matrices have one shape.
        kind: "gif", with 256 colours, or "apng", with all.
        title: is written above.
        labels: the tokens of the rows (queries) and of the columns (keys).
        theme: the colours.

    Raises:
        ValueError: there are no frames, or their matrices are not of one shape, that of the labels.
    """
    shape = tuple(map(len, labels))
    if not frames or any(frame.weights.shape != shape for frame in frames):
        raise ValueError(f"an animation needs frames of {shape[0]} x {shape[1]} weights, as many as there are labels")
    chosen = _spread(frames)
    images = [render(_drawing(frame, title, labels, theme), 1.0) for frame in chosen]
    milliseconds = [round(1000 * SECONDS)] * (len(images) - 1) + [round(1000 * LAST_SECONDS)]
    if kind == "gif":
        colours = images[-1].quantize(256, Image.Quantize.MEDIANCUT)  # one palette for all: the last frame has them all
        images = [one.quantize(palette=colours, dither=Image.Dither.NONE) for one in images]
    file = BytesIO()
    images[0].save(
        file,
        "GIF" if kind == "gif" else "PNG",
        save_all=True,
        append_images=images[1:],
        duration=milliseconds,
        loop=0,
    )
    return file.getvalue()


def _spread(frames: Sequence[Frame]) -> Sequence[Frame]:
    if len(frames) <= FRAMES:
        return frames
    return [frames[round(i)] for i in np.linspace(0, len(frames) - 1, FRAMES)]


def _drawing(frame: Frame, title: str, labels: tuple[Sequence[str], Sequence[str]], theme: Theme) -> Drawing:
    values = np.asarray(frame.weights, np.float32)
    panel = Panel("weights", "", values, "query", "key", limit=1.0, scale="weights", bar=True)
    width = WIDTH - 2 * MARGIN
    marks: list[Mark] = list(
        draw_layout(
            Layout(((panel,),), (1,), (1,)),
            {"query": labels[0], "key": labels[1]},
            x=MARGIN,
            y=TOP,
            width=width,
            height=HEIGHT - TOP - BOTTOM - CAPTION,
            theme=theme,
        )
    )
    for text, size, y, bold in ((title, TITLE, MARGIN + TITLE, True), (frame.caption, CAPTION, HEIGHT - MARGIN, False)):
        marks.append(Text(MARGIN, y, shorten(safe(text), width, size, bold=bold), size, theme.text, bold))
    return Drawing(WIDTH, HEIGHT, tuple(marks), title, title, theme)
