"""The main part of Generate: the component with a generated text and the numbers of its draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from attnviz.components.generation import generation
from attnviz.links.link import MAX_LENGTH
from attnviz.pretrained.names import ModelError
from attnviz.serving.work.training import keep
from attnviz.tokens import NO_ID, CharVocab
from attnviz.tokens.value import label_of
from attnviz.toy.language.config import TokenConfig
from attnviz.training.generation import Sampling
from attnviz.training.generation.record import has_lens
from attnviz.ui import shell, state
from attnviz.ui.plain import plain
from attnviz.ui.train import commands
from attnviz.ui.train.generate.assistant import show_assistant
from attnviz.ui.train.generate.models import TextModel, text_model_of
from attnviz.ui.train.generate.offers import Asked, block_of, has_cache, most_tokens, offer

VALUES = ("drawn", "watch", "panel", "seed")
"""The link keys of what a user chooses in the component"""
_SEED = "generate_seed_changed"


def show_generate() -> None:
    """Show the text that the view's model generates."""
    name = commands.visitor()
    keep(name)
    if st.session_state.pop(_SEED, False) and state.in_fragment():
        st.rerun()  # the sidebar shows the seed too
    try:
        model = text_model_of(state.get("text_model"), name, state.get("snapshot"))
    except ModelError:
        st.rerun()  # it has gone since the sidebar was shown, which then offers another
    with st.container():
        given, truth = _begin(model)
        asked = _asked(model, given, truth)
    if asked is not None:
        with st.container(key="generation"):
            generation(_header(asked, truth), key="generation_view", on_update=take)
    show_assistant()


def _begin(model: TextModel) -> tuple[list[int], list[int] | None]:
    """Return the ids that the model begins with and, of half a text, those of the true other half."""
    halves = state.get("halves")
    text = state.get("prompt") or (model.passage if halves else model.prompt)
    tokens = CharVocab(model.labels).tokenize(text)
    shell.token_notes(tokens)
    ids = [one for one in tokens.ids if one != NO_ID]
    if not halves:
        return ids, None
    middle = (len(ids) + 1) // 2
    return ids[:middle], ids[middle:]


def _asked(model: TextModel, given: Sequence[int], truth: Sequence[int] | None) -> Asked | None:
    """Return what is to be generated; say why, if there is nothing."""
    if not given or truth == []:
        least = "one character" if truth is None else "two characters"
        st.info(f"Type at least {least} that the model knows, such as “{plain(model.prompt.strip())}”.")
        return None
    cached = state.get("cache")
    wanted = state.get("length") if truth is None else len(truth)
    count = min(wanted, MAX_LENGTH, most_tokens(model.config, cached=cached))
    if count < wanted:
        st.info(f"With this model, {count} characters are generated at once.")
    sampling = Sampling(state.get("temperature"), state.get("top_k"), state.get("top_p"), state.get("seed"))
    return Asked(model, tuple(given), count, sampling, cached, tuple(truth or ()))


def _header(asked: Asked, truth: Sequence[int] | None) -> dict[str, Any]:
    """Return `GenerationHeader` of frontend/types/generation.d.ts."""
    model, sampling = asked.model, asked.sampling
    config = model.config
    has_attention = isinstance(config, TokenConfig) and config.layers > 0
    return {
        "model": {
            "title": model.title, "characters": list(model.labels),
            "names": {str(at): name for at, one in enumerate(model.labels) if (name := label_of(one)) != one},
            "block": block_of(config),
            "layers": config.layers if isinstance(config, TokenConfig) else 0,
            "heads": config.heads if isinstance(config, TokenConfig) and has_attention else 0,
            "has_lens": has_lens(config), "has_cache": has_cache(config),
        },
        "prompt": list(asked.ids), "truth": None if truth is None else list(truth), "count": asked.count,
        "temperature": sampling.temperature, "top_k": sampling.top_k, "top_p": sampling.top_p,
        "cached": asked.cached, "digest": offer(asked),
        "values": {name: state.get(name) for name in VALUES},
    }  # fmt: skip


def take(sent: Mapping[str, object]) -> None:
    """Apply what the browser has sent. Anything may come."""
    before = state.get("seed")
    state.take(sent, VALUES)
    if state.get("seed") != before:
        st.session_state[_SEED] = True
