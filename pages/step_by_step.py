"""Step by step: one attention block, or one head of a real model, from the text to the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.serving.work.lock import page_lock
from attnviz.tokens import NoTokensError
from attnviz.ui import controls, shell, state
from attnviz.ui.model_box import ask_for_model, model_or_built_in
from attnviz.ui.sources import pretrained_source, pretrained_tokens, toy_source, toy_tokens
from attnviz.ui.step_by_step.stepper import stepper
from attnviz.ui.step_by_step.tokens import show_tokens
from attnviz.ui.waiting import starting

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel

TOY = ("text", "source", "step", "q", "k", "head", "tokenizer", "charset", "positions", "qkv", "heads", "head_size",
       "scale", "mask", "projection", "seed", "stretch", "drawing", "predict")  # fmt: skip
PRETRAINED = ("text", "pair", "source", "model", "kind", "layer", "head", "step", "q", "k", "stretch", "drawing",
              "predict")  # fmt: skip


@st.fragment
@page_lock().held()
def walk(model_name: str | None) -> None:
    """Show the steps. A fragment: going to another step or head leaves the controls alone."""
    model = model_or_built_in(model_name) if model_name else None
    layers = model.layer_counts[state.get("kind")][0] if model else 0
    if layers:
        state.keep_within("layer", "Layer", range(layers))
    try:
        if state.get("step") == "tokens":
            tokens = pretrained_tokens(model) if model else toy_tokens(state.get("text"))
            stepper(layers)
            show_tokens(tokens)
        else:
            show_attention(model, layers)
    except NoTokensError as nothing:
        st.info(str(nothing))
    state.end(PRETRAINED if model else TOY)


def show_attention(model: PretrainedModel | None, layers: int) -> None:
    """Show one head at the step of the view; the stepper is there even where the text gives no token."""
    with starting("step_by_step"):
        from attnviz.ui.step_by_step.view import show_step
    try:
        source = pretrained_source(model) if model else toy_source(toy_tokens(state.get("text")))
    except NoTokensError:
        stepper(layers)
        raise
    state.keep_within("head", "Head", range(source.layer.heads))
    stepper(layers, source.layer)
    shell.token_notes(source.query_tokens)
    show_step(source, state.get("head"), state.get("step"))


shell.begin("step_by_step")
chosen = None
with st.sidebar:
    if controls.choose_source() == "pretrained":
        chosen = ask_for_model()
    else:
        controls.toy_controls()
shell.text()
walk(chosen)
