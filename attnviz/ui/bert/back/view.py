"""The main part of There and back: both ends, the text that goes in and the one that comes out, and a closer look."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st

from attnviz.export.code.bert import BackSettings, back_lines
from attnviz.tokens import NoTokensError
from attnviz.ui import shell, state
from attnviz.ui.bert.back import bias, each, near, one, targets
from attnviz.ui.bert.back.chosen import Chosen, chosen_of
from attnviz.ui.bert.back.look import show as show_html
from attnviz.ui.bert.look import in_torch
from attnviz.ui.bert.models import chosen

WEIGHTS = {"tied": "The model's own", "random": "Random"}
SCALES = {"1": "1", "10": "10", "100": "100"}
VIEWS = {
    "each": "Each token", "one": "One token, written out", "near": "Nearest neighbours",
    "bias": "Output layer's bias", "targets": "What the targets decide",
}  # fmt: skip
SHOWS: dict[str, Callable[[Chosen], None]] = {
    "each": each.show, "one": one.show, "near": near.show, "bias": bias.show, "targets": targets.show
}  # fmt: skip
WEIGHTS_HELP = """*The model's own*: the table of token embeddings, and the same numbers as the output layer's weight.
The two are tied.

*Random*: both are drawn from the seed, each by itself."""
UNIT_HELP = "Each row is divided by its length, so that logits are cosines."
SCALE_HELP = "Softmax of the logits times this number: the larger it is, the nearer to the maximum."
AUTOENCODER = (
    "Like an autoencoder, it turns a text into vectors and vectors into a text. Unlike one, these two ends alone were "
    "never trained to copy, and no bottleneck learned a short code: each token has its own {width:,} numbers."
)
NO_TEXT = "Type a sentence on the left (on a phone, behind the » at the top) to see what comes back of it."


def show() -> None:
    """Show the part."""
    model = chosen()
    found = chosen_of(model)
    if found is None:
        st.info(str(NoTokensError()) if state.get("text").strip() else NO_TEXT)
        return
    shell.token_notes(found.tokens)
    _settings()
    found = chosen_of(model) or found  # with what these widgets have just been set to
    show_html(_there_and_back(found))
    state.choice(
        "back_view", st.segmented_control, "A closer look", list(VIEWS), format_func=VIEWS.get, required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    SHOWS[state.get("back_view")](found)
    in_torch(back_lines(BackSettings(found.is_random, found.is_unit, found.seed, found.scale)))


def _settings() -> None:
    """Show the choice of both ends."""
    with st.container(horizontal=True, key="back_settings", vertical_alignment="bottom"):
        state.choice(
            "back_weights", st.segmented_control, "Embedding table and output layer", list(WEIGHTS),
            format_func=WEIGHTS.get, required=True, help=WEIGHTS_HELP,
        )  # fmt: skip
        state.choice(
            "back_scale", st.segmented_control, "Logits times", list(SCALES), format_func=SCALES.get, required=True,
            help=SCALE_HELP,
        )  # fmt: skip
        if state.get("back_weights") == "random":
            state.bound("seed", st.number_input, "Seed", 0, 999_999, width=130)
        else:
            state.bound("back_unit", st.toggle, "Rows of length 1", help=UNIT_HELP)


def _there_and_back(found: Chosen) -> str:
    """Return the way there and back with its shapes, and both texts."""
    back, tokens = found.back(), found.tokens
    count, (vocabulary, width) = len(tokens), found.table.weight.shape
    returned = int(back.returns.sum())
    scale = "" if found.scale == 1 else f"× {found.scale:g}, "
    steps = (
        ("text", ""), (f"{count:,} ids", ""), (f"embeddings ({count:,}, {width:,})", "table"),
        (f"logits ({count:,}, {vocabulary:,})", "output layer"), ("probabilities", f"{scale}softmax"),
        (f"{count:,} ids", "maximum"), ("text", ""),
    )  # fmt: skip
    flow = "".join(f'<li data-by="{by}"><b>{name}</b></li>' for name, by in steps)
    kind = "yes" if returned == count else "no"
    about = AUTOENCODER.format(width=width)
    return (
        f'<p class="about">{about}</p><ol class="flow">{flow}</ol>'
        f'<div class="texts"><span>typed</span><p dir="auto">{escape(tokens.text)}</p>'
        f'<span>came back</span><p dir="auto" class="out">{escape(found.table.decode(back.likeliest))}</p>'
        f'<div><b class="{kind}">{returned:,} of {count:,} ids come back</b>{_why(found, returned)}</div></div>'
    )


def _why(found: Chosen, returned: int) -> str:
    """Return what differs between the texts although all ids have come back."""
    if returned < len(found.tokens) or found.table.decode(found.tokens.ids) == found.tokens.text:
        return ""
    return "<small>What else differs, such as capitals, the tokenizer changes.</small>"
