"""Native PowerPoint tables: matrices with coloured cells and numbers, and the table of tokens.

They are written as XML directly: python-pptx would take seconds for a slide with a thousand cells.
"""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape

from attnviz.export.drawing.colours import hexadecimal, ink_on
from attnviz.export.drawing.lines import safe, safe_font_size
from attnviz.export.drawing.marks import RULE, Matrix, Table
from attnviz.figures.panels import NUMBERED

FONT = "Calibri"
"""Every PowerPoint has it, and other programs have a font of the same widths; a deck can't embed fonts"""
_URI = "http://schemas.openxmlformats.org/drawingml/2006/main"
_NO_STYLE = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
_MIN_CELL_SIDE = 5.0
"""In pixels: smaller cells can't be a table, because a row is at least as high as its text"""


def is_table(matrix: Matrix) -> bool:
    """Whether a matrix is small enough for an editable table."""
    return matrix.values.size > 0 and max(matrix.rows, matrix.cols) <= NUMBERED and min(matrix.cell) >= _MIN_CELL_SIDE


def add_matrix(shapes: Any, matrix: Matrix, pixel: int) -> None:
    """Add a matrix to a slide's shapes as a table; `pixel` is the number of slide units per pixel."""
    wide, high = matrix.cell
    hidden, size = matrix.hidden, safe_font_size(matrix)
    borders = _borders(dict.fromkeys("LRTB", matrix.theme.paper))
    rows = []
    for i in range(matrix.rows):
        cells = []
        for j in range(matrix.cols):
            number = matrix.numbers[i][j] if matrix.numbers else ""
            colour = hexadecimal(matrix.colours[i, j])
            fill = _hatch(*matrix.theme.hatch) if hidden[i, j] else _solid(colour)
            cells.append(_cell(number, size, ink_on(matrix.colours[i, j]), fill, borders))
        rows.append("".join(cells))
    place = (matrix.x, matrix.y, matrix.width, matrix.height)
    _add(shapes, matrix.name, place, [wide] * matrix.cols, high, rows, pixel)


def add_table(shapes: Any, table: Table, pixel: int) -> None:
    """Add a table of text to a slide's shapes."""
    rows = []
    rules = [RULE, *[table.theme.rule] * len(table.rows)]
    for i, cells in enumerate(table.rows):
        borders = _borders({"B": rules[i]} if i == 0 else {"T": rules[i - 1], "B": rules[i]})
        rows.append(
            "".join(
                _cell(cell, table.size, table.theme.text, "<a:noFill/>", borders, bold=i == 0, left=6) for cell in cells
            )
        )
    place = (table.x, table.y, sum(table.widths), table.row * len(rows))
    _add(shapes, "tokens", place, list(table.widths), table.row, rows, pixel)


def _add(
    shapes: Any, name: str, place: tuple[float, ...], widths: list[float], high: float, rows: list[str], pixel: int
) -> None:
    from pptx.oxml import parse_xml

    frame = shapes.add_table(1, 1, *(int(edge * pixel) for edge in place))
    frame.name = name
    columns = "".join(f'<a:gridCol w="{int(width * pixel)}"/>' for width in widths)
    body = "".join(f'<a:tr h="{int(high * pixel)}">{cells}</a:tr>' for cells in rows)
    new = parse_xml(
        f'<a:tbl xmlns:a="{_URI}"><a:tblPr><a:tableStyleId>{_NO_STYLE}</a:tableStyleId></a:tblPr>'
        f"<a:tblGrid>{columns}</a:tblGrid>{body}</a:tbl>"
    )
    old = frame.table._tbl
    old.getparent().replace(old, new)


def _cell(
    text: str, size: float, colour: str, fill: str, borders: str, *, bold: bool = False, left: float = 0.0
) -> str:
    # An empty cell needs a font size too: otherwise PowerPoint makes its row 18 points high.
    points = max(100, int(size * 75))
    like = f'lang="en-GB" sz="{points}" b="{int(bold)}" dirty="0"'
    run = (
        f'<a:r><a:rPr {like}>{_solid(colour)}<a:latin typeface="{FONT}"/></a:rPr><a:t>{escape(safe(text))}</a:t></a:r>'
        if text
        else ""
    )
    side = "l" if left else "ctr"
    return (
        f'<a:tc><a:txBody><a:bodyPr/><a:lstStyle/><a:p><a:pPr algn="{side}"/>{run}<a:endParaRPr {like}/></a:p>'
        f'</a:txBody><a:tcPr marL="{int(left * 9525)}" marR="0" marT="0" marB="0" anchor="ctr">{borders}{fill}'
        "</a:tcPr></a:tc>"
    )


def _solid(colour: str) -> str:
    return f'<a:solidFill><a:srgbClr val="{colour.lstrip("#")}"/></a:solidFill>'


def _hatch(ground: str, line: str) -> str:
    front, back = (f'<a:srgbClr val="{colour[1:]}"/>' for colour in (line, ground))
    return f'<a:pattFill prst="wdUpDiag"><a:fgClr>{front}</a:fgClr><a:bgClr>{back}</a:bgClr></a:pattFill>'


def _borders(colours: dict[str, str]) -> str:
    """Return the borders of a cell (L, R, T, B); sides without a colour are not drawn."""
    return "".join(
        f'<a:ln{side} w="9525">{_solid(colours[side]) if side in colours else "<a:noFill/>"}</a:ln{side}>'
        for side in "LRTB"
    )
