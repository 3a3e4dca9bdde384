"""Seeded attention of a whole model, worked out with torch: the data of the explorer's own page, and its oracle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from tests.browser.apps.operands import HOSTILE

MEASURES = [
    {"name": "entropy", "title": "entropy", "unit": "bits", "low": 0.0, "high": 9.0, "keys": []},
    {"name": "first", "title": "to first token", "unit": "", "low": 0.0, "high": 1.0, "keys": [0]},
]
UNKIND = ["[CLS]", "The", HOSTILE, "\u202etfel", "'s", " ", "a" * 200, "🙂", "##ing", "كلمة", "the", "."]


@dataclass(frozen=True)
class Model:
    """All heads of all layers: everything follows from these few numbers."""

    layers: int = 6
    heads: int = 12
    tokens: int = 16
    causal: bool = False
    pair: bool = False
    keys: int = 0
    """Key tokens, where they are others than the query tokens"""

    @property
    def kind(self) -> str:
        """What sort of attention this is like."""
        return "cross" if self.keys else "decoder" if self.causal else "encoder"

    @property
    def cols(self) -> int:
        """Key positions Tk; the query positions Tq are `tokens`."""
        return self.keys or self.tokens

    @cached_property
    def scores(self) -> torch.Tensor:
        """Scaled scores (L, H, Tq, Tk), with masked cells at −inf; a few heads have a plain shape of their own."""
        n = self.cols
        generator = torch.Generator().manual_seed(7)
        drawn = torch.randn(self.layers, self.heads, self.tokens, n, generator=generator) * 1.5
        drawn[0, 0] += 6 * torch.eye(n).roll(1, 0)[: self.tokens] if self.tokens <= n else 0
        drawn[1:2, 1:2, :, n - 1] += 9  # nearly all on the last token, which is special
        if self.causal:
            drawn = drawn.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
        return drawn

    @cached_property
    def weights(self) -> torch.Tensor:
        """The softmax over keys, (L, H, Tq, Tk)."""
        return torch.softmax(self.scores, -1)

    @cached_property
    def rollout(self) -> torch.Tensor:
        """Weights that a made-up rollout has, (L, Tq, Tk): rows sum to 1."""
        return self.weights.mean(1)

    @cached_property
    def key_norms(self) -> torch.Tensor:
        """Made-up lengths ‖f(x)‖, (L, H, Tk)."""
        generator = torch.Generator().manual_seed(8)
        return torch.rand(self.layers, self.heads, self.cols, generator=generator) * 3 + 0.1

    @property
    def measures(self) -> np.ndarray:
        """Entropy in bits and the weight on the first key, (L, H, 2)."""
        return measures_of(self.weights)

    @property
    def norm_measures(self) -> np.ndarray:
        """The same of the norms, each row divided by its sum, (L, H, 2)."""
        norms = self.weights * self.key_norms[:, :, None]
        return measures_of(norms / norms.sum(-1, keepdim=True))

    @property
    def labels(self) -> list[str]:
        """Query tokens, some of them unkind; the first and the last are special."""
        plain = (UNKIND + [f"w{n}" for n in range(len(UNKIND), self.tokens)])[: self.tokens - 1]
        return [*plain, "[SEP]"]

    @property
    def key_labels(self) -> list[str]:
        """Key tokens: the query tokens, or some of their own."""
        return [f"k{n}" for n in range(self.keys)] or self.labels

    @property
    def groups(self) -> list[int]:
        """0 special, 1 first sentence, 2 second sentence; one number a token."""
        half = self.tokens // 2
        own = [2 if self.pair and n > half else 1 for n in range(self.tokens)]
        return [0 if n in (0, self.tokens - 1) or (self.pair and n == half) else side for n, side in enumerate(own)]

    def head(self, layer: int, head: int) -> torch.Tensor:
        """The weights of one head, or of the rollout up to a layer, (Tq, Tk)."""
        return self.rollout[layer] if head == -1 else self.weights[layer, head]

    def without_special(self, layer: int, head: int) -> torch.Tensor:
        """One head's weights between tokens that are not special, each row divided by its sum, (T, T)."""
        kept = torch.tensor(self.groups) != 0
        left = self.head(layer, head).double() * kept
        return torch.where(kept[:, None] & kept, left / left.sum(-1, keepdim=True), torch.nan)


def measures_of(rows: torch.Tensor) -> np.ndarray:
    """Entropy in bits and the share of the first key, (..., 2), of rows that sum to 1, (..., Tq, Tk)."""
    entropy = -torch.where(rows > 0, rows * torch.log2(rows), 0).sum(-1).mean(-1)
    return torch.stack([entropy, rows[..., 0].mean(-1)], -1).numpy().astype(np.float32)


def softmax_rows(seed: int, rows: int, cols: int, *, sharp: float = 2.0, causal: bool = False) -> np.ndarray:
    """Attention weights, (rows, cols), whose rows sum to 1."""
    scores = np.random.default_rng(seed).normal(size=(rows, cols)) * sharp
    if causal:
        scores[np.triu(np.ones((rows, cols), bool), 1)] = -np.inf
    lifted = np.exp(scores - scores.max(-1, keepdims=True))
    return lifted / lifted.sum(-1, keepdims=True)
