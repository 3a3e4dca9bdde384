"""Four steps that lead from an average to attention: a loop, a matrix, a softmax, then scores from the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import nonzero
from attnviz.formulas import tree
from attnviz.steps.picture import MatrixProduct, PanelSpec, Picture, panel, picture
from attnviz.steps.step import Step, row_words
from attnviz.steps.weights import weights_panel
from attnviz.trace.matrices import matrix

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

_A, _X, _Y, _M = map(tree.Symbol, "AXYM")
_I, _J, _ZERO, _ONE = map(tree.Symbol, "ij01")
_NEXT = tree.Sum((_I, _ONE))


def _softmax(scores: tree.Expression, *, stretch: bool) -> tree.Expression:
    """Return the softmax of scores with the future masked."""
    return tree.Call(tree.Name("softmax"), tree.Sum((scores, _M)), stretch=stretch)


_SO_FAR = tree.Total(tree.Relation("=", (_J, _ZERO)), _I, tree.Indexed(tree.Symbol("x"), _J))
_MEAN = tree.Product((tree.Fraction(_ONE, _NEXT), _SO_FAR), "none")
_LOOP = tree.Relation("=", (tree.Indexed(tree.Symbol("y"), _I), _MEAN))
_CELL = tree.Indexed(_A, tree.Product((_I, _J), "none"))
_SHARE = tree.Relation("=", (_CELL, tree.Fraction(_ONE, _NEXT, small=True)))
_SHARES = tree.Relation("for", (_SHARE, tree.Relation("≤", (_J, _I))))
_MATRIX = tree.Row((tree.Relation("=", (_Y, tree.Product((_A, _X)))), _SHARES), comma=True)
_SOFTMAX = tree.Relation("=", (_Y, tree.Product((_softmax(_ZERO, stretch=False), _X))))
_SCALE = tree.Fraction(_ONE, tree.Root(tree.Symbol("D")), small=True)
_SCORES = tree.Product((_SCALE, tree.Product((tree.Symbol("Q"), tree.Transpose(tree.Symbol("K"))), "none")))
_DATA = tree.Relation("=", (_Y, tree.Product((_softmax(_SCORES, stretch=True), _X), "none")))


_X_PANEL = panel("embeddings_k", "X embeddings", limit=("embeddings_k",))
_SIDES = (0.42, 0.58)
"""Shares of a picture's width or height: an operand of a product, then the result"""
_ROUNDING = (
    "Not 0, because float32 rounds after each operation, to some 7 digits, and the operations differ: the loop adds, "
    "then divides; the product multiplies by 1/n, then adds."
)
_OTHER_WEIGHTS = "Not a matter of rounding: other weights, so another average."


def _result(name: str, title: str) -> PanelSpec:
    """Describe Y, on the colour scale of X: an average is never larger than the largest number averaged."""
    return panel(name, title, limit=("embeddings_k",), bar=True)


def _product(left: PanelSpec, result: PanelSpec, between: str = "", made_of: PanelSpec | None = None) -> Picture:
    """Return the picture of left · X = result; above `left` is the matrix it is computed from, if there is one."""
    products = {result.name: MatrixProduct(left.name, _X_PANEL.name)}
    return picture(((made_of, _X_PANEL), (left, result)), _SIDES, _SIDES, products, between)


_PICTURES = {
    "loop": picture(((_X_PANEL,), (_result("by_loop", "Y averages so far"),)), (1,), _SIDES),
    "matrix": _product(
        replace(weights_panel("A, lower triangle", name="triangle"), stretched="A · colours end at {}"),
        _result("by_matrix", "Y = A · X"),
        "A · X = Y",
    ),
    "softmax": _product(
        weights_panel("weights = softmax", name="softmax_weights"),
        _result("by_softmax", "Y = weights · X"),
        made_of=panel("masked_zeros", "masked zeros", limit=1.0),
    ),
    "data": _product(
        weights_panel("weights = softmax"),
        _result("by_data", "Y = weights · X"),
        made_of=panel("masked", "masked q · k / √D"),
    ),
}


def _difference(name: str, why: str) -> Callable[[Walk], str]:
    """Return a function that says how far the averages in this matrix are from the loop's, where, and why."""

    def say(walk: Walk) -> str:
        gaps = (matrix(walk, name) - walk.averages["by_loop"]).abs()
        q, feature = divmod(int(gaps.argmax()), gaps.shape[1])
        largest = float(gaps.max())
        if largest == 0:
            return "Largest difference to the loop: 0. On these numbers every rounding comes out the same."
        place = named(row_words(walk, q), row=q, matrix=name)
        size = nonzero(largest)
        return AnnotatedText.of(f"Largest difference to the loop: {size}, in ", place, f", feature {feature}. {why}")

    return say


def _way(
    name: str,
    title: str,
    formula: tree.Expression,
    notice: str,
    code: str,
    fact: Callable[[Walk], str] = lambda _: "",
) -> Step[Walk]:
    """Return one way to mix the past into each token. Only its fact depends on the numbers.

    Its code computes `averages`, (T, C), from `x`, (T, C), and for attention also from `query` and `key`, (T, D). No
    line is longer than 30 characters: that fits beside the picture at 1280 pixels, also in lecture mode.
    """
    drawing, marked = _PICTURES[name], annotated(notice)
    return Step(
        name,
        title,
        formula=lambda _: formula,
        notice=lambda _: marked,
        code=lambda _: code,
        picture=lambda _: drawing,
        fact=fact,
        matrices=tuple(panel.name for panel in drawing.panels if panel is not _X_PANEL),
    )


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
        "The loop is one matrix product. Row i of [A](matrix=triangle) says how much of every token goes into token i: "
        "1, ½ ½, ⅓ ⅓ ⅓, …",
        """T = len(x)
past = torch.ones(T, T).tril()
n = past.sum(1, keepdim=True)
weights = past / n
averages = weights @ x""",
        _difference("by_matrix", _ROUNDING),
    ),
    _way(
        "softmax",
        "A softmax",
        _SOFTMAX,
        "The same A again: [equal scores](matrix=masked_zeros), all 0, with [the future](part=hidden) at −∞. "
        "Softmax turns equal scores into equal shares.",
        """T = len(x)
scores = torch.zeros(T, T)
past = torch.ones(T, T).tril()
masked = scores.masked_fill(
    past == 0, -math.inf)
weights = masked.softmax(-1)
averages = weights @ x""",
        _difference("by_softmax", _ROUNDING),
    ),
    _way(
        "data",
        "Scores from the data",
        _DATA,
        "Now the zeros make room for [q·k](matrix=masked): each token decides how much of its past it takes. "
        "That is attention.",
        """T, D = query.shape
scores = query @ key.T
scaled = scores / math.sqrt(D)
past = torch.ones(T, T).tril()
masked = scaled.masked_fill(
    past == 0, -math.inf)
weights = masked.softmax(-1)
averages = weights @ x""",
        _difference("by_data", _OTHER_WEIGHTS),
    ),
)
WAYS = {way.name: way for way in _WAYS}
"""The ways by their names in links, in order"""
