"""The texts of a lesson as HTML, with buttons for the words that name a part of the picture."""

from __future__ import annotations

from dataclasses import asdict
from html import escape

from attnviz.annotated_text import AnnotatedText, Target


def html(text: AnnotatedText) -> str:
    """Return a text as HTML: all of it escaped, its marked words as `frontend/marks/text.js` makes them."""
    return "".join(escape(piece) if target is None else _button(piece, target) for piece, target in text.pieces())


def _button(text: str, target: Target) -> str:
    known = {name: value for name, value in asdict(target).items() if value not in (None, "")}
    data = "".join(f' data-{name}="{escape(str(value))}"' for name, value in known.items())
    return f'<span class="marked" role="button" tabindex="0" aria-pressed="false"{data}>{escape(text)}</span>'
