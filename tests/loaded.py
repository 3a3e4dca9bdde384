"""The built-in model, loaded once in a process, and its vectors of the built-in examples, computed once.

Each load reads its 90 MB and compiles it, two thirds of a second; 600 texts take seconds."""

from __future__ import annotations

from functools import cache

from attnviz.bert.classification.classifier import Pooled, pool
from attnviz.bert.classification.examples import built_in
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel


@cache
def built_in_model() -> BuiltInModel:
    """Return the model that all tests of this process share; nobody may change it."""
    model = load()
    assert isinstance(model, BuiltInModel)
    return model


@cache
def pooled(examples: str) -> Pooled:
    """Return the vectors of the examples of this name, such as `reviews`."""
    model = built_in_model()
    return pool(model, built_in(examples).texts)
