"""What is to be generated, as the view says it: for the picture, and for files."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.links.train import MAX_LENGTH
from attnviz.tokens import NO_ID, CharVocab, Tokens
from attnviz.training.generation import Sampling
from attnviz.ui import state
from attnviz.ui.train.generate.models import TextModel, text_model_of
from attnviz.ui.train.generate.offers import Asked, most_tokens
from attnviz.ui.trained.visitor import visitor

Given = tuple[list[int], list[int] | None]
"""The ids that a model begins with and, of half a text, those of the true other half"""


def chosen_model() -> TextModel:
    """Return the model that generates.

    Raises:
        ModelError: it is no longer there.
    """
    return text_model_of(state.get("text_model"), visitor(), state.get("snapshot"))


def tokens_of(model: TextModel) -> Tokens:
    """Return the text that is typed, or the model's own, as the model reads it."""
    return CharVocab(model.labels).tokenize(state.get("prompt") or _usual(model))


def given_of(tokens: Tokens) -> Given:
    """Return what the model begins with, and what truly follows if only half of the text is given."""
    ids = [one for one in tokens.ids if one != NO_ID]
    if not state.get("halves"):
        return ids, None
    middle = (len(ids) + 1) // 2
    return ids[:middle], ids[middle:]


def wanted_count(truth: Sequence[int] | None) -> int:
    """Return how many characters the view wants."""
    return int(state.get("length")) if truth is None else len(truth)


def asked_of(model: TextModel, given: Sequence[int], truth: Sequence[int] | None) -> Asked | None:
    """Return what is to be generated, of as many characters as the model may generate at once; None if nothing is."""
    if not given or truth == []:
        return None
    cached = state.get("cache")
    count = min(wanted_count(truth), MAX_LENGTH, most_tokens(model.config, cached=cached))
    sampling = Sampling(state.get("temperature"), state.get("top_k"), state.get("top_p"), state.get("seed"))
    return Asked(model, tuple(given), count, sampling, cached, tuple(truth or ()))


def _usual(model: TextModel) -> str:
    return model.passage if state.get("halves") else model.prompt
