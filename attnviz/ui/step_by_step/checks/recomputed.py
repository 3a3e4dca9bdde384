"""The scores of the head in a loop, and its rows from their past, as the numbers of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero, number
from attnviz.ui import state
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.measures.recomputed import FromPast, LoopScores
    from attnviz.sources.shown import Shown
    from attnviz.trace.walk import Walk


def show_loop(here: Shown) -> None:
    """Show the two ways to the scores of the head, and compare their numbers."""
    from attnviz.measures.recomputed import LOOP, MOST_LOOPED, PRODUCT, scores_by_loop

    walk = here.walk(RESOURCES)
    query, key = walk.layer.query[walk.head], walk.layer.key[walk.head]
    found = scores_by_loop(query[:MOST_LOOPED], key[:MOST_LOOPED])
    left, right = st.columns(2)
    with left:
        st.markdown("**A double loop**: one dot product for each query and each key")
        st.code(LOOP, language="python")
    with right:
        st.markdown("**One matrix product**: all of them at once")
        st.code(PRODUCT, language="python")
    st.markdown(_of_loop(found, walk))
    cell = _cell(found)
    if cell:
        st.markdown(cell)
    if max(len(query), len(key)) > MOST_LOOPED:
        st.caption(f"Of the first {MOST_LOOPED} queries and keys: a loop in Python is slow.")


def _of_loop(found: LoopScores, walk: Walk) -> str:
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


def show_past(here: Shown) -> None:
    """Show how far each row is from the one that is computed from its past alone."""
    from attnviz.figures.plots import lines
    from attnviz.measures.recomputed import MOST_ROWS, NoPastError, rows_from_past

    walk = here.walk(RESOURCES)
    try:
        found = rows_from_past(walk.layer, walk.head)
    except NoPastError as error:
        st.info(str(error))
        return
    st.markdown(_of_past(found, walk))
    gaps = found.gaps.tolist()
    labels = [f"{row} {label}" for row, label in enumerate(walk.query_labels[: len(gaps)])]
    figure = lines({"largest difference": gaps}, labels, palette(), title="largest difference", across="row")
    plot(figure, "recompute_past")
    computed = (
        "Row i from rows 0 to i of X, with the same weights, scale and mask: queries, keys, values, scores and softmax "
        "are computed again."
        if found.is_projected
        else "Row i from rows 0 to i of queries, keys and values: how this model makes them of X is not known."
    )
    more = f" The first {MOST_ROWS} rows." if len(walk.query_labels) > MOST_ROWS else ""
    st.caption(f"{computed} The head outputs are compared.{more}")


def _of_past(found: FromPast, walk: Walk) -> str:
    """Say whether every row follows from its past, and else which do not, and why."""
    differing, gaps = found.differing, found.gaps
    if not differing:
        largest = float(gaps.max())
        why = "" if largest == 0 else ": the rounding of float32 sums in another order"
        return (
            f"**Each row follows from its past alone: yes.** The largest difference to the head outputs of the whole "
            f"text is **{nonzero(largest)}**{why}."
        )
    row = int(gaps.argmax())
    where = f"row {row} “{plain(walk.query_labels[row])}”"
    same = [number for number in range(len(gaps)) if number not in differing]
    rest = f" The same: {'row' if len(same) == 1 else 'rows'} {_listed(same)}." if same else ""
    if same == [len(walk.query_labels) - 1]:
        rest = " Only the last row is the same, after which nothing comes."
    return (
        f"**Each row follows from its past alone: no.** {len(differing)} of {len(gaps)} rows differ, most of all "
        f"{where}, by **{nonzero(float(gaps.max()))}**.{rest} {_why(walk)}"
    )


def _listed(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:8])) + (f" and {len(rows) - 8} more" if len(rows) > 8 else "")


def _why(walk: Walk) -> str:
    mask, maps = walk.layer.mask, walk.layer.projections
    if maps and maps["query"].kind == "positions":
        return "U mixes positions before any mask, so that every row depends on those after it."
    if walk.kind != "decoder":
        return "Without a causal mask a row takes from the rows after it too."
    if mask.hides_rows and not mask.is_infinite:
        return "A row whose keys are all hidden is the average of all values, also of those after it."
    return "The mask does not hide all that comes after a row."
