"""The sidebar controls of the page Transformer: the toy's architecture and settings."""

from __future__ import annotations

import streamlit as st

from attnviz.settings import settings
from attnviz.sources import Source
from attnviz.toy.config import (
    EXAMPLE_TARGET,
    MAX_FEED_FORWARD,
    MAX_HEADS,
    MAX_LAYERS,
    MAX_WIDTH,
    MIN_WIDTH,
    default_hidden_width,
    fitting_heads,
)
from attnviz.ui import controls, state
from attnviz.ui.plain import plain
from attnviz.ui.sources import DESCRIBED

PURPOSES = {
    "encoder": "An encoder alone reads: every token looks at all others, for classification and search (BERT).",
    "decoder": "A decoder alone writes: each token looks back only, to predict the next one (GPT).",
    "both": "Both translate: an encoder reads one text, a decoder writes another and looks at the first (the paper).",
}
"""What each architecture is for"""
NORMS_HELP = (
    """*post*: after each sum, as in the paper and BERT. *pre*: before attention and feed-forward, as in GPT-2."""
)
POSITIONS = {"sinusoidal": "sin, cos", "lab": "sin, cos of a lab", "random": "learned (random)", "none": "none"}
POSITIONS_HELP = """*sin, cos*: the paper's; two dimensions share a frequency. *Of a lab*: each dimension has its own.
*Learned*: a table, here as it is before training."""
STEP = 8
"""Of the width in its slider"""
HIDDEN_HELP = "Numbers of a token between the two maps of a feed-forward. It is 4 · C until you choose another."
_DECODER, _HIDDEN = "decoder_blocks", "hidden_width"


def toy_controls() -> None:
    """Show the settings of the toy transformer."""
    chosen = state.choice("architecture", st.segmented_control, "Architecture", required=True, width="stretch")
    st.caption(PURPOSES[chosen])
    has_both = chosen == "both"
    if has_both:
        state.bound(
            "pair", st.text_input, "What the decoder reads",
            max_chars=settings().largest_text, placeholder=EXAMPLE_TARGET,
            help="What it has written so far. Empty stands for the example.",
        )  # fmt: skip
    left, right = st.columns(2)
    with left:
        state.bound("depth", st.slider, "Encoder blocks" if has_both else "Blocks L", 1, MAX_LAYERS)
        if has_both:
            _decoder_blocks()
        _heads()
    with right:
        state.bound("width", st.slider, "Width C", MIN_WIDTH, MAX_WIDTH, step=STEP)
        _hidden_width()
    left, right = st.columns(2)
    with left:
        state.choice("norm", st.selectbox, "Norm", help=NORMS_HELP)
    with right:
        state.choice("activation", st.selectbox, "Activation")
    controls.token_controls(POSITIONS)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        controls.seed()
    with right:
        state.bound("bias", st.toggle, "Biases")


def model_controls(source: Source, name: str | None) -> None:
    """Show the settings of a model with a name, and what is not shown of it; `name` is the model's."""
    described = None if name is None else DESCRIBED.load(name).description
    has_both = described is not None and "cross" in described.layers
    if source.takes_pairs or has_both:
        label = "Second text (optional)" if source.takes_pairs else "What the decoder reads"
        state.bound("pair", st.text_input, label, max_chars=settings().largest_text)
    if described is not None:
        reasons = described.unavailable
        for what in ("attention_residual", "logits"):
            if what in reasons:
                st.caption(plain(reasons[what]))


def _decoder_blocks() -> None:
    """Show the number of the decoder's blocks, which follows the encoder's until another one is chosen."""
    state.sync_widget("depth")
    usual = state.get("depth")
    _put_own("decoder_depth", _DECODER, usual)
    st.slider(
        "Decoder blocks", 1, MAX_LAYERS, key=_DECODER, on_change=_take_own, args=("decoder_depth", _DECODER, usual)
    )


def _hidden_width() -> None:
    """Show the hidden width F, which follows the width C until another one is chosen."""
    usual = default_hidden_width(state.get("width"))
    _put_own("feed_forward", _HIDDEN, usual)
    st.number_input(
        "Hidden F", 1, MAX_FEED_FORWARD, key=_HIDDEN, help=HIDDEN_HELP,
        on_change=_take_own, args=("feed_forward", _HIDDEN, usual),
    )  # fmt: skip


def _put_own(name: str, key: str, usual: int) -> None:
    """Give the widget with this key the view's number, or the usual one if the view has none of its own."""
    given = state.get(name)
    st.session_state[key] = usual if given is None else given


def _take_own(name: str, key: str, usual: int) -> None:
    """Apply a widget's number as far as a link could hold it: clients may send any. The usual one is not kept."""
    chosen = st.session_state[key]
    state.apply_from_browser({name: None if chosen == usual else chosen}, [name])


def _heads() -> None:
    """Show the numbers of heads into which the width can be divided; another one is replaced, with a note."""
    state.sync_widget("width")
    heads, width = state.get("heads"), state.get("width")
    fitting = fitting_heads(heads, width)
    if fitting != heads:
        state.note(f"A width of {width} can't be divided into {heads} heads, so there are {fitting}.")
        state.put("heads", fitting)
    options = [count for count in range(1, MAX_HEADS + 1) if width % count == 0]
    state.bound("heads", st.select_slider, "Heads H", options, among=options)
