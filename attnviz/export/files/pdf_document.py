"""PDF documents with the app's font, on reportlab."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any

from reportlab import rl_config
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from attnviz.export.drawing import fonts

POINT = 0.75
"""Points per pixel: a sheet is 13.33 x 7.5 inches, like a slide"""
NAMES = {False: "AttnvizSans", True: "AttnvizSansBold"}
UNSEEN = "AttnvizUnseen"
"""A font that has every character and draws none, for text under a picture of it: to find, copy and read aloud"""

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


def unseen_width(text: str) -> float:
    """Return the width of a text in the font UNSEEN at size 1."""
    return float(pdfmetrics.stringWidth(text, UNSEEN, 1))


@cache
def _register() -> None:
    rl_config.useA85 = 0  # streams are binary, a fifth smaller
    for bold, name in NAMES.items():
        pdfmetrics.registerFont(_Font(name, fonts.ttf(bold)))
    unseen = _Font(UNSEEN, fonts.ttf())
    unseen.face.name = UNSEEN.encode()  # reportlab takes two fonts of one name for one font
    unseen.face.charToGlyph = _Every()
    pdfmetrics.registerFont(unseen)


class _Font(TTFont):  # type: ignore[misc]  # reportlab has no types
    """A TrueType font whose characters above U+FFFF are found and copied too.

    reportlab writes a code point as one number, where PDF wants UTF-16: for these, a pair.
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
    """The glyph of every character: 0, that of missing ones."""

    def __contains__(self, code: object) -> bool:
        return True

    def __missing__(self, code: int) -> int:
        return 0


def _utf16(code: int) -> int:
    return int.from_bytes(chr(code).encode("utf-16-be"), "big")
