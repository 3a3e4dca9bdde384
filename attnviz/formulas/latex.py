"""A formula as LaTeX, as KaTeX and amsmath read it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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

_BETWEEN = {"thin": r"\,", "dot": r" \cdot ", "none": " "}
_RELATIONS = {"=": " = ", "≤": r" \le ", "→": r" \;\rightarrow\; ", "for": r" \;\text{for}\; "}


def latex(formula: Expression, colour: Callable[[Role], str], *, tight: bool = False) -> str:  # noqa: PLR0911, PLR0912 — one case a kind
    r"""Write a formula as LaTeX.

    Args:
        formula: the tree.
        colour: the name of a role's colour, as the reader's \color takes it.
        tight: leave out the space around signs, as in an index or a fraction.
    """
    write = partial(latex, colour=colour, tight=tight)
    match formula:
        case Symbol(name, role):
            return name if role is None else rf"{{\color{{{colour(role)}}}{name}}}"
        case Name(name):
            return rf"\operatorname{{{name}}}"
        case Text(words):
            return rf"\text{{{words}}}"
        case Indexed(base, index):
            below = write(index, tight=True)
            return f"{write(base)}_{below if len(below) == 1 else f'{{{below}}}'}"
        case Transpose(of):
            return rf"{write(of)}^{{\top}}"
        case Product(factors, sign):
            return ("" if tight and sign == "none" else _BETWEEN[sign]).join(map(write, factors))
        case Sum(terms):
            return ("+" if tight else " + ").join(map(write, terms))
        case Total(low, high, of):
            return rf"\sum_{{{write(low, tight=True)}}}^{{{write(high, tight=True)}}} {write(of)}"
        case Fraction(top, bottom, small):
            command = r"\tfrac" if small else r"\frac"
            return f"{command}{{{write(top, tight=True)}}}{{{write(bottom, tight=True)}}}"
        case Root(of):
            return rf"\sqrt {write(of)}" if isinstance(of, Symbol) else rf"\sqrt{{{write(of)}}}"
        case Call():
            return _call(formula, write)
        case Relation(sign, parts):
            return (_RELATIONS[sign].strip() if tight else _RELATIONS[sign]).join(map(write, parts))
        case Row(formulas, comma):
            return (r", \qquad " if comma else r" \qquad ").join(map(write, formulas))
        case Box(of):
            return rf"\boxed{{{write(of)}}}"


def _call(call: Call, write: Callable[[Expression], str]) -> str:
    opening, closing = call.brackets
    if call.stretch:
        # \left sets a space before it, which is too much before a bracket as high as a fraction.
        opening = (r"\!" if _is_tall(call.argument) else "") + rf"\left{opening}"
        closing = rf"\right{closing}"
    return f"{write(call.function)}{opening}{write(call.argument)}{closing}"


def _is_tall(formula: Expression) -> bool:
    match formula:
        case Fraction():
            return True
        case Product(parts) | Sum(parts):
            return any(map(_is_tall, parts))
        case _:
            return False
