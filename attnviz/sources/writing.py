"""What a model writes after a text: tokens drawn one after another by their shares, always with the first seed.

The length and the time are bounded: a model from transformers reads the whole text again for each token.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import torch

from attnviz.tokens.value import bare, label_of
from attnviz.trace.vocabulary import GUESSES
from attnviz.trained.model import TrainedModel
from attnviz.training.generation import Sampling, choose

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.pretrained.transformers_model import TransformersModel
    from attnviz.tokens import Tokens
    from attnviz.trace.model import Model

CHARACTERS, TOKENS = 60, 30
"""The most characters that a model of characters writes at once, and the most tokens of a model from transformers"""
SECONDS = 4.0
"""No further token is begun after this time"""
ENDS = "The text ends here: the model draws {} next, its token for the end of a text."
NO_TEXT = "The model draws {} next, a token that stands for no text, so it writes no more."
UNKNOWN = "�"
"""Stands in a decoded text for a character of which only some bytes are written"""


@dataclass(frozen=True, slots=True)
class WrittenToken:
    """A token that a model has written."""

    text: str
    """What it adds to the text; empty as long as a character is incomplete"""
    label: str
    share: float
    """Its probability"""
    labels: tuple[str, ...]
    """The likeliest tokens at this draw"""
    shares: tuple[float, ...]
    """Their probabilities"""


@dataclass(frozen=True, slots=True)
class Written:
    """What a model writes after a text."""

    tokens: list[WrittenToken]
    end: str = ""
    """Why the model writes no more, as a sentence with the token that it drew next; empty if it may go on"""


def room(model: Model, tokens: Tokens) -> int | None:
    """Return how many tokens a model may write after a text: 0 if it can read no more, None if it writes no texts."""
    if isinstance(model, TrainedModel):
        writes, size = model.task is None or bool(model.task.end), model.block_size
        most = CHARACTERS if model.task is None else size  # a story is short, and ends by itself
    elif _is_from_transformers(model):
        writes = tuple(model.description.layers) == ("decoder",) and model.vocabulary is not None
        most, size = TOKENS, model.max_tokens
    else:
        return None
    ends_open = bool(len(tokens)) and not tokens.special[-1]
    return max(0, min(most, size - len(tokens))) if writes and ends_open else None


def write_on(model: Model, tokens: Tokens) -> Written:
    """Return what a model writes after a text; the same text is always written on in the same way."""
    count = room(model, tokens)
    if count and isinstance(model, TrainedModel):
        return _collected(_written_by_trained(model, tokens, count))
    if count and _is_from_transformers(model):
        return _collected(_written_by_transformers(model, tokens.ids, count))
    return Written([])


def _is_from_transformers(model: Model) -> TypeGuard[TransformersModel]:
    from attnviz.pretrained.transformers_model import TransformersModel  # imports transformers, which takes seconds

    return isinstance(model, TransformersModel)


Writing = Generator[WrittenToken, None, str]
"""Yields tokens, and returns `Written.end`"""


def _collected(writing: Writing) -> Written:
    tokens = list[WrittenToken]()
    while True:
        try:
            tokens.append(next(writing))
        except StopIteration as stop:
            return Written(tokens, stop.value)


def _written_by_trained(model: TrainedModel, tokens: Tokens, count: int) -> Writing:
    labels, end = model.labels, None if model.task is None else model.task.end
    for draw in model.write_on(tokens, count):
        piece = labels[draw.id]
        if piece == end:
            return ENDS.format(piece)
        is_joined = end is None or not piece[0].isalnum()  # a character, or a punctuation mark
        text = piece if is_joined else f" {piece}"
        yield _written(draw.id, draw.probabilities, text, lambda token: label_of(labels[token]))
    return ""


def _written_by_transformers(model: TransformersModel, ids: Sequence[int], count: int) -> Writing:
    vocabulary, generator, end = model.vocabulary, torch.Generator().manual_seed(0), time.monotonic() + SECONDS
    known, new = model.decode(ids), list[int]()
    while vocabulary is not None and len(new) < count and time.monotonic() < end:
        all_ids = [*ids, *new]
        with torch.inference_mode():
            logits = vocabulary.logits(model.forward(all_ids, [0] * len(all_ids), None)[-1:])[0]
        draw = choose(logits, Sampling(), generator)
        new.append(draw["id"])
        if draw["id"] in model.ends or model.is_special(draw["id"]):
            return (ENDS if draw["id"] in model.ends else NO_TEXT).format(bare(model.label(draw["id"])))
        whole = model.decode([*ids, *new])
        is_whole = whole.startswith(known) and not whole.endswith(UNKNOWN)
        text = whole[len(known) :] if is_whole else ""
        known += text
        yield _written(draw["id"], draw["probabilities"], text, lambda token: bare(model.label(token)))
    return ""


def _written(drawn: int, probabilities: Tensor, text: str, label: Callable[[int], str]) -> WrittenToken:
    best = probabilities.topk(min(GUESSES, len(probabilities)))
    labels = tuple(label(token) for token in best.indices.tolist())
    return WrittenToken(text, label(drawn), float(probabilities[drawn]), labels, tuple(best.values.tolist()))
