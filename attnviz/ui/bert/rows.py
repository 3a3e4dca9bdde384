"""Shared by several parts: the choice of a row of the text, the end of the colour scale of weights, and bars."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.components.matrix import ChosenRow
from attnviz.steps.picture import MANY
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.bert.bars import ranked
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.tokens.chips import numbered

if TYPE_CHECKING:
    from torch import Tensor

LARGER = 0.99
"""Share of a long text's weights that the colour scale distinguishes"""
POINT = "Point at a cell to read it; a click chooses its row."
LIMITED = "The colours end where 1 weight in 100 is larger."


def chosen_row(tokens: Tokens, default: Callable[[], int]) -> int:
    """Return the view's row, or the default."""
    row = state.get("q")
    return default() if row is None or row >= len(tokens) else int(row)


def choose_row(tokens: Tokens, label: str, default: Callable[[], int]) -> int:
    """Let the user choose a row, and return it. For a row beyond the text, show a note and use the default."""
    state.keep_token("q", "Row", tokens.labels, default=default)
    rows, names = list(range(len(tokens))), numbered(tokens.labels)
    if lesson_bar.hides("q"):
        row = chosen_row(tokens, default)
        st.markdown(f"{label} **{plain(names[row])}**")
        return row
    return int(state.choice("q", st.selectbox, label, rows, format_func=names.__getitem__))


def row_by_click(row: int, starts: Sequence[int]) -> ChosenRow:
    """Return the view's row for matrices in which a click chooses another.

    Args:
        row: a position in the text.
        starts: the position at which each row of the matrices begins: several tokens of a long text share one.
    """

    def choose(place: int) -> None:
        if place < len(starts):
            state.put("q", starts[place])

    return ChosenRow(bisect_right(starts, row) - 1, choose)


def words_of(tokens: Tokens) -> list[int]:
    """Return the positions of the text's tokens that have a letter or a digit."""
    places = range(len(tokens))
    return [place for place in places if not tokens.special[place] and re.search(r"\w", tokens.source(place))]


def last_of_text(tokens: Tokens) -> int:
    """Return the position of the last token with a letter or a digit; if none has, of the text's last token, or 0."""
    of_text = [place for place, is_added in enumerate(tokens.special) if not is_added]
    return (words_of(tokens) or of_text or [0])[-1]


def is_limited(tokens: Tokens) -> bool:
    """Whether the colour scale of weights ends below the largest one."""
    return len(tokens) >= MANY


def colour_end(weights: Tensor) -> float:
    """Return the end of the colour scale of (..., T, T) weights: the largest, or for many tokens the 99th percentile.

    The first rows of a masked matrix, and a token's weight on itself, are so large that all others would look like 0.
    The percentile is over weights above 0.
    """
    if weights.shape[-1] < MANY:
        return float(weights.max())
    visible = weights[weights > 0].sort().values
    return float(visible[int(LARGER * (len(visible) - 1))])


def show_likely(names: Sequence[str], probabilities: Tensor, key: str, *, name: str) -> None:
    """Show the likeliest tokens and their (N,) probabilities, the largest first, as bars; `name` is the picture's."""
    percents = [100 * share for share in probabilities.tolist()]
    with st.container(key=key):
        st.html(ranked(percents, names, title="probability", unit="%", name=name))
