"""The look of There and back, and how its numbers are written."""

from __future__ import annotations

import math
from html import escape

import streamlit as st

from attnviz.formatting import nonzero, number
from attnviz.ui.tokens.chips import shorten

LABEL = 18
"""The most characters of a token in a table"""

STYLE = """<style>
.back { font-size: max(.9rem, var(--least-type, 0) * 1rem); line-height: 1.4; }
.back .about { font-size: inherit; margin: 0 0 .4rem; }
.back .flow { font-size: inherit; display: flex; flex-wrap: wrap; gap: .2rem .4rem; align-items: center; margin: 0;
  padding: 0; list-style: none; }
.back .flow li { font-size: inherit; display: flex; gap: .4rem; align-items: center; margin: 0; }
.back .flow li + li::before { content: "→ " attr(data-by); opacity: .75; }
.back .flow b { font-weight: 600; padding: .05rem .45rem; border-radius: .35rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); white-space: nowrap; }
.back .texts { display: grid; grid-template-columns: max-content minmax(0, 1fr) minmax(max-content, 19rem);
  gap: .1rem .7rem; margin-top: .4rem; }
.back .texts span { opacity: .75; }
.back .texts p { margin: 0; font-size: inherit; font-weight: 600; overflow-wrap: anywhere; max-height: 4.3em;
  overflow-y: auto; }
.back .texts div { grid-area: 1 / 3 / 3 / 4; }
.back .texts small { font-size: inherit; opacity: .75; display: var(--chrome, block); }
@media (max-width: 640px) {
  .back .texts { grid-template-columns: max-content minmax(0, 1fr); }
  .back .texts div { grid-area: 3 / 1 / 4 / 3; }
}
.back-rows { overflow: auto; max-height: max(13rem, calc(100vh - 33rem)); }
.back-wide { overflow-x: auto; }
.back-rows:focus-visible { outline: 2px solid #7E5BC0; }
.back table { border-collapse: collapse; width: 100%; font-size: inherit; }
.back :is(th, td) { padding: .14rem .5rem; text-align: left; white-space: nowrap; border: 0;
  border-bottom: 1px solid color-mix(in srgb, currentColor 12%, transparent); }
.back .wide :is(th, td) { white-space: normal; vertical-align: top; }
.back thead th { position: sticky; top: 0; z-index: 1; font-weight: 600;
  background: var(--st-background-color, Canvas); }
.back .n { text-align: right; font-variant-numeric: tabular-nums; }
.back .p { opacity: .8; font-variant-numeric: tabular-nums; }
.back .tint { background: color-mix(in srgb, #7E5BC0 calc(var(--part) * 45%), transparent); }
.back .yes { color: color-mix(in srgb, #009E73 55%, currentColor); font-weight: 700; }
.back .no { color: color-mix(in srgb, #D55E00 55%, currentColor); font-weight: 700; }
.back .chosen { font-weight: 700; }
.back .written { font-size: inherit; margin: .25rem 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
</style>"""


def show(html: str) -> None:
    """Show HTML in this look."""
    st.html(f'{STYLE}<div class="back">{html}</div>')


def named(label: str) -> str:
    """Return a token's label for HTML: escaped, and shortened if it is very long."""
    return escape(shorten(label, LABEL))


def percent(share: float, digits: int = 2) -> str:
    """Return a probability in percent with so many digits that count, so that a small one is not 0."""
    of_100 = 100 * share
    if of_100 < 0.0005:
        return f"{nonzero(of_100)} %"
    places = max(1, digits - 1 - math.floor(math.log10(of_100)))
    return f"{of_100:.{places}f} %"


def value(x: float) -> str:
    """Return a logit, a cosine or an operand with three decimals."""
    return number(x, 3)
