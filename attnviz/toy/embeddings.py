"""The toy's token and position embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnviz.toy.config import MAX_TOKENS, WIDTH, Embedding, Positions
from attnviz.toy.positions import lab_positions, sinusoidal_positions
from attnviz.toy.weights import draw_wide

Ids = Sequence[int] | Sequence[Sequence[int]]
"""Token ids of a text, or of a batch of texts of one length"""


QUANTITY: dict[Embedding, str] = {"normal": "embedding", "uniform": "uniform embedding"}
"""What the vectors of tokens are called where their seed is made"""


class SeededEmbeddings(nn.Module):
    """Token and position embeddings drawn from a seed. Any integer is a valid id, so rows are drawn on demand."""

    def __init__(self, seed: int, positions: Positions, width: int = WIDTH, embedding: Embedding = "normal") -> None:
        super().__init__()
        self.seed, self.positions, self.width, self.embedding = seed, positions, width, embedding

    def forward(self, ids: Ids) -> dict[str, Tensor]:
        """Return the embeddings by name, (T, C) each; X is their sum. Of a batch of texts, tokens are (B, T, C)."""
        parts = {"token": embed_tokens(ids, self.seed, self.width, self.embedding)}
        positions = embed_positions(parts["token"].shape[-2], self.positions, self.seed, self.width)
        return parts if positions is None else {**parts, "position": positions}


def embed_tokens(ids: Ids, seed: int, width: int = WIDTH, embedding: Embedding = "normal") -> Tensor:
    """Return one vector per token id, (T, C). Equal ids have equal vectors in every text.

    Its numbers are standard normal, or uniform from 0 to 1. Of a batch, (B, T, C).

    Raises:
        ValueError: the texts of a batch differ in length.
    """
    if not ids:
        return torch.zeros(0, width)
    texts = [[one] if isinstance(one, int) else one for one in ids]
    if isinstance(ids[0], int):
        return torch.cat([draw_wide(seed, QUANTITY[embedding], token, 1, width, embedding) for (token,) in texts])
    lengths = sorted({len(text) for text in texts})
    if len(lengths) > 1:
        raise ValueError(f"texts of a batch have {lengths[0]} to {lengths[-1]} tokens; they need as many each")
    return torch.stack([embed_tokens(text, seed, width, embedding) for text in texts])


def embed_positions(n: int, kind: Positions, seed: int, width: int = WIDTH) -> Tensor | None:
    """Return the position embeddings, (n, C), or None for "none".

    sinusoidal, lab: see `attnviz.toy.positions`.
    random: one standard normal vector per position, like a learned table before training.
    """
    if kind == "none":
        return None
    if kind == "random":
        return draw_wide(seed, "position", 0, MAX_TOKENS, width)[:n]
    return (lab_positions if kind == "lab" else sinusoidal_positions)(n, width)


def sum_of(parts: dict[str, Tensor]) -> Tensor:
    """Return the sum of the embeddings' summands, (..., T, C)."""
    first, *others = parts.values()
    return sum(others, start=first)
