"""Writes sheets as a PowerPoint deck: one slide per step, with native, editable text, tables and shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from math import cos, radians, sin
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import colour_of, safe, safe_font_size, safe_lines, width_of_runs, wrap
from attnviz.export.drawing.marks import LIGHT_THEME, Box, Gradient, Line, Mark, Matrix, Table, Text, Theme
from attnviz.export.drawing.picture import channels, hexadecimal, ink_on, png, shorten
from attnviz.export.sheets import (
    CAPTION,
    HEIGHT,
    MARGIN,
    PICTURE_BOTTOM,
    PICTURE_TOP,
    WIDTH,
    Sheet,
    about,
    caption,
    draw_picture,
)
from attnviz.figures.panels import NUMBERED
from attnviz.figures.style import RULE
from attnviz.formulas import Expression, runs
from attnviz.mask_reasons import REASONS, Reason

if TYPE_CHECKING:
    from pptx.slide import Slide


FONT = "Arial"
"""A deck can't embed fonts. PowerPoint and Keynote have this one, LibreOffice and Google one of the same widths; all
text also fits its place in wider fonts (`fonts.in_any_font`)"""
_CELL_SPARE = 1.03
"""How much wider a cell is than its widest number: a number that does not fit would break its row"""
_URI = "http://schemas.openxmlformats.org/drawingml/2006/main"
_NO_STYLE = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
MAX_ALT = 1000
"""The most characters of an alternative text"""
_MIN_CELL_SIDE = 5.0
"""In pixels: smaller cells can't be a table, because a row is at least as high as its text"""


def is_table(matrix: Matrix) -> bool:
    """Whether a matrix is small enough for an editable table."""
    return matrix.values.size > 0 and max(matrix.rows, matrix.cols) <= NUMBERED and min(matrix.cell) >= _MIN_CELL_SIDE


def add_matrix(shapes: Any, matrix: Matrix) -> None:
    """Add a matrix to a slide's shapes as a table."""
    wide, high = matrix.cell
    hatches, size = matrix.hatches, safe_font_size(matrix, _CELL_SPARE)
    borders = _borders(dict.fromkeys("LRTB", matrix.theme.paper))
    rows = []
    for i in range(matrix.rows):
        cells = []
        for j in range(matrix.cols):
            number = matrix.numbers[i][j] if matrix.numbers else ""
            colour = hexadecimal(matrix.colours[i, j])
            code = hatches[i, j]
            fill = _hatch(REASONS[code - 1], matrix.theme) if code else _solid(colour)
            cells.append(_cell(number, size, ink_on(matrix.colours[i, j]), fill, borders))
        rows.append("".join(cells))
    place = (matrix.x, matrix.y, matrix.width, matrix.height)
    frame = _add(shapes, matrix.name, place, [wide] * matrix.cols, high, rows)
    frame._element.nvGraphicFramePr.cNvPr.set("descr", safe(matrix.alt)[:MAX_ALT])


def add_table(shapes: Any, table: Table) -> None:
    """Add a table of text to a slide's shapes."""
    rows = []
    rules = [RULE, *[table.theme.row_rule] * len(table.rows)]
    for i, cells in enumerate(table.rows):
        borders = _borders({"B": rules[i]} if i == 0 else {"T": rules[i - 1], "B": rules[i]})
        rows.append(
            "".join(
                _cell(cell, table.size, table.theme.text, "<a:noFill/>", borders, bold=i == 0, left=6) for cell in cells
            )
        )
    place = (table.x, table.y, sum(table.widths), table.row * len(rows))
    _add(shapes, "tokens", place, list(table.widths), table.row, rows)


def add_text(shapes: Any, text: Text) -> None:
    """Add a line of text whose anchor is at the right position in any font."""
    wide = fonts.width(text.text, text.size, text.bold) + 4
    high = text.size * 1.3
    angle, along = radians(text.turn), {"start": 0.5, "middle": 0.0, "end": -0.5}[text.anchor] * wide
    x = text.x + along * cos(angle) - 0.33 * text.size * sin(angle)
    y = text.y - along * sin(angle) - 0.33 * text.size * cos(angle)
    frame = _text_box(shapes, text.text[:40], (x - wide / 2, y - high / 2, wide, high), turn=text.turn)
    frame.paragraphs[0].alignment = align(text.anchor)
    write(frame.paragraphs[0], text.text, text.size, text.colour, bold=text.bold)


def _text_box(shapes: Any, name: str, place: tuple[float, float, float, float], turn: float = 0.0) -> Any:
    """Add a text box without margins; `place` is left, top, width and height in pixels. Return its text frame."""
    shape = shapes.add_textbox(0, 0, 0, 0)
    _put(shape, *place)
    shape.name, shape.rotation = safe(name), -turn
    return plain_frame(shape)


def _put(shape: Any, x: float, y: float, width: float, height: float) -> None:
    shape.left, shape.top, shape.width, shape.height = (int(n * PIXEL) for n in (x, y, width, height))


def _add(shapes: Any, name: str, place: tuple[float, ...], widths: list[float], high: float, rows: list[str]) -> Any:
    from pptx.oxml import parse_xml

    frame = shapes.add_table(1, 1, *(int(edge * PIXEL) for edge in place))
    frame.name = name
    columns = "".join(f'<a:gridCol w="{int(width * PIXEL)}"/>' for width in widths)
    body = "".join(f'<a:tr h="{int(high * PIXEL)}">{cells}</a:tr>' for cells in rows)
    new = parse_xml(
        f'<a:tbl xmlns:a="{_URI}"><a:tblPr><a:tableStyleId>{_NO_STYLE}</a:tableStyleId></a:tblPr>'
        f"<a:tblGrid>{columns}</a:tblGrid>{body}</a:tbl>"
    )
    old = frame.table._tbl
    old.getparent().replace(old, new)
    return frame


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


_PRESETS: dict[Reason, str] = {"future": "wdUpDiag", "window": "wdDnDiag", "padding": "openDmnd"}


def _hatch(reason: Reason, theme: Theme) -> str:
    ground, line = theme.hatch[reason]
    front, back = (f'<a:srgbClr val="{colour[1:]}"/>' for colour in (line, ground))
    return f'<a:pattFill prst="{_PRESETS[reason]}"><a:fgClr>{front}</a:fgClr><a:bgClr>{back}</a:bgClr></a:pattFill>'


def _borders(colours: dict[str, str]) -> str:
    """Return the borders of a cell (L, R, T, B); sides without a colour are not drawn."""
    return "".join(
        f'<a:ln{side} w="9525">{_solid(colours[side]) if side in colours else "<a:noFill/>"}</a:ln{side}>'
        for side in "LRTB"
    )


PIXEL = 9525
"""English Metric Units per pixel: a slide is 13.33 x 7.5 inches"""
TITLE_WIDTH, CAPTION_HEIGHT = 400.0, 74.0
"""The boxes of the title, beside which the name of the head begins, and of the caption, in pixels"""
LINE, SMALLEST_CAPTION = 1.2, 12.0
"""The height of a line as a multiple of its font size; the smallest font size of a caption"""
MAX_LINK = 2000
"""The longest address in characters that PowerPoint opens"""


def write_slides(sheets: Sequence[Sheet]) -> bytes:
    """Return a deck with one 16:9 slide for each sheet: title, formula, picture, caption, link and speaker notes."""
    deck = new_deck(f"Attention, step by step: {sheets[0].walk.name}" if sheets else "")
    if sheets:
        _colour(deck, sheets[0].theme)
    with fonts.in_any_font():
        for sheet in sheets:
            _Slide(deck.slides.add_slide(deck.slide_layouts[5]), sheet.theme).fill(sheet)
    return saved(deck)


def new_deck(title: str) -> Any:
    """Return a deck of 16:9 without slides."""
    from pptx import Presentation
    from pptx.util import Emu

    deck = Presentation()
    deck.slide_width, deck.slide_height = Emu(int(WIDTH * PIXEL)), Emu(int(HEIGHT * PIXEL))
    deck.core_properties.title = safe(title)[:255]
    deck.core_properties.author = "attnviz"
    return deck


def saved(deck: Any) -> bytes:
    """Return a deck as a file."""
    file = BytesIO()
    deck.save(file)
    return file.getvalue()


def _colour(deck: Any, theme: Theme) -> None:
    """Set the colour of links, which only the theme defines; in a dark deck, make new text light."""
    from pptx.opc.constants import RELATIONSHIP_TYPE

    master = deck.slide_master
    part = master.part.part_related_by(RELATIONSHIP_TYPE.THEME)
    link = rf'\1<a:srgbClr val="{theme.link[1:]}"/>\3'.encode()
    part._blob = re.sub(rb"(<a:(?:h|folH)link>)(.*?)(</a:(?:h|folH)link>)", link, part.blob)
    if theme is not LIGHT_THEME:
        for kind in "12":
            master._element.find("{*}clrMap").set(f"bg{kind}", f"dk{kind}")
            master._element.find("{*}clrMap").set(f"tx{kind}", f"lt{kind}")


class _Slide:
    """Adds marks to one slide."""

    def __init__(self, slide: Slide, theme: Theme) -> None:
        self.theme = theme
        self.slide: Any = slide
        self.shapes: Any = slide.shapes

    def fill(self, sheet: Sheet) -> None:
        if self.theme is not LIGHT_THEME:  # light slides keep the background of the deck they are pasted into
            solid(self.slide.background.fill, self.theme.paper)
        self.title(sheet.title)
        for line in about(sheet):
            add_text(self.shapes, line)
        self.formula(sheet.formula)
        for mark in draw_picture(sheet, top=PICTURE_TOP, bottom=PICTURE_BOTTOM):
            self.draw(mark)
        self.caption(caption(sheet))
        self.link(sheet.link)
        self.slide.notes_slide.notes_text_frame.text = safe_lines(sheet.notes)

    def title(self, title: str) -> None:
        shape = self.shapes.title
        _put(shape, MARGIN, 16, TITLE_WIDTH, 54)
        frame = plain_frame(shape)
        frame.word_wrap = False
        size = min(34.0, TITLE_WIDTH / fonts.width(title, 1.0, bold=True))
        write(frame.paragraphs[0], title, size, self.theme.text, bold=True)
        frame.paragraphs[0].alignment = align("start")

    def formula(self, formula: Expression) -> None:
        frame = _text_box(self.shapes, "formula", (MARGIN, 72, WIDTH - 2 * MARGIN, 40))
        size = min(24.0, (WIDTH - 2 * MARGIN) / width_of_runs(runs(formula), 1.0))
        for run in runs(formula):
            written = write(frame.paragraphs[0], run.text, size, colour_of(run, self.theme))
            if run.level:
                written.font._rPr.set("baseline", "30000" if run.level > 0 else "-25000")
            if run.boxed:
                highlight(written, self.theme.highlight)

    def caption(self, text: str) -> None:
        frame = _text_box(self.shapes, "what to notice", (MARGIN, 616, WIDTH - 2 * MARGIN, CAPTION_HEIGHT))
        frame.word_wrap = True
        write(frame.paragraphs[0], text, caption_size(text), self.theme.text)

    def link(self, link: str) -> None:
        if not link:
            return
        frame = _text_box(self.shapes, "link", (MARGIN, 690, WIDTH - 2 * MARGIN, 22))
        if len(link) > MAX_LINK:
            too_long = "This step's link is too long for a slide; it is in the notes."
            write(frame.paragraphs[0], too_long, 14, self.theme.quiet)
        else:
            shown = shorten(safe(link), WIDTH - 2 * MARGIN - 60, 14)
            write(frame.paragraphs[0], shown, 14, self.theme.link).hyperlink.address = safe(link)

    def draw(self, mark: Mark) -> None:
        match mark:
            case Text():
                add_text(self.shapes, mark)
            case Matrix():
                self.matrix(mark)
            case Table():
                add_table(self.shapes, mark)
            case Gradient():
                self.gradient(mark)
            case Box():
                self.rectangle(mark)
            case Line():
                ends = (int(n * PIXEL) for n in (mark.x1, mark.y1, mark.x2, mark.y2))
                line = self.shapes.add_connector(1, *ends)
                line.line.color.rgb = rgb(mark.colour)
                line.line.width = int(mark.width * PIXEL)
                line._element.remove(line._element.find("{*}style"))  # the theme's shadow

    def matrix(self, matrix: Matrix) -> None:
        if is_table(matrix):
            add_matrix(self.shapes, matrix)
            return
        edges = (int(n * PIXEL) for n in (matrix.x, matrix.y, matrix.width, matrix.height))
        picture = self.shapes.add_picture(BytesIO(png(matrix)), *edges)
        picture.name = matrix.name
        picture._element.nvPicPr.cNvPr.set("descr", safe(matrix.alt)[:MAX_ALT])
        picture.line.color.rgb = rgb(matrix.theme.frame)
        picture.line.width = PIXEL // 2

    def gradient(self, bar: Gradient) -> None:
        """Draw a colour bar as two-colour gradients: not every program supports more colours."""
        high = bar.height / (len(bar.colours) - 1)
        for i, (top, bottom) in enumerate(pairwise(bar.colours)):
            fade(self.shape(Gradient(bar.x, bar.y + i * high, bar.width, high, (top, bottom))), top, bottom)

    def rectangle(self, box: Box) -> None:
        shape = self.shape(box)
        shape.fill.background() if box.fill is None else solid(shape.fill, box.fill)
        if box.outline:
            shape.line.color.rgb = rgb(box.outline)
            shape.line.width = int(box.line * PIXEL)
        else:
            shape.line.fill.background()

    def shape(self, mark: Box | Gradient) -> Any:
        """Add a rectangle without the theme's shadow."""
        edges = (int(n * PIXEL) for n in (mark.x, mark.y, mark.width, mark.height))
        shape = self.shapes.add_shape(1, *edges)
        shape._element.remove(shape._element.find("{*}style"))
        shape.line.fill.background()
        return shape


def caption_size(text: str) -> float:
    """Return the largest font size, in pixels, at which the lines of a caption fit their box."""
    size, most = CAPTION, len(text)
    while size > SMALLEST_CAPTION and len(wrap(text, WIDTH - 2 * MARGIN, size, most)) * LINE * size > CAPTION_HEIGHT:
        size -= 0.5
    return size


def plain_frame(shape: Any) -> Any:
    """Return a shape's text frame, set to no margins, vertically centred text and no resizing."""
    from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE

    frame = shape.text_frame
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    frame.vertical_anchor, frame.auto_size, frame.word_wrap = MSO_ANCHOR.MIDDLE, MSO_AUTO_SIZE.NONE, False
    return frame


def write(paragraph: Any, text: str, size: float, colour: str, *, bold: bool = False) -> Any:
    """Add a run of text; `size` in pixels."""
    run = paragraph.add_run()
    run.text = safe(text)
    run.font.size, run.font.bold, run.font.name = int(size * PIXEL), bold, FONT
    run.font.color.rgb = rgb(colour)
    return run


def align(anchor: str) -> Any:
    """Return PowerPoint's constant for an alignment."""
    from pptx.enum.text import PP_ALIGN

    return {"start": PP_ALIGN.LEFT, "middle": PP_ALIGN.CENTER, "end": PP_ALIGN.RIGHT}[anchor]


def rgb(colour: str) -> Any:
    """Convert "#5E3C99" to python-pptx's colour type."""
    from pptx.dml.color import RGBColor

    return RGBColor(*channels(colour))  # type: ignore[no-untyped-call]


def solid(fill: Any, colour: str) -> None:
    """Fill with one colour."""
    fill.solid()
    fill.fore_color.rgb = rgb(colour)


def highlight(run: Any, colour: str) -> None:
    """Give a run a background colour, which replaces the box in a formula."""
    from pptx.oxml import parse_xml
    from pptx.oxml.ns import nsdecls

    mark = parse_xml(f'<a:highlight {nsdecls("a")}><a:srgbClr val="{colour[1:]}"/></a:highlight>')
    run.font._rPr.find("{*}solidFill").addnext(mark)  # the order of these elements is fixed


def fade(shape: Any, top: str, bottom: str) -> None:
    """Fill a shape with a gradient from top to bottom."""
    from pptx.oxml import parse_xml
    from pptx.oxml.ns import nsdecls

    stops = "".join(f'<a:gs pos="{at}"><a:srgbClr val="{c[1:]}"/></a:gs>' for at, c in ((0, top), (100_000, bottom)))
    fill = f'<a:gradFill {nsdecls("a")} rotWithShape="1"><a:gsLst>{stops}</a:gsLst><a:lin ang="5400000"/></a:gradFill>'
    shape._element.spPr.find("{*}prstGeom").addnext(parse_xml(fill))
