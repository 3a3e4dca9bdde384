"""What the diagram of the page Transformer says of a model: its attentions and their steps, before anything is run."""

from __future__ import annotations

from typing import Any

from attnviz.sources.transformer import ShownPart
from attnviz.steps import PARTS, names_at
from attnviz.tokens import Tokens
from attnviz.trace.model import Place
from attnviz.trace.sizes import ModelSizes


def diagram(here: ShownPart, tokens: tuple[Tokens, Tokens | None], positions: str) -> dict[str, Any]:
    """Return the model as the component's header has it: `ModelDiagram` in frontend/types/walk.d.ts.

    Args:
        here: what the page shows.
        tokens: what the model reads: the text, and what the decoder reads of a model with both.
        positions: the kind of the positions, if it is known.
    """
    description = here.model.description
    sizes = description.sizes
    read, target = tokens
    alone = "encoder" if here.places[0].stack == "encoder" else "decoder"
    labels: dict[str, list[str] | None] = {"encoder": None, "decoder": None, alone: list(read.labels)}
    if target is not None:
        labels["decoder"] = list(target.labels)
    ids = {*read.ids, *(() if target is None else target.ids)}
    return {
        "attentions": [
            {
                "stack": place.stack,
                "block": place.layer,
                "kind": place.kind,
                "heads": description.layers[place.kind][1],
                "head_size": description.head_size_at(place),
                "feed_forward": _feed_forward(sizes, here.places, place),
                "steps": [
                    [name, PARTS[name].title_of(place.kind, place.layer)] for name in names_at(description, place)
                ],
            }
            for place in here.places
        ],
        "norm_first": bool(description.norm_first),
        "width": description.width,
        "vocabulary": (description.outputs or len(ids)) if description.shows_logits else None,
        "tokens": labels,
        "positions": positions,
        "final_norm": description.final_norm,
        "head": description.shows_logits,
    }


def _feed_forward(sizes: ModelSizes | None, places: tuple[Place, ...], place: Place) -> list[list[int]] | None:
    """Return what the maps of a block's feed-forward take and give; None if they are not known."""
    blocks = list(dict.fromkeys((one.stack, one.layer) for one in places))
    if sizes is None or len(sizes.feed_forwards) != len(blocks):
        return None
    maps = sizes.feed_forwards[blocks.index((place.stack, place.layer))]
    return [[one.inputs, one.outputs] for one in maps]
