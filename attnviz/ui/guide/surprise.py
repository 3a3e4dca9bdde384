"""The button "Surprise me": opens the head that stands out most on the visitor's text, then the next one, and says why.

Which heads stand out is computed in `attnviz.measures.striking`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.annotated_text import AnnotatedText, named
from attnviz.formatting import number
from attnviz.sources import PRETRAINED, SOURCES
from attnviz.tokens import NoTokensError
from attnviz.ui import caches, state
from attnviz.ui.guide import message
from attnviz.ui.sources import RESOURCES, shown_now

if TYPE_CHECKING:
    from attnviz.measures.striking import Striking
    from attnviz.sources.shown import Shown

PAGES = ("step_by_step", "heads")
"""The pages with the button"""
SWITCHED = f"The toy has learned nothing, so this is {PRETRAINED.title}. "
NOTHING = "No head stands out on this text. That takes two words that are not next to each other."
_FOUND = "surprise_found"


@dataclass(frozen=True, slots=True)
class Found:
    """What the button has opened last."""

    of: tuple[Any, ...]
    """The settings on which the ranking depends"""
    place: int
    """The place of the head in the ranking, from 0"""


def show_button(page: str) -> None:
    """Show the button. Before the page's other widgets, because it changes their values."""
    if st.button("Surprise me", key="surprise"):
        _open_next(page)


def sentence(striking: Striking, here: Shown, heads: int) -> AnnotatedText:
    """Say why a head stands out among all `heads` of its kind of attention."""
    queries, keys = here.axes()
    query, key = queries.labels[striking.query], keys.labels[striking.key]
    again = "another " if query == key and here.kind != "cross" else ""
    others = "in the other head it is" if heads == 2 else f"in the {heads - 1} other heads the mean is"
    q, k = striking.query, striking.key
    return AnnotatedText.of(
        named(f"Layer {striking.layer}, head {striking.head}", layer=striking.layer, head=striking.head),
        ": ", named(f"“{query}”", row=q), f" looks at {again}", named(f"“{key}”", column=k),
        " with ", named(number(striking.weight, 2), row=q, column=k), f"; {others} {number(striking.others, 2)}.",
    )  # fmt: skip


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
    st.session_state[_FOUND] = Found(of, place)
    more = f"{place + 1} of {len(ranking)}; press again for the next." if len(ranking) > 1 else ""
    message.say(AnnotatedText.of(SWITCHED if of_toy else "", says), more)


def _open(page: str, here: Shown, striking: Striking) -> None:
    """Open a head, with its pair pinned."""
    state.choose_head(striking.layer, striking.head)
    for name, value in (("kind", here.kind), ("q", striking.query), ("k", striking.key), ("predict", False)):
        state.put(name, value)
    if page == "step_by_step":
        state.put("step", "weights")
