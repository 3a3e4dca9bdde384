"""The dense layer with which some language heads begin, such as BERT's (Devlin et al. 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.formatting import number
from attnviz.formulas.tree import Expression, Indexed, Product, Sum, Symbol
from attnviz.marked import Marked, marked, named
from attnviz.steps.picture import Operation, Picture, panel, picture, share
from attnviz.steps.picture import Product as Made
from attnviz.steps.step import Step
from attnviz.steps.transformer import activations
from attnviz.steps.transformer.stream import TITLES, end_of_stack, has, lengths, part_of, row
from attnviz.trace.matrices import matrix

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

_UNKNOWN = "# the activation of this head is not known; transform_hidden is as the model computes it"


def _formula(walk: Walk) -> Expression:
    index = Symbol("T")
    inner: Expression = Product((Symbol("X"), Indexed(Symbol("W"), index)))
    inner = Sum((inner, Indexed(Symbol("b"), index))) if has(walk, "b_transform") else inner
    return activations.formula(Symbol("T"), part_of(walk).head_activation, inner)


def _code(walk: Walk) -> str:
    bias, activation = " + b_transform" if has(walk, "b_transform") else "", part_of(walk).head_activation
    made = _UNKNOWN if activation is None else f"transform_hidden = {activations.code(activation, 'transform_inner')}"
    return f"transform_inner = {end_of_stack(walk)} @ W_transform{bias}\n{made}"


def _picture(walk: Walk) -> Picture:
    source, activation = end_of_stack(walk), part_of(walk).head_activation
    bias = "b_transform" if has(walk, "b_transform") else None
    hidden = panel("transform_hidden", TITLES["transform_hidden"], bar=True)
    inner = panel("transform_inner", TITLES["transform_inner"] + (" + b_T" if bias else ""))
    heights = share(matrix(walk, "W_transform").shape[0], matrix(walk, source).shape[0])
    grid = ((None, panel("W_transform", TITLES["W_transform"]), None), (panel(source, TITLES[source]), inner, hidden))
    operation = Operation("activation", ("transform_inner",), name=activation)
    return picture(
        grid,
        (0.6, 1, 1),
        heights,
        {"transform_inner": Made(source, "W_transform", bias)},
        operations={} if activation is None else {"transform_hidden": operation},
    )


def _fact(walk: Walk) -> str:
    found = lengths(walk, "transform_hidden")
    high = int(found.argmax())
    return Marked.of(
        "Here the longest row is ",
        named(row(walk, high), row=high, matrix="transform_hidden"),
        f", with a length of {number(float(found[high]))}.",
    )


TRANSFORM: Step[Walk] = Step(
    name="transform_hidden",
    title="Dense (head)",
    formula=_formula,
    notice=lambda _: marked(
        "The language head begins: one more [map](matrix=W_transform) of each row by itself, trained to name the "
        "tokens that were hidden from the model."
    ),
    code=_code,
    picture=_picture,
    fact=_fact,
    weights={"W_transform": ("feature", "feature"), "b_transform": ("bias", "feature")},
    matrices={"transform_inner": ("query", "feature"), "transform_hidden": ("query", "feature")},
    is_of_head=False,
)
