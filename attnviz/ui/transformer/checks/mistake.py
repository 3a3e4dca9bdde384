"""Mistakes: code that is wrong beside what is right, on the user's own text and the page's own model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.links.link import KEYS
from attnviz.measures.mistakes.texts import TEXTS
from attnviz.ui import caches, state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES

if TYPE_CHECKING:
    from attnviz.sources.transformer import ShownPart


DRAWN_FROM = ("mistake", "source", "seed")
"""What a mistake depends on besides a text and a model, by link key"""


def show_mistake(here: ShownPart) -> None:
    """Show the mistake that is chosen, and beside it what is right, unless that is still to be guessed."""
    from attnviz.export.drawing.fonts import FontError
    from attnviz.export.drawing.marks import THEMES
    from attnviz.export.web.mistake import html
    from attnviz.measures.mistakes.case import NotKnownError

    in_lesson = lesson_bar.is_open() and state.get("lecture")  # the bar says what there is to say
    if not in_lesson and not lesson_state.asks():  # its title gives the answer away
        _choose()
    colours = "dark" if st.context.theme.type == "dark" else "light"
    view = {name: state.get(name) for name in KEYS}
    trace, answer = here.trace(RESOURCES), state.get("answer")
    settings = (*(view[name] for name in DRAWN_FROM), colours, answer, in_lesson)
    try:
        draw = partial(html, view, trace, THEMES[colours], answer=answer, brief=in_lesson)
        st.html(caches.mistake(trace, settings, draw))
    except (NotKnownError, FontError) as error:
        st.info(plain(str(error)))


def _choose() -> None:
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    with left:
        state.choice("mistake", st.selectbox, "Mistake", TEXTS, format_func=lambda name: TEXTS[name].title)
    with right:
        state.bound("answer", st.toggle, "Right beside it", help="Off, a class can guess what is wrong.")
