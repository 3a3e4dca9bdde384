"""The component of matrices side by side: their cells on a board, one pin over all of them, and a line with what is
known of the cell that is pointed at or pinned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attnviz.components.registration import mount, position
from attnviz.components.updates import mount_with_updates
from attnviz.formatting import counted
from attnviz.links.values import Head, write_heads

NAMED = ("query", "key", "layer", "head")
"""The kinds of rows and columns that are counted by their name; others are counted as rows and columns"""


class ClickEffects(NamedTuple):
    """What a click does to a head, in words."""

    choose: str
    """Said of a head that is not chosen"""
    take_back: str
    """Said of a chosen head"""
    chosen: str
    """Announced when a click has chosen a head"""
    taken_back: str
    """Announced when a click has taken a head back"""


class ShownMatrix(NamedTuple):
    """A matrix with numbers from 0 up. Matrices with the same kinds of rows and columns share their colours and pin."""

    name: str
    """Said beside its numbers; unique"""
    title: str
    values: npt.NDArray[np.float32]
    """(rows, columns); NaN in hidden cells, whose weight is 0"""
    limit: float
    """The end of the colours"""
    rows: str = "query"
    columns: str = "key"
    has_bar: bool = True
    """Whether a bar of the colours stands beside it; where several share their colours, only one has it"""


class ChosenRow(NamedTuple):
    """The row that a view has chosen, and what a click on another one does."""

    row: int
    on_choice: Callable[[int], None]
    """Called before the script reruns with a row, which comes from the client: it may be beyond the matrix"""


def matrices(
    shown: Sequence[ShownMatrix],
    labels: Mapping[str, Sequence[str]],
    *,
    hint: str,
    key: str,
    row: ChosenRow | None = None,
) -> None:
    """Mount matrices side by side. A click pins a cell in all that have its row and column.

    Args:
        shown: the matrices, from left to right.
        labels: of rows and columns, by their kinds.
        hint: what the line says while no cell is pointed at or pinned.
        key: the Streamlit key.
        row: the chosen row of the matrices, which is pinned, and which a click changes.
    """
    panels = [
        {"name": one.name, "title": one.title, "rows": one.rows, "cols": one.columns, "high": one.limit,
         "bar": one.has_bar}
        for one in shown
    ]  # fmt: skip
    header = _header(panels, _alt(shown), hint)
    header |= {"labels": {kind: list(names) for kind, names in labels.items()}}
    arrays = {one.name: one.values for one in shown}
    if row is None:
        mount("matrix", header, arrays, key=key)
        return

    def take(changed: Mapping[str, object]) -> None:
        place = position(changed.get("row"))
        if place is not None:
            row.on_choice(place)

    mount_with_updates("matrix", {**header, "row": row.row}, arrays, key=key, on_update=take)


def heads_matrix(
    values: npt.NDArray[np.float32],
    chosen: Sequence[Head],
    *,
    title: str,
    readings: Sequence[str],
    click_effects: ClickEffects,
    hint: str,
    key: str,
    on_choice: Callable[[object], None],
) -> None:
    """Mount a number of each head, with a frame around the chosen ones. A click chooses a head, or takes it back.

    Args:
        values: (L, H), not negative; all NaN if they are not computed yet.
        chosen: layer and head of the chosen ones.
        title: of the matrix.
        readings: what is said of each head, layer by layer, (L · H,).
        click_effects: what a click does to a head.
        hint: what the line says while no head is pointed at or pinned.
        key: the Streamlit key.
        on_choice: called before the script reruns with the chosen heads as in a link, "3.5_4.1". It comes from the
            client and is not validated.
    """
    largest = float(np.nan_to_num(values).max(initial=0)) or 1.0
    is_blank = bool(np.isnan(values).all())
    matrix = ShownMatrix("heads", title, values, largest, "layer", "head")
    panel = {
        "name": matrix.name, "title": title, "rows": "layer", "cols": "head", "high": largest, "is_blank": is_blank,
    }  # fmt: skip
    alt = _alt([matrix]) + (", not computed yet" if is_blank else "")
    if chosen:
        alt += "; chosen: " + ", ".join(f"layer {layer} head {head}" for layer, head in chosen)
    header = _header([panel], alt, hint)
    header |= {"readings": list(readings), "chosen": write_heads(chosen)}
    header["click_effects"] = [click_effects.choose, click_effects.take_back]
    header["click_results"] = [click_effects.chosen, click_effects.taken_back]

    def take(changed: Mapping[str, object]) -> None:
        if "chosen" in changed:
            on_choice(changed["chosen"])

    mount_with_updates("matrix", header, {matrix.name: values}, key=key, on_update=take)


def _header(panels: Sequence[Mapping[str, object]], alt: str, hint: str) -> dict[str, Any]:
    """Return what all views of matrices have, as `MatrixHeader` in frontend/types/headers.d.ts says."""
    shared = {"role": "attention", "low": 0.0, "scale": "weights", "numbered": True}
    return {
        "panels": [{**shared, **panel} for panel in panels], "labels": {}, "alt": alt, "hidden": "0 (masked)",
        "readings": None, "hint": hint, "row": None, "chosen": None, "click_effects": None, "click_results": None,
    }  # fmt: skip


def _alt(shown: Sequence[ShownMatrix]) -> str:
    """Name the matrices with their rows and columns."""
    said = []
    for one in shown:
        rows, columns = one.values.shape
        down = counted(rows, one.rows if one.rows in NAMED else "row")
        across = counted(columns, one.columns if one.columns in NAMED else "column")
        said.append(f"{one.title}: {down} by {across}")
    return "; ".join(said)
