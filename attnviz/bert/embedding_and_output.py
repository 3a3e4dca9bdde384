"""The first and last layer of a language model: an embedding table, and an output layer of the transposed shape.

Both are (V, C): nn.Linear(C, V) stores its weight transposed. They are read in chunks of rows, so that random weights
are never in memory as a whole. Before any text is read, an output layer favours some tokens: by its bias or, without
one, by the lengths of its rows.

Shapes: V entries of the vocabulary, C model width, N tokens that are listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from attnviz.reprs import ArraysSize, ShortRepr

ROWS = 1024
"""Rows in a chunk: 3 MiB for BERT-base. A multiple of 16, since torch draws 16 normal numbers at a time"""

Chunks = Callable[[], Iterator[Tensor]]
"""Yields the rows of a matrix in order, `ROWS` at a time"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmbeddingAndOutput(ShortRepr):
    """A model's embedding table and output layer."""

    embedding: Chunks
    output: Chunks

    def _summary(self) -> Iterator[str]:
        yield "tied" if self.embedding is self.output else "independent"


def tied(weight: Tensor, *, is_unit: bool = False) -> EmbeddingAndOutput:
    """Return an embedding table, (V, C), as both layers; with `is_unit`, each row is divided by its length."""

    def chunks() -> Iterator[Tensor]:
        for rows in weight.split(ROWS):
            yield nn.functional.normalize(rows, dim=1) if is_unit else rows

    return EmbeddingAndOutput(chunks, chunks)


def drawn(seed: int, vocabulary: int, width: int) -> EmbeddingAndOutput:
    """Return independent random layers: what torch draws after `torch.manual_seed(seed)`, in this order, for

    nn.Embedding(V, C), standard normal, and nn.Linear(C, V, bias=False), uniform up to 1/√C (He et al. 2015, with the
    slope √5 that torch takes).
    """
    gain = math.sqrt(2.0 / (1 + math.sqrt(5) ** 2))
    bound = math.sqrt(3.0) * (gain / math.sqrt(width))
    sizes = [min(ROWS, vocabulary - first) for first in range(0, vocabulary, ROWS)]

    def rows(generator: torch.Generator) -> Iterator[Tensor]:
        return (torch.empty(size, width).normal_(generator=generator) for size in sizes)

    def embedding() -> Iterator[Tensor]:
        return rows(torch.Generator().manual_seed(seed))

    def output() -> Iterator[Tensor]:
        generator = torch.Generator().manual_seed(seed)
        for _ in rows(generator):
            pass
        for size in sizes:
            yield torch.empty(size, width).uniform_(-bound, bound, generator=generator)

    return EmbeddingAndOutput(embedding, output)


def rows_of(chunks: Chunks, ids: Sequence[int]) -> Tensor:
    """Return the rows with these ids, (len(ids), C).

    Raises:
        IndexError: there is no row with such an id.
    """
    wanted = torch.tensor(ids, dtype=torch.long)
    selected, first = None, 0
    for rows in chunks():
        if selected is None:
            selected = rows.new_empty(len(wanted), rows.shape[1])
        in_chunk = (wanted >= first) & (wanted < first + len(rows))
        selected[in_chunk] = rows[wanted[in_chunk] - first]
        first += len(rows)
    if selected is None or bool(((wanted < 0) | (wanted >= first)).any()):
        raise IndexError(f"there are rows 0 to {first - 1}, and not all of {list(ids)[:5]}")
    return selected


LISTED = 8
"""N"""
By = Literal["bias", "length"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TokenExtremes(ShortRepr, ArraysSize):
    """The tokens with the largest and the smallest biases of an output layer, or with its longest and shortest rows."""

    by: By
    """What is listed: the bias of each token, or the length of its row"""
    most: Tensor
    """(N,) ids, the largest number first"""
    largest: Tensor
    """(N,): their numbers"""
    least: Tensor
    """(N,) ids, the smallest number first"""
    smallest: Tensor
    """(N,): their numbers"""
    log_sum: float
    """log Σ exp(logit) over all V, if the layer reads a vector of zeros"""

    def _summary(self) -> Iterator[str]:
        yield f"by {self.by}"

    @property
    def differ(self) -> bool:
        """Whether the layer favours any token, beyond float32 rounding."""
        return bool(self.largest[0] - self.smallest[0] > 1e-5)

    def probabilities(self, bias: Tensor) -> Tensor:
        """Return the probabilities of tokens with these biases, if the layer reads a vector of zeros."""
        return (bias - self.log_sum).exp()


@torch.inference_mode()
def favoured(output: Chunks, bias: Tensor | None = None, *, count: int = LISTED) -> TokenExtremes:
    """Return the tokens that an output layer favours.

    Args:
        output: its weight, (V, C).
        bias: its bias, (V,), if it has one: its logits if it reads a vector of zeros. Without one these are all 0,
            and of two rows at the same acute angle to a vector the longer one has the larger logit.
        count: N.
    """
    numbers = torch.cat([torch.linalg.vector_norm(rows, dim=1) for rows in output()]) if bias is None else bias
    logits = torch.zeros_like(numbers) if bias is None else numbers
    count = min(count, len(numbers))
    most, least = numbers.topk(count), numbers.topk(count, largest=False)
    return TokenExtremes(
        "length" if bias is None else "bias", most.indices, most.values, least.indices, least.values,
        float(logits.double().logsumexp(0)),
    )  # fmt: skip
