"""The explorer: all layers and heads as a grid, the chosen heads as lines and heatmaps, worked in the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from attnviz.components.registration import component, position
from attnviz.components.updates import update_handler

MOST_ASKED = 1024
"""Heads that one question may name; nobody has more."""


def explorer(
    payload: bytes,
    *,
    key: str,
    on_want: Callable[[list[tuple[int, int]]], None],
    on_view: Callable[[Mapping[str, object]], None],
) -> None:
    """Mount the explorer.

    `payload` is `packing.pack(header, arrays)`:

    - header: `trace` (names all that shapes the numbers), `model`, `kind`, `layers`, `heads`, `rows`, `cols`, `causal`,
      `query_labels`, `key_labels`, `query_groups`, `key_groups` (a number a token: 0 special, 1 first sentence, 2
      second), `sent` ([layer, head] of each matrix in `weights`; head −1 is the rollout up to the layer), `view` (what
      the link holds), `acknowledged` (`updates.acknowledged(key)`), `measures` (name, title, unit, low and high of
      each), `labels` (L lists of H lists of strings), `rollout` and `norms` (whether there are any);
    - arrays: `weights` uint16 (S, Tq, Tk), rint(weight · 65535); `measures` float32 (L, H, M); `overview` uint8
      (L, H, n, m) from `thumbnails.thumbnails`, absent where `sent` holds every head; `key_norms` float32 (L, H, Tk) if
      there are norms; `hidden` uint8 (Tq, Tk) if cells are masked otherwise than `causal` says. `overview` and
      `key_norms` may stay away from later payloads with the same `trace`: the browser keeps them.

    `on_want(heads)` is called, before the script runs again, when the browser needs the weights of [(layer, head),
    ...], and with [] when it lacks all that comes with the first payload. `on_view(values)` is called with what the
    user changed of the view; anybody can send anything.
    """

    def wanted() -> None:
        heads = read_heads(st.session_state[key].want)
        if heads is not None:
            on_want(heads)

    component("explorer")(data=payload, key=key, on_want_change=wanted, on_updates_change=update_handler(key, on_view))


def read_heads(sent: object) -> list[tuple[int, int]] | None:
    """Read a list of [layer, head] that came from the browser, each once; None where it is none.

    What is no head is left out; a head may be −1, the rollout.
    """
    if not isinstance(sent, list | tuple):
        return None
    heads: dict[tuple[int, int], None] = {}
    for pair in sent[:MOST_ASKED]:
        if isinstance(pair, list | tuple) and len(pair) == 2:
            layer, head = position(pair[0]), -1 if pair[1] == -1 else position(pair[1])
            if layer is not None and head is not None:
                heads[layer, head] = None
    return list(heads)
