"""Suggestions that a visitor can open with one press, an example sentence or a head that stands out, and a message.

`attnviz.measures.striking` computes which heads stand out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.annotated_text import AnnotatedText, named
from attnviz.formatting import number
from attnviz.lessons import Example, TextExample, gallery, text_examples
from attnviz.lessons.targets import html
from attnviz.links.link import read_link
from attnviz.sources import PRETRAINED, SOURCES
from attnviz.tokens import NoTokensError
from attnviz.ui import caches, state
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES, shown_now

if TYPE_CHECKING:
    from attnviz.measures.striking import StrikingHead
    from attnviz.sources.shown import ShownHead


_ABOUT = ("text", "pair", "source", "model", "kind", "layer", "head")
"""The link keys that determine what a message is about"""


@dataclass(slots=True)
class _SuggestionRecord:
    """The session state of suggestions."""

    message: tuple[str, str] = ("", "")
    """A sentence, and more in a quieter colour"""
    subject: tuple[Any, ...] | None = None
    """The view that the message is about; None before the first message"""
    suggested: tuple[tuple[Any, ...], int] | None = None
    """The head that "Surprise me" has opened last: the settings on which the ranking depends, and its place there"""
    surprise_page: str | None = None
    """The page on which the visitor has just chosen it"""


def say(sentence: str, more: str = "", view: Mapping[str, Any] | None = None) -> None:
    """Show a sentence about a view (by default the session's), and `more` in a quieter colour."""
    kept = state.record(_SuggestionRecord)
    kept.message, kept.subject = (sentence, more), _subject(view)


def show_message() -> None:
    """Show the sentence as long as the session has the view that it is about."""
    kept = state.record(_SuggestionRecord)
    if kept.subject != _subject() or not state.get("text").strip():
        return
    sentence, more = kept.message
    more = f' <span class="more">{escape(more)}</span>' if more else ""
    with st.container(key="guide_says"):
        st.html(f'<p class="said" role="status">{html(AnnotatedText.of(sentence))}{more}</p>')


def is_about(text: str) -> bool:
    """Whether the last sentence is about this text."""
    return text in (state.record(_SuggestionRecord).subject or ())


def _subject(view: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    return tuple(state.get(name) if view is None else view[name] for name in _ABOUT)


WITH_EXAMPLE_HEADS = ("step_by_step", "heads", "compare")
"""The pages that can show the head of an example"""
WITH_HEAD_CHOICE = ("step_by_step", "heads")
"""Those of them that can also open only the text; Compare would have nothing to compare"""
_EXAMPLES_OPEN, _WITH_HEAD = "examples", "examples_with_head"


@st.fragment
def show_examples(page: str) -> None:
    """Show the list of a page's examples. It is a fragment, so that opening it does not rerun the page."""
    state.check_run()
    with st.popover("Examples", key=_EXAMPLES_OPEN, on_change="rerun") as control:
        if not control.open:
            return
        with st.container(key="example_list"):
            if page in WITH_SURPRISE:
                st.button(SURPRISE, key="surprise", width="stretch", on_click=_ask_for_surprise, args=(page,))
            if page in WITH_HEAD_CHOICE:
                st.toggle("Open the head that shows it", value=True, key=_WITH_HEAD)
            texts = tuple(example for example in text_examples() if example.page == page)
            examples: tuple[Example | TextExample, ...] = gallery() if page in WITH_EXAMPLE_HEADS else texts
            for number, example in enumerate(examples):
                says = example.said if isinstance(example, Example) else example.says
                label = f"**{plain(example.title)}**  \n*{plain(example.text)}*  \n{plain(says)}"
                key = f"example_{number}"
                st.button(label, key=key, width="stretch", on_click=_take_example, args=(example, page))


def _ask_for_surprise(page: str) -> None:
    st.session_state[_EXAMPLES_OPEN] = False
    state.record(_SuggestionRecord).surprise_page = page
    state.run_page()


def _take_example(example: Example | TextExample, page: str) -> None:
    st.session_state[_EXAMPLES_OPEN] = False
    state.run_page()
    if isinstance(example, Example) and (page not in WITH_HEAD_CHOICE or st.session_state.get(_WITH_HEAD)):
        link = example.link(page)
        state.visit(link)
        say(example.explained, view=read_link(link)[0])
    else:
        state.put("text", example.text)


WITH_SURPRISE = ("step_by_step", "heads")
"""The pages whose examples begin with "Surprise me" """
SURPRISE = "**Surprise me**  \nA head that stands out on the text that is in the field"
SWITCHED = f"The toy has learned nothing, so this is {PRETRAINED.title}. "
NOTHING = "No head stands out on this text. That takes two words that are not next to each other."


def drop_surprise_of_others(page: str) -> None:
    """Forget that the visitor has chosen "Surprise me" on another page, which this page has replaced meanwhile."""
    kept = state.record(_SuggestionRecord)
    if kept.surprise_page != page:
        kept.surprise_page = None


def open_surprise(page: str) -> None:
    """Open the next head that stands out if the visitor has chosen "Surprise me" on this page.

    Call it before the page's other widgets, because it changes their values.
    """
    kept = state.record(_SuggestionRecord)
    if kept.surprise_page == page:
        kept.surprise_page = None
        _open_next(page)


def sentence(striking: StrikingHead, here: ShownHead, heads: int) -> AnnotatedText:
    """Return a sentence on why a head stands out among all `heads` of its kind of attention."""
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
        return  # the page itself asks for a text
    from attnviz.pretrained import ModelError

    of_toy = page == "step_by_step" and not SOURCES[state.get("source")].has_layers
    if of_toy:
        state.put("source", PRETRAINED.key)
    source = state.get("source") if page == "step_by_step" else PRETRAINED.key
    try:
        with st.spinner("Looking for a head that stands out …"):
            shown = shown_now(lambda name: source if name == "source" else state.get(name))
            ranking = caches.most_striking(shown.trace(RESOURCES), shown.kind).heads
    except (ModelError, NoTokensError):
        return  # the page shows the same error
    layers, heads = shown.model.description.layers[shown.kind]
    settings = shown.model.name, shown.text, shown.pair, shown.kind
    kept = state.record(_SuggestionRecord)
    last_settings, last_place = kept.suggested or (None, 0)
    place = (last_place + 1) % len(ranking) if ranking and last_settings == settings else 0
    says = NOTHING
    if ranking:
        _open(page, shown, ranking[place])
        says = sentence(ranking[place], shown, layers * heads)
    kept.suggested = settings, place
    more = f"{place + 1} of {len(ranking)}; “Surprise me” again for the next." if len(ranking) > 1 else ""
    say(AnnotatedText.of(SWITCHED if of_toy else "", says), more)


def _open(page: str, here: ShownHead, striking: StrikingHead) -> None:
    """Open a head, with its pair of tokens pinned."""
    state.choose_head(striking.layer, striking.head)
    for name, value in (("kind", here.kind), ("q", striking.query), ("k", striking.key), ("predict", False)):
        state.put(name, value)
    if page == "step_by_step":
        state.put("step", "tokens")
