"""The sheets of a head, and the file formats that hold them.

A sheet is the content of one step: its picture, formula, notice, code and link.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from attnviz.export.drawing.marks import LIGHT_THEME, Theme
from attnviz.figures.panels import Layout
from attnviz.figures.steps import describe, lay_out
from attnviz.formatting import number
from attnviz.formulas import Expression
from attnviz.steps import Step, steps_of, unavailable
from attnviz.trace.walk import Walk


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """The content of one step, for a slide or a page."""

    step: str
    title: str
    walk: Walk
    formula: Expression
    notice: str
    fact: str
    code: str
    layout: Layout | None
    """The matrices; None for the table of tokens"""
    place: tuple[int, int]
    """The number of this sheet, from 1, and the number of all sheets"""
    theme: Theme = LIGHT_THEME

    @property
    def link(self) -> str:
        """The address that opens the app at this step; "" where none is known."""
        return link_to(self.walk.link, self.step, "step" if self.walk.block is None else "part")

    @property
    def alt(self) -> str:
        """The alternative text of the picture."""
        if self.layout is not None:
            return describe(self.layout)
        tokens = self.walk.query_tokens
        pairs = (f"{label} {id_}" for label, id_ in zip(tokens.labels[:50], tokens.ids[:50], strict=True))
        return f"{len(tokens)} tokens with their ids: {', '.join(pairs)}{', …' if len(tokens) > 50 else ''}."

    @property
    def notes(self) -> str:
        """What a speaker may want to say or look up."""
        layer = self.walk.layer
        parts = [
            f"{self.title}: {self.notice} {self.fact}".strip(),
            self.alt,
            "Rows are queries (from), columns are keys (to). Layers and heads are counted from 0.",
            f"Scale s = {number(layer.scale, 4)}; {layer.heads} heads of width {layer.head_size}.",
            f"In PyTorch:\n{self.code}" if self.layout is not None else f"In Python:\n{self.code}",
            f"Text: {self.walk.query_tokens.text}",
            f"Second text: {self.walk.query_tokens.pair}" if self.walk.query_tokens.pair else "",
            f"This step in the app: {self.link}" if self.link else "",
        ]
        return "\n\n".join(part for part in parts if part)


def sheets(walk: Walk, steps: Iterable[str] | None = None, theme: Theme = LIGHT_THEME) -> tuple[Sheet, ...]:
    """Return a sheet for each of these steps, or of all, that has a picture, in the order of the computation.

    Raises:
        KeyError: a step is unknown.
    """
    known = steps_of(walk)
    requested = set(known if steps is None else steps)
    unknown = requested - set(known)
    if unknown:
        raise KeyError(min(unknown))
    chosen = [step for step in known.values() if step.name in requested]
    layouts = [(step, lay_out(walk, step.name) if step.matrices else None) for step in chosen]
    shown = [(step, layout) for step, layout in layouts if layout is None or layout.grid]
    return tuple(_sheet(walk, step, layout, (i, len(shown)), theme) for i, (step, layout) in enumerate(shown, 1))


def _sheet(walk: Walk, step: Step[Any], layout: Layout | None, place: tuple[int, int], theme: Theme) -> Sheet:
    of = walk if step.matrices else walk.query_tokens
    fact = step.fact(of) or unavailable(step, walk)
    return Sheet(
        step.name,
        step.title_of(walk.kind, walk.layer_index),
        walk,
        step.formula(of),
        step.notice(of),
        fact,
        step.code(of),
        layout,
        place,
        theme,
    )


def link_to(link: str, step: str, key: str = "step") -> str:
    """Return an address with this step in its query, under the key of its page; "" stays ""."""
    if not link:
        return ""
    parts = urlsplit(link)
    query = {**dict(parse_qsl(parts.query, keep_blank_values=True)), key: step}
    return urlunsplit(parts._replace(query=urlencode(query)))


class TooLongError(ValueError):
    """A text has more tokens than a format can show readably. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format."""

    title: str
    suffix: str
    mime: str
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
            raise TooLongError(f"{self.title} takes up to {self.max_tokens} tokens, and this text has {tokens}.")


def svg_files(sheets: Sequence[Sheet], *, bare: bool = False) -> dict[str, bytes]:
    """Return one SVG per sheet, keyed by file name: the number of the step, from 1, and its name."""
    from attnviz.export.drawing.sheet import draw_sheet
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
    from attnviz.export.drawing.sheet import draw_sheet
    from attnviz.export.files.pdf import write_pdf

    return write_pdf([draw_sheet(sheet) for sheet in sheets])


def _slides(sheets: Sequence[Sheet]) -> bytes:
    from attnviz.export.files.slides import write_slides

    return write_slides(sheets)


def _tikz(sheets: Sequence[Sheet]) -> bytes:
    from attnviz.export.files.tikz import write_tikz

    return write_tikz(sheets).encode("ascii")


POWERPOINT = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
FORMATS = {
    "pptx": Format("PowerPoint", ".pptx", POWERPOINT, 256, _slides),
    "pdf": Format("PDF", ".pdf", "application/pdf", 256, _pdf),
    "svg": Format("SVGs (ZIP)", ".svg.zip", "application/zip", 256, _svg_zip),
    "tikz": Format("TikZ", ".tex", "application/x-tex", 128, _tikz, themed=False),
}
"""By name, as on the command line"""
