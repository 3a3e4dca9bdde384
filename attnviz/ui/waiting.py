"""What a visitor sees while something takes longer: the first import, or others' texts that are read first.

A spinner has no place of its own on the page, so nothing moves when it comes and goes. Each costs a thread and two
messages, so there is none where there is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import streamlit as st

from attnviz.serving.http.traffic import traffic

_started: set[str] = set()


@contextmanager
def starting(what: str) -> Iterator[None]:
    """Show a spinner around the first import of a page's heavy part, `what`, in this process."""
    if what in _started:
        yield
        return
    with st.spinner("Starting torch …"):
        yield
    _started.add(what)


@contextmanager
def queue_note() -> Iterator[Callable[[int], None]]:
    """Hand out what `Shared.get` tells how many are before the visitor; a spinner says so until it is done."""
    shown = ""
    with ExitStack() as spinner:

        def tell(before: int) -> None:
            nonlocal shown
            if sentence(before) != shown:
                shown = sentence(before)
                spinner.close()
                spinner.enter_context(st.spinner(shown))

        yield tell


def busy_note() -> None:
    """Say so where what comes from the visitor's address had to wait just now."""
    if traffic().slowed(st.context.ip_address):
        st.warning(
            "Very many changes come from your address just now, so each of them waits a little.",
            icon=":material/hourglass_empty:",
        )


def sentence(before: int) -> str:
    """Say how many texts come first."""
    if before == 0:
        return "Your text is being read …"
    return f"{before} {'text is' if before == 1 else 'texts are'} before yours …"
