"""Padding: with the padding mask the tokens that fill a text up move nothing, without it they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero
from attnviz.links.link import MAX_PADS
from attnviz.tokens import NO_ID
from attnviz.ui import state
from attnviz.ui.palette import palette
from attnviz.ui.transformer.checks.stack import numbered
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.measures.changes import Stack
    from attnviz.sources.transformer import ShownPart

NOT_KNOWN = "The check is for the toy and for the built-in model, whose embeddings of padding are known here."


def show(here: ShownPart) -> None:
    """Show how far padding moves the outputs of the stack that reads the text."""
    from attnviz.figures.plots import lines
    from attnviz.measures.changes import padding_moves

    count = state.bound("pads", st.slider, "Padding tokens after the text", 1, MAX_PADS)
    tokens = here.model.read(here.text, here.pair)[0]
    found = _pretrained(here, count) if here.source.has_names else _toy(here, count)
    if found is None:
        st.info(NOT_KNOWN)
        return
    stack, x, pads = found
    moved = padding_moves(stack, x, pads)
    masked, free = float(moved.with_mask.max()), float(moved.without.max())
    same = "nothing but rounding" if masked else "nothing at all"
    causal = getattr(stack, "causal", False)
    st.markdown(
        "Texts in a batch must have the same length, so short ones are filled up with tokens that mean nothing. With "
        f"the padding mask, {count} of them move the outputs by at most **{nonzero(masked, 3)}**: {same}. Without it, "
        f"by up to **{nonzero(free, 3)}**"
        + (
            ": the causal mask hides them too, as they come after the text."
            if causal
            else ": every token has spread some of its attention over them."
        )
    )
    series = {"with the padding mask": moved.with_mask.tolist(), "without": moved.without.tolist()}
    labels = numbered(tokens.labels[: len(x)])
    plot(lines(series, labels, palette(), title="largest change", across="token"), "check_padding")


def _toy(here: ShownPart, count: int) -> tuple[Stack, Tensor, Tensor]:
    """Return the toy's stack that reads the text, and the inputs of the text and of the padding."""
    from attnviz.toy.embeddings import sum_of
    from attnviz.toy.stacks import Encoder
    from attnviz.toy.transformer.config import MAX_TOKENS, TransformerConfig
    from attnviz.toy.transformer.model import Transformer, shared_stack

    config = TransformerConfig.of(state.get)
    ids = here.model.read(here.text, here.pair)[0].ids[: MAX_TOKENS - count]
    known = list(dict.fromkeys((*ids, NO_ID)))
    both = shared_stack(config)
    model = Transformer(config, known, both)
    x = sum_of(model.embed([known.index(one) for one in (*ids, *[NO_ID] * count)])).detach()
    return both if isinstance(both, Encoder) else both.encoder, x[: len(ids)], x[len(ids) :]


def _pretrained(here: ShownPart, count: int) -> tuple[Stack, Tensor, Tensor] | None:
    """Return the same of the built-in model; None of another."""
    import torch

    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.tokens import MAX_POSITIONS
    from attnviz.ui.sources import RESOURCES

    model = RESOURCES.load(here.model.name)
    if not isinstance(model, BuiltInModel):
        return None
    tokens = model.read(here.text, here.pair)[0]
    size = min(len(tokens), MAX_POSITIONS - count)
    ids, segments = [*tokens.ids[:size], *[0] * count], [*tokens.segments[:size], *[0] * count]  # 0 is [PAD]
    with torch.inference_mode():
        x = model.bert.embeddings(torch.tensor(ids), torch.tensor(segments))
    return model.bert.encoder, x[:size], x[size:]
