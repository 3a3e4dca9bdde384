"""The formulas of a comparison's figures."""

from __future__ import annotations

from attnviz.formulas import Expression, tree

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


_MEAN = tree.Row(
    (
        tree.Product(
            (tree.Fraction(_ONE, _N), _over_cells(tree.Absolute(tree.Sum((_A, tree.Negative(_B)))))),
            "none",
        ),
        tree.Product((tree.Text("over the "), _N, tree.Text(" cells that both have")), "none"),
    )
)
_HALF_OF_BOTH = tree.Product((_HALF, tree.Sum((tree.Symbol("p"), tree.Symbol("q")))), "none")
_DIVERGENCE = tree.Row(
    (
        tree.Sum((_half_divergence("p"), _half_divergence("q"))),
        tree.Relation("=", (tree.Symbol("m"), _HALF_OF_BOTH)),
    ),
    comma=True,
)
_COSINE = tree.Fraction(
    _over_cells(tree.Product((_A, _B), "none")),
    tree.Product((_norm(_A), _norm(_B)), "none"),
)

FORMULAS: dict[str, Expression] = {
    name: tree.Relation("=", (tree.Text(name), formula))
    for name, formula in (("mean |A − B|", _MEAN), ("JSD of a row", _DIVERGENCE), ("cosine", _COSINE))
}
"""The formula of each figure, by the figure's name"""
