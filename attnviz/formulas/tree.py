"""The nodes of a formula's tree, as immutable values. They describe the meaning, not the typesetting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Role = Literal["query", "key", "value", "attention"]
"""The role of a symbol; each role has the same colour everywhere."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A letter or a number."""

    name: str
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a function or a quantity, in upright type: softmax, output."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """Words in a formula."""

    words: str


@dataclass(frozen=True, slots=True)
class Indexed:
    """An expression with a subscript."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Transpose:
    """The transpose of a matrix."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Power:
    """A power."""

    base: Symbol | Indexed
    exponent: Expression


@dataclass(frozen=True, slots=True)
class Negative:
    """An expression with a minus sign; as a term of a sum it is subtracted."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Absolute:
    """An absolute value."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Product:
    """A product of factors."""

    factors: tuple[Expression, ...]
    sign: Literal["thin", "dot", "none"] = "thin"
    """What separates the factors: a thin space, a dot, or nothing"""


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of terms."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """A sum over an index: from `low` to `high`, or over all that `low` names if `high` is None."""

    low: Expression
    high: Expression | None
    of: Expression


@dataclass(frozen=True, slots=True)
class Fraction:
    """A fraction."""

    top: Expression
    bottom: Expression
    small: bool = False
    """Whether it is as high as the surrounding text"""


@dataclass(frozen=True, slots=True)
class Root:
    """A square root."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Logarithm:
    """A logarithm."""

    base: Expression
    of: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function call."""

    function: Name | Indexed
    argument: Expression
    brackets: Literal["()", "[]"] = "()"
    stretch: bool = True
    """Whether the brackets are as high as their content"""


@dataclass(frozen=True, slots=True)
class Relation:
    """Expressions with a relation sign between them; "for" separates a formula from its condition."""

    sign: Literal["=", "≤", "∈", "→", "for"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class List:
    """Expressions separated by commas."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Several formulas on one line."""

    formulas: tuple[Expression, ...]
    comma: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A frame around the term of the current step."""

    of: Expression


Expression: TypeAlias = (
    Symbol
    | Name
    | Text
    | Indexed
    | Transpose
    | Power
    | Negative
    | Absolute
    | Product
    | Sum
    | Total
    | Fraction
    | Root
    | Logarithm
    | Call
    | Relation
    | List
    | Row
    | Box
)


def sign_and_term(term: Expression) -> tuple[Literal["+", "−"], Expression]:
    """Return the sign before a term of a sum, and the term without it."""
    return ("−", term.of) if isinstance(term, Negative) else ("+", term)
