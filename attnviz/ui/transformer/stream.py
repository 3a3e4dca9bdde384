"""A token's vector on its way through the model: after every part of its stack, in a norm, and in the logit lens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import fine_percent, nonzero, number
from attnviz.ui import state
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.widgets import palette, plot

if TYPE_CHECKING:
    from attnviz.sources.shown import ShownPart
    from attnviz.tokens import Tokens
    from attnviz.trace.layer import Block


_STACK = "check_stack"
NOT_KNOWN = "What follows attention is not known of this model."
NO_HEAD = "This model has no language head that is known here: it gives numbers for each token, and names none."


def choose_stack(here: ShownPart) -> tuple[tuple[Block, ...], Tokens]:
    """Return the blocks and tokens of the stack that the walk shows; the user can switch both to the other stack."""
    trace = here.trace(RESOURCES)
    first = {place.stack: number for number, place in reversed(list(enumerate(here.places)))}
    kind = here.place.stack
    if len(first) > 1:
        st.session_state[_STACK] = kind
        st.segmented_control("Stack", sorted(first, key=first.__getitem__), required=True, key=_STACK,
                             on_change=_open_stack, args=(first,))  # fmt: skip
    return trace.blocks[kind], trace.query_tokens(kind)


def _open_stack(first: Mapping[str, int]) -> None:
    """Move the walk to the first attention of the chosen stack; unpin the cell, which belongs to the other stack."""
    number = first.get(st.session_state[_STACK])
    if number is not None:
        for name, value in (("block", number), ("q", None), ("k", None)):
            state.put(name, value)


def choose_token(tokens: Tokens, label: str = "Token") -> int:
    """Return the token that the user chooses, which is also the pinned row of the walk."""
    rows = list(range(len(tokens)))
    if state.get("q") is None:
        state.put("q", rows[-1])
    return int(state.choice("q", st.selectbox, label, rows, format_func=lambda row: f"{row}  {tokens.labels[row]}"))


def show_token(here: ShownPart) -> None:
    """Show the residual stream of one token."""
    from attnviz.figures.plots import heatmap, lines
    from attnviz.measures.residual_stream import residual_stream

    blocks, tokens = choose_stack(here)
    token = choose_token(tokens)
    stream = residual_stream(blocks, here.model.description.numbers[here.place.stack])
    if stream is None:
        st.info(NOT_KNOWN)
        return
    colours, labels = palette(), numbered(tokens.labels)
    norms, start = stream.norms[:, token], stream.similarity_to_start()[:, token]
    st.markdown(
        f"**“{plain(tokens.labels[token])}” through all parts.** Each part reads this row of numbers and adds to it; a "
        f"norm rescales it. Its length goes from {number(norms[0].item(), 3)} to {number(norms[-1].item(), 3)}. At the "
        f"end, its cosine to where it began is {number(start[-1].item(), 2)}. In the pictures 0, 1, ... "
        "are the blocks."
    )
    width, parts = stream.vectors.shape[-1], [part.removeprefix("block ") for part in stream.parts]  # fits a phone
    plot(
        heatmap(stream.vectors[:, token], parts, list(map(str, range(width))), colours, across="dimension"),
        "check_stream",
    )
    left, right = st.columns(2)
    with left:
        series = {"length of the vector": norms.tolist()}
        plot(lines(series, parts, colours, title="length", across=""), "check_norms")
    with right:
        series = {"cosine to where it began": start.tolist()}
        plot(lines(series, parts, colours, title="cosine", across=""), "check_start")
    st.caption("Its cosine to each token after the same part: tokens become more or less alike as they are mixed.")
    plot(heatmap(stream.similarity_to_others(token), parts, labels, colours, across="token"), "check_others")


def show_norm(here: ShownPart) -> None:
    """Show the norm after the first attention (post-norm) or before the feed-forward (pre-norm) of the first block."""
    from torch import Tensor
    from torch.nn.functional import layer_norm

    from attnviz.figures.plots import lines
    from attnviz.measures.changes import CHANGE, change_row, moments, norm_over_all, row_differences

    blocks, tokens = choose_stack(here)
    steps = blocks[0].steps()
    if steps is None:
        st.info(NOT_KNOWN)
        return
    colours, labels, x = palette(), numbered(tokens.labels), steps.attention_residual
    over_all = state.bound("over_all", st.toggle, "The mistake: one mean and one variance of all tokens together")
    with_norm = norm_over_all if over_all else lambda rows: layer_norm(rows, rows.shape[-1:])
    before, after = moments(x), moments(with_norm(x))
    st.markdown(
        "LayerNorm moves and rescales the row of each token by itself: mean 0, variance 1. Then each dimension is "
        "multiplied by γ, and β is added. A model learns both; they are left out here. The rows are those of block 0, "
        "after attention was added."
    )
    left, right = st.columns(2)
    for place, what in ((left, "mean"), (right, "variance")):
        series: dict[str, Tensor] = {f"{what} before": getattr(before, what), f"{what} after": getattr(after, what)}
        with place:
            listed = {name: values.tolist() for name, values in series.items()}
            plot(lines(listed, labels, colours, title=what, across="token"), f"check_{what}")
    token = choose_token(tokens, "Change this token")
    moved = row_differences(with_norm(x), with_norm(change_row(x, token)))
    before_it = (
        f"Rows before it change by at most **{nonzero(moved[:token].max().item(), 3)}**."
        if token
        else "No row stands before it."
    )
    st.markdown(
        f"Add {number(CHANGE, 2)} to every second number of **“{plain(tokens.labels[token])}”**: which rows change? "
        + before_it
        + (
            " The future leaks into the past, and no causal mask can prevent it."
            if over_all
            else " Nothing leaks: each token is normalised alone."
        )
    )
    plot(
        lines({"largest change": moved.tolist()}, labels, colours, title="change after the norm", across="token"),
        "check_leak",
    )


def show_lens(here: ShownPart) -> None:
    """Show the likeliest tokens after each block, and the probability of the token that is likeliest at the end."""
    from attnviz.figures.plots import lines
    from attnviz.measures.residual_stream import logit_lens

    trace = here.trace(RESOURCES)
    if trace.vocabulary is None:
        st.info(here.model.description.unavailable.get("logits", NO_HEAD))
        return
    _, tokens = choose_stack(here)
    if here.place.stack != trace.places[-1].stack:
        st.info("The language head reads the decoder: choose it above.")
        return
    row = choose_token(tokens)
    lens = logit_lens(trace, row)
    if lens is None:
        st.info("The norm after this model's last block is not a LayerNorm, so its lens is not known here.")
        return
    label = trace.vocabulary.label
    likeliest = label(int(lens.tokens[-1, 0]))
    st.markdown(
        f"**“{plain(tokens.labels[row])}” through the logit lens.** After each block, the final norm and the language "
        "head are applied to its row, as if the blocks that follow were left out. After the last block, "
        f"“{plain(likeliest)}” is the likeliest token."
    )
    shown = [
        [
            f"{plain(label(int(token)))} {fine_percent(float(share))}"
            for token, share in zip(*tokens_and_shares, strict=True)
        ]
        for tokens_and_shares in zip(lens.tokens, lens.probabilities, strict=True)
    ]
    ranks = [str(number + 1) for number in range(lens.tokens.shape[1])]
    import pandas as pd

    st.table(pd.DataFrame(shown, index=list(lens.parts), columns=ranks))
    st.markdown(f"The probability of “{plain(likeliest)}”:")
    series = {"probability": lens.of_last.tolist()}
    plot(lines(series, lens.parts, palette(), title="probability", across=""), "check_lens")
    st.caption(
        "Raw: the head was trained for the last state alone, and earlier ones may lie in another basis (nostalgebraist "
        "2020, “interpreting GPT: the logit lens”). "
        + ("" if trace.has_learned else "These weights have learned nothing, so it means nothing yet.")
    )
