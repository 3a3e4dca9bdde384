"""The main part of Transformer: the walk through all steps of a whole model, which the browser shows from documents."""

from __future__ import annotations

from attnviz.links.pages import PAGES
from attnviz.sources.transformer import ShownPart
from attnviz.steps import PARTS, names_at
from attnviz.ui import shell, state
from attnviz.ui.sources import SavedView, view_of
from attnviz.ui.tokens.tokenizers import char_vocab
from attnviz.ui.transformer.diagram import diagram
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
