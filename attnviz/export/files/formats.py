"""The file formats that hold a head's sheets. Each writer is imported when it is used: it may need a library."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attnviz.export.sheets import Sheet, draw_sheet
from attnviz.steps import steps_of
from attnviz.trace.walk import Walk


class TooLongError(ValueError):
    """A text has more tokens than a format can show readably. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format."""

    title: str
    suffix: str
    max_tokens: int
    """The most rows or columns of a matrix that are readable on a slide or page"""
    write: Callable[[Sequence[Sheet]], bytes]
    themed: bool = True
    """Whether it supports the dark theme; if not, it needs sheets in the light theme"""

    def check(self, walk: Walk) -> None:
        """Check that this walk is not too long.

        Raises:
            TooLongError: the text has more tokens than `max_tokens`.
        """
        tokens = max(len(walk.query_labels), len(walk.key_labels))
        if tokens > self.max_tokens:
            raise TooLongError(f"{self.title} takes up to {self.max_tokens} tokens, and this view has {tokens:,}.")


def svg_files(sheets: Sequence[Sheet], *, bare: bool = False) -> dict[str, bytes]:
    """Return one SVG per sheet, keyed by file name: the number of the step, from 1, and its name."""
    from attnviz.export.files.svg import write_svg

    numbers = {name: number for sheet in sheets[:1] for number, name in enumerate(steps_of(sheet.walk), 1)}
    return {
        f"{numbers[sheet.step]:02d}-{sheet.step}.svg": write_svg(draw_sheet(sheet, bare=bare)).encode()
        for sheet in sheets
    }


def _svg_zip(sheets: Sequence[Sheet]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in svg_files(sheets).items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _pdf(sheets: Sequence[Sheet]) -> bytes:
    from attnviz.export.files.pdf import write_pdf

    return write_pdf([draw_sheet(sheet) for sheet in sheets])


def _slides(sheets: Sequence[Sheet]) -> bytes:
    from attnviz.export.files.slides import write_slides

    return write_slides(sheets)


def _tikz(sheets: Sequence[Sheet]) -> bytes:
    from attnviz.export.files.tikz import write_tikz

    return write_tikz(sheets).encode("ascii")


FORMATS = {
    "pptx": Format("PowerPoint", ".pptx", 256, _slides),
    "pdf": Format("PDF", ".pdf", 256, _pdf),
    "svg": Format("SVGs (ZIP)", ".svg.zip", 256, _svg_zip),
    "tikz": Format("TikZ", ".tex", 128, _tikz, themed=False),
}
"""By name, as on the command line"""
