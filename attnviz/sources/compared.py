"""Resolves a view to the two heads that it compares: A has the view's settings, and B overrides some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnviz import trained
from attnviz.compare.minimal_pairs import counterpart
from attnviz.sources import SOURCES
from attnviz.sources.models import Get, Resources, Source
from attnviz.sources.shown import of_model, shown

if TYPE_CHECKING:
    from attnviz.trace.model import Model
    from attnviz.trace.walk import Walk

B_KEYS = ("text", "source", "model", "kind", "layer", "head", "scale", "mask")
"""The settings that B can override, in links with the prefix b_"""


@dataclass(frozen=True, slots=True)
class Choice:
    """The checked settings of one of the two heads."""

    name: str
    """A or B, as shown"""
    asked: Get
    """Returns a setting as the view has it"""
    source: Source
    model: str | None
    """The name of the loaded model; None if the source's models have no names"""
    kind: str
    layer: int
    head: int

    def get(self, name: str) -> Any:
        """Return a setting; `sources` calls this."""
        is_checked = name in ("kind", "layer", "head") or (name == "model" and self.model is not None)
        return getattr(self, name) if is_checked else self.asked(name)

    @property
    def is_what_if(self) -> bool:
        """Whether the scale or mask differs from the one that the model was trained with."""
        return self.source.has_own_scale and (self.get("scale") != "sqrt_d" or self.get("mask") != "none")


def of_b(get: Get) -> Get:
    """Return the settings of B in a view: its own, or else A's."""

    def read(name: str) -> Any:
        return get(f"b_{name}") if name in overridden(get) else get(name)

    return read


def default_of_b(get: Get, resources: Resources) -> dict[str, Any]:
    """Return the default overrides of B, by link key, if a view neither sets B nor says that both are the same."""
    if get("compare") or overridden(get):
        return {}
    other = counterpart(get("text"))
    if other is not None:
        return {"b_text": other}
    if _has_one_head(get, resources):
        return {"b_mask": "none" if get("mask") == "causal" else "causal"}
    return {"b_head": 1 if get("head") == 0 else 0}


def overridden(get: Get) -> list[str]:
    """Return the names of the settings that B overrides in a view."""
    values = {name: get(f"b_{name}") for name in B_KEYS}
    return [
        name
        for name, value in values.items()
        if value is not None and not (isinstance(value, str) and not value.strip())
    ]


def _has_one_head(get: Get, resources: Resources) -> bool:
    """Return whether a view's model has one head per layer. One that takes long to load counts as having several."""
    source = SOURCES[get("source")]
    if source.names is not None and not trained.is_name(source.names.own(get("model"))):
        return False
    return all(heads == 1 for _, heads in source.open(get, resources).description.layers.values())


def choice(name: str, asked: Get, model: Model) -> Choice:
    """Return the settings of one of the two heads, for a model that its source has opened.

    An index that the model does not have is replaced by its last.
    """
    source = SOURCES[asked("source")]
    selection = of_model(source, model, asked, beyond="last")
    model_name = model.name if source.has_names else None
    return Choice(name, asked, source, model_name, selection.kind, selection.layer, selection.head)


def choices(get: Get, resources: Resources) -> tuple[Choice, Choice]:
    """Return the two heads that a view compares.

    Raises:
        attnviz.pretrained.ModelError: a model can't be loaded.
    """
    a, b = (
        choice(name, side, SOURCES[side("source")].open(side, resources))
        for name, side in (("A", get), ("B", of_b(get)))
    )
    return a, b


def run(choice: Choice, resources: Resources) -> Walk:
    """Compute the head with these settings.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token for this model.
    """
    from attnviz.compare.matrices import what_if

    selection = shown(choice.get, resources)
    walk = selection.walk(resources)
    if not selection.source.has_own_scale:  # its scale and mask are settings of the model itself
        return walk
    scale = _scale_factor(choice.get("scale"), selection.model.description.width)
    return replace(walk, layer=what_if(walk.layer, scale, choice.get("mask") == "causal"))


def _scale_factor(scale: str, width: int) -> float | None:
    """Return the factor of a link's `scale` for a model of this width C; None for the layer's own scale."""
    if scale == "sqrt_d":
        return None
    if scale == "off":
        return 1.0
    return float(width**-0.5) if scale == "sqrt_c" else float(scale)


def differs(a: Choice, b: Choice) -> list[str]:
    """Return the names of the settings in which the two differ."""
    if a.source is not b.source:
        return ["source", *(["text"] if a.get("text") != b.get("text") else [])]
    names = ["text", "head", "scale", "mask"] + (["layer", "kind"] if a.source.has_layers else [])
    different = [name for name in names if a.get(name) != b.get(name)]
    return different if a.model == b.model else ["model", *different]
