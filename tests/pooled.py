"""The vectors of the built-in examples, computed once in a process: the model reads 600 texts, which takes seconds."""

from __future__ import annotations

from functools import cache

from attnviz.bert.classification.classifier import Pooled, pool
from attnviz.bert.classification.examples import built_in
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel


@cache
def pooled(examples: str) -> Pooled:
    """Return the vectors of the examples of this name, such as `reviews`."""
    model = load()
    assert isinstance(model, BuiltInModel)
    return pool(model, built_in(examples).texts)
