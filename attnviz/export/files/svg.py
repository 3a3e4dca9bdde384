"""Writes a drawing as SVG, with text as text and an embedded subset of the font."""

from __future__ import annotations

from base64 import b64encode
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe
from attnviz.export.drawing.marks import Box, Drawing, Gradient, Line, Matrix, Plain, Text, Theme
from attnviz.export.drawing.picture import data_url, hexadecimal, ink_on, is_raster
from attnviz.figures.style import RULE, RULE_OPACITY
from attnviz.mask_reasons import REASONS, Reason

FALLBACK = (
    f"'{fonts.FAMILY}', 'Source Sans 3', Calibri, Carlito, 'Noto Sans', 'Noto Sans CJK SC', 'Noto Color Emoji', "
    "sans-serif"
)
"""Font families for characters that the embedded font lacks"""


def write_svg(drawing: Drawing) -> str:
    """Return a drawing as one self-contained SVG file."""
    body = "\n".join(_mark(mark, number) for number, mark in enumerate(drawing.flat))
    paper = f'<rect width="100%" height="100%" fill="{drawing.theme.paper}"/>'
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" '
        f'width="{_n(drawing.width)}" height="{_n(drawing.height)}" role="img" font-family="{escape(FALLBACK)}">\n'
        f"<title>{escape(safe(drawing.title))}</title>\n<desc>{escape(safe(drawing.alt))}</desc>\n"
        f"<defs><style>{_faces(drawing)}</style>{_hatches(drawing)}</defs>\n{paper}\n{body}\n</svg>\n"
    )


def _faces(drawing: Drawing) -> str:
    faces = []
    for letters, bold in zip(drawing.letters, (False, True), strict=True):
        if letters:
            data = b64encode(fonts.subset(letters, bold)).decode()
            faces.append(
                f"@font-face{{font-family:'{fonts.FAMILY}';font-weight:{fonts.BOLD if bold else fonts.REGULAR};"
                f"src:url(data:font/woff2;base64,{data}) format('woff2')}}"
            )
    return "".join(faces)


_HATCH_IDS: dict[Reason, str] = {"future": "hatch", "window": "hatch-window", "padding": "hatch-padding"}


def _hatches(drawing: Drawing) -> str:
    """Return the patterns of hidden cells: that of the future, and those of other reasons that occur."""
    codes = {int(code) for matrix in drawing.matrices for code in np.unique(matrix.hatches)} | {1}
    return "".join(_hatch(reason, drawing.theme) for code, reason in enumerate(REASONS, 1) if code in codes)


def _hatch(reason: Reason, theme: Theme) -> str:
    ground, line = theme.hatch[reason]
    falling, rising = (f'<rect width="{size}" fill="{line}"/>' for size in ('8" height="2.6', '2.6" height="8'))
    lines = {"future": rising, "window": falling, "padding": rising + falling}[reason]
    return (
        f'<pattern id="{_HATCH_IDS[reason]}" width="8" height="8" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><rect width="8" height="8" fill="{ground}"/>{lines}</pattern>'
    )


def _mark(mark: Plain, number: int) -> str:
    match mark:
        case Text():
            return _text(mark)
        case Line():
            ends = f'x1="{_n(mark.x1)}" y1="{_n(mark.y1)}" x2="{_n(mark.x2)}" y2="{_n(mark.y2)}"'
            return f'<line {ends} stroke="{mark.colour}" stroke-width="{_n(mark.width)}"/>'
        case Box():
            outline = f' stroke="{mark.outline}" stroke-width="{_n(mark.line)}"' if mark.outline else ""
            return f'<rect {_box(mark)} fill="{mark.fill or "none"}"{outline}/>'
        case Gradient():
            return _gradient(mark, f"bar{number}")
        case Matrix():
            return _matrix(mark)


def _text(text: Text) -> str:
    turn = f' transform="rotate({_n(-text.turn)} {_n(text.x)} {_n(text.y)})"' if text.turn else ""
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    bold = f' font-weight="{fonts.BOLD}"' if text.bold else ""
    # Isolation keeps the anchor of right-to-left tokens in place.
    written = (
        f'<text x="{_n(text.x)}" y="{_n(text.y)}" font-size="{_n(text.size)}" fill="{text.colour}"{anchor}{bold}{turn} '
        f'style="unicode-bidi:isolate">{escape(safe(text.text))}</text>'
    )
    return f"<a href={quoteattr(safe(text.link))}>{written}</a>" if text.link else written


def _gradient(bar: Gradient, name: str) -> str:
    last = len(bar.colours) - 1
    stops = "".join(f'<stop offset="{_n(i / last)}" stop-color="{c}"/>' for i, c in enumerate(bar.colours))
    return (
        f'<linearGradient id="{name}" x1="0" y1="0" x2="0" y2="1">{stops}</linearGradient>'
        f'<rect {_box(bar)} fill="url(#{name})"/>'
    )


def _matrix(matrix: Matrix) -> str:
    parts = [f'<g data-name="{matrix.name}" data-rows="{matrix.rows}" data-cols="{matrix.cols}">']
    if is_raster(matrix):
        parts.append(
            f'<image {_box(matrix)} preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="{data_url(matrix)}"/>'
        )
    else:
        parts.append(_cells(matrix))
    parts.append(
        f'<rect {_box(matrix)} fill="none" stroke="{RULE}" stroke-opacity="{RULE_OPACITY:g}" stroke-width="0.7"/></g>'
    )
    return "".join(parts)


def _cells(matrix: Matrix) -> str:
    hatches, parts = matrix.hatches, []
    for i in range(matrix.rows):
        for j in range(matrix.cols):
            code = hatches[i, j]
            fill = f"url(#{_HATCH_IDS[REASONS[code - 1]]})" if code else hexadecimal(matrix.colours[i, j])
            parts.append(f'<rect {_edges(*matrix.box(i, j))} fill="{fill}"/>')
    if matrix.numbers:
        parts.append(f'<g font-size="{_n(matrix.size)}" text-anchor="middle">')
        for i, row in enumerate(matrix.numbers):
            for j, number in enumerate(row):
                if number:
                    x, y = matrix.number_at(i, j)
                    ink = ink_on(matrix.colours[i, j])
                    parts.append(f'<text x="{_n(x)}" y="{_n(y)}" fill="{ink}">{number}</text>')
        parts.append("</g>")
    return "".join(parts)


def _box(mark: Box | Gradient | Matrix) -> str:
    return _edges(mark.x, mark.y, mark.width, mark.height)


def _edges(x: float, y: float, width: float, height: float) -> str:
    return f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
