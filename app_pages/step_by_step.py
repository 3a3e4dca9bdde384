"""Step by step: one attention block, or one head of a real model, from the text to the output."""

import streamlit as st

from attnviz.ui import controls, shell, state
from attnviz.ui.model_box import model_or_built_in
from attnviz.ui.sources import pretrained_source, toy_source, toy_tokens
from attnviz.ui.stepper import stepper
from attnviz.ui.token_step import show_tokens

TOY = ("text", "source", "step", "q", "k", "head", "tokenizer", "charset", "positions", "qkv", "heads", "head_size",
       "scale", "mask", "projection", "seed", "stretch")  # fmt: skip
PRETRAINED = ("text", "pair", "source", "model", "kind", "layer", "head", "step", "q", "k", "stretch")

shell.begin("step_by_step")
with st.sidebar:
    pretrained = controls.choose_source() == "pretrained"
    if not pretrained:
        controls.toy_controls()
text = shell.text()
step = stepper()

if pretrained:
    with st.sidebar:
        model = model_or_built_in(controls.choose_model())
        controls.pretrained_controls(model)
    tokens = model.tokenize(text, state.get("pair").strip() or None)
else:
    tokens = toy_tokens(text)

if step == "tokens":
    show_tokens(tokens)
else:
    with st.spinner("Starting torch …"):
        from attnviz.ui.step_view import show_step
    source = pretrained_source(model) if pretrained else toy_source(tokens)
    state.keep_within("head", "Head", range(source.layer.heads))
    shell.token_notes(tokens)
    show_step(source, state.get("head"), step)

state.end(PRETRAINED if pretrained else TOY)
