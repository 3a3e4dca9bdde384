"""The sheets of a head: their content, and how they are drawn.

A sheet is the content of one step: its picture, formula, notice, code and link. A drawn sheet has 1280 x 720 pixels:
title, formula, picture, notice and link.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from attnviz.export.drawing import fonts
from attnviz.export.drawing.lines import safe, set_formula, wrap
from attnviz.export.drawing.marks import LIGHT_THEME, Drawing, Mark, Table, Text, Theme
from attnviz.export.drawing.picture import draw_layout, shorten
from attnviz.figures.panels import Layout
from attnviz.figures.steps import describe, lay_out
from attnviz.figures.style import ROWS_AND_COLUMNS
from attnviz.formatting import counted, number
from attnviz.formulas import Expression
from attnviz.steps import Step, steps_of, unavailable
from attnviz.tokens import NO_ID, Tokens
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
        ids = "its id" if len(tokens) == 1 else "their ids"
        more = ", …" if len(tokens) > 50 else ""
        return f"{counted(len(tokens), 'token')} with {ids}: {', '.join(pairs)}{more}."

    @property
    def notes(self) -> str:
        """What a speaker may want to say or look up."""
        layer = self.walk.layer
        parts = [
            f"{self.title}: {self.notice} {self.fact}".strip(),
            self.alt,
            f"{ROWS_AND_COLUMNS} Layers and heads are counted from 0.",
            f"Scale = {number(layer.scale, 4)}; {counted(layer.heads, 'head')} of width {layer.head_size}.",
            f"In PyTorch:\n{self.code}" if self.layout is not None else f"In Python:\n{self.code}",
            f"Text: {self.walk.query_tokens.text}",
            f"Second text: {self.walk.query_tokens.pair}" if self.walk.query_tokens.pair else "",
            f"This step in the app: {self.link}" if self.link else "",
        ]
        return "\n\n".join(part for part in parts if part)


def sheets(walk: Walk, steps: Iterable[str] | None = None, theme: Theme = LIGHT_THEME) -> tuple[Sheet, ...]:
    """Return a sheet for each of these steps (by default, all) that has a picture, in order of computation.

    Raises:
        KeyError: a step is unknown.
    """
    all_steps = steps_of(walk)
    requested = set(all_steps if steps is None else steps)
    unknown = requested - set(all_steps)
    if unknown:
        raise KeyError(min(unknown))
    chosen = [step for step in all_steps.values() if step.name in requested]
    layouts = [(step, lay_out(walk, step.name) if step.matrices else None) for step in chosen]
    shown = [(step, layout) for step, layout in layouts if layout is None or layout.grid]
    return tuple(_sheet(walk, step, layout, (i, len(shown)), theme) for i, (step, layout) in enumerate(shown, 1))


def _sheet(walk: Walk, step: Step[Any], layout: Layout | None, place: tuple[int, int], theme: Theme) -> Sheet:
    subject = walk if step.matrices else walk.query_tokens
    fact = step.fact(subject) or unavailable(step, walk)
    return Sheet(
        step.name,
        step.title_of(walk.kind, walk.layer_index),
        walk,
        step.formula(subject),
        step.notice_in(walk, subject),
        fact,
        step.code(subject),
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
    ids = max(0.55 * 6 * size, fonts.width("000000", size)) + 10
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
    title = Text(MARGIN, 56, sheet.title, 34, sheet.theme.text, bold=True)
    room = WIDTH - 2 * MARGIN
    formula = set_formula(sheet.formula, x=MARGIN + 6, y=100, size=24, theme=sheet.theme, room=room)
    return [title, *about(sheet), *formula]


def about(sheet: Sheet) -> tuple[Text, Text]:
    """Return the lines beside the title: the name of the head, and the text."""
    right, room = WIDTH - MARGIN, WIDTH - 2 * MARGIN - 420
    name = shorten(safe(sheet.walk.name), room, 18)
    text = shorten(f"“{safe(sheet.walk.query_tokens.text).strip()}”", room, 16)
    return (
        Text(right, 46, name, 18, sheet.theme.text, anchor="end"),
        Text(right, 68, text, 16, sheet.theme.quiet, anchor="end"),
    )


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
