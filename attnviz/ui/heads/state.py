"""The view of Heads: its link keys, and validation of the changes that the browser sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attnviz import heads as heads_view
from attnviz.components.registration import position
from attnviz.heads import SWITCHES, WORDS
from attnviz.links.link import KEYS
from attnviz.links.values import MAX_CHOSEN, ROLLOUT, Head, write_heads
from attnviz.ui import state

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey


def current() -> Head:
    """Return the current layer and head; the head is `ROLLOUT` for the rollout up to the layer."""
    return heads_view.current(state.get)


def chosen() -> list[Head]:
    """Return the heads to combine, including the current one."""
    return heads_view.chosen(state.get)


def view() -> dict[str, Any]:
    """Return the view's values for the explorer."""
    return heads_view.view(state.get)


def check(survey: Survey, rows: int, cols: int, *, rollout: bool, labels: list[str], sorts: list[str]) -> None:
    """Reset values that this model or text does not have, with notes; the current layer and head are there."""
    heads = survey.overview.shape[1]
    if state.get("rollout") and not rollout:
        _reset("rollout", "There is no rollout of cross-attention: it goes from one text to another.")
    existing = tuple(
        (layer, head)
        for layer, head in state.get("chosen")
        if layer in survey.numbers and (head < heads if head != ROLLOUT else rollout)
    )
    missing = [head for head in state.get("chosen") if head not in existing]
    if missing:
        state.note(f"Not available, so not shown: {write_heads(missing).replace('_', ', ')} (layer.head).")
        state.put("chosen", existing)
    state.keep_pin(rows, cols)
    if state.get("label") and state.get("label") not in labels:
        _reset("label", f"No head can have the label “{state.get('label')}” here.")
    if state.get("sort") and state.get("sort") not in sorts:
        _reset("sort", f"The heads have no measure {state.get('sort')} on this text, so they keep their order.")


def take(partial: Mapping[str, object]) -> None:
    """Apply the values from the browser that a link could hold, and ignore all others.

    `check` tests whether this model and text have such heads and tokens.
    """
    state.apply_from_browser(partial, (*WORDS, "layer", "q", "k", "strongest", *SWITCHES))
    threshold = partial.get("threshold")
    if isinstance(threshold, int | float) and 0 <= threshold <= 1:
        state.apply_from_browser({"threshold": f"{float(threshold):.4f}"}, ("threshold",))
    if partial.get("head") == ROLLOUT:
        state.put("rollout", True)
    elif position(partial.get("head")) is not None:
        state.put("rollout", False)
        state.apply_from_browser(partial, ("head",))
    heads = read_heads(partial.get("chosen"))
    if heads:
        state.apply_from_browser({"chosen": write_heads(heads)}, ("chosen",))
    if list(state.get("chosen")) == [current()]:
        state.put("chosen", ())


def read_heads(sent: object) -> list[Head]:
    """Validate a list of [layer, head] from the browser; drop duplicates, and what is no such pair."""
    heads: dict[Head, None] = {}
    for pair in sent[: MAX_CHOSEN + 1] if isinstance(sent, list | tuple) else ():
        if isinstance(pair, list | tuple) and len(pair) == 2:
            layer, head = position(pair[0]), ROLLOUT if pair[1] == ROLLOUT else position(pair[1])
            if layer is not None and head is not None:
                heads[layer, head] = None
    return list(heads)


def _reset(name: str, sentence: str) -> None:
    state.note(sentence)
    state.put(name, KEYS[name].default)
