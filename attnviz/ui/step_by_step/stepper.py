"""The stepper of Step by step and of the averages: its payload, and the handling of choices."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from attnviz.components.packing import pack
from attnviz.components.stepper import CHOICES
from attnviz.components.stepper import stepper as mount
from attnviz.components.updates import acknowledged
from attnviz.links.link import KEYS, BadValueError
from attnviz.measures.thumbnails import hidden_thumbnail
from attnviz.sources import SOURCES
from attnviz.steps import STEPS
from attnviz.steps.averages import WAYS
from attnviz.ui import state
from attnviz.ui.caches import overview
from attnviz.ui.picture import PICTURES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from attnviz.trace.layer import LayerTrace

SWITCHES = {
    "predict": (
        "Predict",
        "Covers one row of the result, the pinned one. Click a cell to reveal it; R reveals the row, A all.",
    ),
    "stretch": ("Stretch colours", "End the colours at the largest weight, not at 1."),
}


def stepper(layers: int, layer: LayerTrace | None = None) -> None:
    """Show the steps, the choice of layer (if `layers` is not 0), and the heads of the current layer."""
    offered = {
        "steps": [(name, step.title) for name, step in STEPS.items()],
        "drawings": list(PICTURES.items()) if layer else [], "layers": layers,
        "heads": layer.heads if layer else 0, "layer_label": _layer_label(), "place": _place(layers),
        "switches": [(name, *SWITCHES[name]) for name in _offered()],
    }  # fmt: skip
    _mount("stepper", offered, _pictures(layer), dict(zip(CHOICES, CHOICES, strict=True)))


def ways() -> None:
    """Show the stepper of the page From averages to attention, with the ways as steps."""
    offered = {
        "steps": [(name, way.title) for name, way in WAYS.items()], "drawings": list(PICTURES.items()), "layers": 0,
        "heads": 0, "layer_label": "", "place": "", "switches": [],
    }  # fmt: skip
    _mount("ways", offered, {}, {"step": "way", "drawing": "drawing"})


def _mount(
    key: str, offered: Mapping[str, Any], pictures: Mapping[str, npt.NDArray[np.uint8]], names: Mapping[str, str]
) -> None:
    """Mount the component; `names` maps its choices on this page to link keys."""

    def choose(values: Mapping[str, object]) -> None:
        # Ignore values that a link could not hold: clients may send any value.
        for choice, value in values.items():
            if choice in names and isinstance(value, str):
                with suppress(BadValueError):
                    state.put(names[choice], KEYS[names[choice]].read(value))

    chosen = {choice: KEYS[name].write(state.get(name)) for choice, name in names.items()}
    mount(pack({**offered, "chosen": chosen, "acknowledged": acknowledged(key)}, pictures), key=key, on_choice=choose)


def _layer_label() -> str:
    source = SOURCES[state.get("source")]
    return f"layer {state.get('layer')}" if source.has_layers else source.only_layer


def _place(layers: int) -> str:
    """Return the current head for lecture mode, where nothing else shows it."""
    if not state.get("lecture"):
        return ""
    head = f"head {state.get('head')}"
    return f"layer {state.get('layer')} · {head}" if layers else head


def _offered() -> list[str]:
    """Return the switches of this step."""
    step = STEPS[state.get("step")]
    predicted = step.can_be_covered and state.get("drawing") == "stage"
    return [name for name, offered in (("predict", predicted), ("stretch", step.can_be_stretched)) if offered]


def _pictures(layer: LayerTrace | None) -> dict[str, npt.NDArray[np.uint8]]:
    """Return thumbnails of all heads of the layer; none in lecture mode, which does not show them."""
    if layer is None or state.get("lecture"):
        return {}
    arrays = {"weights": overview(layer)}
    if layer.mask.kind != "none":
        hidden = layer.hidden(state.get("head")).numpy()
        if hidden.any():
            arrays["hidden"] = hidden_thumbnail(hidden)
    return arrays
