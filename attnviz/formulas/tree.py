"""What a formula is made of: frozen values that say what is meant, not how it is set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Role = Literal["query", "key", "value", "attention"]
"""What a symbol stands for; each role has one colour everywhere."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A letter or a number."""

    name: str
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a function or a quantity, set upright: softmax, output."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """Words in a formula."""

    words: str


@dataclass(frozen=True, slots=True)
class Indexed:
    """Something with an index below it."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Transpose:
    """The transpose of a matrix."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Product:
    """Factors side by side."""

    factors: tuple[Expression, ...]
    sign: Literal["thin", "dot", "none"] = "thin"
    """What stands between them: a thin space, a dot, or nothing"""


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms with a plus between them."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Total:
    """A sum over an index, from `low` to `high`."""

    low: Expression
    high: Expression
    of: Expression


@dataclass(frozen=True, slots=True)
class Fraction:
    """One thing over another."""

    top: Expression
    bottom: Expression
    small: bool = False
    """Set as high as the text around it"""


@dataclass(frozen=True, slots=True)
class Root:
    """A square root."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function of something."""

    function: Name | Indexed
    argument: Expression
    brackets: Literal["()", "[]"] = "()"
    stretch: bool = True
    """Whether the brackets grow with what stands in them"""


@dataclass(frozen=True, slots=True)
class Relation:
    """Parts with a sign between them; "for" puts a condition after a formula."""

    sign: Literal["=", "≤", "→", "for"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Several formulas on one line."""

    formulas: tuple[Expression, ...]
    comma: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A frame around the term that is meant."""

    of: Expression


Expression: TypeAlias = (
    Symbol | Name | Text | Indexed | Transpose | Product | Sum | Total | Fraction | Root | Call | Relation | Row | Box
)
