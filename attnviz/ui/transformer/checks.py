"""Checks of the page Transformer: a token's vector on its way, and what changes the outputs and what does not.

A vector is shown after every part of its stack, in a norm, and in the logit lens. What may change outputs are another
word, padding, dropout, and mistakes; positions and order are in `attnviz.ui.transformer.positions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero, number, percent
from attnviz.links.link import KEYS, MAX_DRAW, MAX_OTHER, MAX_PADS
from attnviz.links.train import MAX_DROPOUT
from attnviz.measures.mistakes import TEXTS
from attnviz.tokens import NO_ID
from attnviz.ui import caches, state
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.lessons import state as lesson_state
from attnviz.ui.messages import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.widgets import palette, plot

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.attention import Mask
    from attnviz.measures.changes import Stack
    from attnviz.sources.shown import ShownPart
    from attnviz.tokens import Tokens
    from attnviz.toy.stacks import Encoder, Seq2Seq
    from attnviz.trace.layer import Block
    from attnviz.trace.trace import Trace

_STACK = "check_stack"
NO_LENS = "The norm after this model's last block is not a LayerNorm, so its lens is not known here."
NO_HEAD = "This model has no language head that is known here: it gives numbers for each token, and names none."
LENS_ROWS = 48
"""The most rows of the table of all rows through the lens"""
CAUSAL = "The causal mask hides the change from them."
NOT_CAUSAL = "Every token looks at all others, so rows before the change depend on it too."
LOCAL = (
    "A token looks at both sides within its window, and block after block that reaches further: rows before the change "
    "depend on it too."
)
ALONE = "In this window no token sees another one of its own text, so the change reaches no other row."
NO_PADDING = "The check is for the toy and for the built-in model, whose embeddings of padding are known here."
DROPOUT_STEP = 0.05
"""The step of p in its slider"""


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
        st.info(plain(here.model.description.why_not_after))
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
    """Show the norm after attention (post-norm) or before the feed-forward (pre-norm) of the first known block."""
    from torch.nn.functional import layer_norm

    from attnviz.figures.plots import lines
    from attnviz.measures.changes import CHANGE, change_row, moments, norm_over_all, row_differences

    blocks, tokens = choose_stack(here)
    numbers, all_steps = here.model.description.numbers[here.place.stack], (block.steps() for block in blocks)
    pairs = zip(numbers, all_steps, strict=True)
    known = next(((block, steps) for block, steps in pairs if steps is not None), None)
    if known is None:
        st.info(plain(here.model.description.why_not_after))
        return
    first, steps = known
    colours, labels, x = palette(), numbered(tokens.labels), steps.attention_residual
    over_all = state.bound("over_all", st.toggle, "The mistake: one mean and one variance of all tokens together")
    with_norm = norm_over_all if over_all else lambda rows: layer_norm(rows, rows.shape[-1:])
    before, after = moments(x), moments(with_norm(x))
    st.markdown(
        "LayerNorm moves and rescales the row of each token by itself: mean 0, variance 1. Then each dimension is "
        "multiplied by γ, and β is added. A model learns both; they are left out here. The rows are those of block "
        f"{first}, after attention was added."
    )
    left, right = st.columns(2)
    for place, what in ((left, "mean"), (right, "variance")):
        of_rows = {"before": getattr(before, what), "after": getattr(after, what)}
        with place:
            listed = {f"{what} {when}": values.tolist() for when, values in of_rows.items()}
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
    from attnviz.measures.residual_stream import states

    trace = here.trace(RESOURCES)
    if trace.vocabulary is None:
        st.info(here.model.description.unavailable.get("logits", NO_HEAD))
        return
    blocks, tokens = choose_stack(here)
    if here.place.stack != trace.places[-1].stack:
        st.info("The language head reads the decoder: choose it above.")
        return
    row = choose_token(tokens)
    lens = caches.lens(trace, row)
    if lens is None:
        st.info(NO_LENS if states(blocks) is not None else plain(here.model.description.why_not_after))
        return
    label = trace.vocabulary.label
    likeliest = label(int(lens.tokens[-1, 0]))
    st.markdown(_lens_words(tokens.labels[row], likeliest, has_norm=here.place.stack in trace.final_norms))
    shown = [
        [
            f"{plain(label(int(token)))} {percent(float(share), 1)}"
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
    _show_lens_rows(trace, tokens, row, lens.parts)
    if here.model.description.head_note:
        st.caption(plain(here.model.description.head_note))
    st.caption(
        "Raw: the head was trained for the last state alone, and earlier ones may lie in another basis (nostalgebraist "
        "2020, “interpreting GPT: the logit lens”). "
        + ("" if trace.has_learned else "These weights have learned nothing, so it means nothing yet.")
    )


def _lens_words(token: str, likeliest: str, *, has_norm: bool) -> str:
    applied = "the final norm and the language head are" if has_norm else "the language head is"
    return (
        f"**“{plain(token)}” through the logit lens.** After each block, {applied} applied to its row, as if the "
        f"blocks that follow were left out. After the last block, “{plain(likeliest)}” is the likeliest token."
    )


def _show_lens_rows(trace: Trace, tokens: Tokens, row: int, parts: Sequence[str]) -> None:
    """Show the likeliest token of each row after each block, or of the `LENS_ROWS` rows around the chosen one."""
    from attnviz.figures.plots import heatmap

    first = max(0, min(row - LENS_ROWS // 2, len(tokens) - LENS_ROWS))
    rows = range(len(tokens))[first : first + LENS_ROWS]
    by_position = caches.lens_by_position(trace, rows)
    if trace.vocabulary is None or by_position is None:
        return
    around = "" if len(rows) == len(tokens) else f" The {LENS_ROWS} rows around the chosen one are shown."
    st.markdown(f"**All rows through the lens:** the likeliest token of each, coloured by its probability.{around}")
    names = [[trace.vocabulary.label(token) for token in of_row] for of_row in by_position.tokens.tolist()]
    labels = numbered(tokens.labels)[first : first + LENS_ROWS]
    plot(
        heatmap(by_position.probabilities, labels, parts, palette(), across="", signed=False, limit=1.0, texts=names),
        "check_lens_rows",
    )


def encoder_of(stack: Encoder | Seq2Seq) -> Encoder:
    """Return the encoder of a model with both stacks, or the only stack."""
    from attnviz.toy.stacks import Encoder

    return stack if isinstance(stack, Encoder) else stack.encoder


def show_change(here: ShownPart) -> None:
    """Show how far each token's row moves after each block when one word is replaced."""
    import torch

    from attnviz.figures.plots import heatmap
    from attnviz.measures.changes import row_differences
    from attnviz.measures.residual_stream import states
    from attnviz.tokens import NoTokensError

    trace = here.trace(RESOURCES)
    blocks, tokens = choose_stack(here)
    left, right = st.columns(2)
    with left:
        token = choose_token(tokens, "Change this token")
    with right:
        other = state.bound("other", st.text_input, "into", max_chars=MAX_OTHER).strip() or KEYS["other"].default
    start, end = tokens.offsets[token]
    if tokens.special[token] or end <= start:
        st.info("The tokenizer added this token; choose a word of the text.")
        return
    is_target = tokens is not trace.tokens
    text = f"{tokens.text[:start]}{other}{tokens.text[end:]}"
    try:
        changed = RESOURCES.trace(here.model, here.text if is_target else text, text if is_target else here.pair)
    except NoTokensError:
        st.info("Nothing is left of the text.")
        return
    kind = here.place.stack
    if len(changed.query_tokens(kind)) != len(tokens):
        st.info(f"“{plain(other)}” is not one token here, so the rows can't be compared one by one.")
        return
    if changed.query_tokens(kind).ids == tokens.ids:
        st.info("This is the same token for the model, so nothing changes.")
        return
    before, after = states(blocks), states(changed.blocks[kind])
    if before is None or after is None:
        st.info(plain(here.model.description.why_not_after))
        return
    moved = torch.stack([row_differences(*pair) for pair in zip(before, after, strict=True)])  # (L + 1, T)
    sentences = [f"**“{plain(tokens.labels[token])}” becomes “{plain(other)}”.**"]
    if token:
        past = nonzero(moved[1:, :token].max().item(), 3)
        sentences.append(f"In the rows before it, numbers change by at most **{past}**.")
        sentences.append(reason_for_past(here, trace.layers[kind][0].mask, len(tokens)))
    sentences.append("In the picture, each cell is the largest change of any number in that token's row.")
    st.markdown(" ".join(sentences))
    rows = ["X", *(f"after block {number}" for number in trace.numbers_of(kind))]
    plot(heatmap(moved, rows, numbered(tokens.labels), palette(), across="token", signed=False), "check_change")


def reason_for_past(here: ShownPart, mask: Mask, n: int) -> str:
    """Say why the rows before a changed token of n move, or don't."""
    windows = here.model.description.windows.get(here.place.stack, ())
    if windows and all(window == 1 for window in windows):
        return ALONE
    if mask.hides_later:
        return CAUSAL
    is_local = bool(windows) and all(window is not None and window < n for window in windows)  # else one shows all
    return LOCAL if is_local else NOT_CAUSAL


def show_padding(here: ShownPart) -> None:
    """Show how much padding changes the outputs of the stack that reads the text."""
    from attnviz.figures.plots import lines
    from attnviz.measures.changes import padding_moves

    count = state.bound("pads", st.slider, "Padding tokens after the text", 1, MAX_PADS)
    tokens = here.model.read(here.text, here.pair)[0]
    inputs = _pretrained(here, count) if here.source.has_names else _toy(here, count)
    if inputs is None:
        st.info(NO_PADDING)
        return
    stack, x, pads = inputs
    moved = padding_moves(stack, x, pads)
    masked, free = float(moved.with_mask.max()), float(moved.without.max())
    same = "nothing but rounding" if masked else "nothing at all"
    causal = getattr(stack, "causal", False)
    windows = here.model.description.windows.get("encoder", ())
    # Else every token sees the first of them.
    reached = " whose window reaches them" if here.model.description.has_narrow_window("encoder", len(x) + 1) else ""
    st.markdown(
        "Texts in a batch must have the same length, so short ones are filled up with tokens that mean nothing. With "
        f"the padding mask, {count} of them move the outputs by at most **{nonzero(masked, 3)}**: {same}. Without it, "
        f"by up to **{nonzero(free, 3)}**"
        + (
            ": the causal mask hides them too, as they come after the text."
            if causal
            else ": no window reaches them, as each token sees itself alone."
            if windows and all(window == 1 for window in windows)
            else f": every token{reached} has spread some of its attention over them."
        )
    )
    series = {"with the padding mask": moved.with_mask.tolist(), "without": moved.without.tolist()}
    labels = numbered(tokens.labels[: len(x)])
    plot(lines(series, labels, palette(), title="largest change", across="token"), "check_padding")


def _toy(here: ShownPart, count: int) -> tuple[Stack, Tensor, Tensor]:
    """Return the toy's stack that reads the text, and the input vectors of the text and of the padding."""
    from attnviz.toy.config import MAX_TEXT_TOKENS, TransformerConfig
    from attnviz.toy.transformer import Transformer, shared_stack
    from attnviz.toy.weights import sum_of

    config = TransformerConfig.of(state.get)
    ids = here.model.read(here.text, here.pair)[0].ids[: MAX_TEXT_TOKENS - count]
    known = list(dict.fromkeys((*ids, NO_ID)))
    stack = shared_stack(config)
    model = Transformer(config, known, stack)
    x = sum_of(model.embed([known.index(id_) for id_ in (*ids, *[NO_ID] * count)])).detach()
    return encoder_of(stack), x[: len(ids)], x[len(ids) :]


def _pretrained(here: ShownPart, count: int) -> tuple[Stack, Tensor, Tensor] | None:
    """Return the same for the built-in model; None for other models."""
    import torch

    from attnviz.pretrained.built_in import BuiltInModel
    from attnviz.tokens import MAX_POSITIONS

    model = RESOURCES.load(here.model.name)
    if not isinstance(model, BuiltInModel):
        return None
    tokens = model.read(here.text, here.pair)[0]
    size = min(len(tokens), MAX_POSITIONS - count)
    ids, segments = [*tokens.ids[:size], *[0] * count], [*tokens.segments[:size], *[0] * count]  # 0 is [PAD]
    with torch.inference_mode():
        x = model.bert.embeddings(torch.tensor(ids), torch.tensor(segments))
    return model.bert.encoder, x[:size], x[size:]


def show_dropout(here: ShownPart) -> None:
    """Show the effect of dropout on the output of the current attention."""
    from attnviz.figures.plots import heatmap, lines
    from attnviz.measures.changes import COUNTS, dropout, mean_differences

    trace = here.trace(RESOURCES)
    layer, tokens = trace.layer(here.place.layer, here.place.kind), trace.query_tokens(here.place.kind)
    x = layer.output()
    if x is None:
        st.info(layer.unavailable.get("output_projection", "The attention's output is not known of this model."))
        return
    left, right = st.columns(2)
    with left:
        rate = state.bound("dropout", st.slider, "Dropout p", 0.0, MAX_DROPOUT, step=DROPOUT_STEP)
    with right:
        draw = state.bound("draw", st.number_input, "Seed of the draw", 0, MAX_DRAW)
    dropped = dropout(x, rate, draw)
    zeros, factor = int((~dropped.kept).sum()), 1 / (1 - rate)
    st.markdown(
        f"**In training**, before the output of {here.place.name} is added to the stream, each of its {x.numel():,} "
        f"numbers becomes 0 with the probability p = {rate:g}: here {zeros:,} of them, "
        f"{percent(zeros / x.numel(), 1)}. All others are multiplied by 1 / (1 − p) = {number(factor, 3)}. "
        "**In use** there is no dropout at all: torch's `model.eval()` switches it off, and all else on this page "
        "is in use."
    )
    colours, labels = palette(), numbered(tokens.labels)
    dimensions, limit = list(map(str, range(x.shape[-1]))), float(dropped.result.abs().max().maximum(x.abs().max()))
    left, right = st.columns(2)
    for place, title, values, key in ((left, "In use", x, "use"), (right, "In training", dropped.result, "training")):
        with place:
            st.caption(title)
            plot(heatmap(values, labels, dimensions, colours, across="dimension", limit=limit), f"check_{key}")
    away = mean_differences(x, rate, draw)
    st.markdown(
        "**Why 1 / (1 − p)?** The expected value of each number is then p · 0 + (1 − p) · x / (1 − p) = x, so that "
        "what follows is given numbers of the same size in training and in use. The mean of many draws shows it: of "
        f"{COUNTS[-1]} it is {nonzero(away[-1], 3)} away from x on average, of one {nonzero(away[0], 3)}."
    )
    series = {"distance": away}
    plot(lines(series, list(map(str, COUNTS)), colours, title="distance from x", across="draws"), "check_draws")
    st.caption("Srivastava et al. 2014. The original transformer has p = 0.1 (Vaswani et al. 2017, section 5.4).")


DRAWN_FROM = ("mistake", "source", "seed")
"""The link keys on which a mistake depends, besides text and model"""


def show_mistake(here: ShownPart) -> None:
    """Show the chosen mistake, and beside it the right version, unless that is still to be guessed."""
    from attnviz.export.drawing.fonts import FontError
    from attnviz.export.drawing.marks import THEMES
    from attnviz.export.web.mistake import html
    from attnviz.measures.mistakes.computed import NotKnownError

    in_lesson = lesson_bar.is_open() and state.get("lecture")  # the bar says what there is to say
    if not in_lesson and not lesson_state.asks():  # its title gives the answer away
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        with left:
            state.choice("mistake", st.selectbox, "Mistake", TEXTS, format_func=lambda name: TEXTS[name].title)
        with right:
            state.bound("answer", st.toggle, "Right beside it", help="Off, a class can guess what is wrong.")
    colours = "dark" if st.context.theme.type == "dark" else "light"
    view = state.every()
    trace, answer = here.trace(RESOURCES), state.get("answer")
    settings = (*(view[name] for name in DRAWN_FROM), colours, answer, in_lesson)
    try:
        draw = partial(html, view, trace, THEMES[colours], answer=answer, brief=in_lesson)
        st.html(caches.mistake(trace, settings, draw))
    except (NotKnownError, FontError) as error:
        st.info(plain(str(error)))
