"""Pretrained models: the built-in one, or any that the settings allow."""

from __future__ import annotations

from attnviz.sources.source import Get, Resources, Source
from attnviz.trace.model import Model


def open_model(get: Get, resources: Resources) -> Model:
    """Load the model that the view names; raises attnviz.pretrained.ModelError where that can't be."""
    return resources.load(get("model"))


PRETRAINED = Source("pretrained", "Pretrained", ("pair", "model", "kind", "layer", "head"), open_model)
