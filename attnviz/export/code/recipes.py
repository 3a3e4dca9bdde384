"""From a view to its walk as code: the app and the command line both ask here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attnviz.export.code import lines as code
from attnviz.export.code.toy import ToyRecipe
from attnviz.export.subjects import View, toy_config
from attnviz.export.walk import Subject

if TYPE_CHECKING:
    from attnviz.pretrained import PretrainedModel

KINDS = {"encoder": "encoder", "decoder": "decoder", "cross": "decoder to encoder"}


def walk_cells(view: View, subject: Subject, load: Callable[[str], PretrainedModel]) -> tuple[code.Cell, ...]:
    """Write a walk as cells: from its seed, or from the model's name.

    Args:
        view: what the subject was made from; its model, kind and layer are there.
        subject: the walk.
        load: gives the model of a name; the toy needs none.
    """
    walk = subject.walk
    if view["source"] == "toy":
        recipe = ToyRecipe(subject.tokens.ids, toy_config(view))
        return code.cells(walk, recipe, place=f"the toy block, head {walk.head}", needs="torch", link=subject.link)
    from attnviz.export.code.model import model_recipe

    kind, layer = view["kind"], view["layer"]
    found = model_recipe(load(view["model"]), view["text"], view["pair"].strip() or None, kind, layer)
    place = f"{KINDS[kind]} attention, layer {layer}, head {walk.head}"
    return code.cells(walk, found, place=place, needs="torch and transformers", link=subject.link)
