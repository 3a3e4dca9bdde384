"""Seeded operands of one head and every matrix of it, worked out with numpy alone: the page's data and its oracle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

HOSTILE = "<img src=x onerror=alert(1)>"
WIDTH = 6


def labels(tokens: int) -> list[str]:
    """Tokens, some of them unkind."""
    return ["The", "animal", HOSTILE, "\u202etfel", "'s", " ", "a" * 60, "🙂", "##ing", "[SEP]", "the", "."][
        :tokens
    ] + [f"w{n}" for n in range(12, tokens)]


@dataclass(frozen=True)
class Operands:
    """One head: everything follows from the seed."""

    tokens: int = 12
    size: int = 8
    seed: int = 0
    mask: str = "none"

    def drawn(self, stream: int, *shape: int) -> np.ndarray:
        """Draw float32 numbers that depend on the seed and the stream's number only."""
        return np.random.default_rng((self.seed, stream)).normal(size=shape).astype(np.float32)

    @cached_property
    def embeddings(self) -> np.ndarray:
        return self.drawn(0, self.tokens, WIDTH)

    @cached_property
    def weight(self) -> np.ndarray:
        return self.drawn(1, WIDTH, self.size)

    @cached_property
    def bias(self) -> np.ndarray:
        return self.drawn(2, self.size)

    @cached_property
    def query(self) -> np.ndarray:
        return self.embeddings @ self.weight + self.bias

    @cached_property
    def key(self) -> np.ndarray:
        return self.drawn(3, self.tokens, self.size)

    @cached_property
    def value(self) -> np.ndarray:
        return self.drawn(4, self.tokens, self.size)

    @property
    def scale(self) -> float:
        return float(self.size**-0.5)

    @cached_property
    def added(self) -> np.ndarray:
        """What the mask adds to the scaled scores."""
        n = self.tokens
        if self.mask == "causal":
            return np.triu(np.full((n, n), -np.inf, np.float32), 1)
        if self.mask == "array":
            added = np.zeros((n, n), np.float32)
            added[:, 0], added[1, 3], added[5, :] = -np.inf, 0.35, -np.inf
            return added
        return np.zeros((n, n), np.float32)

    def matrix(self, name: str) -> np.ndarray:
        """Work out one quantity in double precision from the float32 operands."""
        query, key, value = (x.astype(np.float64) for x in (self.query, self.key, self.value))
        scores = query @ key.T
        masked = scores * self.scale + self.added
        if name in ("weights", "head_outputs"):
            lifted = np.exp(masked - np.where(np.isneginf(masked.max(1)), 0, masked.max(1))[:, None])
            total = lifted.sum(1, keepdims=True)
            weights = np.divide(lifted, total, out=np.zeros_like(lifted), where=total > 0)
            return weights if name == "weights" else weights @ value
        known = {
            "embeddings": self.embeddings, "W_query": self.weight, "query": self.query, "key": self.key,
            "key_t": self.key.T, "value": self.value, "scores": scores, "scaled": scores * self.scale, "masked": masked,
        }  # fmt: skip
        return known[name]
