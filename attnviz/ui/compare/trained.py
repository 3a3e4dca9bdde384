"""Opens a trained model that is chosen for one of the panes on its own example, as every page does."""

from __future__ import annotations

from attnviz.links.pages import PAGES
from attnviz.sources.compared import B_KEYS, overridden
from attnviz.trained.shipped import opening
from attnviz.ui import replaced, state
from attnviz.ui.compare.panes import A, B, Pane, pair_of_model
from attnviz.ui.trained.opening import is_offered
from attnviz.ui.trained.opening import open_chosen as open_in_view

_B = "trained in B"
"""Why settings of B are replaced"""


def trained_model(pane: Pane) -> str | None:
    """Return the name of the trained model of a pane; None if it has another source's."""
    return PAGES["compare"].trained_model(pane.get)


def open_chosen(pane: Pane, before: str | None) -> None:
    """Open a pane's model that was just chosen, from a callback; `before` is the trained one that the pane had."""
    if pane is A:
        _open_in_a(before)
        return
    after = trained_model(B)
    if after == before:
        return
    replaced.give_back(_B)
    is_typed = not is_offered(B.get("text"), before)
    if after is not None and after != trained_model(A) and not is_typed:
        values = {name: value for name, value in opening(after).items() if name in B_KEYS}
        replaced.replace(_B, {B.key(name): value for name, value in values.items()})


def _open_in_a(before: str | None) -> None:
    """Open A's model. B's text, where it has one for A's model before, becomes another example of the new one."""
    own = B.own("text")
    is_offered_to_b = own is not None and is_offered(own, before)
    open_in_view(before, trained_model(A))
    if not is_offered_to_b or trained_model(B) != trained_model(A):
        return
    _, other = pair_of_model(A.get("text"), trained_model(A))
    B.put("text", other if other != A.get("text") else None)
    if not overridden(state.get):
        state.put("compare", "")  # then the page chooses what differs
