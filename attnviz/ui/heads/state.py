"""The view of Heads: its link keys, and validation of the changes that the browser sends."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attnviz.components.explorer import read_heads
from attnviz.components.registration import position
from attnviz.links.link import KEYS, MAX_CHOSEN, ROLLOUT, BadValueError, Head, write_heads
from attnviz.ui import state

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey

WORDS = ("show", "direction", "special", "between", "values", "sort", "label")
"""Keys with a fixed set of words"""
SWITCHES = ("mean", "stretch")


def current() -> Head:
    """Return the current layer and head; the head is `ROLLOUT` for the rollout up to the layer."""
    return state.get("layer"), ROLLOUT if state.get("rollout") else state.get("head")


def chosen() -> list[Head]:
    """Return the heads to combine, including the current one."""
    heads = list(state.get("chosen"))
    return heads if current() in heads else [current(), *heads][:MAX_CHOSEN]


def view() -> dict[str, Any]:
    """Return the view's values for the explorer."""
    layer, head = current()
    rest = (*WORDS, *SWITCHES, "q", "k", "threshold", "strongest")
    return {"layer": layer, "head": head, "chosen": chosen(), **{name: state.get(name) for name in rest}}


def check(survey: Survey, rows: int, cols: int, *, rollout: bool, labels: list[str]) -> None:
    """Reset values that this model or text does not have, with notes; the current layer and head are there."""
    layers, heads = survey.overview.shape[:2]
    if state.get("rollout") and not rollout:
        _reset("rollout", "There is no rollout of cross-attention: it goes from one text to another.")
    existing = tuple(
        (layer, head)
        for layer, head in state.get("chosen")
        if layer < layers and (head < heads if head != ROLLOUT else rollout)
    )
    missing = [head for head in state.get("chosen") if head not in existing]
    if missing:
        state.note(f"Not available, so not shown: {write_heads(missing).replace('_', ', ')} (layer.head).")
        state.put("chosen", existing)
    for name, axis, count in (("q", "row", rows), ("k", "column", cols)):
        if state.get(name) is not None and state.get(name) >= count:
            _reset(name, f"The pinned {axis} {state.get(name)} does not exist: this text has {axis}s 0 to {count - 1}.")
    if state.get("label") and state.get("label") not in labels:
        _reset("label", f"No head can have the label “{state.get('label')}” here.")
    if state.get("sort") and state.get("sort") not in [measure.name for measure in survey.measures]:
        _reset("sort", f"The heads have no measure {state.get('sort')} on this text, so they keep their order.")


def take(partial: Mapping[str, object]) -> None:
    """Apply the values from the browser that a link could hold, and ignore all others.

    `check` tests whether this model and text have such heads and tokens.
    """
    for name in WORDS:
        _put(name, partial.get(name))
    for name in ("layer", "q", "k", "strongest"):
        _put(name, _whole(partial.get(name)))
        if name in ("q", "k") and name in partial and partial[name] is None:
            state.put(name, None)
    threshold = partial.get("threshold")
    if isinstance(threshold, int | float) and 0 <= threshold <= 1:
        _put("threshold", f"{float(threshold):.4f}")
    for name in SWITCHES:
        if isinstance(partial.get(name), bool):
            state.put(name, partial[name])
    if partial.get("head") == ROLLOUT:
        state.put("rollout", True)
    elif own := _whole(partial.get("head")):
        state.put("rollout", False)
        _put("head", own)
    heads = read_heads(partial.get("chosen"))
    if heads:
        _put("chosen", write_heads(heads))
    if list(state.get("chosen")) == [current()]:
        state.put("chosen", ())


def _put(name: str, sent: object) -> None:
    """Set a value written as in a link; ignore invalid values."""
    if not isinstance(sent, str):
        return
    with suppress(BadValueError):
        state.put(name, sent if sent == KEYS[name].default else KEYS[name].read(sent))


def _whole(sent: object) -> str | None:
    number = position(sent)
    return None if number is None else str(number)


def _reset(name: str, sentence: str) -> None:
    state.note(sentence)
    state.put(name, KEYS[name].default)
