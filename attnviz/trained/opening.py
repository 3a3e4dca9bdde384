"""How a trained model opens where a view names nothing else: on its own example, at the head that its card names."""

from __future__ import annotations

from typing import Any

from attnviz.pretrained.names import ModelError
from attnviz.trained.shipped import load

KEYS = ("text", "pair", "kind", "layer", "head", "block")
"""The keys of a link of which a view has none that opens in this way"""


def opening(name: str) -> dict[str, Any]:
    """Return the text and the head with which a model opens, by keys of links; nothing if there is no such model.

    The text is the first example of its task. Of the heads that its card names, it is the one that shows what the task
    is about: its last pattern. A card that names none leaves the first head.
    """
    from attnviz.trace.model import places
    from attnviz.trained.words import examples, heads

    try:
        model = load(name)
        numbers = model.description.numbers
    except ModelError:  # the page says so
        return {}
    there = [(place.kind, place.layer) for place in places(numbers)]
    _, kind, layer, head = (heads(model) or (("", *there[0], 0),))[-1]
    block = next(at for at, place in enumerate(there) if place == (kind, layer))
    return {"text": examples(model)[0], "kind": kind, "layer": layer, "head": head, "block": block}
