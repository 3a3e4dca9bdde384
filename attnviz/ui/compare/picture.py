"""The picture of a comparison: the payload with A, B and their difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from attnviz.compare.alignment import GAP, Alignment
from attnviz.compare.matrices import Comparison
from attnviz.components.compare import comparison
from attnviz.formatting import number
from attnviz.steps import STEPS
from attnviz.trace.walk import Walk
from attnviz.ui import state
from attnviz.ui.compare.panes import Choice, differs

LONGEST_TITLE = 30
_SENT, _PINNED = "compare_sent", "compare_pinned"
"""The digest of the picture last sent, and of the picture in which the user pinned a cell. If both are equal and the
picture has not changed, the payload contains the pin only."""
Labels = dict[str, list[str]]
"""The labels of the aligned rows, "query", and columns, "key"."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One pane in the picture."""

    name: str
    """a or b, the name of its panel"""
    choice: Choice
    head: Walk
    rows: tuple[int, ...]
    """(P,): the query in each aligned row, or GAP"""
    columns: tuple[int, ...]
    """(R,): the key in each aligned column, or GAP"""

    def own_labels(self) -> dict[str, list[str | None]]:
        """Return this side's own label in each aligned row and column; None in a gap."""
        return {
            "query": _placed(self.head.query_tokens.labels, self.rows),
            "key": _placed(self.head.key_tokens.labels, self.columns),
        }


def show_picture(compared: Comparison, heads: Sequence[Walk], labels: Labels, choices: Sequence[Choice]) -> None:
    """Show A, B and their difference on one board, with the pinned cell."""
    a = Side("a", choices[0], heads[0], compared.queries.first, compared.keys.first)
    b = Side("b", choices[1], heads[1], compared.queries.second, compared.keys.second)
    names = [title(a, b, compared.keys), title(b, a, compared.keys)]
    matrices = {"a": compared.a, "b": compared.b, "difference": compared.difference}
    if compared.divergence is not None:
        matrices["divergence"] = compared.divergence.astype(np.float32)[:, None]
    known = {"trace": _digest(compared, labels, names), **_pin(labels)}
    masked = STEPS[compared.quantity].masked_value
    header: dict[str, Any] = {
        **known,
        "quantity": compared.quantity,
        "panels": _panels(compared, names),
        "labels": labels,
        "own": {side.name: side.own_labels() for side in (a, b)},
        "hidden": f"{masked} (masked)" if masked else None,
        "alt": describe(compared, names),
    }
    only_pinned = st.session_state.pop(_PINNED, None) == known["trace"]
    with st.container(key="comparison"):
        comparison(
            known if only_pinned else header,
            None if only_pinned else matrices,
            key="compare_picture",
            on_pin=_take_pin,
        )
    st.session_state[_SENT] = known["trace"]


def title(side: Side, other: Side, keys: Alignment) -> str:
    """Return a side's title, which states the difference: "A · head 3", or "B · wide" if the texts differ."""
    differing = differs(side.choice, other.choice)
    parts = [_word(side.choice, name) for name in differing if name != "text"]
    if differing == ["text"]:
        new = [changed or of_other == GAP for changed, of_other in zip(keys.changed, other.columns, strict=True)]
        labels = side.own_labels()["key"]
        parts = [" ".join(label for label, is_new in zip(labels, new, strict=True) if label and is_new)]
    whole = " · ".join([side.choice.pane.name, *filter(None, parts)])
    return whole if len(whole) <= LONGEST_TITLE else f"{whole[: LONGEST_TITLE - 1]}…"


def _panels(compared: Comparison, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the panels: A and B share a colour domain; the difference has its own, centred at 0."""
    both = np.concatenate([compared.a.ravel(), compared.b.ravel()])
    largest, largest_difference = _largest(both), _largest(compared.difference)
    weights = STEPS[compared.quantity].is_distribution
    high = largest if state.get("stretch") or not weights else 1.0
    shared = {"role": "attention", "low": 0.0 if weights else -largest, "high": high,
              "scale": "weights" if weights else "signed"}  # fmt: skip
    panels = [
        {"name": "a", "title": names[0], **shared},
        {"name": "b", "title": names[1], **shared},
        {
            "name": "difference",
            "title": "A − B",
            "low": -largest_difference,
            "high": largest_difference,
            "scale": "signed",
        },
    ]
    if compared.divergence is not None:
        panels.append({"name": "divergence", "title": "JSD", "low": 0.0, "high": 1.0, "scale": "weights"})
    return panels


def describe(compared: Comparison, names: Sequence[str]) -> str:
    """Return the alternative text of the picture."""
    parts = []
    for name, matrix in zip((*names, "A − B"), (compared.a, compared.b, compared.difference), strict=True):
        there = matrix[np.isfinite(matrix)]
        extent = f", from {number(float(there.min()))} to {number(float(there.max()))}" if there.size else ", empty"
        parts.append(f"{name}: {compared.quantity}, {matrix.shape[0]} rows by {matrix.shape[1]} columns{extent}")
    return "; ".join(parts)


def _word(choice: Choice, name: str) -> str:
    """Return the value of a setting in short form, for a title."""
    value = choice.get(name)
    if name in ("source", "model"):
        return choice.model or choice.source.key
    if name == "scale":
        names = {
            "sqrt_d": "its own scale" if choice.source.has_own_scale else "1/√D",
            "off": "no scale",
            "sqrt_c": "1/√C",
        }
        return names.get(value, f"scale {value}")
    if name == "mask":
        return "causal mask" if value == "causal" else "its own mask" if choice.source.has_own_scale else "no mask"
    return str(value) if name == "kind" else f"{name} {value}"


def _largest(matrix: npt.NDArray[Any]) -> float:
    there = np.abs(matrix[np.isfinite(matrix)])
    return float(there.max()) if there.size and there.max() > 0 else 1.0


def _placed(labels: Sequence[str], places: Sequence[int]) -> list[str | None]:
    return [None if at == GAP else labels[at] for at in places]


def _digest(compared: Comparison, labels: Labels, names: Sequence[str]) -> str:
    """Return a digest of the picture without its pin."""
    digest = blake2b(repr((labels, names, compared.quantity, state.get("stretch"))).encode(), digest_size=12)
    for matrix in (compared.a, compared.b):
        digest.update(matrix.tobytes())
    return digest.hexdigest()


def _pin(labels: Labels) -> dict[str, int | None]:
    """Read the pin from the view; reset a pin outside the picture, with a note."""
    pin: dict[str, int | None] = {}
    for name, kind, axis in (("q", "query", "row"), ("k", "key", "column")):
        value = state.get(name)
        if value is not None and value >= len(labels[kind]):
            state.note(f"The pinned {axis} {value} does not exist: there are {axis}s 0 to {len(labels[kind]) - 1}.")
            state.put(name, None)
            value = None
        pin[name] = value
    return pin


def _take_pin(q: int | None, k: int | None) -> None:
    state.put("q", q)
    state.put("k", k)
    st.session_state[_PINNED] = st.session_state.get(_SENT)
