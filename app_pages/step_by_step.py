"""Step by step: one attention block, or one head of a real model, from the text to the output."""

import streamlit as st

from attnviz.serving.turns import turns
from attnviz.tokens import NoTokensError
from attnviz.ui import controls, shell, state
from attnviz.ui.model_box import ask_for_model, model_or_built_in
from attnviz.ui.patience import starting
from attnviz.ui.sources import pretrained_source, pretrained_tokens, toy_source, toy_tokens
from attnviz.ui.stepper import stepper
from attnviz.ui.token_step import show_tokens

TOY = ("text", "source", "step", "q", "k", "head", "tokenizer", "charset", "positions", "qkv", "heads", "head_size",
       "scale", "mask", "projection", "seed", "stretch", "drawing", "predict")  # fmt: skip
PRETRAINED = (
    "text",
    "pair",
    "source",
    "model",
    "kind",
    "layer",
    "head",
    "step",
    "q",
    "k",
    "stretch",
    "drawing",
    "predict",
)


@st.fragment
@turns().turn()
def walk(model_name: str | None) -> None:
    """Show the steps. A fragment: going to another step or head leaves the controls alone."""
    model = model_or_built_in(model_name) if model_name else None
    step = stepper(model.layer_counts[state.get("kind")][0] if model else 0)
    text = state.get("text")
    try:
        if step == "tokens":
            show_tokens(pretrained_tokens(model) if model else toy_tokens(text))
        else:
            with starting("step_by_step"):
                from attnviz.ui.step_view import show_step
            source = pretrained_source(model) if model else toy_source(toy_tokens(text))
            state.keep_within("head", "Head", range(source.layer.heads))
            shell.token_notes(source.query_tokens)
            show_step(source, state.get("head"), step)
    except NoTokensError as nothing:
        st.info(str(nothing))
    state.end(PRETRAINED if model else TOY)


shell.begin("step_by_step")
chosen = None
with st.sidebar:
    if controls.choose_source() == "pretrained":
        chosen = ask_for_model()
    else:
        controls.toy_controls()
shell.text()
walk(chosen)
