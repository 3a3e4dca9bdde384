"""The stepper component: the choice of step, layer, head and drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attnviz.components.registration import component
from attnviz.components.updates import update_handler

CHOICES = ("step", "layer", "head", "drawing", "predict", "stretch")
"""The settings that the user can choose. On Step by step these are also their names in links."""


def stepper(payload: bytes, *, key: str, on_choice: Callable[[Mapping[str, object]], None]) -> None:
    """Mount the row of steps and, under it, the layer, its heads and the switches.

    `payload` is `packing.pack(header, arrays)`:

    - header: `steps` and `drawings` (pairs of name and label), `layers` and `heads` (their number; 0 layers if there is
      no choice), `layer_label` ("layer 3"), `place` (the text shown instead of the heads, else ""), `switches` (name,
      label and help of the step's switches), `chosen` (the value of each of the page's `CHOICES`, as in links), and
      `acknowledged` (`updates.acknowledged(key)`);
    - arrays: the uint8 array `weights` (H, n, m) from `thumbnails.thumbnails` and, if cells are masked, the uint8 array
      `hidden` (n, m) from `thumbnails.hidden_thumbnail`. Without `weights` there is no choice of a head.

    `on_choice(values)` is called before the script reruns with the choices that changed, normally some of `CHOICES`
    with their values as in links. They come from the client and are not validated.
    """
    component("stepper")(data=payload, key=key, on_updates_change=update_handler(key, on_choice))
