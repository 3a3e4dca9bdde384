"""From what a view shows to its walk as code: the app and the command line both ask here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from attnviz.export.code import lines as code
from attnviz.export.code.toy import ToyRecipe
from attnviz.sources.shown import KIND_NAMES, Shown
from attnviz.trace.walk import Walk

Cells = tuple[code.Cell, ...]


def walk_cells(shown: Shown, walk: Walk) -> Cells:
    """Write a walk as cells.

    Args:
        shown: what the walk was made from.
        walk: the walk.

    Raises:
        KeyError: a source of which there is no code.
    """
    return RECIPES[shown.source.key](shown, walk)


def _from_seed(shown: Shown, walk: Walk) -> Cells:
    recipe = ToyRecipe(walk.query_tokens.ids, cast(Any, shown.model).config)
    return code.cells(walk, recipe, place=f"the toy block, head {walk.head}", needs="torch", link=walk.link)


def _from_transformers(shown: Shown, walk: Walk) -> Cells:
    from attnviz.export.code.model import model_recipe

    recipe_of_model = model_recipe(cast(Any, shown.model), shown.text, shown.pair, shown.kind, shown.layer)
    place = f"{KIND_NAMES[shown.kind]} attention, layer {shown.layer}, head {walk.head}"
    return code.cells(walk, recipe_of_model, place=place, needs="torch and transformers", link=walk.link)


RECIPES: dict[str, Callable[[Shown, Walk], Cells]] = {"toy": _from_seed, "pretrained": _from_transformers}
"""By source. One that is not here is exported without code."""
