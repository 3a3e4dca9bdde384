"""Writes a formula as runs of text on one line, for formats that can't typeset formulas: slides, SVG, PDF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from attnviz.formulas import tree

_BETWEEN = {"thin": "\N{THIN SPACE}", "dot": " · ", "none": ""}
_GAP = "     "


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
        else:
            joined.append(run)
    return tuple(joined)


def _runs(formula: tree.Expression, like: Run) -> Iterator[Run]:  # noqa: PLR0912 — one case a kind of node
    """Yield the runs of a part; `like` has its style."""
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
        case tree.Product(factors, sign):
            yield from _between(factors, _BETWEEN[sign], like)
        case tree.Sum(terms):
            yield from _between(terms, "+" if like.level else " + ", like)
        case tree.Total(low, high, of):
            yield replace(like, text="Σ")
            yield from _runs(low, replace(like, level=-1))
            yield from _runs(high, replace(like, level=1))
            yield from _runs(of, like)
        case tree.Fraction(top, bottom):
            yield from _closed(top, like)
            yield replace(like, text="/")
            yield from _closed(bottom, like)
        case tree.Root(of):
            yield replace(like, text="√")
            yield from _closed(of, like)
        case tree.Call(function, argument, brackets):
            yield from _runs(function, like)
            yield from _enclosed(argument, brackets, like)
        case tree.Relation(sign, parts):
            yield from _between(parts, sign if like.level else f" {sign} ", like)
        case tree.Row(formulas, comma):
            yield from _between(formulas, ("," if comma else "") + _GAP, like)
        case tree.Box(of):
            yield from _runs(of, replace(like, boxed=True))


def _between(parts: Iterable[tree.Expression], sign: str, like: Run) -> Iterator[Run]:
    """Yield the runs of several parts, separated by `sign`."""
    for place, part in enumerate(parts):
        if place and sign:
            yield replace(like, text=sign)
        yield from _runs(part, like)


def _closed(formula: tree.Expression, like: Run) -> Iterator[Run]:
    """Yield the runs of a part of a fraction or a root, in brackets if it has several terms or factors."""
    several = isinstance(formula, tree.Sum | tree.Product | tree.Relation)
    yield from _enclosed(formula, "()", like) if several else _runs(formula, like)


def _enclosed(formula: tree.Expression, brackets: str, like: Run) -> Iterator[Run]:
    yield replace(like, text=brackets[0])
    yield from _runs(formula, like)
    yield replace(like, text=brackets[1])
