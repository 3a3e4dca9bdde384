"""Numbers of a head computed again: scores in a double loop, and each row of its output from the rows up to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from attnviz.attention import Mask, attend
from attnviz.reprs import ShortRepr
from attnviz.trace.layer import LayerTrace, Projection
from attnviz.trace.matrices import QKV

MOST_LOOPED = 64
"""The most queries and keys of the loop, which takes microseconds for each pair"""
LOOP = """\
scores = torch.zeros(len(query), len(key))
for i in range(len(query)):
    for j in range(len(key)):
        scores[i, j] = query[i] @ key[j]"""
PRODUCT = "scores = query @ key.T"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoopScores(ShortRepr):
    """The scores of one head, computed twice."""

    by_loop: Tensor
    """(Tq, Tk)"""
    by_product: Tensor
    """(Tq, Tk)"""
    rounding: Tensor
    """(Tq, Tk): the largest difference that the rounding of both sums can make"""

    @property
    def gaps(self) -> Tensor:
        """The magnitudes of the differences, (Tq, Tk)."""
        return (self.by_loop - self.by_product).abs()

    @property
    def largest(self) -> float:
        """The largest difference."""
        return float(self.gaps.max())

    @property
    def at(self) -> tuple[int, int]:
        """The query and the key of the largest difference."""
        query, key = divmod(int(self.gaps.argmax()), self.gaps.shape[1])
        return query, key

    @property
    def are_equal(self) -> bool:
        """Whether every difference is one that rounding can make."""
        return bool((self.gaps <= self.rounding).all())


def scores_by_loop(query: Tensor, key: Tensor) -> LoopScores:
    """Compute the scores of queries, (Tq, D), with keys, (Tk, D), one pair after the other, and all at once.

    Sums of D products whose order differs are each at most D · u · Σ |q · k| from the exact one, with u = ε/2 (Higham
    2002, "Accuracy and Stability of Numerical Algorithms", section 3.1).

    Raises:
        ValueError: there are no or more than MOST queries or keys.
    """
    for name, count in (("queries", len(query)), ("keys", len(key))):
        if not 1 <= count <= MOST_LOOPED:
            raise ValueError(f"{count} {name}: the loop takes 1 to {MOST_LOOPED}")
    scores = torch.zeros(len(query), len(key), dtype=query.dtype)
    for i in range(len(query)):
        for j in range(len(key)):
            scores[i, j] = query[i] @ key[j]
    unit = torch.finfo(query.dtype).eps / 2
    rounding = 2 * query.shape[1] * unit * (query.abs() @ key.abs().T)
    return LoopScores(scores, query @ key.T, rounding)


MOST_ROWS = 64
"""The most rows that are computed again; each is a forward pass"""
ROUNDING = 1e-5
"""Relative to the largest number: smaller differences come from float32 sums in another order"""


class NoPastError(ValueError):
    """The rows have no past, as in cross-attention; the message is a sentence for the user."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FromPast(ShortRepr):
    """The head outputs of the whole text, and each row of them computed from the rows of X up to it."""

    whole: Tensor
    """(n, D): the first n rows"""
    alone: Tensor
    """(n, D): row i from rows 0 to i of X"""
    is_projected: bool
    """Whether queries, keys and values were recomputed too; otherwise they are those of the whole text"""

    @property
    def gaps(self) -> Tensor:
        """The largest difference of each row, (n,)."""
        return (self.whole - self.alone).abs().amax(1)

    @property
    def differing(self) -> list[int]:
        """The rows that differ by more than rounding, in order."""
        limit = ROUNDING * float(self.whole.abs().max())
        return [row for row, gap in enumerate(self.gaps.tolist()) if gap > limit]


def rows_from_past(layer: LayerTrace, head: int) -> FromPast:
    """Compute each of the first rows of a head's output from the rows of X up to it alone, and compare.

    Row i is the last row of an attention over the first i + 1 tokens, with the same weights, scale and mask.

    Raises:
        IndexError: the layer has no such head.
        NoPastError: queries and keys come from different texts.
    """
    mask, x = layer.mask_of(head), layer.query_input
    if layer.query.shape[1] != layer.key.shape[1] or (x is not None and layer.key_input is not x):
        raise NoPastError("Here keys are of another text, so no key comes before or after a query.")
    count = min(MOST_ROWS, layer.query.shape[1])
    maps = _maps_of(layer, head)
    rows = []
    for end in range(1, count + 1):
        if maps is None or x is None:
            query, key, value = (vectors[head, :end] for vectors in (layer.query, layer.key, layer.value))
        else:
            query, key, value = (_cut(projection, end).apply(x[:end])[0] for projection in maps)  # (i + 1, D)
            if layer.norms or layer.rotation is not None:
                operands = _shortened(layer, end).operands_of(x[:end], x[:end], [head])
                query, key = (operand[0] for operand in operands.values())
        corner, sinks = _corner(mask, layer.query.shape[1], end), None
        if layer.sinks is not None:
            sinks = layer.sinks[head, :end]  # one for all queries, (1, 1), or each query's, (i + 1, 1)
        bias = None if layer.position_bias is None else layer.position_bias.of_operands(head, query, key)
        of_scores: dict[str, Any] = {"cap": layer.cap, "sinks": sinks, "position_bias": bias}
        steps = attend(query, key, value, mask=corner, scale=layer.scale, **of_scores)
        rows.append(steps.head_outputs[-1])
    return FromPast(layer.head(head).head_outputs[:count], torch.stack(rows), maps is not None and x is not None)


def _maps_of(layer: LayerTrace, head: int) -> list[Projection] | None:
    """Return the projections of one head to query, key and value; None if they are not known."""
    if layer.projections is None:
        return None
    return [layer.projections[name].at([head]) for name in QKV]


def _shortened(layer: LayerTrace, end: int) -> LayerTrace:
    """Return a layer with projections for `end` tokens."""
    projections = {name: _cut(projection, end) for name, projection in (layer.projections or {}).items()}
    return replace(layer, projections=projections)


def _cut(projection: Projection, end: int) -> Projection:
    """Return the projection for `end` tokens: if it mixes positions, it has a row and a column for each token."""
    if projection.kind != "positions" or projection.weight is None:
        return projection
    return replace(projection, weight=projection.weight[:, :end, :end])


def _corner(mask: Mask, n: int, end: int) -> Mask:
    """Cut a mask over n tokens down to the first `end` tokens."""
    return mask if mask.cells is None else replace(mask, cells=mask.cells.expand(n, n)[:end, :end])
