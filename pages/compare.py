"""Compare: two heads, layers, models or texts side by side, and their difference."""

import streamlit as st

from attnviz.tokens import NoTokensError
from attnviz.ui import shell, state
from attnviz.ui.compare import controls as compare_controls
from attnviz.ui.compare.panes import A, B, arrive, leave
from attnviz.ui.waiting import starting

SHARED = ("text", "pair", "source", "model", "kind", "layer", "head", "scale", "mask", "tokenizer", "charset",
          "positions", "qkv", "heads", "head_size", "seed", "quantity", "stretch", "q", "k")  # fmt: skip

shell.begin("compare")
shell.text()
arrive()
presets = st.container()
with st.sidebar:
    compare_controls.texts()
    compare_controls.shared()
left, right = compare_controls.choose(A), compare_controls.choose(B)
with presets:  # they mark what the choices below amount to
    compare_controls.presets()
with starting("compare"):
    from attnviz.ui.compare.view import show
try:
    show(left, right)
except NoTokensError as nothing:
    st.info(str(nothing))
state.end((*SHARED, *leave()))
