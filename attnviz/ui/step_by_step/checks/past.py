"""Rows from their past: each row of the head's output from the rows up to it alone, beside that of the whole text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.formatting import nonzero
from attnviz.ui.palette import palette
from attnviz.ui.plain import plain
from attnviz.ui.sources import RESOURCES
from attnviz.ui.widgets import plot

if TYPE_CHECKING:
    from attnviz.measures.causality import FromPast
    from attnviz.sources.shown import Shown
    from attnviz.trace.walk import Walk


def show(here: Shown) -> None:
    """Show how far each row is from the one that is computed from its past alone."""
    from attnviz.figures.plots import lines
    from attnviz.measures.causality import MOST, NoPastError, rows_from_past

    walk = here.walk(RESOURCES)
    try:
        found = rows_from_past(walk.layer, walk.head)
    except NoPastError as error:
        st.info(str(error))
        return
    st.markdown(_said(found, walk))
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
    more = f" The first {MOST} rows." if len(walk.query_labels) > MOST else ""
    st.caption(f"{computed} The head outputs are compared.{more}")


def _said(found: FromPast, walk: Walk) -> str:
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
