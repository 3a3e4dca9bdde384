"""Writes a drawing as PNG, with Pillow: the picture that a notebook keeps where its widget can't run."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from math import ceil

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import RULE, Box, Drawing, Gradient, Line, Matrix, Plain, Text
from attnviz.export.drawing.picture import channels, hatched, image, ink_on, is_raster

ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
"""Pillow's names of the points of a line of text"""


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
        # Around the middle of a square, which the point (x, y) is then put on.
        half = ceil(font.getlength(words) + 2 * mark.size * self.scale)
        ink = Image.new("L", (2 * half, 2 * half))
        ImageDraw.Draw(ink).text((half, half), words, 255, font, ANCHORS[mark.anchor])
        turned = ink.rotate(mark.turn, Image.Resampling.BICUBIC)
        self.image.paste(mark.colour, (round(x) - half, round(y) - half), turned)

    def gradient(self, bar: Gradient) -> None:
        left, top, right, bottom = self.edges(bar)
        colours = np.array([channels(colour) for colour in bar.colours], float)
        at = np.linspace(0, len(colours) - 1, bottom - top + 1)
        column = np.stack([np.interp(at, range(len(colours)), one) for one in colours.T], -1)
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
    pixels = hatched(pixels, matrix.hidden[row][:, column], matrix.theme)
    between = (down < gap)[:, None] | (across < gap)[None]
    paper = np.array(channels(matrix.theme.paper), np.uint8)
    return Image.fromarray(np.where(between[..., None], paper, pixels))


def _places(pixels: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each pixel of a side its cell, and how many pixels lie between it and the cell's first."""
    cell = np.arange(pixels) * cells // max(1, pixels)
    return cell, np.arange(pixels) - np.ceil(cell * pixels / max(1, cells)).astype(int)


@lru_cache(maxsize=32)
def _font(size: float, bold: bool) -> ImageFont.FreeTypeFont:
    weight = fonts.BOLD if bold else fonts.REGULAR
    try:
        font = ImageFont.truetype(str(fonts.variable_font()), size, layout_engine=ImageFont.Layout.BASIC)
        font.set_variation_by_axes([weight])
    except OSError:  # a Pillow that reads no WOFF2: the same font, but it takes a second to make
        return ImageFont.truetype(BytesIO(fonts.ttf(bold)), size, layout_engine=ImageFont.Layout.BASIC)
    return font
