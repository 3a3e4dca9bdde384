"""Draws a sheet, 1280 x 720: title, formula, picture, notice and link."""

from __future__ import annotations

from math import ceil

from attnviz.export.drawing.lines import safe, set_formula, wrap
from attnviz.export.drawing.marks import Drawing, Mark, Table, Text, Theme
from attnviz.export.drawing.picture import draw_layout, shorten
from attnviz.export.sheets import Sheet
from attnviz.tokens import NO_ID, Tokens

WIDTH, HEIGHT, MARGIN = 1280.0, 720.0, 44.0
PICTURE_TOP, PICTURE_BOTTOM = 122.0, 612.0
CAPTION, CAPTION_LINES = 20.0, 3


def draw_sheet(sheet: Sheet, *, bare: bool = False) -> Drawing:
    """Draw a sheet. With `bare`, the picture alone fills the sheet."""
    if bare:
        marks = draw_picture(sheet, top=MARGIN / 2, bottom=HEIGHT - MARGIN / 2)
    else:
        marks = [
            *_head(sheet),
            *draw_picture(sheet, top=PICTURE_TOP, bottom=PICTURE_BOTTOM),
            *_caption(sheet),
            *_footer(sheet),
        ]
    title = f"{sheet.title} · {sheet.walk.name}"
    return Drawing(WIDTH, HEIGHT, tuple(marks), safe(sheet.alt), safe(title), sheet.theme)


def draw_picture(sheet: Sheet, *, top: float, bottom: float) -> list[Mark]:
    """Draw the picture of a step between two heights of the sheet: its matrices, or the table of tokens."""
    wide = WIDTH - 2 * MARGIN
    if sheet.layout is None:
        room = bottom - top - 8
        return [*draw_tokens(sheet.walk.query_tokens, sheet.theme, x=MARGIN, y=top + 8, width=wide, height=room)]
    labels = {kind: [safe(token) for token in tokens] for kind, tokens in sheet.walk.labels.items()}
    return draw_layout(sheet.layout, labels, x=MARGIN, y=top, width=wide, height=bottom - top, theme=sheet.theme)


def draw_tokens(tokens: Tokens, theme: Theme, *, x: float, y: float, width: float, height: float) -> list[Table]:
    """Draw the tokens with positions and ids, in as many tables side by side as needed."""
    count = len(tokens)
    blocks = next((b for b in range(1, 12) if height / (ceil(count / b) + 1) >= _min_row_height(b)), 12)
    rows = ceil(count / blocks)
    row = min(40.0, height / (rows + 1))
    size = min(22.0, row * 0.62)
    gap = 18.0
    wide = min(360.0, (width - gap * (blocks - 1)) / blocks)
    ids = size * 0.55 * 6 + 10
    widths = (ids * 0.8, wide - ids * 1.8, ids)
    x += max(0.0, (width - blocks * wide - (blocks - 1) * gap) / 2)
    tables = []
    for block in range(blocks):
        part = range(block * rows, min(count, (block + 1) * rows))
        if not part:
            break
        lines = [("#", "token", "id")]
        for i in part:
            label = shorten(safe(tokens.labels[i]), widths[1] - 10, size)
            lines.append((str(i), label, "–" if tokens.ids[i] == NO_ID else str(tokens.ids[i])))
        left = x + block * (wide + gap)
        tables.append(Table(left, y, widths, row, tuple(lines), size, theme))
    return tables


def _min_row_height(blocks: int) -> float:
    """Return the row height below which another table is added; it is smaller with many tables."""
    return 26.0 if blocks < 4 else 20.0 if blocks < 7 else 14.0


def caption(sheet: Sheet) -> str:
    """Return the step's notice and the fact about these numbers."""
    return safe(f"{sheet.notice} {sheet.fact}".strip())


def _head(sheet: Sheet) -> list[Mark]:
    theme = sheet.theme
    room = WIDTH - 2 * MARGIN
    title = Text(MARGIN, 56, sheet.title, 34, theme.text, bold=True)
    about = safe(sheet.walk.name)
    text = shorten(f"“{safe(sheet.walk.query_tokens.text).strip()}”", room - 420, 16)
    return [
        title,
        Text(WIDTH - MARGIN, 46, shorten(about, room - 420, 18), 18, theme.text, anchor="end"),
        Text(WIDTH - MARGIN, 68, text, 16, theme.quiet, anchor="end"),
        *set_formula(sheet.formula, x=MARGIN + 6, y=100, size=24, theme=theme, room=room),
    ]


def _caption(sheet: Sheet) -> list[Mark]:
    lines = wrap(caption(sheet), WIDTH - 2 * MARGIN, CAPTION, CAPTION_LINES)
    return [Text(MARGIN, 636 + 24 * i, line, CAPTION, sheet.theme.text) for i, line in enumerate(lines)]


def _footer(sheet: Sheet) -> list[Mark]:
    number, count = sheet.place
    right = Text(WIDTH - MARGIN, 705, f"{number} / {count}", 14, sheet.theme.quiet, anchor="end")
    if not sheet.link:
        return [right]
    shown = shorten(safe(sheet.link), WIDTH - 2 * MARGIN - 80, 14)
    return [Text(MARGIN, 705, shown, 14, sheet.theme.link, link=sheet.link), right]
