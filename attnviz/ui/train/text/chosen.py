"""The text of the session: the built-in corpus, or one that its visitor has pasted or uploaded. No link holds it."""

from __future__ import annotations

import streamlit as st

from attnviz.settings import settings
from attnviz.ui import state
from attnviz.ui.tokens.own_text import OwnText
from attnviz.ui.train.text.facts import Facts, built_in_facts, facts_of
from attnviz.ui.train.text.part import forget_part, part_choice, part_of


def chosen_facts() -> Facts:
    """Return what is trained on: the chosen text, or the chosen part of it."""
    return part_of(_whole())[0]


def _whole() -> Facts:
    """Return the chosen text: the visitor's, or the built-in corpus until there is one."""
    return _TEXT.chosen() or built_in_facts()


def text_choice() -> None:
    """Show the choice of a text, and where it is pasted or uploaded."""
    source = _TEXT.choice("Text to train on")
    if source == "paste":
        limit = settings().largest_text
        st.text_area(
            "Your text", key=_TEXT.pasted, max_chars=limit, height=120, on_change=_take_pasted,
            placeholder=f"Paste some pages, up to {limit:,} characters, and press Ctrl+Enter.",
        )  # fmt: skip
    elif source == "upload":
        _TEXT.file_field()
    if source in ("paste", "upload"):
        own = _TEXT.tell(source, "Until then, the built-in corpus is shown.")
        if own is not None:
            st.caption(
                f"In use: {len(own.text):,} characters, {len(own.labels)} different ones. Your text is in no link: "
                "a link opens the built-in corpus."
            )


def part_of_text() -> None:
    """Show the choice of a part of the text, to train on one chapter."""
    part_choice(_whole(), forget_reading)


def part_refused() -> str:
    """Return why the chosen part is not used; "" if it is."""
    return part_of(_whole())[1]


def forget_reading() -> None:
    """Choose no snapshot, head or cell: they belong to another text."""
    for name, value in (("watch", ""), ("snapshot", None), ("q", None), ("k", None)):
        state.put(name, value)


def _forget() -> None:
    """Choose nothing that belongs to another text."""
    forget_reading()
    forget_part()


def _take_pasted() -> None:
    _TEXT.take_pasted(settings().largest_text)


_TEXT = OwnText("train_text", "A text to train on", facts_of, _forget)
