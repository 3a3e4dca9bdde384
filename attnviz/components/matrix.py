"""The component of one matrix: its cells on a board, and a line with what is known of the cell that is pointed
at or pinned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attnviz.components.registration import mount
from attnviz.components.updates import mount_with_updates
from attnviz.links.values import Head, write_heads


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


def weights_matrix(
    weights: npt.NDArray[np.float32], labels: Sequence[str], *, title: str, limit: float, hint: str, key: str
) -> None:
    """Mount the weights of a head. A click pins a cell.

    Args:
        weights: (T, T), rows are queries; NaN in hidden cells, whose weight is 0.
        labels: of the T tokens.
        title: of the matrix.
        limit: the end of the colours, which begin at 0.
        hint: what the line says while no cell is pointed at or pinned.
        key: the Streamlit key.
    """
    panel = {"rows": "query", "cols": "key", "high": limit, "bar": True}
    header = _header(title, panel, _alt(title, weights, "queries by {} keys"), hint)
    header |= {"labels": {"query": list(labels), "key": list(labels)}}
    mount("matrix", header, {"values": weights}, key=key)


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
    panel = {"rows": "layer", "cols": "head", "high": largest, "is_blank": is_blank}
    alt = _alt(title, values, "layers by {} heads") + (", not computed yet" if is_blank else "")
    if chosen:
        alt += "; chosen: " + ", ".join(f"layer {layer} head {head}" for layer, head in chosen)
    header = _header(title, panel, alt, hint)
    header |= {"readings": list(readings), "chosen": write_heads(chosen)}
    header["click_effects"] = [click_effects.choose, click_effects.take_back]
    header["click_results"] = [click_effects.chosen, click_effects.taken_back]

    def take(changed: Mapping[str, object]) -> None:
        if "chosen" in changed:
            on_choice(changed["chosen"])

    mount_with_updates("matrix", header, {"values": values}, key=key, on_update=take)


def _header(title: str, panel: Mapping[str, object], alt: str, hint: str) -> dict[str, Any]:
    """Return what all matrices have, as `MatrixHeader` in frontend/types/headers.d.ts says."""
    shared = {"name": "weights", "title": title, "role": "attention", "low": 0.0, "scale": "weights", "numbered": True}
    return {
        "panel": {**shared, **panel}, "labels": {}, "alt": alt, "hidden": "0 (masked)", "readings": None,
        "hint": hint, "chosen": None, "click_effects": None, "click_results": None,
    }  # fmt: skip


def _alt(title: str, values: npt.NDArray[np.float32], axes: str) -> str:
    """Describe a matrix; `axes` names its rows and its columns."""
    rows, columns = values.shape
    return f"{title}: {rows} {axes.format(columns)}"
