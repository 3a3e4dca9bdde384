"""Pictures as pixels, with Pillow: a drawing as PNG, and a training as an animated GIF or PNG.

A notebook keeps a PNG for readers that can't run its widget. An animation shows one head's attention, with a frame for
each snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from math import ceil
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import (
    LIGHT_THEME,
    Box,
    Drawing,
    Gradient,
    Line,
    Mark,
    Matrix,
    Plain,
    Text,
    Theme,
)
from attnviz.export.drawing.picture import channels, draw_layout, hatched, image, ink_on, is_raster, shorten
from attnviz.figures.panels import Panel, in_a_row
from attnviz.figures.style import RULE

ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
"""Pillow's names for the anchor points of a line of text"""


def write_png(drawing: Drawing, scale: float = 1.25) -> bytes:
    """Return a drawing as PNG, with `scale` pixels for each of its own.

    Raises:
        FontError: see `drawing.fonts.ttf`.
    """
    file = BytesIO()
    render(drawing, scale).save(file, "PNG", optimize=True)
    return file.getvalue()


def render(drawing: Drawing, scale: float = 1.25) -> Image.Image:
    """Return a drawing as pixels; arguments and errors are those of `write_png`."""
    return _Canvas(drawing, scale).image


class _Canvas:
    """A drawing as pixels."""

    def __init__(self, drawing: Drawing, scale: float) -> None:
        self.scale = scale
        size = (ceil(drawing.width * scale), ceil(drawing.height * scale))
        self.image = Image.new("RGB", size, drawing.theme.paper)
        self.draw = ImageDraw.Draw(self.image)
        for mark in drawing.flat:
            self.mark(mark)

    def mark(self, mark: Plain) -> None:
        match mark:
            case Text():
                self.text(mark)
            case Line():
                ends = [self.pixels(x) for x in (mark.x1, mark.y1, mark.x2, mark.y2)]
                self.draw.line(ends, mark.colour, self.pixels(mark.width) or 1)
            case Box():
                line = (self.pixels(mark.line) or 1) if mark.outline else 0
                self.draw.rectangle(self.edges(mark), mark.fill, mark.outline, line)
            case Gradient():
                self.gradient(mark)
            case Matrix():
                self.matrix(mark)

    def pixels(self, length: float) -> int:
        return round(length * self.scale)

    def edges(self, mark: Box | Gradient | Matrix) -> tuple[int, int, int, int]:
        """Return the first and the last column and row of pixels: left, top, right, bottom."""
        left, top = self.pixels(mark.x), self.pixels(mark.y)
        right, bottom = self.pixels(mark.x + mark.width), self.pixels(mark.y + mark.height)
        return left, top, max(left, right - 1), max(top, bottom - 1)

    def text(self, mark: Text) -> None:
        words = fonts.replace_missing(safe(mark.text))
        font = _font(self.pixels(4 * mark.size) / 4, mark.bold)
        x, y = mark.x * self.scale, mark.y * self.scale
        if not mark.turn:
            self.draw.text((x, y), words, mark.colour, font, ANCHORS[mark.anchor])
            return
        # Rotate it around the centre of a square, and put that centre at (x, y).
        half = ceil(font.getlength(words) + 2 * mark.size * self.scale)
        ink = Image.new("L", (2 * half, 2 * half))
        ImageDraw.Draw(ink).text((half, half), words, 255, font, ANCHORS[mark.anchor])
        turned = ink.rotate(mark.turn, Image.Resampling.BICUBIC)
        self.image.paste(mark.colour, (round(x) - half, round(y) - half), turned)

    def gradient(self, bar: Gradient) -> None:
        left, top, right, bottom = self.edges(bar)
        colours = np.array([channels(colour) for colour in bar.colours], float)
        at = np.linspace(0, len(colours) - 1, bottom - top + 1)
        column = np.stack([np.interp(at, range(len(colours)), channel) for channel in colours.T], -1)
        pixels = np.rint(column).astype(np.uint8)[:, None].repeat(right - left + 1, axis=1)
        self.image.paste(Image.fromarray(pixels), (left, top))

    def matrix(self, matrix: Matrix) -> None:
        left, top, right, bottom = self.edges(matrix)
        size = right - left + 1, bottom - top + 1
        if is_raster(matrix):
            cells = image(matrix).resize(size, Image.Resampling.BOX)
        else:
            cells = _cells(matrix, size, round(matrix.gap * self.scale))
        self.image.paste(cells, (left, top))
        self.draw.rectangle((left, top, right, bottom), outline=RULE)
        for i, row in enumerate(matrix.numbers):
            for j, number in enumerate(row):
                if number:
                    x, y = matrix.number_at(i, j)
                    ink = ink_on(matrix.colours[i, j])
                    self.text(Text(x, y, number, matrix.size, ink, anchor="middle"))


def _cells(matrix: Matrix, size: tuple[int, int], gap: int) -> Image.Image:
    """Return cells as an image of this size, with `gap` pixels of paper between them."""
    width, height = size
    row, down = _places(height, matrix.rows)
    column, across = _places(width, matrix.cols)
    pixels = matrix.colours[row][:, column]
    pixels = hatched(pixels, matrix.hatches[row][:, column], matrix.theme)
    between = (down < gap)[:, None] | (across < gap)[None]
    paper = np.array(channels(matrix.theme.paper), np.uint8)
    return Image.fromarray(np.where(between[..., None], paper, pixels))


def _places(pixels: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each pixel of a side its cell, and its distance in pixels from the cell's first pixel."""
    cell = np.arange(pixels) * cells // max(1, pixels)
    return cell, np.arange(pixels) - np.ceil(cell * pixels / max(1, cells)).astype(int)


@lru_cache(maxsize=32)
def _font(size: float, bold: bool) -> ImageFont.FreeTypeFont:
    weight = fonts.BOLD if bold else fonts.REGULAR
    try:
        font = ImageFont.truetype(str(fonts.variable_font()), size, layout_engine=ImageFont.Layout.BASIC)
        font.set_variation_by_axes([weight])
    except OSError:  # this Pillow can't read WOFF2: instantiate the same font, which takes a second
        return ImageFont.truetype(BytesIO(fonts.ttf(bold)), size, layout_engine=ImageFont.Layout.BASIC)
    return font


FRAME_WIDTH, FRAME_HEIGHT, MARGIN, TOP, BOTTOM = 720.0, 720.0, 24.0, 72.0, 48.0
TITLE, CAPTION = 24.0, 20.0
SECONDS, LAST_SECONDS = 0.12, 2.5
"""How long a frame is shown, and the last one"""

AnimationKind = Literal["gif", "apng"]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The attention at one snapshot."""

    weights: npt.NDArray[np.floating]
    """(Tq, Tk), from 0 to 1; NaN in hidden cells"""
    caption: str
    """The text below, such as "step 350, accuracy 94 %" """


def write_animation(
    frames: Sequence[Frame],
    kind: AnimationKind,
    *,
    title: str,
    labels: tuple[Sequence[str], Sequence[str]],
    theme: Theme = LIGHT_THEME,
) -> bytes:
    """Return an animated picture that loops forever; the last frame stays longer.

    Args:
        frames: in the order of training; their matrices have the same shape.
        kind: "gif", with 256 colours, or "apng", with all.
        title: the text above.
        labels: the tokens of the rows (queries) and of the columns (keys).
        theme: the colours.

    Raises:
        ValueError: there are no frames, or a matrix does not have the shape of the labels.
    """
    shape = tuple(map(len, labels))
    if not frames or any(frame.weights.shape != shape for frame in frames):
        raise ValueError(f"an animation needs frames of {shape[0]} x {shape[1]} weights, as many as there are labels")
    images = [render(_drawing(frame, title, labels, theme), 1.0) for frame in frames]
    milliseconds = [round(1000 * SECONDS)] * (len(images) - 1) + [round(1000 * LAST_SECONDS)]
    if kind == "gif":
        colours = images[-1].quantize(256, Image.Quantize.MEDIANCUT)  # one palette for all: the last frame has them all
        images = [picture.quantize(palette=colours, dither=Image.Dither.NONE) for picture in images]
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


def _drawing(frame: Frame, title: str, labels: tuple[Sequence[str], Sequence[str]], theme: Theme) -> Drawing:
    values = np.asarray(frame.weights, np.float32)
    panel = Panel("weights", "", values, "query", "key", limit=1.0, scale="weights", bar=True)
    width = FRAME_WIDTH - 2 * MARGIN
    marks: list[Mark] = list(
        draw_layout(
            in_a_row(panel),
            {"query": labels[0], "key": labels[1]},
            x=MARGIN,
            y=TOP,
            width=width,
            height=FRAME_HEIGHT - TOP - BOTTOM - CAPTION,
            theme=theme,
        )
    )
    for text, size, y, bold in (
        (title, TITLE, MARGIN + TITLE, True),
        (frame.caption, CAPTION, FRAME_HEIGHT - MARGIN, False),
    ):
        marks.append(Text(MARGIN, y, shorten(safe(text), width, size, bold=bold), size, theme.text, bold))
    return Drawing(FRAME_WIDTH, FRAME_HEIGHT, tuple(marks), title, title, theme)
