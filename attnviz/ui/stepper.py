"""The stepper of Step by step: what it offers in this view, and what becomes of a choice."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attnviz.components.packing import pack
from attnviz.components.stepper import CHOICES
from attnviz.components.stepper import stepper as mount
from attnviz.components.thumbnails import hidden_thumbnail
from attnviz.components.told import heard
from attnviz.ui import state
from attnviz.ui.caches import overview
from attnviz.ui.link import KEYS, BadValueError
from attnviz.ui.picture import PICTURES
from attnviz.vocabulary import STEPS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from attnviz.layer_trace import LayerTrace

PREDICTED = ("scores", "scaled", "masked", "weights", "head_outputs")
"""The steps whose result one can guess, row by row."""
STRETCHED = ("weights", "head_outputs")
"""The steps that show weights, whose colours can be stretched."""
SWITCHES = {
    "predict": (
        "Predict",
        "Covers one row of the result, the pinned one. Click a cell to reveal it; R reveals the row, A all.",
    ),
    "stretch": ("Stretch colours", "End the colours at the largest weight, not at 1."),
}


def stepper(layers: int, layer: LayerTrace | None = None) -> None:
    """Show the steps, the choice of layer where there are `layers`, and the heads of the layer that is shown."""
    header: dict[str, Any] = {
        "steps": list(STEPS.items()), "drawings": list(PICTURES.items()) if layer else [], "layers": layers,
        "heads": layer.heads if layer else 0, "layer_label": _layer_label(), "place": _place(layers),
        "switches": [(name, *SWITCHES[name]) for name in _offered()],
        "chosen": {name: KEYS[name].write(state.get(name)) for name in CHOICES}, "heard": heard("stepper"),
    }  # fmt: skip
    mount(pack(header, _pictures(layer)), key="stepper", on_choice=_choose)


def _layer_label() -> str:
    return f"layer {state.get('layer')}" if state.get("source") == "pretrained" else "the toy block"


def _place(layers: int) -> str:
    """Say which head is shown, where nothing else on the screen does."""
    if not state.get("lecture"):
        return ""
    head = f"head {state.get('head')}"
    return f"layer {state.get('layer')} · {head}" if layers else head


def _offered() -> list[str]:
    """Return the switches that this step has."""
    step = state.get("step")
    guessed = step in PREDICTED and state.get("drawing") == "stage"
    return [name for name, there in (("predict", guessed), ("stretch", step in STRETCHED)) if there]


def _pictures(layer: LayerTrace | None) -> dict[str, npt.NDArray[np.uint8]]:
    """Return every head of the layer as a small picture; none in lecture mode, which does not show them."""
    if layer is None or state.get("lecture"):
        return {}
    arrays = {"weights": overview(layer)}
    if layer.mask is not None:
        hidden = layer.hidden(state.get("head")).numpy()
        if hidden.any():
            arrays["hidden"] = hidden_thumbnail(hidden)
    return arrays


def _choose(values: Mapping[str, object]) -> None:
    """Take what was chosen into the view. What no link takes is no choice: anybody can send anything."""
    for name, value in values.items():
        if name in CHOICES and isinstance(value, str):
            with suppress(BadValueError):
                state.put(name, KEYS[name].read(value))
