"""Numbers of a head that sentences about its steps name. They are computed for all heads of a layer at once."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from attnviz.attention import AttentionSteps


@dataclass(frozen=True, slots=True)
class HeadSummary:
    """Numbers of one head's steps."""

    cells: int
    """Queries times keys; if there are none, the numbers are 0"""
    largest: int
    """The cell of the score with the largest magnitude, counted row by row"""
    largest_score: float
    """That magnitude"""
    largest_scaled: float
    hidden: int
    """Masked cells"""
    strongest: int
    """The cell of the largest weight, counted row by row"""
    strongest_weight: float
    row_maxima: tuple[float, ...]
    """The largest weight of each row"""


def summaries(steps: AttentionSteps, *, but_diagonal: bool) -> list[HeadSummary]:
    """Return the numbers of heads.

    Args:
        steps: the steps of all heads, (H, Tq, Tk), or of one, (Tq, Tk).
        but_diagonal: whether `strongest` is one off the diagonal, whose weights count as -1 for it.
    """
    matrices = steps.weights, steps.scores, steps.hidden
    weights, scores, hides = (one.reshape(-1, *one.shape[-2:]) for one in matrices)
    heads, queries, keys = weights.shape
    if not queries * keys:
        return [HeadSummary(0, 0, 0.0, 0.0, 0, 0, 0.0, ())] * heads
    sizes = scores.abs().flatten(1)
    largest = sizes.amax(1)
    scaled = (largest * steps.scale).abs()  # what the scaled scores have, too
    others = weights
    if but_diagonal:
        others = others.clone()
        others.diagonal(dim1=1, dim2=2).fill_(-1)
    others = others.flatten(1)
    hidden, maxima = hides.sum((1, 2)), weights.amax(2)
    columns = sizes.argmax(1), largest, scaled, hidden, others.argmax(1), others.amax(1), maxima
    return [
        HeadSummary(queries * keys, at, before, after, count, strongest, weight, tuple(rows))
        for at, before, after, count, strongest, weight, rows in zip(*map(Tensor.tolist, columns), strict=True)
    ]
