"""One traced layer of attention, the same type for every source of models.

A trace stores the vectors (query, key, value, input) and computes T x T matrices on demand.

Shapes: H heads, Tq and Tk positions, C model width, D head width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from attnviz.attention import AttentionSteps, Mask, attend
from attnviz.reprs import ShortRepr
from attnviz.trace.model import Need, ProjectionKind

NO_MASK = Mask()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Projection(ShortRepr):
    """How query, key or value is computed from the input X.

    linear: X @ weight[h] + bias[h], weight (H, C, D), bias (H, D) or None, as in transformers.
    positions: weight[h] @ X, weight (H, T, T); it mixes positions instead of features.
    identity: X itself, without a weight.
    """

    kind: ProjectionKind
    weight: Tensor | None = None
    bias: Tensor | None = None

    @classmethod
    def of_heads(cls, weight: Tensor, bias: Tensor | None, heads: int, head_size: int) -> Projection:
        """Split the linear map of all heads, weight (C, G·D) and bias (G·D,), into one map per head.

        If query heads share a key (G < H, grouped-query attention), the map is repeated for each of them.
        """
        repeats = heads * head_size // weight.shape[1]
        per_head = weight.unflatten(1, (-1, head_size)).transpose(0, 1)  # (C, G·D) -> (G, C, D)
        biases = None if bias is None else bias.unflatten(0, (-1, head_size))  # (G, D)
        if repeats > 1:
            per_head = per_head.repeat_interleave(repeats, dim=0)
            biases = None if biases is None else biases.repeat_interleave(repeats, dim=0)
        return cls("linear", per_head, biases)

    def apply(self, x: Tensor) -> Tensor:
        """Project (T, C) to (H, T, D), or (B, T, C) to (B, H, T, D)."""
        if x.ndim > 2:
            x = x.unsqueeze(-3)  # (B, T, C) -> (B, 1, T, C)
        if self.weight is None:
            return x[None] if x.ndim == 2 else x
        if self.kind == "positions":
            return self.weight @ x
        projected = x @ self.weight
        return projected if self.bias is None else projected + self.bias[:, None, :]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearMap(ShortRepr):
    """A linear map of each row: x @ weight + bias, weight (in, out), bias (out,) or None."""

    weight: Tensor
    bias: Tensor | None = None

    def apply(self, x: Tensor) -> Tensor:
        """Map (..., T, in) to (..., T, out)."""
        mapped = x @ self.weight
        return mapped if self.bias is None else mapped + self.bias


class OutputProjection(LinearMap):
    """The output projection: concat @ weight + bias, weight (H·D, C), bias (C,) or None."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, repr=False)
class LayerTrace(ShortRepr):
    """The attention of one layer on one text."""

    query: Tensor
    """(H, Tq, D)"""
    key: Tensor
    """(H, Tk, D)"""
    value: Tensor
    """(H, Tk, D)"""
    scale: float
    mask: Mask = NO_MASK
    """Its cells broadcast to (H, Tq, Tk)"""
    query_input: Tensor | None = None
    """(Tq, C): the input of the query projection, the block's input X"""
    key_input: Tensor | None = None
    """(Tk, C): the input of the key and value projections: X, or the encoder's output in cross-attention"""
    projections: dict[str, Projection] | None = None
    """The projections of "query", "key" and "value"; None if they are not known for this model family"""
    output_projection: OutputProjection | None = None
    unavailable: Mapping[Need, str] = field(default_factory=dict)
    """Quantities before or after attention that are not available -> the reason, as a sentence"""

    def _summary(self) -> Iterator[str]:
        _, queries, width = self.query.shape
        yield from (f"{self.heads} heads", f"{queries} x {self.key.shape[1]} tokens", f"head_size {width}")
        yield f"mask {self.mask.kind}"

    @property
    def heads(self) -> int:
        """The number of heads, H."""
        return self.query.shape[0]

    @property
    def head_size(self) -> int:
        """The head width, D."""
        return self.query.shape[-1]

    def head(self, head: int) -> AttentionSteps:
        """Compute every step of one head; the fields are (T, D) and (Tq, Tk).

        Raises:
            IndexError: the layer has no such head.
        """
        mask = self.mask_of(head)
        return attend(self.query[head], self.key[head], self.value[head], mask=mask, scale=self.scale)

    def mask_of(self, head: int) -> Mask:
        """Return the mask of one head, whose cells broadcast to (Tq, Tk).

        Raises:
            IndexError: the layer has no such head.
        """
        if not 0 <= head < self.heads:
            raise IndexError(f"head {head} does not exist: this layer has heads 0 to {self.heads - 1}")
        return self.mask.of_heads(head)

    def hidden(self, head: int) -> Tensor:
        """Return the cells that the mask hides from one head, (Tq, Tk) bool (True = hidden).

        Raises:
            IndexError: the layer has no such head.
        """
        return self.mask_of(head).hidden((self.query.shape[1], self.key.shape[1]))

    def all_heads(self) -> AttentionSteps:
        """Compute every step of all heads; the fields are (H, T, D) and (H, Tq, Tk)."""
        return attend(self.query, self.key, self.value, mask=self.mask, scale=self.scale)

    def attentions(self) -> Tensor:
        """Compute the weights of all heads, (H, Tq, Tk)."""
        return self.all_heads().weights

    def concat(self) -> Tensor:
        """Compute the concatenated head outputs, (Tq, H·D)."""
        return self.all_heads().concat

    def output(self) -> Tensor | None:
        """Compute concat @ W_O + b_O, (Tq, C); None if W_O is not known for this model family."""
        return None if self.output_projection is None else self.output_projection.apply(self.concat())

    def tensors(self) -> list[Tensor]:
        """Return the tensors that the trace owns. The projections belong to the model."""
        tensors = (self.query, self.key, self.value, self.mask.cells, self.query_input, self.key_input)
        return [tensor for tensor in tensors if tensor is not None]


def held_bytes(tensors: Iterable[Tensor]) -> int:
    """Return the memory of these tensors, in bytes. Shared storage counts once."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())
