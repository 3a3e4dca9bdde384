"""The explorer component: a grid of all layers and heads, and the chosen heads as lines and heatmaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from attnviz.components.registration import mount
from attnviz.components.updates import update_handler


def explorer(
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    key: str,
    on_view: Callable[[Mapping[str, object]], None],
) -> None:
    """Mount the explorer.

    - `header`: `trace` (an id: equal ids have equal numbers), `model`, `kind`, `layers`, `heads`, `rows`, `cols`,
      `causal`, `query_labels`, `key_labels`, `query_groups`, `key_groups` (a number per token: 0 special, 1 first
      sentence, 2 second), `files` (the digests under which the browser requests arrays: see
      `heads.all_heads.list_files`), `view` (the settings in the link), `acknowledged` (`updates.acknowledged(key)`),
      `measures` (name, title, unit, low and high of each, and the `keys` whose weights it sums, if it does), `labels`
      (L lists of H lists of strings), `rollout` and `norms` (whether there are any);
    - `arrays`: `measures` float32 (L, H, M).

    `on_view(values)` is called before the script reruns, with the settings that the user changed. They come from the
    client and are not validated. There are none if the browser only asks that the page offer its arrays again.
    """
    mount("explorer", header, arrays, key=key, on_updates_change=update_handler(key, on_view))
