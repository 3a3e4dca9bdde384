"""Writes a formula as runs of text on one line, for formats that can't typeset formulas: slides, SVG, PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import UnionType

from attnviz.formulas import tree

_BETWEEN = {"thin": "\N{THIN SPACE}", "dot": " · ", "none": ""}
_GAP = "     "
_SIGNED = tree.Sum | tree.Negative
"""Operands that need brackets"""
_SEVERAL = tree.Sum | tree.Product | tree.Relation
"""Parts of a fraction or a root that need brackets: several terms or factors"""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive characters of a formula with the same style."""

    text: str
    role: tree.Role | None = None
    level: int = 0
    """1: superscript, -1: subscript"""
    boxed: bool = False
    """Whether it is part of the boxed term"""


def runs(formula: tree.Expression) -> tuple[Run, ...]:
    """Return a formula as runs; neighbours with the same style are joined."""
    joined: list[Run] = []
    for run in _runs(formula, Run("")):
        if joined and replace(joined[-1], text="") == replace(run, text=""):
            joined[-1] = replace(run, text=joined[-1].text + run.text)
        elif run.text:
            joined.append(run)
    return tuple(joined)


def _runs(formula: tree.Expression, like: Run) -> Iterator[Run]:  # noqa: PLR0912 — one case a kind of node
    """Yield the runs of a part in the style of `like`."""
    match formula:
        case tree.Symbol(name, role):
            yield replace(like, text=name, role=role)
        case tree.Name(words) | tree.Text(words):
            yield replace(like, text=words)
        case tree.Indexed(base, index):
            yield from _runs(base, like)
            yield from _runs(index, replace(like, level=-1))
        case tree.Transpose(of):
            yield from _runs(of, like)
            yield replace(like, text="ᵀ")
        case tree.Power(base, exponent):
            yield from _runs(base, like)
            yield from _runs(exponent, replace(like, level=1))
        case tree.Negative(of):
            yield replace(like, text="−")
            yield from _operand(of, like)
        case tree.Absolute(of):
            yield from _enclosed(of, "||", like)
        case tree.Product(factors, sign):
            yield from _between(factors, _BETWEEN[sign], like, write=_operand)
        case tree.Sum(terms):
            yield from _sum(terms, like)
        case tree.Total():
            yield from _total(formula, like)
        case tree.Fraction(top, bottom):
            yield from _operand(top, like, _SEVERAL)
            yield replace(like, text="/")
            yield from _operand(bottom, like, _SEVERAL)
        case tree.Root(of):
            yield replace(like, text="√")
            yield from _operand(of, like, _SEVERAL)
        case tree.Logarithm(base, of):
            yield replace(like, text="log")
            yield from _runs(base, replace(like, level=-1))
            yield replace(like, text="\N{THIN SPACE}")
            yield from _operand(of, like, _SEVERAL | tree.Fraction)
        case tree.Call(function, argument, brackets):
            yield from _runs(function, like)
            yield from _enclosed(argument, brackets, like)
        case tree.Relation(sign, parts):
            yield from _between(parts, sign if like.level else f" {sign} ", like)
        case tree.List(items):
            yield from _between(items, "," if like.level else ", ", like)
        case tree.Row(formulas, comma):
            yield from _between(formulas, ("," if comma else "") + _GAP, like)
        case tree.Box(of):
            yield from _runs(of, replace(like, boxed=True))


def _between(
    parts: Iterable[tree.Expression],
    sign: str,
    like: Run,
    write: Callable[[tree.Expression, Run], Iterator[Run]] = _runs,
) -> Iterator[Run]:
    """Yield the runs of several parts, separated by `sign`."""
    for place, part in enumerate(parts):
        yield replace(like, text=sign if place else "")
        yield from write(part, like)


def _sum(terms: Sequence[tree.Expression], like: Run) -> Iterator[Run]:
    yield from _runs(terms[0], like)
    for sign, term in map(tree.sign_and_term, terms[1:]):
        yield replace(like, text=sign if like.level else f" {sign} ")
        yield from _operand(term, like)


def _total(total: tree.Total, like: Run) -> Iterator[Run]:
    yield replace(like, text="Σ")
    yield from _runs(total.low, replace(like, level=-1))
    if total.high is not None:
        yield from _runs(total.high, replace(like, level=1))
    yield from _operand(total.of, like)


def _operand(formula: tree.Expression, like: Run, bracketed: UnionType = _SIGNED) -> Iterator[Run]:
    """Yield the runs of an operand, in brackets if it is an instance of `bracketed`."""
    yield from _enclosed(formula, "()", like) if isinstance(formula, bracketed) else _runs(formula, like)


def _enclosed(formula: tree.Expression, brackets: str, like: Run) -> Iterator[Run]:
    yield replace(like, text=brackets[0])
    yield from _runs(formula, like)
    yield replace(like, text=brackets[1])
