"""The path of a first language model with its shapes, and what goes in and comes out, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from attnviz.bert.blocks import Setup
from attnviz.ui.tokens.chips import shorten

LABEL = 14
"""The most characters of a token"""

STYLE = """<style>
.path, .inout { font-size: max(.875rem, var(--least-type, 0) * 1rem); line-height: 1.4; }
.path { display: flex; flex-wrap: wrap; gap: .25rem; align-items: center; }
.path > b, .path .block > b { font-weight: 600; padding: .08rem .28rem; border-radius: .35rem; white-space: nowrap;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
.path i { font-style: normal; opacity: .75; font-weight: 400; }
.path .block { display: flex; flex-wrap: wrap; gap: .25rem; align-items: center; padding: .25rem;
  border-radius: .45rem; border: 1px dashed color-mix(in srgb, currentColor 40%, transparent); }
.path .attention { background: color-mix(in srgb, #5E3C99 16%, transparent); }
.inout { margin-top: .4rem; display: flex; flex-wrap: wrap; gap: 3px; max-height: 8.6rem; overflow-y: auto; }
.inout:focus-visible { outline: 2px solid #7E5BC0; }
.inout > span { display: inline-flex; flex-direction: column; align-items: center; padding: 1px 5px;
  border-radius: 5px; background: rgba(128, 128, 128, .12); border: 1px solid transparent; unicode-bidi: isolate; }
.inout > .chosen { border-color: #7E5BC0; }
.inout small { font-size: inherit; opacity: .75; }
.inout b { font-weight: 600; overflow-wrap: anywhere; }
.stMain [class*="st-key-language_said"] p { font-size: max(.95rem, var(--least-type, 0) * 1rem); line-height: 1.4; }
</style>"""
ARROW = '<span aria-hidden="true">→</span>'


def path(setup: Setup, tokens: int, vocabulary: int, width: int) -> str:
    """Return the way from ids to tokens, each station with its shape."""
    x = {"tokens": "X = E[ids]", "embeddings": "X = embeddings"}[setup.x]
    mask = ", masked" if setup.causal else ""
    block = (
        f'<span class="block"><b class="attention">attention{mask} <i>softmax(X Xᵀ / √{width}) X</i></b>{ARROW}'
        f"<b>linear <i>{width} → {width}</i></b> × {setup.blocks}</span>"
    )
    stations = (
        f"<b>ids <i>({tokens},)</i></b>",
        f"<b>{x} <i>({tokens}, {width})</i></b>",
        block,
        f"<b>X Eᵀ <i>({tokens}, {vocabulary:,})</i></b>",
        f"<b>softmax, largest <i>({tokens},)</i></b>",
    )
    return f'{STYLE}<div class="path">{ARROW.join(stations)}</div>'


def in_and_out(given: Sequence[str], out: Sequence[str], chosen: int) -> str:
    """Return each token over the one that comes out in its place."""
    chips = "".join(_chip(*row, chosen) for row in enumerate(zip(given, out, strict=True)))
    return f'<div class="inout" tabindex="0" role="group" aria-label="In, and below it out">{chips}</div>'


def _chip(place: int, tokens: tuple[str, str], chosen: int) -> str:
    one, other = (escape(shorten(token, LABEL)) for token in tokens)
    title = escape(f"row {place}: {tokens[0]} → {tokens[1]}")
    is_chosen = ' class="chosen"' if place == chosen else ""
    return f'<span{is_chosen} title="{title}"><small dir="auto">{one}</small><b dir="auto">{other}</b></span>'
