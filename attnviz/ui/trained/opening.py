"""Opens a trained model that the user chooses in a menu as a link that only names it does: see `Page.read`.

A text that the user typed stays. What is replaced comes back when another source's model is chosen.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS
from attnviz.lessons import gallery, text_examples
from attnviz.links.link import DEFAULT_TEXT
from attnviz.links.pages import PAGES
from attnviz.pretrained.names import ModelError
from attnviz.trained.shipped import load, opening
from attnviz.ui import replaced, state

if TYPE_CHECKING:
    from collections.abc import Iterator


REASON = "trained"
ALONE = {"rollout": False, "chosen": (), "q": None, "k": None}
"""What Heads shows besides the head, and what is pinned of another text"""


def take_choice() -> None:
    """Open the trained model that a menu now names, from the callback of the menu of sources or of models."""
    page = PAGES[state.page()]
    open_chosen(page.trained_model(state.get), page.trained_model(_chosen))


def open_chosen(before: str | None, after: str | None) -> None:
    """Open a trained model in place of another one, from a callback; None stands for a model of another source."""
    if before == after:
        return
    if not replaced.give_back(REASON) and after is None and state.get("text") in examples_of(before):
        state.put("text", DEFAULT_TEXT)  # a link has opened the model, so nothing was before
    if after is not None:
        values = opening(after)
        is_typed = not is_offered(state.get("text"), before)
        kept = ("text", "pair") if is_typed else ()
        replaced.replace(REASON, {name: value for name, value in (values | ALONE).items() if name not in kept})


def is_offered(text: str, model: str | None = None) -> bool:
    """Whether a text is one that the app offers, here or as an example for a trained model; else the user typed it."""
    return not text.strip() or text in _offered() or text in examples_of(model)


def examples_of(model: str | None) -> tuple[str, ...]:
    """Return the texts that a trained model is made for, by its name; none if there is no such model."""
    if model is None:
        return ()
    from attnviz.trained.model import examples  # late: it imports torch

    try:
        return examples(load(model))
    except ModelError:
        return ()


@cache
def _offered() -> frozenset[str]:
    from attnviz.trained.model import TEXTS
    from attnviz.training.tasks import TASKS

    def texts() -> Iterator[str]:
        yield DEFAULT_TEXT
        yield from (page.opening["text"] for page in PAGES.values() if "text" in page.opening)
        yield from (example.text for example in gallery())
        yield from (example.text for example in text_examples())
        yield from (text for pair in MINIMAL_PAIRS for text in (pair.a, pair.b))
        yield from TEXTS
        yield from (text for task in TASKS.values() for text in task.examples)

    return frozenset(texts())


def _chosen(name: str) -> Any:
    """Return a setting as the menus have it, where the view still has the one before."""
    chosen = st.session_state.get(name)
    return chosen if isinstance(chosen, str) else state.get(name)
