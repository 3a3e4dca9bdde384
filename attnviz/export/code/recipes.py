"""Exports a view as code, for the app and the command line: a walk of Step by step, or a whole transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from attnviz.export.code import cells as code
from attnviz.export.code.toy import ToyRecipe
from attnviz.export.views import START
from attnviz.sources import PRETRAINED, SOURCES, TOY, TRAINED, Resources
from attnviz.sources.shown import KIND_NAMES, ShownHead, ShownPart
from attnviz.trace.model import Place
from attnviz.trace.walk import Walk

Cells = tuple[code.Cell, ...]


ABOUT = {
    TOY.key: "Notebook and script compute the whole model, every block of it, with torch alone.",
    PRETRAINED.key: "Notebook and script load the model with transformers, compute this attention, and record "
    "the steps around it, where they are known here.",
    TRAINED.key: "Notebook and script read the model's file, and compute the whole model with torch alone.",
}
"""What the code of a view of Transformer computes, by source"""


class NoCodeError(ValueError):
    """No code can be written for the models of a source. The message is one sentence for the user."""


def walk_cells(shown: ShownHead, walk: Walk, resources: Resources) -> Cells:
    """Return the code cells of a walk, or of the whole model that it goes through.

    Args:
        shown: the model and head of the walk.
        walk: the walk.
        resources: loads and runs the model.

    Raises:
        NoCodeError: there is no code for models of this source.
    """
    if reason := no_code_reason(shown.source.key):
        raise NoCodeError(reason)
    if isinstance(shown, ShownPart):
        return OF_TRANSFORMER[shown.source.key](shown, walk, resources)
    return RECIPES[shown.source.key](shown, walk)


def no_code_reason(source: str) -> str:
    """Return why there is no code for models of this source, as a sentence; empty if there is."""
    return "" if source in RECIPES else f"There is no code for the source “{SOURCES[source].title}”, only numbers."


def about_code(source: str, page: str) -> str:
    """Return what the code of a view of a page computes, as a sentence."""
    if page != START or source == TRAINED.key:
        return ABOUT[source]
    return "The code does not need attnviz."


def _whole_toy(shown: ShownPart, walk: Walk, resources: Resources) -> Cells:
    from attnviz.export.code.transformer import transformer_cells

    return transformer_cells(shown.trace(resources), cast(Any, shown.model).config, walk.head, walk.link)


def _from_seed(shown: ShownHead, walk: Walk) -> Cells:
    recipe = ToyRecipe(walk.query_tokens.ids, cast(Any, shown.model).config)
    return code.cells(walk, recipe, place=f"the toy block, head {walk.head}", needs="torch", link=walk.link)


def _from_transformers(shown: ShownHead, walk: Walk) -> Cells:
    from attnviz.export.code.pretrained import model_recipe

    recipe_of_model = model_recipe(cast(Any, shown.model), shown.text, shown.pair, shown.kind, shown.layer)
    place = f"{KIND_NAMES[shown.kind]} attention, layer {shown.layer}, head {walk.head}"
    return code.cells(walk, recipe_of_model, place=place, needs="torch and transformers", link=walk.link)


def _part_from_transformers(shown: ShownPart, walk: Walk, resources: Resources) -> Cells:
    from attnviz.export.code.pretrained import around_pretrained, model_recipe

    place = shown.place
    recipe_of_model = model_recipe(cast(Any, shown.model), shown.text, shown.pair, place.kind, place.layer)
    attention = code.cells(
        walk, recipe_of_model, place=f"{place.name}, head {walk.head}", needs="torch and transformers", link=walk.link,
        page="Transformer",
    )  # fmt: skip
    return *attention, *around_pretrained(walk, shown.trace(resources), recipe_of_model.names.attention)


def _from_file(shown: ShownHead, walk: Walk) -> Cells:
    return _attention_from_file(shown, walk, Place(shown.kind, shown.layer), "Step by step")


def _part_from_file(shown: ShownPart, walk: Walk, resources: Resources) -> Cells:
    from attnviz.export.code.trained import around_trained

    del resources  # the walk has all steps
    return *_attention_from_file(shown, walk, shown.place, "Transformer"), *around_trained(walk)


def _attention_from_file(shown: ShownHead, walk: Walk, place: Place, page: str) -> Cells:
    from attnviz.export.code.trained import trained_recipe

    recipe = trained_recipe(cast(Any, shown.model), shown.text, shown.pair, place)
    return code.cells(
        walk, recipe, place=f"{place.name}, head {walk.head}", needs="torch and safetensors", link=walk.link, page=page
    )


OF_TRANSFORMER: dict[str, Callable[[ShownPart, Walk, Resources], Cells]] = {
    TOY.key: _whole_toy, PRETRAINED.key: _part_from_transformers, TRAINED.key: _part_from_file,
}  # fmt: skip
"""The code of a view of Transformer, by source"""
RECIPES: dict[str, Callable[[ShownHead, Walk], Cells]] = {
    TOY.key: _from_seed, PRETRAINED.key: _from_transformers, TRAINED.key: _from_file,
}  # fmt: skip
"""The code of a walk of Step by step, by source. Models of other sources are exported without code."""
