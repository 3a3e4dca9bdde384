"""Escaped text for Streamlit, spinners and bars during a wait, and the warning about too many requests.

A spinner takes no space in the layout, so nothing moves when it appears or disappears. It costs a thread and two
messages, so it appears only during an actual wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.runtime.pool import place_in_queue
from attnviz.runtime.traffic import traffic

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """Escape text for Markdown: links, images, emphasis, formulas and emoji codes stay plain text.

    Markdown allows escaping any ASCII punctuation (CommonMark, section 2.4). Line ends become spaces.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def plain_part(text: str) -> str:
    """Escape a part of a sentence as `plain` does; white space at either end stays, as one space."""
    before, after = text[:1].isspace(), bool(text.strip()) and text[-1:].isspace()
    return " " * before + plain(text) + " " * after


_started: set[str] = set()


@contextmanager
def starting(what: str) -> Iterator[None]:
    """Show a spinner during the first import of a page's heavy part, `what`, in this process."""
    if what in _started:
        yield
        return
    with st.spinner("Starting torch …"):
        yield
    _started.add(what)


@contextmanager
def queue_note() -> Iterator[Callable[[int], None]]:
    """Yield an `on_wait` for `SingleFlightCache.get` that shows the visitor's place in the queue in a spinner.

    In a thread that does not run a page, it does nothing.
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        yield lambda _: None
        return
    shown = ""
    with ExitStack() as spinner:

        def on_wait(ahead: int) -> None:
            nonlocal shown
            if place_in_queue(ahead) != shown:
                shown = place_in_queue(ahead)
                spinner.close()
                spinner.enter_context(st.spinner(shown))

        yield on_wait


@contextmanager
def progress(count: int, what: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows how many of `count` are done, in a bar that stays until the block ends.

    `what` is done with them, as in "texts are read".
    """
    bars: list[DeltaGenerator] = []

    def show(done: int) -> None:
        if not bars:
            bars.append(st.empty())
        bars[0].progress(done / count, f"{done:,} of {count:,} {what} …")

    try:
        yield show
    finally:
        for bar in bars:
            bar.empty()


def busy_note() -> None:
    """Warn a visitor whose address exceeds the limit of requests."""
    if traffic().slowed(st.context.ip_address):
        st.warning(
            "Your address sends very many changes just now, so each of them waits a little.",
            icon=":material/hourglass_empty:",
        )
