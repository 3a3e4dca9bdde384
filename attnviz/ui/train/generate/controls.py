"""The sidebar of Generate: the model, what it begins with, and how each character is chosen."""

from __future__ import annotations

import streamlit as st

from attnviz.links.link import KEYS
from attnviz.links.train import MAX_LENGTH, MAX_PROMPT, MAX_TEMPERATURE
from attnviz.pretrained.names import ModelError
from attnviz.trained.shipped import is_kept
from attnviz.ui import state
from attnviz.ui.train.generate.models import SHIPPED, TextModel, text_model_of, text_models
from attnviz.ui.trained import own
from attnviz.ui.trained.visitor import visitor

TEMPERATURE_HELP = """Each logit is divided by T before the softmax. Below 1 likely characters become likelier still;
above 1 all come closer together. 0 is greedy: always the likeliest."""
HALVES_HELP = "The model gets the first half of the text below and goes on. The true second half stands beside it."
CACHE_HELP = "Keys and values of earlier characters are kept, not computed again. The text is the same."


def generate_controls() -> None:
    """Show all settings."""
    name = state.get("text_model")
    if is_kept(name):  # a link from another session
        own.add(name)
    offered = text_models(visitor(), own.names())
    if name not in offered:
        state.note("The trained model of this link is no longer here, so the character GPT generates.")
        state.put("text_model", SHIPPED)
    state.choice(
        "text_model", st.selectbox, "Model", list(offered), format_func=offered.get,
        help="Train one on a text in the part Text, and it can be chosen here.", on_change=_forget_snapshot,
    )  # fmt: skip
    try:
        model = text_model_of(state.get("text_model"), visitor(), state.get("snapshot"))
    except ModelError:
        st.rerun()  # it has gone since it was offered
    if len(model.steps) > 1:
        _snapshot(model)
    halves = state.bound("halves", st.toggle, "Go on with half of a text", help=HALVES_HELP)
    state.bound(
        "prompt", st.text_area, "The whole text" if halves else "Prompt", height=88, max_chars=MAX_PROMPT,
        placeholder=model.passage if halves else model.prompt,
        help="What the model begins with. Without one it begins with the text that is shown in grey.",
    )  # fmt: skip
    if not halves:
        state.bound("length", st.slider, "Characters to generate", 1, MAX_LENGTH)
    state.bound(
        "temperature", st.slider, "Temperature T", 0.0, float(MAX_TEMPERATURE), step=0.05, help=TEMPERATURE_HELP
    )
    left, right = st.columns(2)
    with left:
        state.bound("top_k", st.number_input, "Top-k (0: all)", 0, 10_000, help="Only the k likeliest can be drawn.")
    with right:
        state.bound(
            "top_p", st.number_input, "Top-p", 0.0, 1.0, step=0.05, format="%.2f",
            help="Only the fewest likeliest can be drawn that have this probability together.",
        )  # fmt: skip
    state.bound("seed", st.number_input, "Seed", 0, 999_999, help="All draws follow from this number.")
    state.bound("cache", st.toggle, "Key-value cache", help=CACHE_HELP)


def _snapshot(model: TextModel) -> None:
    """Show the choice of a snapshot; the newest leaves the link."""
    key = "generate_snapshot"
    st.session_state[key] = model.step
    st.select_slider("After so many steps", model.steps, key=key, on_change=_take_snapshot, args=(model.steps,))


def _take_snapshot(steps: tuple[int, ...]) -> None:
    step = st.session_state["generate_snapshot"]
    if step in steps:
        state.put("snapshot", None if step == steps[-1] else step)


def _forget_snapshot() -> None:
    for name in ("snapshot", "drawn", "watch"):
        state.put(name, KEYS[name].default)
