"""Heads on subsets of the embedding: one softmax over the whole X, and one in each part of its columns."""

from __future__ import annotations

from collections import Counter
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.blocks import Subsets, attend_in_parts, embed, most_apart, row_of
from attnviz.components.matrix import ShownMatrix, matrices
from attnviz.export.code.bert.embeddings import subsets_script
from attnviz.figures.style import ROWS_AND_COLUMNS
from attnviz.formatting import number
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.tokens import Tokens
from attnviz.ui import state
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
    words_of,
)
from attnviz.ui.caches import result
from attnviz.ui.tokens.chips import numbered
from attnviz.ui.widgets import notice

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from attnviz.bert.blocks import Row

NBYTES = 64 * 2**20
"""Size of the cache: a text of 512 tokens in 12 parts takes 40 MiB, one of 64 tokens less than 1 MiB"""
MANY = 64
"""Maximum rows of a matrix; for more tokens, each cell shows the largest weight of a block"""
FEW = 6
"""Heads whose matrices stand in one row; more take more height"""
PARTS_HELP = (
    "The columns of X are cut into H parts of C / H columns. Each part attends by itself, without weights of its own."
)
POINT_AT_ROW = "Point at a cell to read its number; a click pins it."


def subsets_of(model: BuiltInModel, tokens: Tokens) -> Subsets:
    """Return attention over the whole X, and in the view's number of parts."""
    heads = state.get("subset_heads")

    def attend() -> Subsets:
        return attend_in_parts(embed(model, tokens.ids, tokens.segments, "embeddings"), heads)

    return result("subsets", NBYTES, (tokens.ids, heads), attend)


def telling_row(subsets: Subsets, tokens: Tokens) -> int:
    """Return the word's row in which two heads differ most; with one head, the row of the text's last word."""
    places = words_of(tokens)
    if subsets.heads < 2 or not places:
        return last_of_text(tokens)
    return places[int(most_apart(subsets)[places].argmax())]


def softmax_names(heads: int) -> list[str]:
    """Return the names of the softmax over the whole X and of the one in each part."""
    return ["whole X", *(f"head {head}" for head in range(heads))]


def show() -> None:
    """Show attention over the whole X and in its parts."""
    model, tokens = read_text()
    parts, rows, said = st.columns([4, 2, 6], gap="small", vertical_alignment="center")
    with parts:
        state.choice("subset_heads", st.segmented_control, "Parts of X: heads H", required=True, help=PARTS_HELP)
    subsets = subsets_of(model, tokens)
    with rows:
        row = choose_row(tokens, "Row (query)", partial(telling_row, subsets, tokens))
    if not state.get("lecture"):
        with said:
            st.html(_shapes(subsets))
    limit = _show_weights(subsets, tokens, row)
    _show_row(subsets, tokens, row, limit)
    if state.get("lecture"):  # the pictures come first
        st.html(_shapes(subsets))
    notice(
        "The scores of the parts, before scaling, add up to those of the whole X. One softmax sees only that sum; "
        "with a softmax each, the parts can look at different tokens at the same time."
    )
    in_torch()


def _sized(key: str, subsets: Subsets) -> str:
    """Return the key of a container of matrices, by which the style sheet knows how many there are."""
    return key if subsets.heads <= FEW else f"{key}_many"


def _show_weights(subsets: Subsets, tokens: Tokens, row: int) -> float:
    """Show the weights of each softmax, and return the end of their colours."""
    weights, labels, starts = _small(subsets.weights, tokens)
    limit = colour_end(weights)
    titles = ["whole X", *(_title(subsets, head) for head in range(subsets.heads))]
    shown = [
        ShownMatrix(name, title, values, limit)
        for name, title, values in zip(softmax_names(subsets.heads), titles, weights.numpy(), strict=True)
    ]
    with st.container(key=_sized("subsets_weights", subsets)):
        matrices(
            shown, {"query": labels, "key": labels}, hint=POINT, key="subsets_matrices",
            row=row_by_click(row, starts),
        )  # fmt: skip
    if len(tokens) > MANY:
        st.caption(
            f"Each cell is the largest weight of a block of tokens, and a label is the block's first token. {LIMITED}"
        )
    elif is_limited(tokens):
        st.caption(LIMITED)
    return limit


def _shapes(subsets: Subsets) -> str:
    """Describe the computation, with shapes."""
    length, width = subsets.joined.shape
    heads, size = subsets.heads, width // subsets.heads
    parts = "1 part" if heads == 1 else f"{heads} parts"
    return (
        f'<div class="said"><b>X</b> ({length}, {width}): embeddings with positions, normalised; Q = K = V = X. '
        f"<b>{parts}</b> of {size} columns, with the scale 1/√{size}; each gives ({length}, {size}). They are "
        f"<b>joined</b> side by side to ({length}, {width}), <b>not summed</b>: a sum would not say which head found "
        f"what. {ROWS_AND_COLUMNS}</div>"
    )


def _title(subsets: Subsets, head: int) -> str:
    size = subsets.parts.query.shape[-1]
    return f"head {head}" if subsets.heads > 4 else f"head {head}: {head * size}–{(head + 1) * size - 1}"


def _small(weights: Tensor, tokens: Tokens) -> tuple[Tensor, list[str], list[int]]:
    """Return matrices of at most `MANY` rows, the labels of their rows, and the token at which each row begins."""
    from torch.nn.functional import adaptive_max_pool2d

    if len(tokens) <= MANY:
        return weights, list(tokens.labels), list(range(len(tokens)))
    starts = [place * len(tokens) // MANY for place in range(MANY)]
    return adaptive_max_pool2d(weights, MANY), [f"· {place} {tokens.labels[place]} …" for place in starts], starts


def _show_row(subsets: Subsets, tokens: Tokens, place: int, limit: float) -> None:
    """Show one row of weights from each softmax, and how much any two differ; the colours of weights end at `limit`."""
    row, names = row_of(subsets, place), softmax_names(subsets.heads)
    st.html(_row_said(row, tokens, place))
    bits = [f"{name}, {number(bits, 1)} bits" for name, bits in zip(names, row.entropy.tolist(), strict=True)]
    shown = [
        ShownMatrix(
            "weight", f"row {place} “{tokens.labels[place]}” of each softmax", row.weights.numpy(), limit, "softmax",
            has_bar=False,
        ),
        ShownMatrix(
            "difference", "difference: half the sum of |p − q|", row.difference.numpy(), 1, "softmax", "other softmax",
            has_bar=False,
        ),
    ]  # fmt: skip
    labels = {"softmax": bits, "key": tokens.labels, "other softmax": names}
    with st.container(key=_sized("subsets_row", subsets)):
        matrices(shown, labels, hint=POINT_AT_ROW, key="subsets_row_matrices")


def _row_said(row: Row, tokens: Tokens, place: int) -> str:
    """Describe the row's weights from each softmax."""
    label, bits = escape(tokens.labels[place]), [number(entropy, 1) for entropy in row.entropy.tolist()]
    largest = [escape(tokens.labels[key]) for key in row.largest]
    sentences = (
        f"<b>“{label}”</b>: one softmax gives one distribution, largest at “{largest[0]}” "
        f"({number(float(row.weights[0].max()))}), {bits[0]} bits."
    )
    heads = len(row.largest) - 1
    if heads > 1:
        others = Counter(tokens.labels[key] for key in row.other[1:] if key is not None)
        most = float(row.difference[1:, 1:].max())
        sentences += (
            f" {heads} heads give {heads}, of {min(bits[1:], key=float)} to {max(bits[1:], key=float)} bits; any two "
            f"differ by up to <b>{number(most)}</b> (0: equal, 1: no key in common)."
        )
        if others:
            named = ", ".join(f"“{escape(token)}” ({count})" for token, count in others.most_common(4))
            sentences += f" Besides itself, they look most at {named}{' and others' if len(others) > 4 else ''}."
    return f'<div class="said">{sentences}</div>'


def tables(model: BuiltInModel, tokens: Tokens) -> dict[str, pd.DataFrame]:
    """Return the chosen row's weights with their measures, and the difference between any two softmaxes."""
    import pandas as pd

    subsets = subsets_of(model, tokens)
    place = chosen_row(tokens, partial(telling_row, subsets, tokens))
    row, names, labels = row_of(subsets, place), softmax_names(subsets.heads), numbered(tokens.labels)
    weights = pd.DataFrame(row.weights.numpy(), index=names, columns=labels)
    measured = {
        "largest key": [labels[key] for key in row.largest],
        "largest other key": ["" if key is None else labels[key] for key in row.other],
        "entropy (bits)": row.entropy.numpy(),
    }
    differences = pd.DataFrame(row.difference.numpy(), index=names, columns=names)
    return {f"row_{place}": weights.assign(**measured), f"differences_of_row_{place}": differences}


def script(model: BuiltInModel, tokens: Tokens) -> str:
    """Return the script that computes the numbers on screen."""
    subsets = subsets_of(model, tokens)
    row = chosen_row(tokens, partial(telling_row, subsets, tokens))
    return subsets_script(tokens.text, tokens.ids, limit=model.max_tokens, heads=subsets.heads, row=row)


PART = Part(show, of_text(tables, dict), of_text(script, str))
