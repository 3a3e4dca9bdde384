"""What the toy reads: a vector for each token id, and what position adds."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnviz.toy.config import MAX_TOKENS, WIDTH, Positions
from attnviz.toy.weights import draw


class SeededEmbeddings(nn.Module):
    """Token and position embeddings drawn from a seed. Any number may be an id, so rows are drawn as they are read."""

    def __init__(self, seed: int, positions: Positions) -> None:
        super().__init__()
        self.seed, self.positions = seed, positions

    def forward(self, ids: Sequence[int]) -> dict[str, Tensor]:
        """Return the parts by name, (T, C) each; X is their sum."""
        parts = {"token": embed_tokens(ids, self.seed)}
        positions = embed_positions(len(ids), self.positions, self.seed)
        return parts if positions is None else {**parts, "position": positions}


def embed_tokens(ids: Sequence[int], seed: int) -> Tensor:
    """Look up one standard normal vector a token id: (T, C). Equal ids get equal vectors in every text."""
    if not ids:
        return torch.zeros(0, WIDTH)
    return torch.cat([draw(seed, "embedding", token, 1, WIDTH) for token in ids])


def embed_positions(n: int, kind: Positions, seed: int) -> Tensor | None:
    """Return what position adds to the embeddings, (n, C), or None.

    sinusoidal: sin and cos of position / 10000^(2i/C), interleaved (Vaswani et al. 2017, section 3.5).
    random: one standard normal vector a position, as a learned table holds before training.
    """
    if kind == "none":
        return None
    if kind == "random":
        return draw(seed, "position", 0, MAX_TOKENS, WIDTH)[:n]
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)  # (n, C/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)  # (n, C/2, 2) -> (n, C)
