"""The explorer component: a grid of all layers and heads, and the chosen heads as lines and heatmaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attnviz.components.registration import component, position, sent_value
from attnviz.components.updates import update_handler

MAX_REQUESTED = 1024
"""The maximum number of heads in one request; no supported model has more."""


def explorer(
    payload: bytes,
    *,
    key: str,
    on_want: Callable[[list[tuple[int, int]]], None],
    on_view: Callable[[Mapping[str, object]], None],
) -> None:
    """Mount the explorer.

    `payload` is `packing.pack(header, arrays)`:

    - header: `trace` (an id: equal ids have equal numbers), `model`, `kind`, `layers`, `heads`, `rows`, `cols`,
      `causal`, `query_labels`, `key_labels`, `query_groups`, `key_groups` (a number per token: 0 special, 1 first
      sentence, 2 second), `sent` ([layer, head] of each matrix in `weights`; head −1 is the rollout up to the layer),
      `view` (the settings in the link), `acknowledged` (`updates.acknowledged(key)`), `measures` (name, title, unit,
      low and high of each), `labels` (L lists of H lists of strings), `rollout` and `norms` (whether there are any);
    - arrays: `weights` uint16 (S, Tq, Tk), rint(weight · 65535); `measures` float32 (L, H, M); `overview` uint8
      (L, H, n, m) from `thumbnails.thumbnails`, absent where `sent` holds every head; `key_norms` float32 (L, H, Tk) if
      there are norms; `hidden` uint8 (Tq, Tk) if other cells than those of the causal mask are masked. `overview`
      and `key_norms` may be left out of later payloads with the same `trace`: the browser keeps them.

    `on_want(heads)` is called before the script reruns when the browser needs the weights of these (layer, head), and
    with [] when it needs the complete first payload. `on_view(values)` is called with the settings that the user
    changed. Both come from the client and are not validated.
    """

    def handle_request() -> None:
        heads = read_heads(sent_value(key, "want"))
        if heads is not None:
            on_want(heads)

    component("explorer")(
        data=payload, key=key, on_want_change=handle_request, on_updates_change=update_handler(key, on_view)
    )


def read_heads(sent: object) -> list[tuple[int, int]] | None:
    """Validate a list of [layer, head] from the browser and drop duplicates; return None if it is not a list.

    Invalid entries are dropped. Head −1 is the rollout.
    """
    if not isinstance(sent, list | tuple):
        return None
    heads: dict[tuple[int, int], None] = {}
    for pair in sent[:MAX_REQUESTED]:
        if isinstance(pair, list | tuple) and len(pair) == 2:
            layer, head = position(pair[0]), -1 if pair[1] == -1 else position(pair[1])
            if layer is not None and head is not None:
                heads[layer, head] = None
    return list(heads)
