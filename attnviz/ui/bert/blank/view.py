"""Fill the blank: the text completed, and the likeliest tokens for each mask; or what is needed for that."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.blank import MASK, completed, label_for, lacks, maskable, masks_in, read
from attnviz.formatting import number
from attnviz.links.bert import MAX_KEPT
from attnviz.ui import shell, state
from attnviz.ui.bert import models
from attnviz.ui.bert.blank.needed import show_needed
from attnviz.ui.bert.blank.results import blanks_of
from attnviz.ui.bert.look import in_torch
from attnviz.ui.palette import palette
from attnviz.ui.widgets import notice, plot

if TYPE_CHECKING:
    from attnviz.bert.blank import Blanks
    from attnviz.pretrained import PretrainedModel
    from attnviz.tokens import Tokens

ACROSS, MOST = 3, 9
"""Plots beside each other; the most masks that are shown"""
WIDER = 1.4
"""How much longer than its longest bar an axis is, for the number beside it"""
STYLE = """<style>
.filled { font-size: max(1.15rem, var(--least-type, 0) * 1.2rem); line-height: 1.5; overflow-wrap: anywhere;
  max-height: 9rem; overflow-y: auto; white-space: pre-wrap; }
.filled:focus-visible { outline: 2px solid #7E5BC0; }
.filled mark { background: color-mix(in srgb, #5E3C99 22%, transparent); color: inherit; font-weight: 600;
  border-radius: .25rem; padding: 0 .25rem; unicode-bidi: isolate; }
</style>"""


def controls() -> None:
    """Show the choice of a model, and how many tokens are listed."""
    models.choose()
    state.bound("blank_kept", st.slider, "Likeliest tokens", 1, MAX_KEPT)


def show() -> None:
    """Show what the chosen model expects, or what is needed."""
    model, text = models.chosen(), shell.text()
    lack = lacks(model)
    if lack is not None:
        show_needed(model, lack)
        return
    tokens = read(model, text)
    shell.token_notes(tokens)
    _choose(model, tokens)
    blanks = blanks_of(model, tokens)
    if blanks is None:
        st.info("There is nothing to be masked in this text. Type a sentence.")
        return
    pieces = completed(model, blanks)
    filled = "".join(f"<mark>{escape(one)}</mark>" if is_filled else escape(one) for one, is_filled in pieces)
    st.html(f'{STYLE}<div class="filled" dir="auto" tabindex="0" role="group" aria-label="Completed">{filled}</div>')
    _show_likely(model, blanks)
    notice(
        "The model reads the words on both sides of a mask. Each mask is filled by itself, while the others stay "
        "masked: two likely tokens need not fit together."
    )
    in_torch()


def _choose(model: PretrainedModel, tokens: Tokens) -> None:
    """Show the choice of a token that is masked."""
    names = {place: f"{place}  {tokens.labels[place]}" for place in maskable(model, tokens)}
    if state.get("blank_at") not in (None, *names):
        state.note(f"Position {state.get('blank_at')} is no token of this text that can be masked.")
        state.put("blank_at", None)
    state.bound(
        "blank_at", st.selectbox, f"Mask this token, or type {MASK} in the text", list(names), index=None,
        format_func=names.get, among=[None, *names],
        placeholder=f"only each {MASK} of the text" if masks_in(model, tokens) else "the last word",
    )  # fmt: skip


def _show_likely(model: PretrainedModel, blanks: Blanks) -> None:
    """Show the likeliest tokens for each mask, and where the token stands that was masked."""
    from attnviz.figures.plots import bars

    shown = list(enumerate(blanks.places))[:MOST]
    across = min(ACROSS, len(shown))
    for first in range(0, len(shown), across):
        for column, (number_, place) in zip(st.columns(across), shown[first : first + across], strict=False):
            names = [label_for(model, one) for one in blanks.ids[number_].tolist()]
            percent = [100 * one for one in blanks.probabilities[number_].tolist()]
            figure = bars({"probability": percent}, names, palette(), title="probability, %")
            figure["layout"]["xaxis"] |= {"range": [0, WIDER * percent[0]]}
            with column:
                st.html(f'<div class="notice">{_title(model, blanks, number_, place)}</div>')
                plot(figure, f"blank_{number_}")
    if len(blanks.places) > MOST:
        st.caption(f"The first {MOST} of {len(blanks.places)} masks are shown; Export gives all of them.")


def _title(model: PretrainedModel, blanks: Blanks, number_: int, place: int) -> str:
    """Return what stands over the plot of one mask, as HTML."""
    true, rank = blanks.truth[number_], blanks.true_rank[number_]
    if true is None:
        return f"<b>{MASK}</b>, position {place}"
    percent = number(100 * (blanks.true_probability[number_] or 0), 4)
    return f"<b>{escape(label_for(model, true))}</b>, position {place}, masked: rank {rank:,}, {percent} %"
