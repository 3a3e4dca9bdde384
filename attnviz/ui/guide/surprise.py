"""The button "Surprise me": opens the head that stands out most on the visitor's text, then the next one, and says why.

Which heads stand out is computed in `attnviz.measures.striking`.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.formatting import number
from attnviz.sources import PRETRAINED, SOURCES
from attnviz.tokens import NoTokensError
from attnviz.ui import caches, state
from attnviz.ui.sources import RESOURCES, shown_now

if TYPE_CHECKING:
    from attnviz.measures.striking import Striking
    from attnviz.sources.shown import Shown

CSS = """
<style>
.st-key-surprise_says { display: var(--chrome, flex); margin-block: -0.5rem -0.3rem; }
.surprise { margin: 0; font-size: 0.95rem; line-height: 1.4; overflow-wrap: anywhere; }
.surprise span { opacity: 0.75; }
html:has(.st-key-surprise_says) { --walk-height: max(36rem, calc(100vh - 7.95rem)); }
</style>
"""
PAGES = ("step_by_step", "heads")
"""The pages with the button"""
SWITCHED = f"{SOURCES['toy'].title} has learned nothing, so this is {PRETRAINED.title}. "
NOTHING = "No head stands out on this text. That takes two words that are not next to each other."
_FOUND = "surprise_found"


@dataclass(frozen=True, slots=True)
class Found:
    """What the button has opened last."""

    of: tuple[Any, ...]
    """The settings on which the ranking depends"""
    place: int
    """The place of the head in the ranking, from 0"""
    view: tuple[Any, ...]
    """The settings that were opened"""
    says: str
    count: int


def show_button(page: str) -> None:
    """Show the button. Before the page's other widgets, because it changes their values."""
    if st.button("Surprise me", key="surprise"):
        _open_next(page)


def show_reason() -> None:
    """Say why the head that is open stands out, as long as it is open."""
    found: Found | None = st.session_state.get(_FOUND)
    if found is None or found.view != _view() or not state.get("text").strip():
        return
    st.html(CSS)
    next_one = f" <span>{found.place + 1} of {found.count}; press again for the next.</span>" if found.count > 1 else ""
    with st.container(key="surprise_says"):
        st.html(f'<p class="surprise" role="status">{escape(found.says)}{next_one}</p>')


def is_about(text: str) -> bool:
    """Whether the last reason is one on this text."""
    found: Found | None = st.session_state.get(_FOUND)
    return found is not None and text in found.of


def sentence(striking: Striking, here: Shown, heads: int) -> str:
    """Say why a head stands out among all `heads` of its kind of attention."""
    queries, keys = here.axes()
    query, key = queries.labels[striking.query], keys.labels[striking.key]
    again = "another " if query == key and here.kind != "cross" else ""
    others = "in the other head it is" if heads == 2 else f"in the {heads - 1} other heads the mean is"
    return (
        f"Layer {striking.layer}, head {striking.head}: “{query}” looks at {again}“{key}” with "
        f"{number(striking.weight, 2)}; {others} {number(striking.others, 2)}."
    )


def _view() -> tuple[Any, ...]:
    return tuple(state.get(name) for name in ("text", "pair", "source", "model", "kind", "layer", "head"))


def _open_next(page: str) -> None:
    if not state.get("text").strip():
        return  # the page says what to do
    from attnviz.pretrained import ModelError

    of_toy = page == "step_by_step" and not SOURCES[state.get("source")].has_layers
    if of_toy:
        state.put("source", PRETRAINED.key)
    source = state.get("source") if page == "step_by_step" else PRETRAINED.key
    try:
        with st.spinner("Looking for a head that stands out …"):
            here = shown_now(lambda name: source if name == "source" else state.get(name))
            ranking = caches.most_striking(here.trace(RESOURCES), here.kind).heads
    except (ModelError, NoTokensError):
        return  # the page shows the same error
    layers, heads = here.model.description.layers[here.kind]
    of = here.model.name, here.text, here.pair, here.kind
    last: Found | None = st.session_state.get(_FOUND)
    place = (last.place + 1) % len(ranking) if ranking and last is not None and last.of == of else 0
    says = NOTHING
    if ranking:
        _open(page, here, ranking[place])
        says = sentence(ranking[place], here, layers * heads)
    st.session_state[_FOUND] = Found(of, place, _view(), (SWITCHED if of_toy else "") + says, len(ranking))


def _open(page: str, here: Shown, striking: Striking) -> None:
    """Open a head, with its pair pinned."""
    state.choose_head(striking.layer, striking.head)
    for name, value in (("kind", here.kind), ("q", striking.query), ("k", striking.key), ("predict", False)):
        state.put(name, value)
    if page == "step_by_step":
        state.put("step", "weights")
