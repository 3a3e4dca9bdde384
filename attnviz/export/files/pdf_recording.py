"""Writes what a browser's pen has recorded as a PDF of one page.

Text that the font can't write is the browser's picture of it, with the text itself unseen above it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import FILL_NON_ZERO

from attnviz.export.drawing import fonts
from attnviz.export.files.pdf_document import NAMES, UNSEEN, size_page, unseen_width, write
from attnviz.export.recording import Clip, Mark, Path, Picture, Piece, Pixels, Recording, Shape, Words

OVERLAP = 0.2
"""Pixels that a cell reaches under the next: without it most viewers show a pale seam between them"""
UNSEEN_MODE = 3
"""The text rendering mode that neither fills nor strokes (ISO 32000-1, table 106)"""


def write_recording(recording: Recording) -> bytes:
    """Return a PDF with one page, the picture's size."""

    def draw(canvas: Any) -> None:
        size_page(canvas, recording.width, recording.height)
        canvas.transform(1, 0, 0, -1, 0, recording.height)
        if recording.paper:
            canvas.setFillColor(recording.paper)
            canvas.rect(0, 0, recording.width, recording.height, stroke=0, fill=1)
        page = _Page(canvas)
        for mark in recording.marks:
            page.draw(mark)
        page.enter(())
        canvas.showPage()

    return write(recording.title, recording.caption, draw)


class _Page:
    """Draws marks on a page whose y axis points down."""

    def __init__(self, canvas: Any) -> None:
        self.canvas = canvas
        self.clip: Clip = ()
        """What holds now"""

    def draw(self, mark: Mark) -> None:
        self.enter(mark.clip)
        match mark:
            case Shape():
                self.shape(mark)
            case Words():
                self.words(mark)
            case Picture(is_cells=True):
                self.cells(mark.pixels, mark.alpha)
            case Picture():
                self.image(mark.pixels, mark.alpha)

    def enter(self, clip: Clip) -> None:
        """Make these paths clip, and no others. A page leaves a clip by restoring the state before it."""
        differs = (n for n, (old, new) in enumerate(zip(self.clip, clip, strict=False)) if old is not new)
        shared = next(differs, min(len(self.clip), len(clip)))
        for _ in self.clip[shared:]:
            self.canvas.restoreState()
        for path in clip[shared:]:
            self.canvas.saveState()
            self.canvas.clipPath(self.path(path), stroke=0, fill=0, fillMode=FILL_NON_ZERO)
        self.clip = clip

    def path(self, path: Path) -> Any:
        own = self.canvas.beginPath()
        add = {"M": own.moveTo, "L": own.lineTo, "C": own.curveTo, "R": own.rect, "Z": own.close}
        for kind, numbers in path:
            add[kind](*numbers)
        return own

    def shape(self, shape: Shape) -> None:
        if shape.fill:
            self.canvas.setFillColor(shape.fill, shape.alpha)
        if shape.stroke:
            self.canvas.setStrokeColor(shape.stroke, shape.alpha)
            self.canvas.setLineWidth(shape.line)
            self.canvas.setDash(shape.dash)
        stroke, fill = int(bool(shape.stroke)), int(bool(shape.fill))
        self.canvas.drawPath(self.path(shape.path), stroke, fill, FILL_NON_ZERO)

    def words(self, words: Words) -> None:
        widths = [
            piece.width if piece.seen else fonts.width(piece.text, words.size, words.bold) for piece in words.pieces
        ]
        x = {"start": 0.0, "middle": -sum(widths) / 2, "end": -sum(widths)}[words.anchor]
        self.canvas.saveState()
        self.canvas.transform(*words.matrix)
        for piece, width in zip(words.pieces, widths, strict=True):
            self.canvas.saveState()
            self.canvas.translate(x, 0)
            if piece.seen:
                self.image(piece.seen, words.alpha)
            self.canvas.scale(1, -1)  # letters stand upright on a page whose y axis points down
            self.letters(piece, words)
            self.canvas.restoreState()
            x += width
        self.canvas.restoreState()

    def letters(self, piece: Piece, words: Words) -> None:
        text = self.canvas.beginText()
        text.setFillColor(words.colour, words.alpha)
        text.setFont(UNSEEN if piece.seen else NAMES[words.bold], words.size)
        if piece.seen:
            text.setTextRenderMode(UNSEEN_MODE)
            natural = unseen_width(piece.text) * words.size
            text.setHorizScale(100 * piece.width / natural if natural else 100)
        text.textOut(piece.text if piece.seen else fonts.replace_missing(piece.text))
        self.canvas.drawText(text)

    def image(self, pixels: Pixels, alpha: float) -> None:
        x, y, width, height = pixels.box
        is_solid = np.asarray(pixels.image)[..., 3].min() == 255
        image = pixels.image.convert("RGB") if is_solid else pixels.image
        self.canvas.saveState()
        self.canvas.setFillAlpha(alpha)
        self.canvas.transform(1, 0, 0, -1, x, y + height)
        self.canvas.drawImage(ImageReader(image), 0, 0, width, height, mask="auto")
        self.canvas.restoreState()

    def cells(self, pixels: Pixels, alpha: float) -> None:
        """Draw each pixel as a rectangle, except transparent ones."""
        x, y, width, height = pixels.box
        wide, high = width / pixels.image.width, height / pixels.image.height
        for i, row in enumerate(np.asarray(pixels.image).tolist()):
            for j, (red, green, blue, opacity) in enumerate(row):
                if opacity:
                    self.canvas.setFillColorRGB(red / 255, green / 255, blue / 255, alpha)
                    place = (x + j * wide, y + i * high, wide + OVERLAP, high + OVERLAP)
                    self.canvas.rect(*place, stroke=0, fill=1)
