"""The formulas of the measures of a head, for the query i, with the weights α_ij of the keys j."""

from __future__ import annotations

from attnviz.formulas import Expression, tree

_I, _J, _ONE = map(tree.Symbol, "ij1")
_ALPHA = tree.Symbol("α")
_WEIGHT = tree.Indexed(_ALPHA, tree.Product((_I, _J), "none"))

ENTROPY = tree.Negative(
    tree.Total(_J, None, tree.Product((_WEIGHT, tree.Logarithm(tree.Symbol("2"), _WEIGHT)), "none"))
)
DISTANCE = tree.Total(_J, None, tree.Product((_WEIGHT, tree.Absolute(tree.Sum((_I, tree.Negative(_J)))))))
WEIGHT_ON_SET = tree.Total(tree.Relation("∈", (_J, tree.Symbol("S"))), None, _WEIGHT)


def weight_at_offset(offset: int) -> Expression:
    """Return the weight of the key at i + `offset`, which is −1, 0 or 1."""
    keys: dict[int, Expression] = {-1: tree.Sum((_I, tree.Negative(_ONE))), 0: _I, 1: tree.Sum((_I, _ONE))}
    return tree.Indexed(_ALPHA, tree.List((_I, keys[offset])))
