"""The formula of attention for the settings of a walk, with the term of one step in a box."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Indexed,
    List,
    Name,
    Negative,
    Power,
    Product,
    Relation,
    Row,
    Sum,
    Symbol,
    Transpose,
)

if TYPE_CHECKING:
    from attnviz.attention import Mask
    from attnviz.trace.walk import Walk


X = Symbol("X")
SCALE = Name("scale")
QUERY, KEY, VALUE = Symbol("Q", "query"), Symbol("K", "key"), Symbol("V", "value")


def attention_formula(walk: Walk, boxed: str) -> Expression:
    """Return output = concat[softmax(Q Kᵀ · scale + M) V] W_O, without the terms that are missing in this walk."""

    def term(step: str, expression: Expression) -> Expression:
        return Box(expression) if step == boxed else expression

    layer = walk.layer
    scores = term("scores", Product((QUERY, Transpose(KEY))))
    scaled = term("scaled", Product((scores, SCALE), "dot"))
    has_mask = layer.mask.kind != "none" or boxed == "masked"
    masked = term("masked", _masked(walk, scaled) if has_mask else scaled)
    weights = term("weights", Call(Name("softmax"), masked))
    head_outputs = term("head_outputs", Product((weights, VALUE)))
    concat = term("concat", Call(Indexed(Name("concat"), Symbol("h")), head_outputs, "[]"))
    is_projected = layer.output_projection is not None
    output = term("output", Product((concat, Indexed(Symbol("W"), Symbol("O")))) if is_projected else concat)
    return Relation("=", (Name("output"), output))


def _masked(walk: Walk, scaled: Expression) -> Expression:
    """Return scaled + M, where M is −∞ in hidden cells; for a mask with a finite number, fill(scaled, number)."""
    mask = walk.layer.mask
    if mask.is_infinite:
        return Sum((scaled, Symbol("M")))
    return Call(Name("fill"), List((scaled, filled_value(mask))))


def filled_value(mask: Mask) -> Expression:
    """Return the finite number that a mask fills into hidden cells, such as −10¹⁰ or −10¹⁰ · scale."""
    exponent = round(math.log10(-mask.value))
    value = Negative(Power(Symbol("10"), Symbol(str(exponent))))
    return value if mask.fills == "scaled" else Negative(Product((value.of, SCALE), "dot"))


def projection_formula(walk: Walk) -> Row:
    """Return the formulas of Q, K and V."""
    return Row(tuple(Relation("=", (symbol, _projected(walk, symbol.name))) for symbol in (QUERY, KEY, VALUE)))


def projection_kind(walk: Walk) -> str:
    """Return the kind of the projections; "linear" if they are not known."""
    return walk.layer.projections["query"].kind if walk.layer.projections else "linear"


def _projected(walk: Walk, name: str) -> Expression:
    kind = projection_kind(walk)
    if kind == "identity":
        return X
    if kind == "positions":
        return Product((Indexed(Symbol("U"), Symbol(name)), X))
    return Product((X, Indexed(Symbol("W"), Symbol(name))))
