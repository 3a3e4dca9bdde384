"""Why a score is high or low: the score of one query and one key as a sum.

q · k is the sum of the products of their dimensions. Query and key are linear in the input X, so the score is also the
sum, over each part of the query's row of X and each part of the key's row, of the product of what W_Q and W_K make of
the two parts. `attnviz.measures.summands` has the parts of X.

Shapes: D head width, P parts of the query and R of the key, C model width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from attnviz.measures.summands import (
    NoSummandsError,
    Summands,
    input_summands,
    output_summands,
)
from attnviz.reprs import ShortRepr
from attnviz.trace.embedding_sum import is_sum
from attnviz.trace.layer import LayerTrace, Projection
from attnviz.trace.model import Place
from attnviz.trace.trace import Trace

NO_PROJECTIONS = "How this model makes queries and keys of X is not known, so the score is split by dimension only."
CHANGED = "Queries or keys are more than projections of X in this model, so the score is split by dimension only."
MOST_PAIRED = 5
"""How many parts of query and of key have a row and a column of their own in the table of pairs"""


@dataclass(frozen=True, eq=False, repr=False)
class ScoreParts(ShortRepr):
    """One score as sums."""

    columns: ClassVar[tuple[str, ...]] = ("sum over", "of the query", "of the key", "contribution")
    """Those of `rows`"""
    products: Tensor
    """(D,): q_d · k_d, in double precision"""
    query_parts: tuple[str, ...] = ()
    """What the query is the sum of, (P,); empty if that is not known"""
    key_parts: tuple[str, ...] = ()
    """The same of the key, (R,)"""
    pairs: Tensor | None = None
    """(P, R): each part of the query times each part of the key; None if they are not known"""
    norms: int = 0
    """How many LayerNorms a part passes at most, whose deviations are held fixed"""
    reason: str = ""
    """Why the parts are not known, as a sentence"""

    @cached_property
    def score(self) -> float:
        """The score."""
        return float(self.products.sum())

    @property
    def error(self) -> float:
        """The difference between the sum of all pairs and the score; 0 if the parts are not known."""
        return 0.0 if self.pairs is None else abs(float(self.pairs.sum()) - self.score)

    @property
    def of_query(self) -> Tensor:
        """Each part of the query times the whole key, (P,)."""
        return torch.empty(0) if self.pairs is None else self.pairs.sum(1)

    @property
    def of_key(self) -> Tensor:
        """The whole query times each part of the key, (R,)."""
        return torch.empty(0) if self.pairs is None else self.pairs.sum(0)

    def payload(self) -> dict[str, Any]:
        """Return what the browser shows of the parts, as JSON: `ScoreParts` in frontend/types/walk.d.ts."""
        if self.pairs is None:
            return {"query": [], "key": [], "rows": [], "columns": [], "pairs": [], "error": 0, "note": self.reason}
        (rows, row_names), (columns, column_names) = (
            _largest(of.tolist(), names)
            for of, names in ((self.of_query, self.query_parts), (self.of_key, self.key_parts))
        )
        grouped = torch.stack([self.pairs[group].sum(0) for group in rows])
        grouped = torch.stack([grouped[:, group].sum(1) for group in columns], dim=1)
        return {
            "query": list(map(list, zip(self.query_parts, self.of_query.tolist(), strict=True))),
            "key": list(map(list, zip(self.key_parts, self.of_key.tolist(), strict=True))),
            "rows": row_names,
            "columns": column_names,
            "pairs": grouped.tolist(),
            "error": self.error,
            "note": self._note(),
        }

    def _note(self) -> str:
        if not self.norms:
            return ""
        passed, it = ("a LayerNorm", "It") if self.norms == 1 else (f"up to {self.norms} LayerNorms", "Each")
        return (
            f"Parts of X pass {passed} on their way to the score. {it} divides by the deviation of the whole row, "
            "which is held at its actual value: then the sum is exact, but it does not say how a part changes that "
            "deviation."
        )

    def rows(self) -> list[list[object]]:
        """Return a table of all products and all pairs: what is split, the two parts, the contribution."""
        products = [["dimension", f"dim {d}", f"dim {d}", x] for d, x in enumerate(self.products.tolist())]
        if self.pairs is None:
            return [*products]
        pairs = (
            ["parts", query, key, x]
            for query, row in zip(self.query_parts, self.pairs.tolist(), strict=True)
            for key, x in zip(self.key_parts, row, strict=True)
        )
        return [*products, *pairs]


def _largest(values: Sequence[float], names: Sequence[str]) -> tuple[list[list[int]], list[str]]:
    """Return the numbers of the largest parts, one each, and all others together; and their names."""
    order = sorted(range(len(values)), key=lambda part: -abs(values[part]))
    if len(order) <= MOST_PAIRED + 1:
        return [[part] for part in order], [names[part] for part in order]
    first, rest = order[:MOST_PAIRED], order[MOST_PAIRED:]
    return [*([part] for part in first), rest], [*(names[part] for part in first), f"{len(rest)} others"]


def score_parts(trace: Trace, place: Place, head: int, pair: tuple[int, int]) -> ScoreParts:
    """Split the score of a query and a key.

    Args:
        trace: the trace.
        place: the attention.
        head: the head.
        pair: the query's row and the key's column.

    Raises:
        IndexError: there is no such attention, head, query or key.
    """
    layer, (q, k) = trace.layer(place.layer, place.kind), pair
    layer.mask_of(head)  # raises IndexError
    for what, index, count in (("query", q, layer.query.shape[1]), ("key", k, layer.key.shape[1])):
        if not 0 <= index < count:
            raise IndexError(f"{what} {index} does not exist: there are {count}")
    products = layer.query[head, q].double() * layer.key[head, k].double()
    try:
        return _of_parts(products, layer, head, pair, _summands(trace, place, pair))
    except NoSummandsError as error:
        return ScoreParts(products, reason=str(error))


def _summands(trace: Trace, place: Place, pair: tuple[int, int]) -> tuple[Summands, Summands]:
    """Return the summands of the inputs of query and key: of their rows, or of all rows if a projection mixes them."""
    layer = trace.layer(place.layer, place.kind)
    if layer.projections is None:
        raise NoSummandsError(layer.unavailable.get("projections", NO_PROJECTIONS))
    mixes = layer.projections["query"].kind == "positions"
    q, k = (range(count) if mixes else [row] for row, count in zip(pair, map(len, _inputs(layer)), strict=True))
    of_query = input_summands(trace, place, list(q))
    if place.kind == "cross":
        return of_query, output_summands(trace, "encoder", list(k))
    return of_query, input_summands(trace, place, list(k))


def _inputs(layer: LayerTrace) -> tuple[Tensor, Tensor]:
    if layer.query_input is None or layer.key_input is None:
        raise NoSummandsError(NO_PROJECTIONS)
    return layer.query_input, layer.key_input


def _of_parts(
    products: Tensor, layer: LayerTrace, head: int, pair: tuple[int, int], summands: tuple[Summands, Summands]
) -> ScoreParts:
    projections = layer.projections or {}
    sides = []
    for name, letter, row, vectors, parts in zip(
        ("query", "key"), "QK", pair, (layer.query, layer.key), summands, strict=True
    ):
        names, projected = _projected(projections[name], head, row, parts, f"b_{letter}")
        if not is_sum(projected.sum(0), vectors[head, row]):
            raise NoSummandsError(CHANGED)
        sides.append((names, projected))
    (query_names, of_query), (key_names, of_key) = sides
    norms = max(len(parts.norms) for parts in summands)
    return ScoreParts(products, query_names, key_names, of_query @ of_key.T, norms)


def _projected(
    projection: Projection, head: int, row: int, parts: Summands, bias: str
) -> tuple[tuple[str, ...], Tensor]:
    """Return what a head's projection makes of each part, (P, D), and its bias as one more part, with their names."""
    if projection.kind == "positions" and projection.weight is not None:
        return tuple(parts.names), projection.weight[head, row].double() @ parts.vectors
    vectors = parts.vectors[:, 0]
    if projection.weight is not None:
        vectors = vectors @ projection.weight[head].double()
    if projection.bias is None:
        return tuple(parts.names), vectors
    return (*parts.names, bias), torch.cat([vectors, projection.bias[head, None].double()])
