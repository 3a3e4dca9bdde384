"""The session's text: the built-in corpus, a text that the visitor has pasted or uploaded, or a part of it.

No link holds the text. A part, such as a chapter of a book, is a range of characters, which a search for words finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from attnviz.settings import settings
from attnviz.training.plan import Plan
from attnviz.training.text.subject import TextError
from attnviz.ui import state
from attnviz.ui.messages import plain
from attnviz.ui.tokens.choices import OwnText
from attnviz.ui.train.facts import Facts, built_in_facts, facts_of, lines_of
from attnviz.ui.widgets import PASTED_HEIGHT, settings_popover

ENDS = ("text_from", "text_to")
HITS, AROUND = 4, 24
"""Maximum search hits listed, and the characters shown of each"""
LONGEST = 100
"""Maximum characters of a search"""
_WORDS = "train_text_words"


@dataclass(slots=True)
class _TextRecord:
    """What a session keeps of its text: a running training reads its facts and its lines at each refresh."""

    part: state.Last[tuple[Facts | None, str]] = field(default_factory=state.Last)
    """The chosen part's facts and ""; None and the reason if it can't be trained on"""
    lines: state.Last[dict[str, Any]] = field(default_factory=state.Last)
    """How the text is cut line by line"""


def part_of(whole: Facts) -> tuple[Facts, str]:
    """Return the chosen part and ""; if it can't be trained on, the whole text and the reason."""
    begin, end = _bounds(whole)
    if (begin, end) == (0, len(whole.text)):
        return whole, ""
    if begin >= end:
        return whole, f"The part has no text: it would begin at character {begin:,} and end at {end:,}."

    def read() -> tuple[Facts | None, str]:
        try:
            return facts_of(whole.text[begin:end]), ""
        except TextError as why:
            return None, f"The part from character {begin:,} to {end:,} is not used. {why}"

    part, why = state.record(_TextRecord).part.get((whole.digest, begin, end), read)
    return part or whole, why


def _bounds(whole: Facts) -> tuple[int, int]:
    begin, end = (state.get(key) for key in ENDS)
    count = len(whole.text)
    return min(begin or 0, count), count if end is None else min(end, count)


def part_choice() -> None:
    """Let the user choose a part of the text, such as one chapter, by fields that are folded."""
    whole = _whole()
    count = len(whole.text)
    for key in ENDS:
        state.sync_widget(key)  # the popover's label comes before its fields
        if (state.get(key) or 0) > count:
            state.put(key, None)
            state.note(f"The text has {count:,} characters, so {key} is left out.")
    begin, end = _bounds(whole)
    is_part = (begin, end) != (0, count)
    shown = f"Characters {begin:,}–{end:,}" if is_part else "The whole text"
    with settings_popover(shown, "text_part", width="stretch") as control:
        if control.open:
            left, right = st.columns(2)
            for key, column, label, other in (
                (ENDS[0], left, "From character", "the first"),
                (ENDS[1], right, "To character", "the last"),
            ):
                with column:
                    state.bound(
                        key, st.number_input, label, 0, count, None, 1000, placeholder=other, on_change=forget_reading
                    )
            _find(whole)
            part = whole.text[begin:end]
            st.caption(
                f"text[{begin}:{end}] is {len(part):,} of {count:,} characters, {len(part) / count:.0%}: "
                f"“{plain(part[:AROUND])} … {plain(part[-AROUND:])}”"
            )


def _find(whole: Facts) -> None:
    """Search for words, and show buttons that make the part begin or end at a hit."""
    words = st.text_input(
        "Find a place", key=_WORDS, max_chars=LONGEST, placeholder="words such as a chapter's title"
    ).strip()[:LONGEST]
    if not words:
        return
    hits: list[int] = []
    at = whole.text.find(words)
    while at >= 0 and len(hits) <= HITS:
        hits.append(at)
        at = whole.text.find(words, at + 1)
    if not hits:
        st.caption("The text has no such words; capital letters count.")
    for number, at in enumerate(hits[:HITS]):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{at:,}: “{plain(whole.text[at : at + AROUND])}”")
            for key, label in zip(ENDS, ("Begin", "End"), strict=True):
                st.button(label, key=f"train_text_{key}_{number}", on_click=_take, args=(key, at))
    if len(hits) > HITS:
        st.caption("And at further places: search for more words.")


def _take(key: str, at: int) -> None:
    forget_reading()
    state.put(key, at or None)


def chosen_facts() -> Facts:
    """Return the text to train on: the chosen text, or the chosen part of it."""
    return part_of(_whole())[0]


def cut_of(facts: Facts, plan: Plan) -> Mapping[str, Any]:
    """Return `SeriesCut` of frontend/types/model_series.d.ts: how a plan cuts the training part of a text."""
    if plan.cut == "blocks":
        return {"name": plan.cut, "lines": None}
    key = facts.digest, plan.cut, plan.block_size
    lines = state.record(_TextRecord).lines.get(key, lambda: lines_of(facts, plan.cut, plan.block_size))
    return {"name": plan.cut, "lines": lines}


def _whole() -> Facts:
    """Return the chosen text: the visitor's, or the built-in corpus until there is one."""
    return _TEXT.chosen() or built_in_facts()


def text_choice() -> None:
    """Let the user choose a text, and paste or upload one."""
    source = _TEXT.choice("Text to train on")
    if source == "paste":
        limit = settings().largest_text
        st.text_area(
            "Your text", key=_TEXT.pasted, max_chars=limit, height=PASTED_HEIGHT,
            placeholder=f"Paste some pages, up to {limit:,} characters, and press Ctrl+Enter.",
            on_change=_TEXT.take_pasted, args=(limit,),
        )  # fmt: skip
    elif source == "upload":
        _TEXT.file_field()
    if source in ("paste", "upload"):
        facts = _TEXT.tell(source, "Until then, the built-in corpus is shown.")
        if facts is not None:
            st.caption(
                f"In use: {len(facts.text):,} characters, {len(facts.labels)} different ones. Your text is in no link: "
                "a link opens the built-in corpus."
            )


def part_refused() -> str:
    """Return why the chosen part is not used; "" if it is."""
    return part_of(_whole())[1]


def forget_reading() -> None:
    """Reset the snapshot, head and cell, which belong to another text."""
    for name, value in (("watch", ""), ("snapshot", None), ("q", None), ("k", None)):
        state.put(name, value)


def _forget() -> None:
    """Reset all that belongs to another text."""
    forget_reading()
    for key in ENDS:
        state.put(key, None)


_TEXT = OwnText("train_text", "A text to train on", facts_of, _forget)
