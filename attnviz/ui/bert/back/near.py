"""The nearest neighbours of a token in the embedding table, by cosine and by dot product."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from attnviz.bert.table import search
from attnviz.links.bert import MAX_PIECE
from attnviz.ui import state
from attnviz.ui.bert.back.chosen import Chosen
from attnviz.ui.bert.back.look import named, value
from attnviz.ui.bert.back.look import show as show_html
from attnviz.ui.bert.back.one import choose_token
from attnviz.ui.plain import plain
from attnviz.ui.widgets import notice


def show(found: Chosen) -> None:
    """Show the neighbours of the chosen token, or of the searched piece."""
    place = choose_token(found.tokens)
    searched: str = state.bound(
        "back_piece", st.text_input, "Or search the vocabulary", max_chars=MAX_PIECE,
        placeholder="Or search the vocabulary: a word or a piece, such as king or ##ing", label_visibility="collapsed",
    )  # fmt: skip
    token = token_of(found, place)
    if token is None:
        st.info(plain(not_found(found, searched)))
        return
    near, label = found.near(token), found.table.labels[token]
    left, right = st.columns(2)
    with left:
        show_html(_table(found, token, near.by_cosine, near.cosines, "cosine"))
    with right:
        show_html(_table(found, token, near.by_product, near.products, "dot product"))
    notice(_notice(found, label))


def token_of(found: Chosen, place: int) -> int | None:
    """Return the id whose neighbours are shown: the searched piece's, or the text's token's; None if it is unknown."""
    searched = (state.get("back_piece") or "").strip()
    return search(found.model, searched).token if searched else found.tokens.ids[place]


def not_found(found: Chosen, searched: str) -> str:
    """Say how the tokenizer writes a text that is no entry, and which entries contain it."""
    pieces = search(found.model, searched).pieces
    written = f"The tokenizer writes it as {' '.join(pieces)}. " if pieces else ""
    containing = found.table.containing(searched.strip())
    others = f"Entries that contain it: {', '.join(containing)}." if containing else "No entry contains it."
    return f"“{searched.strip()}” is not in the vocabulary of {len(found.table.weight):,} tokens. {written}{others}"


def _table(found: Chosen, token: int, ids: Tensor, values: Tensor, title: str) -> str:
    """Return neighbours with their similarities as a table."""
    largest = max(values.abs().max().item(), 1e-9)
    rows = "".join(
        f'<tr class="{"chosen" if one == token else ""}"><td class="n">{rank}</td>'
        f'<td class="tint" style="--part:{max(near, 0) / largest:.3f}">{named(found.table.labels[one])}</td>'
        f'<td class="n">{value(near)}</td></tr>'
        for rank, (one, near) in enumerate(zip(ids.tolist(), values.tolist(), strict=True), start=1)
    )
    label = named(found.table.labels[token])
    return (
        f'<table data-by="{title}"><thead><tr><th class="n"></th><th>nearest to “{label}”</th>'
        f'<th class="n">{title}</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _notice(found: Chosen, label: str) -> str:
    if found.is_random:
        return (
            f"Rows that were drawn (seed {found.seed}) have no neighbours that mean anything: their cosines are near "
            "0. That related words have similar rows is learned."
        )
    same = " Rows of length 1 have the same order by both." if found.is_unit else ""
    return (
        f"What is near “{label}” was learned from texts alone: words that occur in the same places get similar rows. A "
        f"dot product is also larger where a row is longer; a cosine leaves lengths out.{same}"
    )
