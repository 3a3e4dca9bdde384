"""The vectors of the built-in examples, computed once in a process: the model reads 600 texts, which takes seconds."""

from __future__ import annotations

from functools import cache

from attnviz.bert.classification.classifier import Pooled, pool
from attnviz.bert.classification.examples import built_in
from tests.loaded import built_in_model


@cache
def pooled(examples: str) -> Pooled:
    """Return the vectors of the examples of this name, such as `reviews`."""
    model = built_in_model()
    return pool(model, built_in(examples).texts)
