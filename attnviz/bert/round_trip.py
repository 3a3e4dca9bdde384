"""Embeddings and back: from ids to embeddings, logits over the vocabulary, probabilities, and the most likely ids.

Shapes: T tokens, V entries of the vocabulary, C model width, K candidates that are kept. The logits of 512 tokens
take 62 MB, so they are computed for a chunk of the output layer's rows at a time, and the K largest are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnviz.bert.embedding_and_output import EmbeddingAndOutput, rows_of
from attnviz.reprs import ArraysSize, ShortRepr

CANDIDATES = 5
"""K"""
NEIGHBOURS = 8
LOST = 18
"""How many of the built-in model's 30,522 tokens do not come back through its own embedding table; counted by a test"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoundTrip(ShortRepr):
    """The ids of a text, and the likeliest ids that come back."""

    ids: tuple[int, ...]
    """T ids of the text"""
    tokens: Tensor
    """(T, K): the ids with the largest logits, the largest first"""
    logits: Tensor
    """(T, K): their logits"""
    input_logits: Tensor
    """(T,): the logit of the id that went in"""
    log_sum: Tensor
    """(T,): log Σ exp(scale · logit) over all V"""
    scale: float
    """What the logits are multiplied by before the softmax"""

    def _summary(self) -> Iterator[str]:
        yield f"{int(self.returns.sum())} of {len(self.ids)} tokens come back"

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(array.nbytes for array in (self.tokens, self.logits, self.input_logits, self.log_sum)) + 8 * len(
            self.ids
        )

    @property
    def likeliest(self) -> tuple[int, ...]:
        """The T ids that come back."""
        return tuple(self.tokens[:, 0].tolist())

    @property
    def probabilities(self) -> Tensor:
        """(T, K): softmax of the scaled logits over all V."""
        return (self.scale * self.logits - self.log_sum[:, None]).exp()

    @property
    def margin(self) -> Tensor:
        """(T,): the largest logit minus the second largest."""
        return self.logits[:, 0] - self.logits[:, 1]

    @property
    def returns(self) -> Tensor:
        """(T,): whether the id that comes back is the one that went in."""
        return self.tokens[:, 0] == torch.tensor(self.ids)

    @property
    def sums(self) -> Tensor:
        """(T,): Σ exp(scale · (logit − largest logit)) over all V, by which the softmax divides."""
        return (self.log_sum - self.scale * self.logits[:, 0]).exp()


@torch.inference_mode()
def there_and_back(ids: Sequence[int], ends: EmbeddingAndOutput, *, scale: float = 1.0) -> RoundTrip:
    """Embed ids, and return the output layer's likeliest ids for each embedding.

    Args:
        ids: T ids, at least one.
        ends: the embedding table and the output layer.
        scale: what the logits are multiplied by before the softmax. It does not change their order.

    Raises:
        IndexError: the table has no row for an id.
    """
    x, wanted = rows_of(ends.embedding, ids), torch.tensor(ids)
    length, first = len(x), 0
    logits, tokens = torch.empty(length, 0), torch.empty(length, 0, dtype=torch.long)
    input_logits, log_sum = torch.empty(length), torch.full((length,), -torch.inf, dtype=torch.float64)
    for rows in ends.output():
        chunk = x @ rows.T  # (T, C) @ (C, n) -> (T, n)
        log_sum = torch.logaddexp(log_sum, (scale * chunk).logsumexp(-1).double())
        in_chunk = ((wanted >= first) & (wanted < first + len(rows))).nonzero().flatten()
        input_logits[in_chunk] = chunk[in_chunk, wanted[in_chunk] - first]
        best = chunk.topk(min(CANDIDATES, len(rows)), dim=-1)
        logits = torch.cat([logits, best.values], dim=-1)
        tokens = torch.cat([tokens, best.indices + first], dim=-1)
        logits, kept = logits.topk(min(CANDIDATES, logits.shape[-1]), dim=-1)
        tokens = tokens.gather(-1, kept)
        first += len(rows)
    return RoundTrip(tuple(ids), tokens, logits, input_logits, log_sum.float(), scale)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Neighbours(ShortRepr, ArraysSize):
    """The N rows of an embedding table that are nearest to one of them, that one included, by each measure."""

    token: int
    by_cosine: Tensor
    """(N,) ids"""
    cosines: Tensor
    """(N,)"""
    by_product: Tensor
    """(N,) ids"""
    products: Tensor
    """(N,): dot products"""

    def _summary(self) -> Iterator[str]:
        yield f"of id {self.token}"


@torch.inference_mode()
def neighbours(token: int, ends: EmbeddingAndOutput) -> Neighbours:
    """Return the nearest neighbours of a row of the embedding table, by cosine and by dot product.

    Raises:
        IndexError: the table has no such row.
    """
    [vector] = rows_of(ends.embedding, [token])
    similarities = [
        torch.stack([rows @ vector, nn.functional.cosine_similarity(rows, vector[None], dim=1)])
        for rows in ends.embedding()
    ]
    products, cosines = torch.cat(similarities, dim=1)  # (V,) each
    count = min(NEIGHBOURS, len(products))
    cosine, product = cosines.topk(count), products.topk(count)
    return Neighbours(token, cosine.indices, cosine.values, product.indices, product.values)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operands(ShortRepr, ArraysSize):
    """The vectors whose products are the logits of one token's candidates."""

    x: Tensor
    """(C,): the token's embedding"""
    rows: Tensor
    """(K, C): the rows of the output layer that belong to its candidates"""

    def _summary(self) -> Iterator[str]:
        yield f"{len(self.rows)} candidates"


@torch.inference_mode()
def operands(token: int, candidates: Sequence[int], ends: EmbeddingAndOutput) -> Operands:
    """Return the vectors whose products are the logits of some candidates for a token.

    Raises:
        IndexError: one of the layers has no such row.
    """
    [x] = rows_of(ends.embedding, [token])
    return Operands(x, rows_of(ends.output, candidates))
