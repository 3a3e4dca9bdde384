"""Which tokens an output layer favours before any text is read: by its bias, or without one by the lengths of its rows.

Shapes: V entries of the vocabulary, C model width, N tokens that are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from attnviz.bert.embedding_and_output import Chunks
from attnviz.reprs import ShortRepr

LISTED = 8
"""N"""
By = Literal["bias", "length"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Favoured(ShortRepr):
    """The tokens with the largest and the smallest numbers of an output layer."""

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
    """log Σ exp(logit) over all V, where the layer reads a vector of zeros"""

    def _summary(self) -> Iterator[str]:
        yield f"by {self.by}"

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(one.nbytes for one in (self.most, self.largest, self.least, self.smallest))

    @property
    def differ(self) -> bool:
        """Whether the layer favours any token, up to what float32 rounds."""
        return bool(self.largest[0] - self.smallest[0] > 1e-5)

    def probabilities(self, bias: Tensor) -> Tensor:
        """Return the softmax over all V, at tokens with these biases, where the layer reads a vector of zeros."""
        return (bias - self.log_sum).exp()


@torch.inference_mode()
def favoured(output: Chunks, bias: Tensor | None = None, *, count: int = LISTED) -> Favoured:
    """Return what an output layer favours.

    Args:
        output: its weight, (V, C).
        bias: its bias, (V,), if it has one: its logits where it reads a vector of zeros. Without one these are all 0,
            and of two rows at the same acute angle to a vector the longer one has the larger logit.
        count: N.
    """
    numbers = torch.cat([torch.linalg.vector_norm(rows, dim=1) for rows in output()]) if bias is None else bias
    logits = torch.zeros_like(numbers) if bias is None else numbers
    count = min(count, len(numbers))
    most, least = numbers.topk(count), numbers.topk(count, largest=False)
    return Favoured(
        "length" if bias is None else "bias", most.indices, most.values, least.indices, least.values,
        float(logits.double().logsumexp(0)),
    )  # fmt: skip
