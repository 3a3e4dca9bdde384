"""All heads of a text as the browser shows them, and the choices on the page Heads as values of the explorer.

    from attnviz.heads.all_heads import AllHeads

    all_heads = AllHeads.of(trace, "encoder")
    header, arrays = all_heads.payload(view)
    file = all_heads.file(header["files"]["shared"])  # likewise for each name in `files`, when the browser requests it

`frontend/heads/explorer.ts` shows them. Importing this imports no torch, which `all_heads` needs.
"""

from __future__ import annotations

from typing import Any

from attnviz.links.values import MAX_CHOSEN, ROLLOUT, Head
from attnviz.sources.models import Get

WORDS = ("show", "direction", "special", "between", "values", "stretch", "sort", "label")
"""Keys whose values are words of a fixed set"""
SWITCHES = ("mean",)


def current(get: Get) -> Head:
    """Return the current layer and head; the head is `ROLLOUT` for the rollout up to the layer."""
    return get("layer"), ROLLOUT if get("rollout") else get("head")


def chosen(get: Get) -> list[Head]:
    """Return the heads to combine, including the current one."""
    heads = list(get("chosen"))
    return heads if current(get) in heads else [current(get), *heads][:MAX_CHOSEN]


def view(get: Get) -> dict[str, Any]:
    """Return the values of the explorer: `HeadsView` in frontend/types/heads.d.ts."""
    layer, head = current(get)
    rest = (*WORDS, *SWITCHES, "q", "k", "threshold", "strongest")
    return {"layer": layer, "head": head, "chosen": chosen(get), **{name: get(name) for name in rest}}
