"""A formula as runs of text on one line, for files that set no formulas themselves: slides, SVG, PDF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Fraction,
    Indexed,
    Name,
    Product,
    Relation,
    Role,
    Root,
    Row,
    Sum,
    Symbol,
    Text,
    Total,
    Transpose,
)

_BETWEEN = {"thin": "\N{THIN SPACE}", "dot": " · ", "none": ""}
_GAP = "     "


@dataclass(frozen=True, slots=True)
class Run:
    """Some letters of a formula that look alike."""

    text: str
    role: Role | None = None
    level: int = 0
    """1 above the line, -1 below it"""
    boxed: bool = False
    """Whether it belongs to the term of this step"""


def runs(formula: Expression) -> tuple[Run, ...]:
    """Write a formula as runs, neighbours that look alike as one."""
    joined: list[Run] = []
    for run in _runs(formula, Run("")):
        if joined and replace(joined[-1], text="") == replace(run, text=""):
            joined[-1] = replace(run, text=joined[-1].text + run.text)
        else:
            joined.append(run)
    return tuple(joined)


def _runs(formula: Expression, like: Run) -> Iterator[Run]:  # noqa: PLR0912 — one case a kind of node
    """Yield the runs of a part; `like` is how its letters look."""
    match formula:
        case Symbol(name, role):
            yield replace(like, text=name, role=role)
        case Name(words) | Text(words):
            yield replace(like, text=words)
        case Indexed(base, index):
            yield from _runs(base, like)
            yield from _runs(index, replace(like, level=-1))
        case Transpose(of):
            yield from _runs(of, like)
            yield replace(like, text="ᵀ")
        case Product(factors, sign):
            yield from _between(factors, _BETWEEN[sign], like)
        case Sum(terms):
            yield from _between(terms, "+" if like.level else " + ", like)
        case Total(low, high, of):
            yield replace(like, text="Σ")
            yield from _runs(low, replace(like, level=-1))
            yield from _runs(high, replace(like, level=1))
            yield from _runs(of, like)
        case Fraction(top, bottom):
            yield from _closed(top, like)
            yield replace(like, text="/")
            yield from _closed(bottom, like)
        case Root(of):
            yield replace(like, text="√")
            yield from _closed(of, like)
        case Call(function, argument, brackets):
            yield from _runs(function, like)
            yield from _enclosed(argument, brackets, like)
        case Relation(sign, parts):
            yield from _between(parts, sign if like.level else f" {sign} ", like)
        case Row(formulas, comma):
            yield from _between(formulas, ("," if comma else "") + _GAP, like)
        case Box(of):
            yield from _runs(of, replace(like, boxed=True))


def _between(parts: Iterable[Expression], sign: str, like: Run) -> Iterator[Run]:
    """Yield parts with a sign between each two."""
    for place, part in enumerate(parts):
        if place and sign:
            yield replace(like, text=sign)
        yield from _runs(part, like)


def _closed(formula: Expression, like: Run) -> Iterator[Run]:
    """Yield a part of a fraction or a root, in brackets where it is more than one thing."""
    several = isinstance(formula, Sum | Product | Relation)
    yield from _enclosed(formula, "()", like) if several else _runs(formula, like)


def _enclosed(formula: Expression, brackets: str, like: Run) -> Iterator[Run]:
    yield replace(like, text=brackets[0])
    yield from _runs(formula, like)
    yield replace(like, text=brackets[1])
