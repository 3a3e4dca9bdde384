"""The view of one session: read from the link, changed by widgets, written back to the link.

A page calls `begin(its name)` first and `end(...)` last. In between, `bound("layer", st.selectbox, ...)` makes a widget
whose value lives in the view, so it survives a change of page, and a callback changes a value with `put(...)`.

Each message of the browser brings the link that it shows. Who presses two keys quickly, or is far from the server,
sends the second before the link that the first one led to has come: such an old link undoes nothing. So the session
keeps the links that the browser may still show, the newest last; once a message brings that one, the others are past.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.links.link import EVERYWHERE, KEYS, BadValueError, read_link, write_link
from attnviz.ui.plain import plain

_VIEW, _NOTES, _LINKS, _NOTED_VIEW, _PAGE = "view", "view_notes", "view_links", "view_noted", "view_page"
_MEANT = "view_meant"
"""Set where the code itself goes to a link, which is then read whatever it is."""
_ON_THEIR_WAY = 20
"""Links at most that the browser is thought not to have shown yet"""
_run = threading.local()
"""What a run of a page, which has a thread of its own, need not look up again: Streamlit takes long for each look."""


def begin(page: str) -> None:
    """Take the view from the address bar: on the first run, and when the browser went to another link."""
    turned = st.session_state.get(_PAGE) != page
    if turned:
        # A widget of the page before leaves its value behind under the same key, and Streamlit would not use it.
        for name in KEYS:
            st.session_state.pop(name, None)
        st.session_state[_PAGE] = page
    query, links = _query(), st.session_state.get(_LINKS, [])
    meant = st.session_state.pop(_MEANT, False)
    _run.of = None
    st.session_state[_LINKS] = [*links, query] if turned or meant else links
    if links and not meant and _is_known(query, turned):
        if st.session_state[_NOTED_VIEW] not in (None, st.session_state[_VIEW]):
            st.session_state[_NOTES] = []  # the user has moved on from the link
        return
    view, notes = read_link(query)
    st.session_state[_VIEW], st.session_state[_NOTES], st.session_state[_NOTED_VIEW] = view, notes, None
    if not (turned or meant):
        st.session_state[_LINKS] = [query]
    for name in KEYS:
        if name in st.session_state:
            st.session_state[name] = view[name]


def _query() -> dict[str, str]:
    """Return what the link of this run says about the view."""
    return {name: value for name, value in st.query_params.to_dict().items() if name in KEYS}


def _is_known(query: Mapping[str, str], turned: bool) -> bool:
    """Say whether a link is one of ours: the last one, or one before it that the browser showed a moment ago.

    On a change of page Streamlit empties the link. Whoever goes back in the browser's history means it, old as it is.
    """
    links = st.session_state[_LINKS]
    if turned:
        return not query or query == links[-2]
    if query == links[-1]:
        st.session_state[_LINKS] = links[-1:]  # the browser has caught up
        return True
    run = get_script_run_ctx(suppress_warning=True)
    return query in links and not getattr(run, "is_history_navigation", True)


def _view() -> dict[str, Any]:
    run = get_script_run_ctx(suppress_warning=True)
    if run is None or getattr(_run, "of", None) is not run:
        _run.of, _run.view = run, st.session_state[_VIEW]
    view: dict[str, Any] = _run.view
    return view


def get(name: str) -> Any:
    """Return the view's value of this key."""
    return _view()[name]


def is_default(name: str) -> bool:
    """Say whether the view's value of this key is what a plain link means."""
    return bool(get(name) == KEYS[name].default)


def put(name: str, value: Any) -> None:
    """Set a value from a callback, or before its widget is made."""
    _view()[name] = value
    if name in st.session_state:
        st.session_state[name] = value


def visit(link: Mapping[str, str]) -> None:
    """Go to a link of this page, from a callback: the view becomes what the link says, and nothing of what it was."""
    others = {name: value for name, value in st.query_params.to_dict().items() if name not in KEYS}
    st.query_params.from_dict({**others, **link})
    st.session_state[_MEANT] = True


def turn_to(script: Path, link: Mapping[str, str]) -> NoReturn:
    """Go to a link of any page, from a run; `script` is the page as Streamlit's navigation knows it."""
    st.session_state[_MEANT] = True
    st.switch_page(script, query_params=link)


def arrives() -> bool:
    """Say whether a link is being read: nothing that it leads to has been shown to its end."""
    return st.session_state[_NOTED_VIEW] is None


def arrive_again() -> None:
    """Take the link, from a callback, for one that has just been opened: more is known of what it leads to."""
    st.session_state[_NOTED_VIEW] = None


def notes() -> list[str]:
    """Return what the link said that could not be taken, until the user changes the view."""
    return list(st.session_state[_NOTES])


def note(sentence: str) -> None:
    """Show a sentence about the link, now and in the runs that follow.

    Only while a link is being read: who goes to another model or text by hand has asked for nothing that isn't there.
    """
    if not arrives():
        return
    st.session_state[_NOTES].append(sentence)
    st.warning(plain(sentence), icon=":material/link:")


def bound(name: str, widget: Any, *args: Any, among: Sequence[Any] | None = None, **kwargs: Any) -> Any:
    """Make a widget whose value is the view's `name`; `widget` is e.g. `st.selectbox`.

    The widget's Streamlit key is `name`, so a test finds it as `.st-key-<name>`. `among`: all that it offers, where
    nothing else can be chosen.
    """
    if name not in st.session_state:
        st.session_state[name] = get(name)
    value = _checked(name, widget(*args, key=name, **kwargs), among)
    _view()[name] = value
    return value


def _checked(name: str, value: Any, among: Sequence[Any] | None) -> Any:
    """Return a widget's value as a link would give it back; where none would, what the view has.

    A browser sends what it was offered, but anybody can send anything.
    """
    if value is None or value == KEYS[name].default:
        return value
    try:
        read = KEYS[name].read(KEYS[name].write(value))
    except BadValueError:
        return get(name)
    return read if among is None or read in among else get(name)


def choice(name: str, widget: Any, label: str, options: Iterable[Any], **kwargs: Any) -> Any:
    """Make a widget of `options`; a view's value that is none of them goes back to the first, with a note."""
    options = list(options)
    keep_within(name, label, options)
    among = None if kwargs.get("accept_new_options") else options
    return bound(name, widget, label, options, among=among, **kwargs)


def keep_within(name: str, label: str, options: Sequence[Any]) -> Any:
    """Return the view's value of this key; where it is none of the options, the first of them, with a note."""
    if get(name) not in options:
        note(f"{label} {get(name)} is not there: the choices go from {options[0]} to {options[-1]}.")
        put(name, KEYS[name].default if KEYS[name].default in options else options[0])
    return get(name)


def end(names: Iterable[str]) -> None:
    """Write the view's `names`, and what belongs to every page, to the address bar."""
    link = write_link(_view(), (*names, *EVERYWHERE))
    links, query = st.session_state[_LINKS], _query()
    run = get_script_run_ctx(suppress_warning=True)
    if query == links[-1] and getattr(run, "fragment_ids_this_run", None):  # else `begin` has looked
        links = links[-1:]
    if links != [link]:  # what is on its way may be another one, so this one goes after it
        now = st.query_params.to_dict()
        others = {name: value for name, value in now.items() if name not in KEYS}
        # In an order of its own the same link would be another entry in the browser's history.
        st.query_params.from_dict(now if query == link else {**others, **link})
        links = [*links, link][-_ON_THEIR_WAY:]
    st.session_state[_LINKS] = links
    if arrives():
        st.session_state[_NOTED_VIEW] = dict(_view())
