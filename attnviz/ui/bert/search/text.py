"""The text of the session that is searched: the built-in sentences, or what its visitor pasted or uploaded.

No link holds it. What is pasted is taken from its field at once: Streamlit sends the values of all fields again with
every click.
"""

from __future__ import annotations

import streamlit as st

from attnviz.bert.search import MOST_SENTENCES, Index, NoSentenceError, Sentences, built_in, split
from attnviz.settings import settings
from attnviz.ui import state
from attnviz.ui.tokens.own_text import OwnText

MAX_FILE = 2**20
"""Bytes"""
PASTED = 5
"""Of the longest text of another page, which is read in one pass: here every sentence is a pass"""


def chosen_text() -> Sentences:
    """Return the text that is searched: the visitor's, or the built-in sentences until there is one."""
    return _TEXT.chosen() or built_in()


def text_choice() -> None:
    """Show the choice of a text, and where it is pasted or uploaded."""
    source = _TEXT.choice("Text that is searched")
    if source == "paste":
        limit = PASTED * settings().largest_text
        with st.form("search_paste", clear_on_submit=True, border=False):
            st.text_area(
                "Your text", key=_TEXT.pasted, max_chars=limit, height=120,
                placeholder=f"Paste some pages, up to {limit:,} characters.",
            )  # fmt: skip
            st.form_submit_button("Search in this text", on_click=_take_pasted, width="stretch")
    elif source == "upload":
        _TEXT.file_field()
    if source in ("paste", "upload"):
        _TEXT.tell(source, "Until then, the built-in sentences are searched.")


def about(text: Sentences, index: Index | None) -> str:
    """Say what is searched, and what is left out of it."""
    said = [f"{len(text):,} {'sentence' if len(text) == 1 else 'sentences'}."]
    if text.left_out:
        said.append(f"The first {MOST_SENTENCES:,} are searched; {text.left_out:,} more are left out.")
    if index is not None and index.cut:
        said.append(
            f"{index.cut:,} of them have more than 256 tokens: the model was trained on the first 256, and reads those."
        )
    if text is not built_in():
        said.append("Your text is in no link: a link opens the built-in sentences.")
    return " ".join(said)


def _forget_hit() -> None:
    state.put("hit", None)


def _take_pasted() -> None:
    _TEXT.take_pasted(PASTED * settings().largest_text)


def _read(text: str) -> Sentences:
    """Cut a text into sentences; raises NoSentenceError if it has none."""
    found = split(text)
    if not len(found):
        raise NoSentenceError
    return found


_TEXT = OwnText("search_text", "A text to search in", _read, _forget_hit, MAX_FILE)
