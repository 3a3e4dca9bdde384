"""The built-in model, loaded once in a process: each load reads its 90 MB and compiles it, two thirds of a second."""

from __future__ import annotations

from functools import cache

from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel


@cache
def built_in_model() -> BuiltInModel:
    """Return the model that all tests of this process share; nobody may change it."""
    model = load()
    assert isinstance(model, BuiltInModel)
    return model
