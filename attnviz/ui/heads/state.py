"""The view of Heads: what the link says of it, and what the browser asks to change. Anybody can send anything."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attnviz.components.explorer import read_heads
from attnviz.components.registration import position
from attnviz.links.link import KEYS, MAX_CHOSEN, ROLLOUT, BadValueError, Head, write_heads
from attnviz.ui import state

if TYPE_CHECKING:
    from attnviz.ui.heads.survey import Survey

WORDS = ("show", "direction", "special", "between", "values", "sort", "label")
"""What is one of a few words"""
SWITCHES = ("mean", "stretch")
LINK = ("text", "pair", "model", "kind", "layer", "head", "rollout", "chosen", "q", "k",
        *WORDS, *SWITCHES, "threshold", "strongest", "more")  # fmt: skip
"""The keys of a link to Heads"""


def current() -> Head:
    """Return the head that the view is at; head −1 where it is the rollout up to a layer."""
    return state.get("layer"), ROLLOUT if state.get("rollout") else state.get("head")


def chosen() -> list[Head]:
    """Return the heads that are shown together, the current one among them."""
    together = list(state.get("chosen"))
    return together if current() in together else [current(), *together][:MAX_CHOSEN]


def view() -> dict[str, Any]:
    """Return the view as the explorer takes it."""
    layer, head = current()
    rest = (*WORDS, *SWITCHES, "q", "k", "threshold", "strongest")
    return {"layer": layer, "head": head, "chosen": chosen(), **{name: state.get(name) for name in rest}}


def check(survey: Survey, rows: int, cols: int, *, rollout: bool, labels: list[str]) -> None:
    """Bring the view within what this model and this text have; say what a link asked for in vain."""
    layers, heads = survey.overview.shape[:2]
    state.keep_within("layer", "Layer", range(layers))
    state.keep_within("head", "Head", range(heads))
    if state.get("rollout") and not rollout:
        _give_up("rollout", "There is no rollout of cross-attention: it goes from one text to another.")
    real = tuple(
        (layer, head)
        for layer, head in state.get("chosen")
        if layer < layers and (head < heads if head != ROLLOUT else rollout)
    )
    gone = [one for one in state.get("chosen") if one not in real]
    if gone:
        state.note(f"Not there, and so not shown: {write_heads(gone).replace('_', ', ')} (layer.head).")
        state.put("chosen", real)
    for name, axis, count in (("q", "row", rows), ("k", "column", cols)):
        if state.get(name) is not None and state.get(name) >= count:
            _give_up(name, f"The pinned {axis} {state.get(name)} is not there: this text has {axis}s 0 to {count - 1}.")
    if state.get("label") and state.get("label") not in labels:
        _give_up("label", f"No head can be called “{state.get('label')}” here.")
    if state.get("sort") and state.get("sort") not in [measure.name for measure in survey.measures]:
        _give_up("sort", f"The heads have no measure {state.get('sort')} on this text, so they keep their order.")


def choose(layer: int, head: int) -> None:
    """Show this head and no other."""
    for name, value in (("layer", layer), ("head", head), ("rollout", False), ("chosen", ())):
        state.put(name, value)


def take(partial: Mapping[str, object]) -> None:
    """Take from the browser what a link might hold, and pass over the rest.

    Whether this model has such a head and this text such a token, `check` sees.
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
    """Put a value that is written as in a link; what a link would not take is passed over."""
    if not isinstance(sent, str):
        return
    with suppress(BadValueError):
        state.put(name, sent if sent == KEYS[name].default else KEYS[name].read(sent))


def _whole(sent: object) -> str | None:
    number = position(sent)
    return None if number is None else str(number)


def _give_up(name: str, sentence: str) -> None:
    state.note(sentence)
    state.put(name, KEYS[name].default)
