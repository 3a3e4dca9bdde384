"""A mistake beside the right way, as HTML: code, pictures and numbers. The app and static sites show the same.

The style sheet is `frontend/marks/mistake.css`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape

from attnviz.components.styles import styles
from attnviz.export.drawing.marks import Drawing, Theme
from attnviz.export.drawing.picture import draw_layout
from attnviz.export.files.svg import write_svg
from attnviz.export.views import View
from attnviz.figures.panels import Panel, in_a_row
from attnviz.formatting import nonzero, scientific
from attnviz.measures.mistakes import TEXTS, Text
from attnviz.measures.mistakes.computed import Case, Effect, MistakeEffect, Picture, Value, find
from attnviz.sources import TOY
from attnviz.steps.picture import AXES
from attnviz.trace.trace import Trace

SIZE, ALONE, BESIDE = (500.0, 340.0), (500.0, 290.0), (340.0, 390.0)
"""The size of a picture in its own pixels: small, so that its text is large when the page scales it. In a lecture's
scene the mistake is alone until it is answered, and then has the right way and the table beside it."""
SIDES = {"wrong": "The mistake", "right": "Right"}
SHEET = "marks/mistake.css"
LARGE = 1e6
"""Numbers of this magnitude or more are written with a power of ten"""
ROUNDING = 1e-6
"""What float32 leaves of a difference that is 0: the numbers of the table are not much larger than 1"""
FEW = 3
"""The most rows of the table in its brief form"""


def found_in(view: View, trace: Trace) -> MistakeEffect:
    """Return the effects of the mistake that a view names, on its text.

    Raises:
        attnviz.measures.mistakes.computed.NotKnownError: it can't be shown with this model.
    """
    return find(view["mistake"], Case(trace, view["seed"] if view["source"] == TOY.key else 0))


def draw(effect: MistakeEffect, side: str, theme: Theme, size: tuple[float, float] = SIZE) -> tuple[bytes, str]:
    """Return a side's matrix as SVG, and its text alternative; both sides have the same colour limits.

    Raises:
        FontError: see `drawing.fonts.ttf`.
    """
    picture: Picture = getattr(effect, side)
    panel = _panel(picture, effect)
    width, height = size
    marks = draw_layout(in_a_row(panel), picture.tokens, x=4, y=4, width=width - 8, height=height - 8, theme=theme)
    alt = f"{SIDES[side]}: {panel.text}"
    return write_svg(Drawing(width, height, tuple(marks), alt, alt, theme)).encode(), alt


def body(
    text: Text, effect: MistakeEffect, picture: Callable[[str], str], *, answer: bool = True, brief: bool = False
) -> str:
    """Return a mistake as HTML; all text is escaped.

    Args:
        text: the texts about it.
        effect: its effects.
        picture: returns the HTML of a side's picture.
        answer: whether the right way and the numbers are visible.
        brief: whether to write only code, pictures and numbers, because the page around it says the rest.
    """
    hidden = "" if answer else " hidden"
    says = "" if brief else f'<p class="mistake-answer"{hidden}>{escape(text.says)}</p>\n'
    closing = () if brief else (text.notice, " ".join(filter(None, (_where(effect), effect.note))))
    notes = "".join(f"<p>{escape(note)}</p>" for note in closing)
    return (
        f'<div class="mistake{" is-brief" if brief else ""}">\n{says}<div class="mistake-sides">\n'
        f"{_side('wrong', text.wrong, picture('wrong'))}"
        f'<div class="mistake-answer"{hidden}>{_side("right", text.right, picture("right"))}</div></div>\n'
        f'<div class="mistake-answer"{hidden}>{_table(effect.effects[: FEW if brief else None])}{notes}</div></div>\n'
    )


def words(text: Text, effect: MistakeEffect) -> str:
    """Return all text that `body` may show."""
    return " ".join(
        (text.says, text.notice, text.wrong, text.right, effect.note, _table(effect.effects), _where(effect))
    )


def html(view: View, trace: Trace, theme: Theme, *, answer: bool, brief: bool) -> str:
    """Return the mistake of a view as HTML with its style sheet; raises as `found_in` and `draw` do."""
    effect = found_in(view, trace)
    size = SIZE if not brief else BESIDE if answer else ALONE

    def picture(side: str) -> str:
        svg, alt = draw(effect, side, theme, size)
        return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{b64encode(svg).decode()}">'

    content = body(TEXTS[view["mistake"]], effect, picture, answer=answer, brief=brief)
    return f"<style>{styles(SHEET)}</style>{content}"


def _side(side: str, code: str, picture: str) -> str:
    opening = f'<section class="mistake-side" data-item="{side}"><h2>{SIDES[side]}</h2>'
    return f"{opening}<pre><code>{escape(code)}</code></pre>{picture}</section>"


def _table(effects: Sequence[Effect]) -> str:
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("what changes", *(name.lower() for name in SIDES.values()))
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(effect.what)}</th><td>{escape(written(effect.wrong))}</td>'
        f"<td>{escape(written(effect.right))}</td></tr>"
        for effect in effects
    )
    opening = '<table class="mistake-effects" data-item="effects">'
    return f"{opening}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _where(effect: MistakeEffect) -> str:
    return f"Computed here: {effect.where}." if effect.where else ""


def written(value: Value) -> str:
    """Format a value of the table: with three decimals, or with a power of ten if it is very small or large.

    A number that is 0 but for rounding is "≈ 0".
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if 0 < abs(value) < ROUNDING:
        return "≈ 0"
    return nonzero(value, 3) if abs(value) < LARGE else scientific(value)


def _panel(picture: Picture, effect: MistakeEffect) -> Panel:
    limit = 1.0
    if effect.signed:  # both sides have the same colours
        limit = max(float(side.values.nan_to_num().abs().max()) for side in (effect.wrong, effect.right)) or 1.0
    return Panel(
        picture.name,
        picture.title,
        picture.values.detach().numpy(),
        *AXES[picture.name],
        limit=limit,
        scale="signed" if effect.signed else "weights",
        bar=True,
    )
