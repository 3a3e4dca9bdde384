"""The main part of Generate: the component with a generated text and the numbers of its draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from attnviz.components.generation import generation
from attnviz.formatting import counted
from attnviz.pretrained.names import ModelError
from attnviz.runtime.training import keep
from attnviz.tokens.value import label_of
from attnviz.toy.language.config import has_attention, longest_context
from attnviz.training.generation.record import has_lens
from attnviz.ui import shell, state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.plain import plain
from attnviz.ui.train.generate.assistant import show_assistant
from attnviz.ui.train.generate.chosen import asked_of, chosen_model, given_of, tokens_of, wanted_count
from attnviz.ui.train.generate.models import TextModel
from attnviz.ui.train.generate.offers import Asked, offer
from attnviz.ui.trained.visitor import visitor

VALUES = ("drawn", "watch", "panel", "seed")
"""The link keys of what a user chooses in the component"""
_SEED = "generate_seed_changed"


def show_generate() -> None:
    """Show the text that the view's model generates."""
    keep(visitor())
    if st.session_state.pop(_SEED, False) and state.in_fragment():
        st.rerun()  # the sidebar shows the seed too
    try:
        model = chosen_model()
    except ModelError:
        st.rerun()  # it has gone since the sidebar was shown, which then offers another
    with st.container():
        tokens = tokens_of(model)
        shell.token_notes(tokens)
        given, truth = given_of(tokens)
        asked = asked_of(model, given, truth)
        _say(model, truth, asked)
    if asked is not None:
        with st.container(key="generation"):
            generation(_header(asked, truth), key="generation_view", on_update=take)
    if not lesson_bar.is_open():  # its sentence and the picture have the window to themselves
        show_assistant()


def _say(model: TextModel, truth: Sequence[int] | None, asked: Asked | None) -> None:
    """Say why nothing is generated, or less than is wanted."""
    if asked is None:
        least = "one character" if truth is None else "two characters"
        st.info(f"Type at least {least} that the model knows, such as “{plain(model.prompt.strip())}”.")
    elif asked.count < wanted_count(truth):
        st.info(f"With this model, at most {counted(asked.count, 'character')} can be generated at once.")


def _header(asked: Asked, truth: Sequence[int] | None) -> dict[str, Any]:
    """Return `GenerationHeader` of frontend/types/generation.d.ts."""
    model, sampling = asked.model, asked.sampling
    config = model.config
    layers, heads = (config.layers, config.heads) if has_attention(config) else (0, 0)
    return {
        "model": {
            "title": model.title, "characters": list(model.labels),
            "names": {str(at): name for at, one in enumerate(model.labels) if (name := label_of(one)) != one},
            "block": longest_context(config), "layers": layers, "heads": heads,
            "has_lens": has_lens(config), "has_cache": has_attention(config),
        },
        "prompt": list(asked.ids), "truth": None if truth is None else list(truth), "count": asked.count,
        "temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p,
        "cached": asked.cached, "digest": offer(asked),
        "values": {name: state.get(name) for name in VALUES},
        "in_lesson": lesson_bar.is_open(),
    }  # fmt: skip


def take(sent: Mapping[str, object]) -> None:
    """Apply what the browser has sent. Anything may come."""
    before = state.get("seed")
    state.take(sent, VALUES)
    if state.get("seed") != before:
        st.session_state[_SEED] = True
