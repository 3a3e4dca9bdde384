"""The stepper: the steps in their order, the layer and its heads, and how the picture is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from attnviz.components.registration import component

CHOICES = ("step", "layer", "head", "drawing", "predict", "stretch")
"""What can be chosen, by its name in a link."""


def stepper(payload: bytes, *, key: str, on_choice: Callable[[str, object], None]) -> None:
    """Mount the row of steps and, under it, the layer, its heads and the switches.

    `payload` is `packing.pack(header, arrays)`:

    - header: `steps` and `drawings` (pairs of name and label), `layers` and `heads` (how many there are; 0 layers where
      there is nothing to choose from), `layer_label` ("layer 3"), `place` (what is said where the heads are not shown,
      else ""), `switches` (name, label and help of those that this step has), and `chosen`: for each of `CHOICES` its
      value as a link writes it;
    - arrays: the uint8 array `weights` (H, n, m) from `thumbnails.thumbnails` and, if cells are masked, the uint8 array
      `hidden` (n, m) from `thumbnails.hidden_thumbnail`. Without `weights` no head is offered.

    `on_choice(name, value)` is called, before the script runs again, with what the browser sent. That ought to be one
    of `CHOICES` and its value as a link writes it, but anybody can send anything.
    """

    def chosen(name: str) -> None:
        on_choice(name, st.session_state[key][name])

    callbacks: dict[str, Any] = {f"on_{name}_change": partial(chosen, name) for name in CHOICES}
    component("stepper")(data=payload, key=key, **callbacks)
