"""The formula of attention in one head, from the scores to the output, with the terms that a walk has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Fraction,
    Indexed,
    List,
    Name,
    Negative,
    Power,
    Product,
    Relation,
    Sum,
    Symbol,
    Transpose,
)

if TYPE_CHECKING:
    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk

SCALE, CAP, SINK, BIAS = Name("scale"), Symbol("c"), Symbol("z"), Symbol("B")
QUERY, KEY, VALUE = Symbol("Q", "query"), Symbol("K", "key"), Symbol("V", "value")


def normed_symbol(symbol: Symbol) -> Indexed:
    """Return the symbol of normed queries, or keys: Q_norm."""
    return Indexed(symbol, Name("norm"))


def operand_symbol(walk: Walk, symbol: Symbol) -> Symbol | Indexed:
    """Return the symbol of the queries, or of the keys, of the scores: Q; Q_norm after a norm; Q_θ if turned."""
    if walk.layer.rotation is not None:
        return Indexed(symbol, Symbol("θ"))
    return normed_symbol(symbol) if walk.layer.norms else symbol


def attention_formula(walk: Walk, boxed: str) -> Expression:
    """Return output = concat[softmax(Q Kᵀ · scale + M) V] W_O, without the terms that are missing in this walk.

    A soft cap c makes c · tanh(Q Kᵀ · scale / c) of the scaled scores; a position bias B is added to
    them, which may be (Q K_δᵀ + Q_δ Kᵀ) · scale; a sink z stands beside the keys in the softmax.
    """

    def term(step: str, expression: Expression) -> Expression:
        return Box(expression) if step == boxed else expression

    layer = walk.layer
    query, key = operand_symbol(walk, QUERY), operand_symbol(walk, KEY)
    scores = term("scores", Product((query, Transpose(key))))
    scaled = term("scaled", Product((scores, SCALE), "dot"))
    capped = scaled if layer.cap is None else term("capped", _capped(scaled))
    biased = capped if layer.position_bias is None else term("biased", Sum((capped, _bias(layer))))
    has_mask = layer.mask.kind != "none" or boxed == "masked"
    masked = term("masked", _masked(walk, biased) if has_mask else biased)
    in_softmax = masked if layer.sinks is None else List((masked, SINK))
    weights = term("weights", Call(Name("softmax"), in_softmax))
    head_outputs = term("head_outputs", Product((weights, VALUE)))
    concat = term("concat", Call(Indexed(Name("concat"), Symbol("h")), head_outputs, "[]"))
    is_projected = layer.output_projection is not None
    output = term("output", Product((concat, Indexed(Symbol("W"), Symbol("O")))) if is_projected else concat)
    return Relation("=", (Name("output"), output))


def _bias(layer: LayerTrace) -> Expression:
    """Return B; or its terms, whose keys K_δ and queries Q_δ are those of relative positions."""
    of_positions = {
        "content_to_position": Product((QUERY, Transpose(Indexed(KEY, Symbol("δ"))))),
        "position_to_content": Product((Indexed(QUERY, Symbol("δ")), Transpose(KEY))),
    }
    products = tuple(of_positions[name] for name in layer.position_terms)
    if not products:
        return BIAS
    return Product((Sum(products) if len(products) > 1 else products[0], SCALE), "dot")


def _capped(scaled: Expression) -> Expression:
    """Return c · tanh(scaled / c)."""
    return Product((CAP, Call(Name("tanh"), Fraction(scaled, CAP))), "dot")


def _masked(walk: Walk, biased: Expression) -> Expression:
    """Return biased + M, where M is −∞ in hidden cells; for a mask with a finite number, fill(biased, number)."""
    mask = walk.layer.mask
    if mask.is_infinite:
        return Sum((biased, Symbol("M")))
    return Call(Name("fill"), List((biased, _filled_value(walk.layer))))


def _filled_value(layer: LayerTrace) -> Expression:
    """Return the finite number that a mask fills into hidden cells, such as −10¹⁰ or −10¹⁰ · scale.

    A soft cap makes −c or c of a large one, by the sign of the scale, and c · tanh(−10¹⁰ · scale / c) of others.
    """
    mask, cap = layer.mask, layer.cap
    filled = mask.hidden_value(layer.scale, cap)
    if cap is not None and mask.fills == "scores" and math.isclose(abs(filled), cap):
        return Negative(CAP) if filled < 0 else CAP
    exponent = round(math.log10(-mask.value))
    value = Negative(Power(Symbol("10"), Symbol(str(exponent))))
    if mask.fills == "scaled":
        return value
    scaled = Negative(Product((value.of, SCALE), "dot"))
    return scaled if cap is None else _capped(scaled)
