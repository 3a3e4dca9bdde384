"""The stepper: steps in their order, the layer and its heads, and how the picture is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attnviz.components.registration import component
from attnviz.components.updates import update_handler

CHOICES = ("step", "layer", "head", "drawing", "predict", "stretch")
"""What can be chosen. On Step by step these are the names in a link too."""


def stepper(payload: bytes, *, key: str, on_choice: Callable[[Mapping[str, object]], None]) -> None:
    """Mount the row of steps and, under it, the layer, its heads and the switches.

    `payload` is `packing.pack(header, arrays)`:

    - header: `steps` and `drawings` (pairs of name and label), `layers` and `heads` (how many there are; 0 layers where
      there is nothing to choose from), `layer_label` ("layer 3"), `place` (what is said where the heads are not shown,
      else ""), `switches` (name, label and help of those that this step has), `chosen` (for each of
      `CHOICES` that the page has, its value as a link writes it), and `acknowledged` (`updates.acknowledged(key)`);
    - arrays: the uint8 array `weights` (H, n, m) from `thumbnails.thumbnails` and, if cells are masked, the uint8 array
      `hidden` (n, m) from `thumbnails.hidden_thumbnail`. Without `weights` no head is offered.

    `on_choice(values)` is called, before the script runs again, with what was chosen. That ought to be some of
    `CHOICES` with their values as a link writes them, but anybody can send anything.
    """
    component("stepper")(data=payload, key=key, on_updates_change=update_handler(key, on_choice))
