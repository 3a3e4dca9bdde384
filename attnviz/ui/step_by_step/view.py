"""The main part of Step by step: the picture of the step, and the notice, arithmetic and code beside it.

The page imports it after showing the controls, because it imports torch.
"""

from __future__ import annotations

import html
from hashlib import blake2b
from typing import Any

import numpy as np
import streamlit as st

from attnviz.components.inspector import inspector
from attnviz.components.packing import pack
from attnviz.components.updates import acknowledged
from attnviz.figures.panels import Pin
from attnviz.figures.steps import describe, lay_out
from attnviz.formulas import latex
from attnviz.steps import ATTENTION, STEPS, Step, unavailable
from attnviz.trace.walk import Walk
from attnviz.ui import state
from attnviz.ui.picture import palette, show_picture


def show_step(walk: Walk, name: str) -> None:
    """Show one step of one head: picture, notice, arithmetic, code."""
    step = ATTENTION[name]
    pin = _checked_pin(walk)
    picture, beside = st.columns([0.7, 0.3], gap="medium")
    with picture:
        st.latex(latex(step.formula(walk), palette().ink.of))
        _picture(walk, step, pin)
    with beside:
        st.html(f'<div class="notice">{_notice(walk, step)}</div>')
        inspector(_inspector_payload(walk, step, pin), key="inspector", on_pin=_take_pin)
        # Syntax highlighting loads slowly in the browser, so it is deferred until the listing is opened.
        with st.expander("The same in PyTorch", key="listing", on_change="rerun") as listing:
            if listing.open:
                st.code(step.code(walk), language="python")


def _picture(walk: Walk, step: Step[Walk], pin: Pin) -> None:
    layout = lay_out(walk, step.name, stretch=state.get("stretch"))
    about = {
        "alt": describe(layout), "walk": _name(walk), "order": list(STEPS).index(step.name), "step": step.name,
        "layer": state.get("layer"), "head": walk.head,
        "predict": state.get("predict"), "result": step.name,
    }  # fmt: skip
    show_picture(layout, walk.labels, about, pin=pin)
    if missing := unavailable(step, walk):
        st.caption(missing)


def _name(walk: Walk) -> str:
    """Return a digest of the walk. The picture morphs between steps with the same digest."""
    digest = blake2b(digest_size=8)
    for tensor in (walk.steps.query, walk.steps.key):
        digest.update(tensor.numpy().tobytes())
    return f"{digest.hexdigest()} {walk.head}"


def _notice(walk: Walk, step: Step[Walk]) -> str:
    facts = []
    if not (state.get("predict") and step.can_be_covered):  # a fact might reveal the covered row
        facts = [step.fact(walk), "" if state.get("stretch") else step.advice(walk)]
    fact = html.escape(" ".join(filter(None, facts)))
    return f'{html.escape(step.notice(walk))} <span class="fact">{fact}</span>'


def _inspector_payload(walk: Walk, step: Step[Walk], pin: Pin) -> bytes:
    steps, layer = walk.steps, walk.layer
    arrays = {name: getattr(steps, name).numpy().astype(np.float32) for name in ("query", "key", "value")}
    header: dict[str, Any] = {
        "step": step.name, "steps": list(STEPS), "by_cell": [one.name for one in STEPS.values() if one.is_by_cell],
        "q": pin.q, "k": pin.k, "scale": layer.scale,
        "scale_label": _scale_label(layer.scale, layer.head_size), "mask": "none",
        "query_labels": walk.query_labels, "key_labels": walk.key_labels, "acknowledged": acknowledged("inspector"),
    }  # fmt: skip
    if layer.mask.kind == "causal":
        header["mask"] = "causal"
    elif layer.mask.kind != "none":
        header["mask"] = "array"
        arrays["mask"] = (steps.masked - steps.scaled).numpy().astype(np.float32)
    return pack(header, arrays)


def _scale_label(scale: float, width: int) -> str:
    if abs(scale - width**-0.5) < 1e-9:
        return f"1/√{width}"
    return "off" if scale == 1 else f"{scale:g}"


def _checked_pin(walk: Walk) -> Pin:
    """Read the pin from the view; reset a cell that this text does not have, with a note."""
    pin = {}
    for name, labels in (("q", walk.query_labels), ("k", walk.key_labels)):
        value = state.get(name)
        if value is not None and value >= len(labels):
            axis = "row" if name == "q" else "column"
            state.note(f"The pinned {axis} {value} does not exist: this text has {axis}s 0 to {len(labels) - 1}.")
            state.put(name, None)
            value = None
        pin[name] = value
    return Pin(**pin)


def _take_pin(q: int | None, k: int | None) -> None:
    state.put("q", q)
    state.put("k", k)
