"""The notices, formulas and PyTorch code of the four ways from an average to attention."""

from __future__ import annotations

from attnviz.formulas import tree
from attnviz.steps.step import Step

CODE_WIDTH = 30
"""The longest line of code that fits beside the picture at 1280 pixels, also in lecture mode"""

_A, _X, _Y, _M = map(tree.Symbol, "AXYM")
_I, _J, _ZERO, _ONE = map(tree.Symbol, "ij01")
_NEXT = tree.Sum((_I, _ONE))


def _softmax(scores: tree.Expression, *, stretch: bool) -> tree.Expression:
    """Return the softmax of scores with the future masked."""
    return tree.Call(tree.Name("softmax"), tree.Sum((scores, _M)), stretch=stretch)


_LOOP = tree.Relation(
    "=",
    (
        tree.Indexed(tree.Symbol("y"), _I),
        tree.Product(
            (
                tree.Fraction(_ONE, _NEXT),
                tree.Total(tree.Relation("=", (_J, _ZERO)), _I, tree.Indexed(tree.Symbol("x"), _J)),
            ),
            "none",
        ),
    ),
)
_SHARES = tree.Relation(
    "for",
    (
        tree.Relation("=", (tree.Indexed(_A, tree.Product((_I, _J), "none")), tree.Fraction(_ONE, _NEXT, small=True))),
        tree.Relation("≤", (_J, _I)),
    ),
)
_MATRIX = tree.Row((tree.Relation("=", (_Y, tree.Product((_A, _X)))), _SHARES), comma=True)
_SOFTMAX = tree.Relation("=", (_Y, tree.Product((_softmax(_ZERO, stretch=False), _X))))
_SCALE = tree.Fraction(_ONE, tree.Root(tree.Symbol("D")), small=True)
_SCORES = tree.Product((_SCALE, tree.Product((tree.Symbol("Q"), tree.Transpose(tree.Symbol("K"))), "none")))
_DATA = tree.Relation("=", (_Y, tree.Product((_softmax(_SCORES, stretch=True), _X), "none")))


def _way(name: str, title: str, formula: tree.Expression, notice: str, code: str) -> Step[object]:
    """Return one way to mix the past into each token. Its texts do not depend on the numbers.

    Its code computes `averages`, (T, C), from `x`, (T, C), and for attention also from `query` and `key`, (T, D). No
    line is longer than `CODE_WIDTH`.
    """
    return Step(name, title, formula=lambda _: formula, notice=lambda _: notice, code=lambda _: code)


_WAYS = (
    _way(
        "loop",
        "A loop",
        _LOOP,
        "The plainest way to tell a token about its past: average its row with all rows before it.",
        """averages = torch.zeros_like(x)
for i in range(len(x)):
    for j in range(i + 1):
        averages[i] += x[j]
    averages[i] /= i + 1""",
    ),
    _way(
        "matrix",
        "A matrix",
        _MATRIX,
        "The loop is one matrix product. Row i of A says how much of every token goes into token i: 1, ½ ½, ⅓ ⅓ ⅓, …",
        """T = len(x)
past = torch.ones(T, T).tril()
n = past.sum(1, keepdim=True)
weights = past / n
averages = weights @ x""",
    ),
    _way(
        "softmax",
        "A softmax",
        _SOFTMAX,
        "The same A again: equal scores, all 0, with the future at −∞. Softmax turns equal scores into equal shares.",
        """T = len(x)
scores = torch.zeros(T, T)
past = torch.ones(T, T).tril()
masked = scores.masked_fill(
    past == 0, -math.inf)
weights = masked.softmax(-1)
averages = weights @ x""",
    ),
    _way(
        "data",
        "Scores from the data",
        _DATA,
        "Now the zeros make room for q·k: each token decides how much of its past it takes. That is attention.",
        """T, D = query.shape
scores = query @ key.T
scaled = scores / math.sqrt(D)
past = torch.ones(T, T).tril()
masked = scaled.masked_fill(
    past == 0, -math.inf)
weights = masked.softmax(-1)
averages = weights @ x""",
    ),
)
WAYS = {way.name: way for way in _WAYS}
"""The ways by their names in links, in order"""
