"""Exports a view as code, for the app and the command line: a walk of Step by step, or a whole transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from attnviz.export.code import cells as code
from attnviz.export.code.toy import toy_inputs
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
    return RECIPES[shown.source.key](shown, walk, resources)


def no_code_reason(source: str) -> str:
    """Return why there is no code for models of this source, as a sentence; empty if there is."""
    return "" if source in RECIPES else f"There is no code for the source “{SOURCES[source].title}”, only numbers."


def about_code(source: str, page: str) -> str:
    """Return what the code of a view of a page computes, as a sentence."""
    if page != START or source == TRAINED.key:
        return ABOUT[source]
    return "The code does not need attnviz."


def _of_toy(shown: ShownHead, walk: Walk, resources: Resources) -> Cells:
    config = cast(Any, shown.model).config
    if isinstance(shown, ShownPart):
        from attnviz.export.code.transformer import transformer_cells

        return transformer_cells(shown.trace(resources), config, walk.head, walk.link)
    inputs = *toy_inputs(walk.query_tokens.ids, config), *code.rotated_cells(walk)
    return code.cells(walk, inputs, place="the toy block", needs="torch")


def _of_pretrained(shown: ShownHead, walk: Walk, resources: Resources) -> Cells:
    from attnviz.export.code.pretrained import around_pretrained, pretrained_inputs, unknown_of

    model, place, needs = cast(Any, shown.model), _place(shown), "torch and transformers"
    inputs = pretrained_inputs(model, shown.text, shown.pair, place, walk)
    unknown = unknown_of(walk, model.module_names(place.layer, place.kind))
    if isinstance(shown, ShownPart):
        attention = code.cells(walk, inputs, place=place.name, needs=needs, page="Transformer", unknown=unknown)
        path = model.module_names(place.layer, place.kind).attention
        return *attention, *around_pretrained(walk, shown.trace(resources), path)
    where = f"{KIND_NAMES[shown.kind]} attention, layer {shown.layer}"
    return code.cells(walk, inputs, place=where, needs=needs, unknown=unknown)


def _of_trained(shown: ShownHead, walk: Walk, resources: Resources) -> Cells:
    from attnviz.export.code.trained import around_trained, trained_inputs

    del resources  # the walk has all steps
    place, needs = _place(shown).name, "torch and safetensors"
    inputs = trained_inputs(cast(Any, shown.model), shown.text, shown.pair, place)
    if isinstance(shown, ShownPart):
        return *code.cells(walk, inputs, place=place, needs=needs, page="Transformer"), *around_trained(walk)
    return code.cells(walk, inputs, place=place, needs=needs)


def _place(shown: ShownHead) -> Place:
    return shown.place if isinstance(shown, ShownPart) else Place(shown.kind, shown.layer)


RECIPES: dict[str, Callable[[ShownHead, Walk, Resources], Cells]] = {
    TOY.key: _of_toy, PRETRAINED.key: _of_pretrained, TRAINED.key: _of_trained,
}  # fmt: skip
"""The code of a view of Step by step or Transformer, by source. Models of other sources are exported without code."""
