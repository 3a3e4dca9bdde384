"""A first language model: blocks of parameter-free attention and a linear layer, before any training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape as escape_html
from typing import TYPE_CHECKING

import streamlit as st
import torch
from torch import Tensor

from attnviz.attention import causal_mask
from attnviz.bert.blocks import KEPT, Guesses, Setup, Stack, draw_layers, embed, guess, moved, run
from attnviz.bert.table import table_of
from attnviz.components.matrix import ShownMatrix, matrices
from attnviz.export.code.bert.embeddings import language_script
from attnviz.formatting import nonzero, number, percent, power_of_ten
from attnviz.links.bert import MAX_BLOCKS
from attnviz.links.link import KEYS, MAX_OTHER
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.reprs import ArraysSize
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.bert.bars import side_by_side
from attnviz.ui.bert.parts import (
    LIMITED,
    POINT,
    Part,
    choose_row,
    chosen_row,
    colour_end,
    in_torch,
    is_limited,
    last_of_text,
    of_text,
    read_text,
    row_by_click,
    show_likely,
)
from attnviz.ui.caches import result
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.messages import plain
from attnviz.ui.places import page_link
from attnviz.ui.tokens.chips import numbered, shorten
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    import pandas as pd

RUN_BYTES = 48 * 2**20
"""Size of the cache: four texts of 512 tokens through six blocks, or hundreds of sentences"""
MOVED_BYTES = 2**20
"""Size of the cache: 500 texts of 512 tokens"""
LABEL = 14
"""Maximum characters of a token's label"""
ARROW = '<span aria-hidden="true">→</span>'
X_HELP = """*Rows of E*: of the embedding matrix, a vector for each id, and nothing else.

*With positions, normalised*: what BERT's own first layer reads. Its numbers are larger, so its weights differ more."""
ALIKE = 0.9
"""The mean cosine above which rows are called alike"""
MASKED = "With the mask, row i depends on rows 0 to i alone."
FREE = "Without a mask, every row depends on all others."
CHANGED = "row {}: largest change of a logit {}"


@dataclass(frozen=True, slots=True, eq=False)
class ModelOutput(ArraysSize):
    """A text's pass through the blocks, and the predicted tokens."""

    stack: Stack
    guesses: Guesses


@dataclass(frozen=True, slots=True)
class WordChange:
    """A token that replaces the text's last word."""

    place: int
    token: int


def setup_of() -> Setup:
    """Return the model that the view describes."""
    return Setup(state.get("lm_x"), state.get("lm_blocks"), state.get("seed"), state.get("lm_mask"))


def output_of(model: BuiltInModel, tokens: Tokens, setup: Setup) -> ModelOutput:
    """Return a text's pass through the blocks, and its predictions."""
    return result("language", RUN_BYTES, (setup, tokens.ids), partial(_run, model, tokens, setup))


def change_of(model: BuiltInModel, tokens: Tokens, other: str) -> WordChange | None:
    """Return the change of the text's last word, or last piece of it, into `other`; None if that is not one token."""
    pieces = model.tokenize(other)
    text_places = [place for place in range(len(pieces)) if not pieces.special[place]]
    return WordChange(last_of_text(tokens), pieces.ids[text_places[0]]) if len(text_places) == 1 else None


def moved_by(model: BuiltInModel, tokens: Tokens, setup: Setup, change: WordChange) -> Tensor:
    """Return the largest change of a logit in each row, (T,)."""

    def largest_changes() -> Tensor:
        ids = [change.token if place == change.place else token for place, token in enumerate(tokens.ids)]
        before, after = (_stack(model, tokens, sequence, setup).hidden for sequence in (tokens.ids, ids))
        return moved(before, after, model.bert.embeddings.token.weight)

    return result("language, moved", MOVED_BYTES, (setup, tokens.ids, change), largest_changes)


def _run(model: BuiltInModel, tokens: Tokens, setup: Setup) -> ModelOutput:
    stack = _stack(model, tokens, tokens.ids, setup)
    return ModelOutput(stack, guess(stack.hidden, model.bert.embeddings.token.weight))


def _stack(model: BuiltInModel, tokens: Tokens, ids: Sequence[int], setup: Setup) -> Stack:
    layers = draw_layers(setup.seed, setup.blocks, model.description.width)
    return run(embed(model, ids, tokens.segments, setup.x), layers, causal=setup.causal)


def path(setup: Setup, tokens: int, vocabulary: int, width: int) -> str:
    """Return the steps from ids to tokens, each with its shape, as HTML."""
    x = {"tokens": "X = E[ids]", "embeddings": "X = embeddings"}[setup.x]
    mask = ", masked" if setup.causal else ""
    block = (
        f'<span class="block"><b class="attention">attention{mask} <i>softmax(X Xᵀ / √{width}) X</i></b>{ARROW}'
        f"<b>linear <i>{width} → {width}</i></b> × {setup.blocks}</span>"
    )
    steps = (
        f"<b>ids <i>({tokens},)</i></b>",
        f"<b>{x} <i>({tokens}, {width})</i></b>",
        block,
        f"<b>X Eᵀ <i>({tokens}, {vocabulary:,})</i></b>",
        f"<b>softmax, largest <i>({tokens},)</i></b>",
    )
    return f'<div class="path">{ARROW.join(steps)}</div>'


def in_and_out(tokens: Sequence[str], out: Sequence[str], chosen: int) -> str:
    """Return each token above the one predicted in its place, as HTML."""
    chips = "".join(_chip(*row, chosen) for row in enumerate(zip(tokens, out, strict=True)))
    return f'<div class="inout" tabindex="0" role="group" aria-label="In, and below it out">{chips}</div>'


def _chip(place: int, tokens: tuple[str, str], chosen: int) -> str:
    label, out = (escape_html(shorten(token, LABEL)) for token in tokens)
    title = escape_html(f"row {place}: {tokens[0]} → {tokens[1]}")
    is_chosen = ' class="chosen"' if place == chosen else ""
    return f'<span{is_chosen} title="{title}"><small dir="auto">{label}</small><b dir="auto">{out}</b></span>'


def controls() -> None:
    """Show the model's settings."""
    state.bound("lm_blocks", st.slider, "Blocks", 1, MAX_BLOCKS)
    if not state.get("lecture"):
        _mask()
    state.choice("lm_x", st.selectbox, "X", help=X_HELP)
    state.bound(
        "seed", st.number_input, "Seed", 0, 999_999, help="The linear layers are drawn from this number, as torch does."
    )


def _mask() -> None:
    state.bound("lm_mask", st.toggle, "Causal mask", help="Row i sees rows 0 to i only.")


def show() -> None:
    """Show the model on the text."""
    model, tokens = read_text()
    state.sync_widget("q")
    if state.get("lecture") and not lesson_bar.hides("lm_mask"):
        _mask()  # a lecture has no side bar
    setup = setup_of()
    output = output_of(model, tokens, setup)
    table = table_of(model)
    row = chosen_row(tokens, partial(last_of_text, tokens))
    out = output.guesses.tokens[:, 0].tolist()
    st.html(
        path(setup, len(tokens), *table.weight.shape)
        + in_and_out(tokens.labels, [table.labels[token] for token in out], row)
    )
    with st.container(key="language_said"):
        st.markdown(_junk(output, setup, len(table.pieces)))
    left, middle, right = st.columns([10, 8, 10], gap="small")
    with left:
        _show_attention(output, setup, tokens, row)
    with middle:
        _show_likely(output, tokens, table.labels)
    with right:
        _show_change(model, tokens, setup)
    notice(
        "No step has told this model what should follow a word. The path is complete; what is missing is training, and "
        "what a GPT adds to each block: weights for queries, keys and values, a feed-forward, residual sums, norms."
    )
    if not lesson_bar.is_open():
        page_link(
            "train", "Train a language model: the chapter Train on a text", {"train_part": "text"},
            icon=":material/arrow_forward:", icon_position="right",
        )  # fmt: skip
    in_torch()


def _junk(output: ModelOutput, setup: Setup, vocabulary: int) -> str:
    """Describe the output in words."""
    largest, first, last = float(output.guesses.probabilities.max()), output.stack.alike[0], output.stack.alike[-1]
    out = output.guesses.tokens[:, 0]
    layers = "linear layer is" if setup.blocks == 1 else f"{setup.blocks} linear layers are"
    sentences = (
        f"**Junk comes out, as it should:** the {layers} random (seed {setup.seed}), and nothing was trained. "
        f"The likeliest token has {percent(largest, 4)}; if all {vocabulary:,} were equally likely, "
        f"each would have {percent(1 / vocabulary, 4)}."
    )
    if len(out) > 1 and last > max(ALIKE, first):
        different = len(set(out.tolist()))
        tokens_named = "the same token" if different == 1 else f"{different} different tokens"
        sentences += (
            f" Averaging makes rows alike: their mean cosine goes from {number(first)} to {number(last)}, and "
            f"{len(out)} rows name {tokens_named}."
        )
    return sentences


def _show_attention(output: ModelOutput, setup: Setup, tokens: Tokens, row: int) -> None:
    block, title = min(state.get("lm_block"), setup.blocks - 1), "weights"
    if lesson_bar.hides("lm_block"):
        title = f"weights of block {block}"
    else:
        block = state.choice(
            "lm_block", st.segmented_control, "Weights of block", list(range(setup.blocks)), required=True,
        )  # fmt: skip
    weights = output.stack.weights[block]
    shown = weights.masked_fill(~causal_mask(len(tokens)), torch.nan) if setup.causal else weights
    with st.container(key="language_weights"):
        matrix = ShownMatrix("weights", title, shown.numpy(), colour_end(weights))
        matrices(
            [matrix], {"query": tokens.labels, "key": tokens.labels}, hint=POINT, key="language_matrix",
            row=row_by_click(row, range(len(tokens))),
        )  # fmt: skip
    if is_limited(tokens):
        st.caption(LIMITED)


def _show_likely(output: ModelOutput, tokens: Tokens, labels: tuple[str, ...]) -> None:
    row = choose_row(tokens, "Likeliest tokens of row", partial(last_of_text, tokens))
    names = [labels[token] for token in output.guesses.tokens[row].tolist()]
    show_likely(names, output.guesses.probabilities[row], "language_likely", name=f"row {numbered(tokens.labels)[row]}")


def _show_change(model: BuiltInModel, tokens: Tokens, setup: Setup) -> None:
    """Show which rows change when another word replaces the text's last one."""
    default = KEYS["other"].default
    other = state.get("other")
    if not lesson_bar.hides("other"):
        other = state.bound("other", st.text_input, "Change the last word into", max_chars=MAX_OTHER)
    other = other.strip() or default
    change = change_of(model, tokens, other)
    if change is None:
        st.info(f"“{plain(other)}” is not one token here. Type another word.")
        return
    last = plain(tokens.labels[change.place])
    if tokens.ids[change.place] == change.token:
        st.info(f"“{last}” is this token already, so nothing changes. Type another word.")
        return
    moved = moved_by(model, tokens, setup, change)
    before, after = moved[: change.place], moved[change.place :]
    most = nonzero(float(after.max()), 4)
    sentence = f"“{last}”, row {change.place}, becomes “{plain(other)}”. Rows from there on change by up to {most}"
    if len(before):
        sentence += f", those before it by at most **{nonzero(float(before.max()), 4)}**"
    sentence += "." if lesson_bar.is_open() else f". {MASKED if setup.causal else FREE}"
    with st.container(key="language_said_of_change"):
        st.markdown(sentence)
    changes, rows = moved.tolist(), list(map(str, range(len(tokens))))
    said = [
        CHANGED.format(row, power_of_ten(change, 4))
        for row, change in zip(numbered(tokens.labels), changes, strict=True)
    ]
    name = f"row {change.place} {tokens.labels[change.place]} → {other}"
    with st.container(key="language_moved"):
        st.html(side_by_side(changes, rows, said, title="change", across="row", name=name))


def change_in(model: BuiltInModel, tokens: Tokens) -> WordChange | None:
    """Return the view's change of the text's last word; None if it changes nothing."""
    change = change_of(model, tokens, state.get("other").strip() or KEYS["other"].default)
    return None if change is None or tokens.ids[change.place] == change.token else change


def tables(model: BuiltInModel, tokens: Tokens) -> dict[str, pd.DataFrame]:
    """Return the likeliest tokens of each row, and the weights of the shown block."""
    import pandas as pd

    setup, labels = setup_of(), table_of(model).labels
    output, names = output_of(model, tokens, setup), numbered(tokens.labels)
    rows: dict[str, object] = {"token": tokens.labels, "id": tokens.ids}
    for place in range(output.guesses.tokens.shape[1]):
        ids = output.guesses.tokens[:, place].tolist()
        rows |= {f"out {place}": [labels[token] for token in ids], f"id {place}": ids}
        rows |= {f"probability {place}": output.guesses.probabilities[:, place].numpy()}
    change = change_in(model, tokens)
    if change is not None:
        rows["largest change of a logit"] = moved_by(model, tokens, setup, change).numpy()
    block = min(state.get("lm_block"), setup.blocks - 1)
    weights = pd.DataFrame(output.stack.weights[block].numpy(), index=names, columns=names)
    return {"language_model": pd.DataFrame(rows).rename_axis("row"), f"weights_of_block_{block}": weights}


def script(model: BuiltInModel, tokens: Tokens) -> str:
    """Return the script that computes the numbers on screen."""
    change = change_in(model, tokens)
    changed = None if change is None else (change.place, change.token)
    return language_script(tokens.text, tokens.ids, setup_of(), limit=model.max_tokens, kept=KEPT, change=changed)


PART = Part(show, of_text(tables, dict), of_text(script, str), controls=controls)
