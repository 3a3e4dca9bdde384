"""The head, or the layer, that differs most from A's on its text: what "Two heads" and "Two layers" take for B."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import streamlit as st

from attnviz.formatting import number
from attnviz.sources.compared import Choice, run
from attnviz.sources.shown import shown
from attnviz.tokens import NoTokensError
from attnviz.ui.caches import result
from attnviz.ui.compare.panes import B, current_preset
from attnviz.ui.sources import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attnviz.compare.matrices import Divergences
    from attnviz.trace.walk import Walk

Which = Literal["head", "layer"]
RESULT_BYTES = 2**20
"""Hundreds of models, layers and texts"""
_ASKED = "compare_most_different"


def ask(which: Which) -> None:
    """Ask from a callback for the most different head or layer, which the next run takes for B."""
    st.session_state[_ASKED] = which


def take(a: Choice) -> None:
    """Give B what a preset has asked for. Before B's widgets, because it changes their values."""
    which: Which | None = st.session_state.pop(_ASKED, None)
    found = None if which is None else _found(a, which)
    if which is not None and found is not None and found.most is not None:
        B.put(which, found.most)


def say(a: Choice, b: Choice) -> None:
    """Say by what measure B's head or layer is the most different one, or which is, where only that differs."""
    preset = current_preset()
    if preset not in ("head", "layer"):
        return
    which: Which = "head" if preset == "head" else "layer"
    found = _found(a, which)
    if found is None or found.most is None:
        return
    there = a.get(which), b.get(which)
    st.caption(sentence(found, which, *there))


def sentence(found: Divergences, which: Which, a: int, b: int) -> str:
    """Say which of N is the most different from A's, and how far B's is if it is another one."""
    most = a if found.most is None else found.most
    by = f"{number(found.bits_at(most), 2)} bits of Jensen-Shannon divergence between rows of weights, on average"
    ending = "" if b == most else f" {which.capitalize()} {b}: {number(found.bits_at(b), 2)}."
    return f"Of {len(found.numbers)} {which}s, {which} {most} differs most from {which} {a} on A’s text: {by}.{ending}"


def _found(a: Choice, which: Which) -> Divergences | None:
    """Return how far all heads of A's layer, or A's head in all layers, are from A's; None if that can't be said."""
    if which == "layer" and not a.source.has_layers:
        return None
    from attnviz.measures.survey import survey_name

    here = shown(a.get, RESOURCES)
    try:
        trace = here.trace(RESOURCES)
    except NoTokensError:
        return None
    # Here, because the thread that computes has no access to the view.
    numbers = here.layers if which == "layer" else [a.layer]
    walks = {layer: run(replace(a, layer=layer), RESOURCES) for layer in numbers}
    key = survey_name(trace, here.kind), which, a.layer, a.head, a.get("scale"), a.get("mask")
    compute = partial(_of_layers, walks, a.layer) if which == "layer" else partial(_of_heads, walks[a.layer], a.head)
    return result("most different", RESULT_BYTES, key, compute)


def _of_heads(walk: Walk, head: int) -> Divergences:
    from attnviz.compare.matrices import divergences

    return divergences(dict(enumerate(walk.layer.attentions().numpy())), head)


def _of_layers(walks: Mapping[int, Walk], layer: int) -> Divergences:
    from attnviz.compare.matrices import divergences

    return divergences({number: walk.steps.weights.numpy() for number, walk in walks.items()}, layer)
