"""The walk component: all steps of the heads of a text, from documents that the browser requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from attnviz.components.updates import mount_with_updates

PLOTLY_PATH = f"/attnviz/plotly-{version('plotly')}.min.js"
"""Where the server offers plotly.js, which the Python package contains."""


def walk(
    header: Mapping[str, Any],
    *,
    key: str,
    on_update: Callable[[Mapping[str, object]], None],
) -> None:
    """Mount the walk.

    - `header`: `documents` (the digest of each layer's document: see `ui.walk`), `values` (the settings that
      shape the view, by link key: `WalkValues` in frontend/types/walk.d.ts), `layers` (the numbers of those to choose
      from; none if there is no choice), `only_layer` (its name then), `drawings` (pairs of name and label), `lecture`
      (whether the page is in lecture mode), `linked` (whether a link was opened with this view), `asks` (whether a
      lesson asks for the row that is covered), `model` (the whole model, for a diagram: `ModelDiagram` in
      frontend/types/walk.d.ts; None on pages that show one attention), `hides` (whether the model guesses a hidden
      word), `hidden` (that word and its row, or None), `writes` (what the model writes after the text, or None),
      `first` (the views to begin with), `answer` (the address of the model's answer, or ""), `follows` (the
      steps from the output to it: `Following` there, or None), `link` (the `keys` of the page's links in their order,
      the `names` of values whose keys are called otherwise, and the `defaults` of the values: the browser writes the
      address).

    `on_update(values)` is called before the script reruns, with the settings that the user changed. They come from the
    client and are not validated. The browser sends them when it has something else to send: until then no part of the
    page outside the walk depends on them.
    """
    full_header = {**header, "plotly": PLOTLY_PATH}
    kind = "walk" if full_header.get("model") is None else "transformer"
    mount_with_updates(kind, full_header, {}, key=key, on_update=on_update)
