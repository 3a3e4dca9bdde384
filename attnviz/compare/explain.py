"""Texts about a comparison: sentences derived from its numbers, and the formulas of its figures."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import torch

from attnviz.annotated_text import AnnotatedText, named
from attnviz.compare.alignment import GAP
from attnviz.compare.matrices import Comparison, Distance
from attnviz.formatting import counted, number
from attnviz.formulas import Expression, tree
from attnviz.measures.summary import shares_of_keys
from attnviz.steps import WALK

_ONE, _TWO, _J, _N = map(tree.Symbol, "12jn")
_CELL = tree.Product((tree.Symbol("i"), _J), "none")
_A, _B = (tree.Indexed(tree.Symbol(matrix), _CELL) for matrix in "AB")
_HALF = tree.Fraction(_ONE, _TWO, small=True)


def _over_cells(term: Expression) -> Expression:
    """Return the sum of a term over all cells."""
    return tree.Total(_CELL, None, term)


def _half_divergence(row: str) -> Expression:
    """Return half the Kullback-Leibler divergence of a row of weights from m."""
    weight, mean = (tree.Indexed(tree.Symbol(name), _J) for name in (row, "m"))
    term = tree.Product((weight, tree.Logarithm(_TWO, tree.Fraction(weight, mean))), "none")
    return tree.Product((_HALF, tree.Total(_J, None, term)), "none")


def _norm(cell: tree.Indexed) -> Expression:
    return tree.Root(_over_cells(tree.Power(cell, _TWO)))


_GAPS = _over_cells(tree.Absolute(tree.Sum((_A, tree.Negative(_B)))))
_WHERE = tree.Product((tree.Text("over the "), _N, tree.Text(" cells that both have")), "none")
_MEAN = tree.Row((tree.Product((tree.Fraction(_ONE, _N), _GAPS), "none"), _WHERE))
_HALF_OF_BOTH = tree.Product((_HALF, tree.Sum((tree.Symbol("p"), tree.Symbol("q")))), "none")
_MIDDLE = tree.Relation("=", (tree.Symbol("m"), _HALF_OF_BOTH))
_DIVERGENCE = tree.Row((tree.Sum((_half_divergence("p"), _half_divergence("q"))), _MIDDLE), comma=True)
_NORMS = tree.Product((_norm(_A), _norm(_B)), "none")
_COSINE = tree.Fraction(_over_cells(tree.Product((_A, _B), "none")), _NORMS)

DIVERGENCE = "Jensen-Shannon divergence"
DIVERGENCE_TITLE = "bits"
"""Its title over a column of one number a row, which is narrow"""
_FIGURES: dict[str, Expression] = {"mean |A − B|": _MEAN, "divergence of a row": _DIVERGENCE, "cosine": _COSINE}
FORMULAS: dict[str, Expression] = {
    name: tree.Relation("=", (tree.Text(name), formula)) for name, formula in _FIGURES.items()
}
"""The formula of each figure, by the figure's name"""


ROUNDING = 1e-5
"""Differences below this fraction of the largest number count as float32 rounding (sums of a few hundred products)."""

SOURCES = (
    f"The {DIVERGENCE} is that of two rows of weights, p in A and q in B: 0 bits where they are the "
    "same, 1 bit where they share no key (Lin 1991, “Divergence measures based on the Shannon entropy”). The "
    "cosine takes each matrix as one long vector (Salton and McGill 1983, for vectors of words): 1 where "
    "one is a multiple of the other. A hidden weight counts as the 0 that it is; a cell that only one side has, and a "
    "hidden score, which is −∞, do not count. Tokens are aligned with as few changes as there can be (Wagner and "
    "Fischer 1974)."
)

_SAME_BECAUSE: dict[tuple[str, ...], tuple[str, ...]] = {
    ("scale", "scores"): ("The scale comes after the scores.",),
    ("mask", "scores"): ("The mask comes after the scores.",),
    ("mask", "scaled"): ("The mask comes after the scaling.",),
}
"""Why a step is the same if only one setting differs, by setting and step"""


def notice(
    comparison: Comparison,
    distance: Distance | None,
    queries: Sequence[str],
    keys: Sequence[str],
    differs: Collection[str] = (),
) -> AnnotatedText:
    """Say in a sentence or two where A and B differ most, and by how much, with marks for parts of the picture.

    Args:
        comparison: the two matrices.
        distance: their distance, from `measure_distance`.
        queries: the labels of the P rows.
        keys: the labels of the R columns.
        differs: the settings in which A and B differ, as link keys.
    """
    if distance is None:
        return AnnotatedText("A and B have no cell in common, so there is nothing to subtract.")
    if distance.largest == 0:
        where = "every cell" if distance.cells == comparison.difference.size else "every cell that both have"
        pair = (*differs, comparison.quantity)
        return AnnotatedText.joined([f"A and B are equal in {where}.", *_SAME_BECAUSE.get(pair, ())])
    if comparison.divergence is not None and np.isfinite(comparison.divergence).any():
        first = _largest_row_change(comparison, comparison.divergence, queries, keys)
    else:
        first = _largest_cell_change(comparison, distance, queries, keys)
    return AnnotatedText.joined(
        [first, *_only_changed_tokens(comparison, queries), *_perplexity_note(comparison, differs)]
    )


def perplexity(weights: npt.NDArray[np.float32]) -> float | None:
    """Return the mean perplexity of the rows of weights (P, R): 2 to the power of a row's entropy in bits.

    A row's perplexity is the number of keys that it spreads over: 1 if all weight is on one key, R if all keys have
    equal weight. Rows without weights do not count; of a row whose sink takes a share, only how it shares out the rest
    counts. Returns None if no row has weights.
    """
    p = np.nan_to_num(weights.astype(np.float64))
    p = p[p.sum(axis=1) > 0]
    if not len(p):
        return None
    p = shares_of_keys(torch.from_numpy(p)).numpy()
    entropy = -(p * np.log2(p, out=np.zeros_like(p), where=p > 0)).sum(axis=1)
    return float((2**entropy).mean())


def name(labels: Sequence[str], at: int) -> str:
    """Return the label of a place in quotes, with the place's number if several have the same label."""
    return f"“{labels[at]}”" if labels.count(labels[at]) == 1 else f"“{labels[at]}” at {at}"


def place(queries: Sequence[str], keys: Sequence[str], at: tuple[int, int]) -> tuple[AnnotatedText, AnnotatedText]:
    """Return the names of a cell's row and column, each with a mark for what it names."""
    row, column = at
    return named(name(queries, row), row=row), named(name(keys, column), column=column)


def _largest_row_change(
    comparison: Comparison, bits: npt.NDArray[np.float64], queries: Sequence[str], keys: Sequence[str]
) -> AnnotatedText:
    row = int(np.nanargmax(bits))
    a, b = (np.nan_to_num(side[row]) for side in (comparison.a, comparison.b))
    top_a, top_b = int(a.argmax()), int(b.argmax())

    def weight(matrix: str, column: int) -> AnnotatedText:
        return named(number({"a": a, "b": b}[matrix][column]), row=row, column=column, matrix=matrix)

    at_a, at_b = (named(name(keys, top), column=top) for top in (top_a, top_b))
    if top_a == top_b:
        looks = AnnotatedText.of(
            "both look most at ", at_a, ", A with ", weight("a", top_a), " and B with ", weight("b", top_a)
        )
    else:
        looks = AnnotatedText.of(
            "A looks most at ", at_a, " (", weight("a", top_a), "; B: ", weight("b", top_a), "), B at ", at_b,
            " (", weight("b", top_b), "; A: ", weight("a", top_b), ")",
        )  # fmt: skip
    divergence = named(number(bits[row]), row=row, matrix="divergence")
    average = f" of at most 1 bit; a row's average is {number(float(np.nanmean(bits)), 3)}"
    changed = named(name(queries, row), row=row)
    return AnnotatedText.of("The row that changes most is ", changed, " (", divergence, average, "): ", looks, ".")


def _largest_cell_change(
    comparison: Comparison, distance: Distance, queries: Sequence[str], keys: Sequence[str]
) -> AnnotatedText:
    i, j = distance.at
    a, b = (
        named(number(float(np.nan_to_num(side[i, j]))), row=i, column=j, matrix=matrix)
        for matrix, side in (("a", comparison.a), ("b", comparison.b))
    )
    query, key = place(queries, keys, distance.at)
    cell = f"The largest change is {WALK[comparison.quantity].cell} of "
    return AnnotatedText.of(cell, query, " for ", key, ": ", a, " in A, ", b, " in B.")


def _only_changed_tokens(comparison: Comparison, queries: Sequence[str]) -> list[str]:
    """Return a sentence if only the rows and columns of changed tokens differ."""
    rows, columns = np.array(comparison.queries.changed), np.array(comparison.keys.changed)
    if not rows.any() or not columns.any() or rows.all() or columns.all():
        return []
    elsewhere = comparison.difference[~rows][:, ~columns]
    if not np.isfinite(elsewhere).any():
        return []
    largest = float(np.nanmax(np.abs(comparison.a)))
    if float(np.nanmax(np.abs(elsewhere))) > ROUNDING * largest:
        return []
    names = ", ".join(name(queries, i) for i in np.flatnonzero(rows)[:3])
    return [f"Only rows and columns of {names} differ: the change affects nothing else in this layer."]


def _perplexity_note(comparison: Comparison, differs: Collection[str]) -> list[str]:
    if not WALK[comparison.quantity].is_distribution or not {"scale", "mask"} & set(differs):
        return []
    a, b = perplexity(comparison.a), perplexity(comparison.b)
    if a is None or b is None:
        return []
    return [f"On average a row of A spreads over {number(a, 1)} keys, one of B over {number(b, 1)} (2 to its entropy)."]


def gap_note(comparison: Comparison) -> str:
    """Return a note on how many rows and columns only one side has; empty if there are none."""
    parts = []
    for axis, places in (("row", comparison.queries), ("column", comparison.keys)):
        for side, positions in (("A", places.second), ("B", places.first)):
            count = positions.count(GAP)
            if count:
                parts.append(f"{counted(count, axis)} only {side} has")
    return f"Hatched: {', '.join(parts)}." if parts else ""
