"""The first and last layer of a language model, and the way from ids to embeddings, logits, and the likeliest ids back.

The embedding table and the output layer are both (V, C): nn.Linear(C, V) stores its weight transposed. They are read in
chunks of rows, so that random weights are never in memory as a whole. The logits of 512 tokens take 62 MB, so the K
largest are kept. Before any text is read, an output layer favours some tokens: by its bias or, without one, by the
lengths of its rows.

Shapes: T tokens, V entries of the vocabulary, C model width, K candidates that are kept, N tokens that are listed.
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
    tied: int
    """How many tokens share the smallest number"""
    log_sum: float
    """log Σ exp(logit) over all V, if the layer reads a vector of zeros"""

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
        int((numbers == numbers.min()).sum()), float(logits.double().logsumexp(0)),
    )  # fmt: skip


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


@torch.inference_mode()
def operands(token: int, candidates: Sequence[int], ends: EmbeddingAndOutput) -> Operands:
    """Return the vectors whose products are the logits of some candidates for a token.

    Raises:
        IndexError: one of the layers has no such row.
    """
    [x] = rows_of(ends.embedding, [token])
    return Operands(x, rows_of(ends.output, candidates))
