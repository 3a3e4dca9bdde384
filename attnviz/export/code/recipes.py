"""The walk of a view as code, for the app and the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from attnviz.export.code import lines as code
from attnviz.export.code.toy import ToyRecipe
from attnviz.sources.shown import KIND_NAMES, Shown
from attnviz.trace.walk import Walk

Cells = tuple[code.Cell, ...]


def walk_cells(shown: Shown, walk: Walk) -> Cells:
    """Return the code cells of a walk.

    Args:
        shown: the model and head of the walk.
        walk: the walk.

    Raises:
        KeyError: there is no code for models of this source.
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
"""By source. Models of other sources are exported without code."""
