"""The toy's token and position embeddings: drawn from the seed, or computed."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnviz.toy.config import MAX_TOKENS, WIDTH, Embedding, Positions
from attnviz.toy.weights import draw_wide

BASE = 10000
"""The wavelengths range from 2π to about `BASE` · 2π."""


def sinusoidal_positions(n: int, width: int) -> Tensor:
    """Return sin and cos of position / 10000^(2i/C), interleaved, (n, C) (Vaswani et al. 2017, section 3.5).

    Dimensions 2i and 2i + 1 share a frequency, so all rows have the norm √(C/2), and the dot product of two rows
    depends only on their distance. For odd C the last cosine is left out.

    Raises:
        ValueError: a number is negative.
    """
    _check(n, width)
    angle = torch.arange(n)[:, None] / BASE ** (torch.arange(0, width, 2) / max(width, 1))  # (n, C/2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :width]  # (n, C/2, 2) -> (n, C)


def lab_positions(n: int, width: int) -> Tensor:
    """Return a variant that is often taught, in which dimension j has the frequency 1 / 10000^(j/C), (n, C).

    Even dimensions are sines, odd ones cosines. In the paper's formula both dimensions of a pair have the frequency of
    the first. Here each dimension has its own frequency: the sines are the paper's, the cosines are a little slower. So
    the norms of the rows vary, and the dot product of two rows does not depend only on their distance.

    Raises:
        ValueError: a number is negative.
    """
    _check(n, width)
    dimension = torch.arange(width)
    angle = torch.arange(n)[:, None] / BASE ** (dimension / max(width, 1))  # (n, C)
    return torch.where(dimension % 2 == 0, angle.sin(), angle.cos())


def _check(n: int, width: int) -> None:
    if n < 0 or width < 0:
        raise ValueError(f"{n} positions of width {width}: neither can be negative")


Ids = Sequence[int] | Sequence[Sequence[int]]
"""Token ids of a text, or of a batch of texts of equal length"""


QUANTITY: dict[Embedding, str] = {"normal": "embedding", "uniform": "uniform embedding"}
"""The name of the token vectors from which their seed is computed"""


class SeededEmbeddings(nn.Module):
    """Token and position embeddings drawn from a seed. Any integer is a valid id, so rows are drawn on demand."""

    def __init__(self, seed: int, positions: Positions, width: int = WIDTH, embedding: Embedding = "normal") -> None:
        super().__init__()
        self.seed, self.positions, self.width, self.embedding = seed, positions, width, embedding

    def forward(self, ids: Ids) -> dict[str, Tensor]:
        """Return the embeddings by name, (T, C) each; X is their sum. For a batch, token embeddings are (B, T, C)."""
        parts = {"token": embed_tokens(ids, self.seed, self.width, self.embedding)}
        positions = embed_positions(parts["token"].shape[-2], self.positions, self.seed, self.width)
        return parts if positions is None else {**parts, "position": positions}


def embed_tokens(ids: Ids, seed: int, width: int = WIDTH, embedding: Embedding = "normal") -> Tensor:
    """Return one vector per token id, (T, C), or (B, T, C) for a batch. Equal ids have equal vectors in every text.

    The numbers are standard normal, or uniform from 0 to 1.

    Raises:
        ValueError: the texts of a batch differ in length.
    """
    if not ids:
        return torch.zeros(0, width)
    texts = [[item] if isinstance(item, int) else item for item in ids]
    if isinstance(ids[0], int):
        return torch.cat([draw_wide(seed, QUANTITY[embedding], token, 1, width, embedding) for (token,) in texts])
    lengths = sorted({len(text) for text in texts})
    if len(lengths) > 1:
        raise ValueError(f"texts of a batch have {lengths[0]} to {lengths[-1]} tokens; they need as many each")
    return torch.stack([embed_tokens(text, seed, width, embedding) for text in texts])


def embed_positions(n: int, kind: Positions, seed: int, width: int = WIDTH) -> Tensor | None:
    """Return the position embeddings, (n, C), or None for "none".

    sinusoidal, lab: see `attnviz.toy.embeddings`.
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
