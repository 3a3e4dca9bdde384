"""What the browser requests of a generated text: the text with every number of its draws, and two comparisons.

Shapes: N draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.toy.language.config import BigramConfig, ModelConfig, TokenConfig, has_attention, longest_context
from attnviz.training.generation import Sampling, generate
from attnviz.training.generation.record import record
from attnviz.ui.train.generate.models import TextModel

MOST_CODES = 4 * 2**20
"""The most weights of attention of one text, 2 bytes each"""
MOST_WORK = 10**11
"""The most multiplications of one text, some seconds; as many as its parameters for each token that is computed"""
AGAIN, CACHE, HALF = "again", "cache", "half"
"""The names of the parts: the same with the next seed; with the cache if it is off, or without; and what the model says
of each character of the true text, after those before it"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A text that is to be generated."""

    model: TextModel
    ids: tuple[int, ...]
    """What it begins with, one or more"""
    count: int
    """N"""
    sampling: Sampling
    cached: bool
    truth: tuple[int, ...] = ()
    """How the text that it begins with truly goes on, if that is known"""

    @property
    def key(self) -> tuple[object, ...]:
        """All that determines the text and its numbers."""
        return ("generate", self.model.key, self.ids, self.count, self.sampling, self.cached, self.truth)


def most_tokens(config: ModelConfig, *, cached: bool) -> int:
    """Return how many tokens a model may generate at once: fewer than the page offers if it is large."""
    block, width = longest_context(config), 1 if isinstance(config, BigramConfig) else config.width
    layers = 0 if isinstance(config, BigramConfig) else config.layers
    parameters = 12 * layers * width**2 + 2 * config.vocabulary * width
    # With a cache each token is computed once, and a half of each block once more.
    work = parameters * (3 if cached and has_attention(config) else block)
    heads = config.heads if isinstance(config, TokenConfig) else 0
    return max(1, min(MOST_WORK // max(1, work), MOST_CODES // max(1, layers * heads * block)))


def offer(asked: Asked) -> str:
    """Offer a text with the numbers of its draws (`training.generation.record`), and return the digest."""
    return array_store().offer(
        asked.key, lambda: _whole(asked), part=lambda name: _compared(asked, name), compress=True
    )


def _whole(asked: Asked) -> bytes:
    from safetensors.numpy import save

    arrays, codes = record(asked.model.load(), asked.ids, asked.count, asked.sampling, cached=asked.cached)
    return save({**arrays, "weights": codes})


def _compared(asked: Asked, name: str) -> bytes:
    from safetensors.numpy import save

    if name == AGAIN:
        sampling = replace(asked.sampling, seed=asked.sampling.seed + 1)
        drawn = list(generate(asked.model.load(), asked.ids, asked.count, sampling, cached=asked.cached))
        numbers = [float("nan") if one.number is None else one.number for one in drawn]
        return save({"ids": _floats([one.id for one in drawn]), "number": _floats(numbers)})
    if name == CACHE and has_attention(asked.model.config):
        cached = not asked.cached
        count = min(asked.count, most_tokens(asked.model.config, cached=cached))
        arrays, _ = record(asked.model.load(), asked.ids, count, asked.sampling, cached=cached)
        return save({one: arrays[one] for one in ("ids", "computed", "seconds", "multiplications")})
    if name == HALF and asked.truth:
        return save(read_truth(asked))
    raise NotOfferedError


def read_truth(asked: Asked) -> dict[str, NDArray[np.float32]]:
    """Return the likeliest character at each place of the true text, and the true one's probability, (N,), at T = 1."""
    count = min(asked.count, len(asked.truth))
    drawn = list(generate(asked.model.load(), asked.ids, count, Sampling(), truth=asked.truth))
    pairs = zip(drawn, asked.truth, strict=False)
    return {
        "likeliest": _floats([int(one.order[0]) for one in drawn]),
        "probability": _floats([float(one.probabilities[true]) for one, true in pairs]),
    }


def _floats(values: Sequence[float]) -> NDArray[np.float32]:
    return np.array(values, np.float32)
