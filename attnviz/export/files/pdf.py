"""Writes PDF with reportlab, with vector text in the app's font: drawings, one per page, and recorded pictures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
from reportlab import rl_config
from reportlab.lib.colors import HexColor
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import FILL_NON_ZERO, Canvas

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import LIGHT_THEME, Box, Drawing, Gradient, Line, Matrix, Plain, Text
from attnviz.export.drawing.picture import hexadecimal, ink_on, is_raster, png
from attnviz.export.recording import Clip, Mark, Path, Picture, Piece, Pixels, Recording, Shape, TextLine
from attnviz.mask_reasons import REASONS, Reason

POINT = 0.75
"""Points per pixel: a sheet is 13.33 x 7.5 inches, like a slide"""
NAMES = {False: "AttnvizSans", True: "AttnvizSansBold"}
UNSEEN = "AttnvizUnseen"
"""A font that has every character and draws none: text under its own picture can be found, copied and read aloud"""

_lock = threading.Lock()  # a font of reportlab can't be in two documents at the same time


def write(title: str, subject: str, draw: Callable[[Canvas], None]) -> bytes:
    """Return the document that `draw` draws; the same bytes for the same drawing."""
    with _lock:
        _register()
        file = BytesIO()
        canvas = Canvas(file, pageCompression=1, invariant=1)
        canvas.setTitle(title)
        canvas.setSubject(subject)
        canvas.setCreator("attnviz")
        canvas.setViewerPreference("DisplayDocTitle", "true")
        draw(canvas)
        canvas.save()
    return file.getvalue()


def size_page(canvas: Canvas, width: float, height: float) -> None:
    """Begin a page of this size in pixels, with pixels as the unit."""
    canvas.setPageSize((width * POINT, height * POINT))
    canvas.scale(POINT, POINT)


@cache
def _register() -> None:
    rl_config.useA85 = 0  # streams are binary, a fifth smaller
    for bold, name in NAMES.items():
        pdfmetrics.registerFont(_Font(name, fonts.ttf(bold)))
    unseen = _Font(UNSEEN, fonts.ttf())
    unseen.face.name = UNSEEN.encode()  # reportlab treats two fonts of the same name as one
    unseen.face.charToGlyph = _Every()
    pdfmetrics.registerFont(unseen)


class _Font(TTFont):  # type: ignore[misc]  # reportlab has no types
    """A TrueType font whose characters above U+FFFF can be found and copied too.

    reportlab writes a code point as one number, but PDF needs UTF-16: for these characters, a surrogate pair.
    """

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(name, BytesIO(data), asciiReadable=False)  # only the characters in use
        face = self.face
        for code in [code for code in face.charToGlyph if code > 0xFFFF]:
            face.charToGlyph[_utf16(code)] = face.charToGlyph[code]
            face.charWidths[_utf16(code)] = face.charWidths[code]

    def addObjects(self, doc: Any) -> None:  # noqa: N802 — reportlab's name
        """Add the font to a document that is complete."""
        for subset in self.state[doc].subsets:
            subset[:] = map(_utf16, subset)
        super().addObjects(doc)


class _Every(dict[int, int]):
    """Maps every character to glyph 0, that of missing characters."""

    def __contains__(self, code: object) -> bool:
        return True

    def __missing__(self, code: int) -> int:
        return 0


def _utf16(code: int) -> int:
    return int.from_bytes(chr(code).encode("utf-16-be"), "big")


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
        path = canvas.beginPath()
        path.rect(bar.x, top - bar.height, bar.width, bar.height)
        canvas.clipPath(path, stroke=0, fill=0)
        stops = [i / (len(bar.colours) - 1) for i in range(len(bar.colours))]
        colours = [HexColor(colour) for colour in bar.colours]
        canvas.linearGradient(bar.x, top, bar.x, top - bar.height, colours, stops)
        canvas.restoreState()

    def matrix(self, matrix: Matrix) -> None:
        if is_raster(matrix):
            bottom = self.height - matrix.y - matrix.height
            self.canvas.drawImage(ImageReader(BytesIO(png(matrix))), matrix.x, bottom, matrix.width, matrix.height)
        else:
            self.cells(matrix)
        self.box(Box(matrix.x, matrix.y, matrix.width, matrix.height, outline=matrix.theme.frame, line=0.7))

    def cells(self, matrix: Matrix) -> None:
        canvas, hidden, hatches = self.canvas, matrix.hidden, matrix.hatches
        for code, reason in enumerate(REASONS, 1):
            if (hatches == code).any():
                self.hatching(matrix, hatches == code, reason)
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

    def hatching(self, matrix: Matrix, cells: npt.NDArray[np.bool_], reason: Reason) -> None:
        """Draw the hatching of a reason in cells of a matrix."""
        canvas = self.canvas
        ground, line = matrix.theme.hatch[reason]
        canvas.saveState()
        path = canvas.beginPath()
        for i, j in zip(*cells.nonzero(), strict=True):
            x, y, wide, high = matrix.box(int(i), int(j))
            path.rect(x, self.height - y - high, wide, high)
        canvas.clipPath(path, stroke=0, fill=0)
        self.box(Box(matrix.x, matrix.y, matrix.width, matrix.height, fill=ground))
        canvas.setStrokeColor(line)
        canvas.setLineWidth(2.4)
        bottom, step = self.height - matrix.y - matrix.height, 8
        for shift in range(-int(matrix.height) - step, int(matrix.width) + step, step):
            left, right = matrix.x + shift, matrix.x + shift + matrix.height
            if reason != "window":
                canvas.line(left, bottom, right, bottom + matrix.height)
            if reason != "future":
                canvas.line(left, bottom + matrix.height, right, bottom)
        canvas.restoreState()

    def note_missing(self, drawing: Drawing) -> None:
        """List the characters that the page can't show."""
        missing = fonts.missing(safe("".join(drawing.letters)))
        if missing:
            codes = ", ".join(f"U+{ord(character):04X}" for character in missing[:8])
            more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
            note = f"{fonts.REPLACEMENT} replaces characters that this file's font lacks: {codes}{more}"
            self.text(Text(drawing.width - 44, 90, note, 12, drawing.theme.quiet, anchor="end"))


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
        page = _RecordedPage(canvas)
        for mark in recording.marks:
            page.draw(mark)
        page.enter(())
        canvas.showPage()

    return write(recording.title, recording.caption, draw)


class _RecordedPage:
    """Draws marks on a page whose y axis points down."""

    def __init__(self, canvas: Any) -> None:
        self.canvas = canvas
        self.clip: Clip = ()
        """The current clip"""

    def draw(self, mark: Mark) -> None:
        self.enter(mark.clip)
        match mark:
            case Shape():
                self.shape(mark)
            case TextLine():
                self.text_line(mark)
            case Picture(is_cells=True):
                self.cells(mark.pixels, mark.alpha)
            case Picture():
                self.image(mark.pixels, mark.alpha)

    def enter(self, clip: Clip) -> None:
        """Clip to these paths, and no others. A page leaves a clip by restoring the graphics state before it."""
        differs = (n for n, (old, new) in enumerate(zip(self.clip, clip, strict=False)) if old is not new)
        shared = next(differs, min(len(self.clip), len(clip)))
        for _ in self.clip[shared:]:
            self.canvas.restoreState()
        for path in clip[shared:]:
            self.canvas.saveState()
            self.canvas.clipPath(self.path(path), stroke=0, fill=0, fillMode=FILL_NON_ZERO)
        self.clip = clip

    def path(self, path: Path) -> Any:
        outline = self.canvas.beginPath()
        add = {"M": outline.moveTo, "L": outline.lineTo, "C": outline.curveTo, "R": outline.rect, "Z": outline.close}
        for kind, numbers in path:
            add[kind](*numbers)
        return outline

    def shape(self, shape: Shape) -> None:
        if shape.fill:
            self.canvas.setFillColor(shape.fill, shape.alpha)
        if shape.stroke:
            self.canvas.setStrokeColor(shape.stroke, shape.alpha)
            self.canvas.setLineWidth(shape.line)
            self.canvas.setDash(shape.dash)
        stroke, fill = int(bool(shape.stroke)), int(bool(shape.fill))
        self.canvas.drawPath(self.path(shape.path), stroke, fill, FILL_NON_ZERO)

    def text_line(self, line: TextLine) -> None:
        widths = [piece.width if piece.seen else fonts.width(piece.text, line.size, line.bold) for piece in line.pieces]
        x = {"start": 0.0, "middle": -sum(widths) / 2, "end": -sum(widths)}[line.anchor]
        self.canvas.saveState()
        self.canvas.transform(*line.matrix)
        for piece, width in zip(line.pieces, widths, strict=True):
            self.canvas.saveState()
            self.canvas.translate(x, 0)
            if piece.seen:
                self.image(piece.seen, line.alpha)
            self.canvas.scale(1, -1)  # letters stand upright on a page whose y axis points down
            self.letters(piece, line)
            self.canvas.restoreState()
            x += width
        self.canvas.restoreState()

    def letters(self, piece: Piece, line: TextLine) -> None:
        text = self.canvas.beginText()
        text.setFillColor(line.colour, line.alpha)
        text.setFont(UNSEEN if piece.seen else NAMES[line.bold], line.size)
        if piece.seen:
            text.setTextRenderMode(UNSEEN_MODE)
            natural = pdfmetrics.stringWidth(piece.text, UNSEEN, 1) * line.size
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
