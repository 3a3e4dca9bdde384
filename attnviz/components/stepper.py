"""The stepper component: the choice of a step and of its drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnviz.components.registration import mount
from attnviz.components.updates import update_handler


def stepper(header: Mapping[str, Any], *, key: str, on_choice: Callable[[Mapping[str, object]], None]) -> None:
    """Mount the row of steps.

    - `header`: `steps` and `drawings` (pairs of name and label), `chosen` (the value of `step` and `drawing`), and
      `acknowledged` (`updates.acknowledged(key)`).

    `on_choice(values)` is called before the script reruns with the choices that changed. They come from the client and
    are not validated.
    """
    mount("stepper", header, {}, key=key, on_updates_change=update_handler(key, on_choice))
