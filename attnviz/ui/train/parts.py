"""The parts of the page Train: what each offers in the sidebar, and what it shows.

The page imports it after it has said what it is, because it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from attnviz.ui import state
from attnviz.ui.train.controls import forget_choices, train_controls
from attnviz.ui.train.generate.controls import generate_controls
from attnviz.ui.train.generate.view import show_generate
from attnviz.ui.train.text.controls import text_controls
from attnviz.ui.train.text.view import show_text
from attnviz.ui.train.view import show_training


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page."""

    title: str
    controls: Callable[[], None]
    """Shows what is set in the sidebar"""
    show: Callable[[], None]
    """Shows the picture, in a fragment"""


PARTS: dict[str, Part] = {
    "task": Part("Tasks", train_controls, show_training),
    "text": Part("Text", text_controls, show_text),
    "generate": Part("Generate", generate_controls, show_generate),
}
"""By their names in links, in the order in which they are offered"""


def choose_part() -> Part:
    """Show the choice of a part, if there are several, and return the chosen one."""
    if len(PARTS) == 1:
        state.keep_within("train_part", "Part", list(PARTS))
    else:
        state.choice(
            "train_part", st.segmented_control, "What is trained", list(PARTS), required=True, width="stretch",
            format_func={name: part.title for name, part in PARTS.items()}.get, label_visibility="collapsed",
            on_change=forget_choices,
        )  # fmt: skip
    return PARTS[state.get("train_part")]
