"""Heads on subsets of the embedding: one softmax over the whole X, and one in each part of its columns."""

from __future__ import annotations

from collections import Counter
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.bert.blocks import Subsets, attend_in_parts, embed, most_apart, row_of
from attnviz.export.code.bert.embeddings import subsets_script
from attnviz.formatting import number, weight
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.tokens import Tokens
from attnviz.ui import state
from attnviz.ui.bert.models import read_text, text_at_hand
from attnviz.ui.bert.parts import Part, in_torch
from attnviz.ui.bert.rows import (
    LIMITED,
    axis_labels,
    choose_row,
    chosen_row,
    colour_end,
    is_limited,
    last_of_text,
    numbered,
    words_of,
)
from attnviz.ui.caches import result
from attnviz.ui.widgets import notice, palette, plot

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from attnviz.bert.blocks import Row
    from attnviz.figures.plots import Spec

NBYTES = 64 * 2**20
"""Size of the cache: a text of 512 tokens in 12 parts takes 40 MiB, one of 64 tokens less than 1 MiB"""
HEIGHT, HIGH, HEADS = 165, 260, 6
"""px: height of both plots of weights, up to `HEADS` heads and with more"""
LESS, LESS_IN_LECTURE = 50, 40
"""px: how much lower the plots of one row are than others: they have few rows, and nothing above them"""
LESS_OF_MANY, LINE, FEW = 20, 20, 4
"""px: the same for more than `HEADS` heads; in a lecture, the line that each head beyond `FEW` takes"""
TICKS = 3
"""Tick labels at a low plot's colour scale"""
MANY = 64
"""Maximum rows of a small matrix; for more tokens, each cell shows the largest weight of a block"""


def subsets_of(model: BuiltInModel, tokens: Tokens) -> Subsets:
    """Return attention over the whole X, and in the view's number of parts."""
    heads = state.get("subset_heads")
    return result("subsets", NBYTES, (tokens.ids, heads), partial(_attend, model, tokens, heads))


def telling_row(subsets: Subsets, tokens: Tokens) -> int:
    """Return the word's row in which two heads differ most; with one head, the row of the text's last word."""
    places = words_of(tokens)
    if subsets.heads < 2 or not places:
        return last_of_text(tokens)
    return places[int(most_apart(subsets)[places].argmax())]


def softmax_names(heads: int) -> list[str]:
    """Return the names of the softmax over the whole X and of the one in each part."""
    return ["whole X", *(f"head {head}" for head in range(heads))]


def _attend(model: BuiltInModel, tokens: Tokens, heads: int) -> Subsets:
    return attend_in_parts(embed(model, tokens.ids, tokens.segments, "embeddings"), heads)


def controls() -> None:
    """Let the user choose the number of parts."""
    if not state.get("lecture"):
        _parts()


def _parts() -> None:
    state.choice(
        "subset_heads", st.segmented_control, "Parts of X: heads H", required=True,
        help="The columns of X are cut into H parts of C / H columns. Each part attends by itself, without weights.",
    )  # fmt: skip


def show() -> None:
    """Show attention over the whole X and in its parts."""
    from attnviz.figures.multiples import multiples

    model, tokens = read_text()
    if state.get("lecture"):
        _parts()  # a lecture has no sidebar
    subsets = subsets_of(model, tokens)
    st.html(_shapes(subsets))
    left, right = st.columns([2, 3], gap="small")
    limit = colour_end(_small(subsets.weights, tokens)[0])
    height = HEIGHT if subsets.heads <= HEADS else HIGH
    shown = {
        "subsets_whole": (left, subsets.whole.weights[None], ["one softmax over the whole X"]),
        "subsets_parts": (right, subsets.parts.weights, [_title(subsets, head) for head in range(subsets.heads)]),
    }
    for key, (place, weights, titles) in shown.items():
        small, labels = _small(weights, tokens)
        figure = multiples(small, titles, labels, palette(), limit=limit, height=height)
        figure["layout"]["coloraxis"]["showscale"] = key == "subsets_parts"  # both plots share it
        with place:
            plot(figure, key)
    if len(tokens) > MANY:
        st.caption(f"Each cell is the largest weight of a block of tokens. {LIMITED}")
    elif is_limited(tokens):
        st.caption(LIMITED)
    _show_row(subsets, tokens)
    notice(
        "The scores of the parts, before scaling, add up to those of the whole X. One softmax sees only that sum; "
        "with a softmax each, the parts can look at different tokens at the same time."
    )
    in_torch()


def _shapes(subsets: Subsets) -> str:
    """Describe the computation, with shapes."""
    length, width = subsets.joined.shape
    heads, size = subsets.heads, width // subsets.heads
    parts = "1 part" if heads == 1 else f"{heads} parts"
    return (
        f'<div class="said"><b>X</b> ({length}, {width}): embeddings with positions, normalised; Q = K = V = X. '
        f"<b>{parts}</b> of {size} columns, with the scale 1/√{size}; each gives ({length}, {size}). They are "
        f"<b>joined</b> side by side to ({length}, {width}), <b>not summed</b>: a sum would not say which head found "
        "what. Rows are queries, columns are keys.</div>"
    )


def _title(subsets: Subsets, head: int) -> str:
    size = subsets.parts.query.shape[-1]
    return f"head {head}" if subsets.heads > 4 else f"head {head}: {head * size}–{(head + 1) * size - 1}"


def _small(weights: Tensor, tokens: Tokens) -> tuple[Tensor, list[str]]:
    """Return matrices of at most `MANY` rows, and the row labels: each block of tokens is named by its first one."""
    from torch.nn.functional import adaptive_max_pool2d

    labels = numbered(tokens.labels)
    if len(tokens) <= MANY:
        return weights, labels
    return adaptive_max_pool2d(weights, MANY), [f"{labels[place * len(labels) // MANY]} …" for place in range(MANY)]


def _show_row(subsets: Subsets, tokens: Tokens) -> None:
    """Show one row of weights from each softmax, and how much any two differ."""
    from attnviz.figures.plots import heatmap

    left, right = st.columns([5, 4], gap="small")
    with left:
        place = choose_row(tokens, "Row (query)", partial(telling_row, subsets, tokens))
        row, names = row_of(subsets, place), softmax_names(subsets.heads)
        rows = [f"{name}, {number(bits, 1)} bits" for name, bits in zip(names, row.entropy.tolist(), strict=True)]
        labels = axis_labels(tokens)
        figure = heatmap(row.weights, rows, labels, palette(), across="key (to)", signed=False, write=weight)
        figure["data"][0]["colorbar"]["nticks"] = TICKS
        plot(_lower(figure, _less(subsets)), "subsets_row")
    with right:
        st.html(_row_said(row, tokens, place))
        title = "half the sum of |p − q|"
        figure = heatmap(row.difference, names, names, palette(), across=title, signed=False, limit=1)
        plot(_lower(figure, LESS if subsets.heads <= FEW else _less(subsets)), "subsets_difference")


def _less(subsets: Subsets) -> int:
    """Return how many px lower the plots of one row are than others."""
    if state.get("lecture"):
        return max(-LESS, LESS_IN_LECTURE - LINE * max(0, subsets.heads - FEW))
    return LESS if subsets.heads <= HEADS else LESS_OF_MANY


def _lower(figure: Spec, less: int) -> Spec:
    """Return a figure that is `less` px lower, with little margin above it."""
    layout = figure["layout"]
    return {**figure, "layout": {**layout, "margin": {**layout["margin"], "t": 8}, "height": layout["height"] - less}}


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


def tables() -> dict[str, pd.DataFrame]:
    """Return the chosen row's weights with their measures, and the difference between any two softmaxes."""
    import pandas as pd

    at_hand = text_at_hand()
    if at_hand is None:
        return {}
    model, tokens = at_hand
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


def script() -> str:
    """Return the script that computes the numbers on screen."""
    at_hand = text_at_hand()
    if at_hand is None:
        return ""
    model, tokens = at_hand
    subsets = subsets_of(model, tokens)
    row = chosen_row(tokens, partial(telling_row, subsets, tokens))
    return subsets_script(tokens.text, tokens.ids, limit=model.max_tokens, heads=subsets.heads, row=row)


PART = Part(show, tables, script, controls=controls)
