"""A sentence on what is open: why a head stands out, or what an example shows. It stays until another view is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from attnviz.annotated_text import AnnotatedText
from attnviz.lessons.targets import html
from attnviz.ui import state

_OF = ("text", "pair", "source", "model", "kind", "layer", "head")
"""The link keys of what a sentence is about"""
_SAID = "guide_said"


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence, and what it is about."""

    sentence: str
    more: str
    view: tuple[Any, ...]


def say(sentence: str, more: str = "", view: Mapping[str, Any] | None = None) -> None:
    """Say a sentence, marked or not, and quietly some words more, on this view or that of the session."""
    st.session_state[_SAID] = Message(sentence, more, _about(view))


def show() -> None:
    """Show the sentence, as long as the view is the one that it is about."""
    said: Message | None = st.session_state.get(_SAID)
    if said is None or said.view != _about() or not state.get("text").strip():
        return
    more = f' <span class="more">{escape(said.more)}</span>' if said.more else ""
    with st.container(key="guide_says"):
        st.html(f'<p class="said" role="status">{html(AnnotatedText.of(said.sentence))}{more}</p>')


def is_about(text: str) -> bool:
    """Whether the last sentence is about this text."""
    said: Message | None = st.session_state.get(_SAID)
    return said is not None and text in said.view


def _about(view: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    return tuple(state.get(name) if view is None else view[name] for name in _OF)
