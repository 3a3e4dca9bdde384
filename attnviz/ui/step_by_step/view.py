"""The main part of Step by step: the walk through all steps of a head, which the browser shows from documents."""

from __future__ import annotations

from attnviz.links.pages import PAGES
from attnviz.sources.shown import Shown
from attnviz.ui import shell, state
from attnviz.ui.sources import SavedView, view_of
from attnviz.ui.step_by_step.opening import SHIPPED
from attnviz.ui.tokens.tokenizers import char_vocab
from attnviz.ui.walk.documents import offer_documents
from attnviz.ui.walk.view import check_run, mount_walk, run_page

_VALUES = ("step", "layer", "head", "q", "k", "drawing", "predict", "stretch", "limit", "focus")
KEYS = {name: name for name in _VALUES}
"""What a user chooses in the walk, and its link keys"""


def show_walk(here: Shown) -> None:
    """Show the walk of a text.

    Raises:
        attnviz.tokens.NoTokensError: the text has no tokens.
    """
    check_run()
    queries, keys = here.axes()
    shell.token_notes(queries)
    state.keep_pin(len(queries), len(keys))
    view = SavedView(view_of(here), char_vocab(here.text))
    mount_walk(
        PAGES["step_by_step"],
        offer_documents(here, view, (queries, keys), SHIPPED),
        KEYS,
        source=here.source.key,
        on_tour=_start_tour,
        values={name: state.get(name) for name in KEYS} | {"layer": here.layer, "head": here.head},
        layers=here.layers,
        only_layer=here.source.only_layer,
        opening=state.is_opening_view(),
    )


def _start_tour() -> None:
    shell.start_tour()
    run_page()
