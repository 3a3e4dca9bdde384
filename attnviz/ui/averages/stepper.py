"""The stepper of the page From averages to attention, with the ways as steps."""

from __future__ import annotations

from collections.abc import Mapping

from attnviz.components.stepper import stepper
from attnviz.components.updates import acknowledged
from attnviz.links.link import KEYS
from attnviz.steps.averages import WAYS
from attnviz.ui import state
from attnviz.ui.picture import PICTURES

NAMES = {"step": "way", "drawing": "drawing"}
"""The choices of the stepper, and the link keys that they set"""


def ways() -> None:
    """Show the ways, and how the picture is drawn."""
    header = {
        "steps": [(name, way.title) for name, way in WAYS.items()],
        "drawings": list(PICTURES.items()),
        "chosen": {choice: KEYS[name].write(state.get(name)) for choice, name in NAMES.items()},
        "acknowledged": acknowledged("ways"),
    }
    stepper(header, key="ways", on_choice=_choose)


def _choose(values: Mapping[str, object]) -> None:
    state.take({name: values[choice] for choice, name in NAMES.items() if choice in values}, NAMES.values())
