"""Position biases: what an attention adds to its scores by the distance of query and key.

Shapes: H heads, Tq and Tk positions, D head width, R relative positions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr
from attnviz.trace.buckets import Buckets, where_keys_are

BiasKind = Literal["slopes", "buckets", "terms", "other"]
"""slopes: ALiBi, a slope times the distance. buckets: T5, a number for each range of distances. terms: DeBERTa,
products of queries and keys with vectors of distances. other: none of these"""
TermName = Literal["content_to_position", "position_to_content"]


ROUNDING = 2 * 2**-8
"""How far a number of an ALiBi may be from its slope times the distance, as a share of its own magnitude: Falcon's is
computed in bfloat16, whose numbers have eight binary digits"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PositionTerms(ShortRepr):
    """What DeBERTa adds to scaled scores, from vectors of relative positions (He et al. 2021, section 3.1).

    A query takes the product with the key of the relative position of each token (content to position), and a key that
    with the query of this relative position (position to content). "..." is empty or (B,).
    """

    query: Tensor
    """(..., H, Tq, D): the queries of the scores"""
    key: Tensor
    """(..., H, Tk, D): their keys"""
    scale: float
    """The factor of the products, the same as that of the scores"""
    relative: Tensor
    """(Tq, Tk), int64: query minus key as the model counts it, which far away may be the number of a bucket"""
    first: int
    """The relative position of the first row of the tables. Cells beyond the tables have their first or last row"""
    position_key: Tensor | None = None
    """(H, R, D): the key of each relative position; None if no query is multiplied by them"""
    position_query: Tensor | None = None
    """(H, R, D): the query of each relative position; None if no key is multiplied by them"""

    @property
    def names(self) -> tuple[TermName, ...]:
        """The terms that it has; at least one."""
        tables: dict[TermName, Tensor | None] = {
            "content_to_position": self.position_key, "position_to_content": self.position_query
        }  # fmt: skip
        return tuple(name for name, table in tables.items() if table is not None)

    @property
    def relative_positions(self) -> Tensor:
        """The relative position of each cell, of those in the tables, (Tq, Tk) int64."""
        return self.relative.clamp(self.first, self._last)

    @property
    def _last(self) -> int:
        """The relative position of the last row of the tables."""
        table = self.position_key if self.position_query is None else self.position_query
        return self.first + (0 if table is None else table.shape[1] - 1)

    def labels(self) -> list[str]:
        """Return what each row of the tables stands for in this text, R: "δ = 3 (3 to 8 positions before)"."""
        keys = self.relative.shape[1]
        at = self.relative_positions
        by_distance = torch.cat((at[0].flip(0), at[1:, 0])).tolist()  # of −(Tk − 1) to Tq − 1
        distances: dict[int, list[int]] = {}
        for distance, row in enumerate(by_distance, 1 - keys):
            distances.setdefault(row, []).append(distance)
        return [
            f"δ = {row}" + (f" ({where_keys_are(distances[row])})" if row in distances else "")
            for row in range(self.first, self._last + 1)
        ]

    def term(self, name: TermName, heads: Sequence[int] | None = None) -> Tensor | None:
        """Compute a term of some heads, by default all, (..., h, Tq, Tk); None if it has none of this name."""
        is_of_query = name == "content_to_position"
        content, table = (self.query, self.position_key) if is_of_query else (self.key, self.position_query)
        if table is None:
            return None
        if heads is not None:
            content, table = content[..., list(heads), :, :], table[list(heads)]
        products = content @ table.transpose(-2, -1)  # (..., h, T, R)
        rows = self.relative_positions - self.first
        index = rows if is_of_query else rows.T
        cells = products.gather(-1, index.expand(*products.shape[:-1], -1)) * self.scale
        return cells if is_of_query else cells.transpose(-2, -1)

    def cells(self, heads: Sequence[int] | None = None) -> Tensor:
        """Compute the sum of the terms of some heads, by default all, (..., h, Tq, Tk)."""
        first, *others = (term for name in self.names if (term := self.term(name, heads)) is not None)
        return sum(others, start=first)

    def of_first_text(self) -> PositionTerms:
        """Return the terms of the first text of a batch."""
        return self if self.query.ndim < 4 else replace(self, query=self.query[0], key=self.key[0])

    def of_queries(self, rows: Sequence[int]) -> PositionTerms:
        """Return the terms of these queries."""
        return replace(self, query=self.query[..., rows, :], relative=self.relative[rows])

    def tensors(self) -> list[Tensor]:
        """Return the tensors that it keeps beside the queries and keys of the layer."""
        return [tensor for tensor in (self.relative, self.position_key, self.position_query) if tensor is not None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScaledBias(ShortRepr):
    """A position bias that the scale multiplies as it does the scores, as Falcon's ALiBi."""

    unscaled: Tensor
    """Broadcasts to (..., H, Tq, Tk)"""
    scale: float

    def cells(self) -> Tensor:
        """Return what is added to the scaled scores."""
        return self.unscaled * self.scale

    def of_first_text(self) -> ScaledBias:
        """Return the bias of the first text of a batch."""
        return self if self.unscaled.ndim < 4 else replace(self, unscaled=self.unscaled[0])


@dataclass(frozen=True, eq=False, repr=False)
class PositionBias(ShortRepr):
    """What is added to the scores of each head."""

    known: Tensor | None
    """Broadcasts to (H, Tq, Tk): as the model adds it; −inf in hidden cells whose number is not kept, as outside of
    LongT5's windows. Some write an ALiBi as slope times the position of the key. None if it follows from `terms`"""
    buckets: Buckets | None = None
    """The buckets of its distances; None if it has none, or if they are not known"""
    stated: Tensor | None = None
    """The slopes of an ALiBi by distance, (H,), if its maker says them; else they are read off the cells"""
    terms: PositionTerms | None = None
    """The terms whose sum it is: a trace keeps their vectors, and not the cells, which differ in each layer"""
    scale: float | None = None
    """The scale that has multiplied `known`, if it multiplies the bias as it does the scores; None if the bias is added
    to scaled scores as it is. `terms` have their own"""

    def _summary(self) -> Iterator[str]:
        yield self.kind

    @property
    def cells(self) -> Tensor:
        """What is added, which broadcasts to (H, Tq, Tk). Computed on each read from `terms`, if it has them."""
        if self.known is not None:
            return self.known
        if self.terms is None:
            raise ValueError("a position bias with neither cells nor terms")
        return self.terms.cells()

    @cached_property
    def slopes(self) -> Tensor | None:
        """How much each head's bias falls with each position that a key is further before the query, (H,).

        None if it does not fall so, or if it has fewer than two positions and its maker does not say its slopes.
        """
        if self.stated is not None or self.terms is not None:
            return self.stated
        count = self.cells.shape[-1]
        if self.buckets is not None or count < 2 or not (self.cells.shape[-2] == 1 or self.is_by_distance):
            return None
        last = self.cells[:, -1]  # (H, Tk): the row with all distances
        at, start, end = torch.arange(count), last[:, :1], last[:, -1:]  # (Tk,), (H, 1), (H, 1)
        if not start.any():
            slopes, falling = last[:, 1], last[:, 1:2] * at  # the number next to 0 is the least rounded
        else:
            slopes = -last[:, -2] if not end.any() else (end - start)[:, 0] / (count - 1)
            falling = end - slopes[:, None] * at.flip(0)
        sizes = last.abs()
        is_linear = bool(((last - falling).abs() <= ROUNDING * sizes + 1e-6 * sizes.amax(dim=1, keepdim=True)).all())
        return slopes if is_linear and bool((slopes > 0).all()) else None

    @property
    def kind(self) -> BiasKind:
        """What it is."""
        if self.terms is not None:
            return "terms"
        if self.buckets is not None:
            return "buckets"
        return "other" if self.slopes is None else "slopes"

    @cached_property
    def is_by_distance(self) -> bool:
        """Whether it depends on the distance alone. Else a row's numbers are as far apart, but start elsewhere."""
        cells, rounding = self.cells, 1e-6 * float(self.cells.abs().max())
        if self.stated is not None:
            return True
        return cells.shape[-2] > 1 and torch.allclose(cells[:, 1:, 1:], cells[:, :-1, :-1], rtol=1e-4, atol=rounding)

    @property
    def starts_at_0(self) -> bool:
        """Whether the first query and key have 0: an ALiBi by the position of the key may also end with 0."""
        return not bool(self.cells[:, 0, 0].any())

    def of_heads(self, heads: int | list[int]) -> Tensor:
        """Return the cells of one head, which broadcast to (Tq, Tk), or of several, (h, Tq, Tk)."""
        if self.terms is not None:
            return self.terms.cells([heads])[0] if isinstance(heads, int) else self.terms.cells(heads)
        return self.cells[0] if self.cells.shape[0] == 1 else self.cells[heads]

    def of_operands(self, head: int, query: Tensor, key: Tensor) -> Tensor:
        """Return the cells of a head for other queries, (n, D), and keys, (m, D), of the first positions.

        They broadcast to (n, m) where the positions of the text are at least as many.
        """
        queries, keys = slice(len(query)), slice(len(key))
        if self.terms is None:
            return self.of_heads(head)[queries, keys]
        relative = self.terms.relative[queries, keys]
        if relative.shape != (len(query), len(key)):
            return relative  # of fewer positions
        position_key, position_query = (
            None if table is None else table[[head]] for table in (self.terms.position_key, self.terms.position_query)
        )
        of_head = replace(
            self.terms, query=query[None], key=key[None], relative=relative,
            position_key=position_key, position_query=position_query,
        )  # fmt: skip
        return of_head.cells()[0]

    def with_scale(self, scale: float) -> PositionBias:
        """Return what is added to scores with another scale, which multiplies some biases too."""
        if self.terms is not None:
            return replace(self, terms=replace(self.terms, scale=scale))
        if self.scale is None:
            return self
        return replace(self, known=scale / self.scale * self.cells, scale=scale)

    def of_queries(self, rows: Sequence[int]) -> PositionBias:
        """Return the bias of these queries."""
        if self.terms is not None:
            return replace(self, terms=self.terms.of_queries(rows))
        return self if self.cells.shape[1] == 1 else replace(self, known=self.cells[:, rows])

    def tensors(self) -> list[Tensor]:
        """Return the tensors that it keeps."""
        return [self.cells] if self.terms is None else self.terms.tensors()


def alibi_slopes(heads: int) -> Tensor:
    """Return the slope of each head, (H,) (Press et al. 2022, section 3).

    For a power of two they are 2^(−8/H), 2^(−16/H), ... For others, as in the authors' code, those of the next smaller
    power of two, and after them every second one of the next larger.
    """
    power = 2 ** math.floor(math.log2(heads))
    slopes: Tensor = 2.0 ** (-8 / power * torch.arange(1, power + 1))
    if power == heads:
        return slopes
    return torch.cat((slopes, alibi_slopes(2 * power)[::2][: heads - power]))


def alibi(heads: int, n: int) -> PositionBias:
    """Return −slope · distance for n positions, (H, T, T), of keys before the query and after it."""
    positions = torch.arange(n)
    distances = (positions[:, None] - positions).abs()  # (T, T)
    slopes = alibi_slopes(heads)
    return PositionBias(slopes[:, None, None] * -distances, stated=slopes)
