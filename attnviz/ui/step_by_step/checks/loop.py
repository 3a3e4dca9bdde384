"""Scores in a loop: the double loop beside the matrix product, and whether both give the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero, number
from attnviz.ui import state
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES

if TYPE_CHECKING:
    from attnviz.measures.loop import LoopScores
    from attnviz.sources.shown import Shown
    from attnviz.trace.walk import Walk


def show(here: Shown) -> None:
    """Show the two ways to the scores of the head, and compare their numbers."""
    from attnviz.measures.loop import LOOP, MOST, PRODUCT, scores_by_loop

    walk = here.walk(RESOURCES)
    query, key = walk.layer.query[walk.head], walk.layer.key[walk.head]
    found = scores_by_loop(query[:MOST], key[:MOST])
    left, right = st.columns(2)
    with left:
        st.markdown("**A double loop**: one dot product for each query and each key")
        st.code(LOOP, language="python")
    with right:
        st.markdown("**One matrix product**: all of them at once")
        st.code(PRODUCT, language="python")
    st.markdown(_said(found, walk))
    cell = _cell(found)
    if cell:
        st.markdown(cell)
    if max(len(query), len(key)) > MOST:
        st.caption(f"Of the first {MOST} queries and keys: a loop in Python is slow.")


def _said(found: LoopScores, walk: Walk) -> str:
    """Say whether the scores are equal, and where and by how much they differ most."""
    cells, (q, k) = found.gaps.numel(), found.at
    where = f"row {q} “{plain(walk.query_labels[q])}”, column {k} “{plain(walk.key_labels[k])}”"
    if found.largest == 0:
        return f"**Equal: yes.** The largest difference of the {cells:,} scores is **0**: every rounding is the same."
    answer = "yes" if found.are_equal else "no"
    limit = nonzero(float(found.rounding[q, k]))
    return (
        f"**Equal: {answer}.** The largest difference of the {cells:,} scores is **{nonzero(found.largest)}**, in "
        f"{where}. Both sums are rounded to float32 after each addition, in another order; this alone may make up to "
        f"{limit} there."
    )


def _cell(found: LoopScores) -> str:
    """Return both numbers of the pinned cell; empty if none is pinned, or the loop does not reach it."""
    q, k = state.get("q"), state.get("k")
    rows, columns = found.by_loop.shape
    if q is None or k is None or q >= rows or k >= columns:
        return ""
    loop, product = (number(float(one[q, k]), 6) for one in (found.by_loop, found.by_product))
    return f"The pinned cell, row {q}, column {k}: the loop gives {loop}, the product {product}."
