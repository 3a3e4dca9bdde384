"""The grid of all heads, to be switched off by a click, and beside it what changes."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import streamlit as st

from attnviz.export.code.bert_use import WITHOUT_BY_MEAN, WITHOUT_LINES
from attnviz.tokens import NoTokensError
from attnviz.ui import shell, state
from attnviz.ui.bert.look import in_torch
from attnviz.ui.bert.without.controls import choose, click
from attnviz.ui.bert.without.results import Found, ask, effects_of, found
from attnviz.ui.palette import palette
from attnviz.ui.widgets import notice, plot

VIEWS = {
    "tokens": "Output",
    "measures": "All heads",
    "classifier": "Classifier",
    "search": "Search",
    "table": "Table",
}
"""What is shown beside the grid, by its names in links: each is a module of this package with `show`"""
TITLE = "Effect of each head alone on the sentence embedding: 1 − cosine, in thousandths. A click switches a head off."
CSS = """
<style>
/* The corner of a lecture has two buttons; in a lesson they are in its bar. */
:root:not(:has(.st-key-lesson_bar)) .st-key-off_right .stMarkdown { padding-right: 5rem; }
:root:not(:has(.st-key-lesson_bar)) .st-key-off_right > :first-child > .stTable { padding-top: 2rem; }
</style>
"""


def show() -> None:
    """Show the grid, and what changes."""
    state.adopt("off")  # its widget comes beneath the grid, which shows it
    try:
        here = found(shell.text())
    except NoTokensError as error:
        st.info(str(error))
        return
    shell.token_notes(here.trace.tokens)
    if state.get("lecture"):
        st.html(CSS)
    left, right = st.columns([1, 1], gap="medium")
    with left:
        _show_grid(here)
    with right, st.container(key="off_right"):
        if not state.get("lecture"):
            state.choice(
                "off_view", st.segmented_control, "What changes", list(VIEWS), required=True,
                format_func=VIEWS.get, label_visibility="collapsed",
            )  # fmt: skip
        else:
            state.keep_within("off_view", "View", list(VIEWS))
        import_module(f"attnviz.ui.bert.without.{state.get('off_view')}").show(here)
    notice(
        "A large weight need not matter: what a head adds to the output is its weights times its values, through W_O, "
        "and later layers may add it again or undo it."
    )
    in_torch(WITHOUT_BY_MEAN if here.by == "mean" else WITHOUT_LINES)


def _show_grid(here: Found) -> None:
    from attnviz.figures.ablation import GRID, LARGE, grid

    layers, heads = here.model.description.layers["encoder"]
    st.html(f'<div class="notice">{TITLE}</div>')
    effects = effects_of(here)
    if effects is None:
        st.button(f"Measure all {layers * heads} heads", on_click=ask, args=(here,), key="off_measure_all")
        st.caption(f"{len(here.trace.tokens)} tokens: that takes some seconds. A head can be switched off without it.")
    height = LARGE if state.get("lecture") else GRID
    figure = grid(
        None if effects is None else effects.sentence, here.off, palette(), layers=layers, heads=heads, height=height
    )
    key = f"off_grid_{here.digest}"
    plot(figure, key, on_select=partial(click, key), selection_mode="points")
    if not state.get("lecture"):
        choose(here.off, layers, heads)
