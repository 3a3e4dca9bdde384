"""The activations of feed-forwards and of language heads: their formulas, code and what to notice."""

from __future__ import annotations

from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Fraction,
    Name,
    Power,
    Product,
    Relation,
    Root,
    Row,
    Sum,
    Symbol,
)
from attnviz.trace.model import Activation

_CODE: dict[Activation, str] = {
    "relu": "torch.relu({})", "gelu": "F.gelu({})", "gelu_tanh": 'F.gelu({}, approximate="tanh")',
}  # fmt: skip
_NAMES: dict[Activation, str] = {"relu": "ReLU", "gelu": "GELU"}
_Z, _TWO = Symbol("Z"), Symbol("2")

NOTICES: dict[Activation, str] = {
    "relu": "Where it is above 0, a neuron fires; ReLU turns the rest into 0.",
    "gelu": "Where it is well above 0, a neuron fires; GELU lets the rest through as little more than 0.",
    "gelu_tanh": "Where it is well above 0, a neuron fires; GELU, here approximated by tanh, lets the rest through as "
    "little more than 0.",
}


def code(activation: Activation, name: str) -> str:
    """Return the PyTorch that applies an activation to the matrix of this name."""
    return _CODE[activation].format(name)


def formula(result: Expression, activation: Activation | None, inner: Expression) -> Expression:
    """Return result = activation(inner); the approximation of GELU is written out (Hendrycks and Gimpel 2016)."""
    if activation != "gelu_tanh":
        name = Name("activation" if activation is None else _NAMES[activation])
        return Relation("=", (result, Box(Call(name, inner))))
    cube = Sum((_Z, Product((Symbol("0.044715"), Power(_Z, Symbol("3"))))))
    tanh = Call(Name("tanh"), Product((Root(Fraction(_TWO, Symbol("π"), small=True)), cube)))
    made = Product((Fraction(_Z, _TWO, small=True), Sum((Symbol("1"), tanh))))
    return Row((Relation("=", (_Z, inner)), Relation("=", (result, Box(made)))))
