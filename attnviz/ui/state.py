"""The view of one session: read from the link, changed by widgets, written back to the link.

A page calls `begin()` first and `end(...)` last. In between, `bound("layer", st.selectbox, ...)` makes a widget whose
value lives in the view, so it survives a change of page, and a callback changes a value with `put(...)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from attnviz.ui.link import KEYS, read_link, write_link

_VIEW, _NOTES, _LAST_LINK = "view", "view_notes", "view_link"


def begin() -> None:
    """Take the view from the address bar: on the first run, and when the browser went to another link."""
    query = {name: value for name, value in st.query_params.to_dict().items() if name in KEYS}
    if _VIEW in st.session_state and query in ({}, st.session_state[_LAST_LINK]):
        return  # the link is the one that we wrote, or Streamlit emptied it on a change of page
    view, notes = read_link(query)
    st.session_state[_VIEW], st.session_state[_NOTES], st.session_state[_LAST_LINK] = view, notes, query
    for name in KEYS:
        if name in st.session_state:
            st.session_state[name] = view[name]


def get(name: str) -> Any:
    """Return the view's value of this key."""
    return st.session_state[_VIEW][name]


def put(name: str, value: Any) -> None:
    """Set a value from a callback, or before its widget is made."""
    st.session_state[_VIEW][name] = value
    if name in st.session_state:
        st.session_state[name] = value


def note(sentence: str) -> None:
    """Keep a sentence about the link for `end` to show."""
    st.session_state[_NOTES].append(sentence)


def bound(name: str, widget: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a widget whose value is the view's `name`; `widget` is e.g. `st.selectbox`.

    The widget's Streamlit key is `name`, so a test finds it as `.st-key-<name>`.
    """
    if name not in st.session_state:
        st.session_state[name] = get(name)
    value = widget(*args, key=name, **kwargs)
    st.session_state[_VIEW][name] = value
    return value


def choice(name: str, widget: Any, label: str, options: Iterable[Any], **kwargs: Any) -> Any:
    """Make a widget of `options`; a view's value that is none of them goes back to the first, with a note."""
    options = list(options)
    if get(name) not in options:
        default = KEYS[name].default if KEYS[name].default in options else options[0]
        note(f"{label} {get(name)} is not there: the choices go from {options[0]} to {options[-1]}. Showing {default}.")
        put(name, default)
    return bound(name, widget, label, options, **kwargs)


def end(names: Iterable[str]) -> None:
    """Write the view's `names` to the address bar and show what the link said that could not be taken."""
    link = write_link(st.session_state[_VIEW], names)
    others = {name: value for name, value in st.query_params.to_dict().items() if name not in KEYS}
    if st.query_params.to_dict() != {**others, **link}:
        st.query_params.from_dict({**others, **link})
    st.session_state[_LAST_LINK] = link
