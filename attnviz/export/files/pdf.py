"""Writes drawings as a PDF, one page each, with vector text in an embedded font."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from reportlab.lib.colors import HexColor
from reportlab.lib.utils import ImageReader

from attnviz.export.drawing import fonts
from attnviz.export.drawing.colours import hexadecimal, ink_on
from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import Box, Drawing, Gradient, Line, Matrix, Plain, Text
from attnviz.export.drawing.raster import is_raster, png
from attnviz.export.drawing.themes import LIGHT_THEME
from attnviz.export.files.pdf_document import NAMES, POINT, size_page, write


def write_pdf(drawings: Sequence[Drawing]) -> bytes:
    """Return a PDF with a page for each drawing.

    The file embeds one font. Characters that it lacks are shown as � and listed in a note near the page's title.
    """

    def draw(canvas: Any) -> None:
        for drawing in drawings:
            size_page(canvas, drawing.width, drawing.height)
            canvas.bookmarkPage(drawing.title)
            canvas.addOutlineEntry(safe(drawing.title), drawing.title)
            page = _Page(canvas, drawing.height)
            if drawing.theme is not LIGHT_THEME:  # white needs no background
                page.box(Box(0, 0, drawing.width, drawing.height, fill=drawing.theme.paper))
            for mark in drawing.flat:
                page.draw(mark)
            page.note_missing(drawing)
            canvas.showPage()

    return write(safe(drawings[0].title) if drawings else "attnviz", "", draw)


class _Page:
    """Writes marks onto a page. PDF's y axis points up, a drawing's down."""

    def __init__(self, canvas: Any, height: float) -> None:
        self.canvas, self.height = canvas, height

    def draw(self, mark: Plain) -> None:
        match mark:
            case Text():
                self.text(mark)
            case Line():
                self.canvas.setStrokeColor(mark.colour)
                self.canvas.setLineWidth(mark.width)
                self.canvas.line(mark.x1, self.height - mark.y1, mark.x2, self.height - mark.y2)
            case Box():
                self.box(mark)
            case Gradient():
                self.gradient(mark)
            case Matrix():
                self.matrix(mark)

    def text(self, text: Text) -> None:
        shown = fonts.replace_missing(safe(text.text))
        canvas, y = self.canvas, self.height - text.y
        canvas.saveState()
        canvas.setFont(NAMES[text.bold], text.size)
        canvas.setFillColor(text.colour)
        canvas.translate(text.x, y)
        canvas.rotate(text.turn)
        wide = fonts.width(shown, text.size, text.bold)
        left = {"start": 0.0, "middle": -wide / 2, "end": -wide}[text.anchor]
        canvas.drawString(left, 0, shown)
        canvas.restoreState()
        if text.link:
            box = tuple(POINT * edge for edge in (text.x + left, y - 4, text.x + left + wide, y + text.size))
            canvas.linkURL(text.link, box, relative=0)

    def box(self, box: Box) -> None:
        canvas = self.canvas
        if box.fill:
            canvas.setFillColor(box.fill)
        if box.outline:
            canvas.setStrokeColor(box.outline)
            canvas.setLineWidth(box.line)
        bottom = self.height - box.y - box.height
        canvas.rect(box.x, bottom, box.width, box.height, stroke=int(bool(box.outline)), fill=int(bool(box.fill)))

    def gradient(self, bar: Gradient) -> None:
        canvas, top = self.canvas, self.height - bar.y
        canvas.saveState()
        self.clip(bar.x, top - bar.height, bar.width, bar.height)
        stops = [i / (len(bar.colours) - 1) for i in range(len(bar.colours))]
        colours = [HexColor(colour) for colour in bar.colours]
        canvas.linearGradient(bar.x, top, bar.x, top - bar.height, colours, stops)
        canvas.restoreState()

    def clip(self, x: float, y: float, width: float, height: float) -> None:
        path = self.canvas.beginPath()
        path.rect(x, y, width, height)
        self.canvas.clipPath(path, stroke=0, fill=0)

    def matrix(self, matrix: Matrix) -> None:
        if is_raster(matrix):
            bottom = self.height - matrix.y - matrix.height
            self.canvas.drawImage(ImageReader(BytesIO(png(matrix))), matrix.x, bottom, matrix.width, matrix.height)
        else:
            self.cells(matrix)
        self.box(Box(matrix.x, matrix.y, matrix.width, matrix.height, outline=matrix.theme.frame, line=0.7))

    def cells(self, matrix: Matrix) -> None:
        canvas, hidden = self.canvas, matrix.hidden
        if hidden.any():
            self.hatching(matrix)
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                if hidden[i, j]:
                    continue
                x, y, wide, high = matrix.box(i, j)
                canvas.setFillColor(hexadecimal(matrix.colours[i, j]))
                canvas.rect(x, self.height - y - high, wide, high, stroke=0, fill=1)
                if matrix.numbers:
                    canvas.setFillColor(ink_on(matrix.colours[i, j]))
                    canvas.setFont(NAMES[False], matrix.size)
                    middle, base = matrix.number_at(i, j)
                    canvas.drawCentredString(middle, self.height - base, matrix.numbers[i][j])

    def hatching(self, matrix: Matrix) -> None:
        """Draw hatching in the hidden cells of a matrix."""
        canvas = self.canvas
        ground, line = matrix.theme.hatch
        canvas.saveState()
        path = canvas.beginPath()
        for i, j in zip(*matrix.hidden.nonzero(), strict=True):
            x, y, wide, high = matrix.box(int(i), int(j))
            path.rect(x, self.height - y - high, wide, high)
        canvas.clipPath(path, stroke=0, fill=0)
        self.box(Box(matrix.x, matrix.y, matrix.width, matrix.height, fill=ground))
        canvas.setStrokeColor(line)
        canvas.setLineWidth(2.4)
        bottom, step = self.height - matrix.y - matrix.height, 8
        for shift in range(-int(matrix.height) - step, int(matrix.width) + step, step):
            canvas.line(matrix.x + shift, bottom, matrix.x + shift + matrix.height, bottom + matrix.height)
        canvas.restoreState()

    def note_missing(self, drawing: Drawing) -> None:
        """List the characters that the page can't show."""
        missing = fonts.missing(safe("".join(drawing.letters)))
        if missing:
            codes = ", ".join(f"U+{ord(character):04X}" for character in missing[:8])
            more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
            note = f"{fonts.REPLACEMENT} replaces characters that this file's font lacks: {codes}{more}"
            self.text(Text(drawing.width - 44, 90, note, 12, drawing.theme.quiet, anchor="end"))
