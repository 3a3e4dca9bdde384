"""The source "pretrained": the built-in model, and all that the settings allow."""

from __future__ import annotations

from attnviz.sources.source import Get, Resources, Source
from attnviz.trace.model import Model


def open_model(get: Get, resources: Resources) -> Model:
    """Load the model that the view names; raises attnviz.pretrained.ModelError if that fails."""
    return resources.load(get("model"))


PRETRAINED = Source("pretrained", "Pretrained", ("pair", "model", "kind", "layer", "head"), open_model)
