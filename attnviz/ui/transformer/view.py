"""The main part of Transformer: the walk through all steps of a whole model, which the browser shows from documents.

What its diagram says of the model is known before anything is run.
"""

from __future__ import annotations

from typing import Any

from attnviz.links.pages import PAGES
from attnviz.sources.shown import ShownPart
from attnviz.steps import PARTS, names_at
from attnviz.tokens import Tokens
from attnviz.trace.model import Place
from attnviz.trace.sizes import ModelSizes
from attnviz.ui import shell, state
from attnviz.ui.sources import SavedView, view_of
from attnviz.ui.tokens.tokenizers import char_vocab
from attnviz.ui.walk.documents import offer_documents
from attnviz.ui.walk.view import check_run, mount_walk

PAGE = PAGES["transformer"]
KEYS = {
    "step": "part", "layer": "block",
    **{name: name for name in ("head", "q", "k", "drawing", "predict", "stretch", "limit", "focus")},
}  # fmt: skip
"""What a user chooses in the walk, and its link keys"""


def show_transformer(here: ShownPart) -> None:
    """Show the walk of a text through a model.

    Raises:
        NoTokensError: the text, or what the decoder reads, has no tokens.
    """
    check_run()
    queries, keys = here.axes()
    read = here.model.read(here.text, here.pair)
    for tokens in read:
        if tokens is not None:
            shell.token_notes(tokens)
    state.keep_pin(len(queries), len(keys))
    _check_step(here)
    view = SavedView(view_of(here), char_vocab(here.text), PAGE.name)
    mount_walk(
        PAGE,
        offer_documents(here, view, read),
        KEYS,
        source=here.source.key,
        values={name: state.get(key) for name, key in KEYS.items()} | {"layer": here.layer, "head": here.head},
        layers=here.layers,
        model=diagram(here, read, "" if here.source.has_names else state.get("positions")),
    )


def _check_step(here: ShownPart) -> None:
    """Replace a step that the shown attention does not have by the nearest one before it that it has, with a note."""
    there, asked = names_at(here.model.description, here.place), state.get("part")
    if asked in there:
        return
    order = list(PARTS)
    nearest = max((name for name in there if order.index(name) < order.index(asked)), key=order.index)
    place, kind = here.place.name[0].upper() + here.place.name[1:], here.place.kind
    missing, shown = (PARTS[name].title_of(kind) for name in (asked, nearest))
    state.note(f"{place} has no step “{missing}” in this model: the nearest before it, “{shown}”, is shown.")
    state.put("part", nearest)


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
