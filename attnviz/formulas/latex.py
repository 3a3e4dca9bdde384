"""Writes a formula as LaTeX for KaTeX and amsmath."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attnviz.formulas import tree

_BETWEEN = {"thin": r"\,", "dot": r" \cdot ", "none": " "}
_RELATIONS = {"=": " = ", "≤": r" \le ", "→": r" \;\rightarrow\; ", "for": r" \;\text{for}\; "}


def latex(formula: tree.Expression, colour: Callable[[tree.Role], str], *, tight: bool = False) -> str:  # noqa: PLR0911, PLR0912 — one case a kind
    r"""Return a formula as LaTeX.

    Args:
        formula: the tree.
        colour: returns a role's colour, as the argument of \color.
        tight: whether to omit the space around operators, as in an index or a fraction.
    """
    write = partial(latex, colour=colour, tight=tight)
    match formula:
        case tree.Symbol(name, role):
            return name if role is None else rf"{{\color{{{colour(role)}}}{name}}}"
        case tree.Name(name):
            return rf"\operatorname{{{name}}}"
        case tree.Text(words):
            return rf"\text{{{words}}}"
        case tree.Indexed(base, index):
            below = write(index, tight=True)
            return f"{write(base)}_{below if len(below) == 1 else f'{{{below}}}'}"
        case tree.Transpose(of):
            return rf"{write(of)}^{{\top}}"
        case tree.Product(factors, sign):
            return ("" if tight and sign == "none" else _BETWEEN[sign]).join(map(write, factors))
        case tree.Sum(terms):
            return ("+" if tight else " + ").join(map(write, terms))
        case tree.Total(low, high, of):
            return rf"\sum_{{{write(low, tight=True)}}}^{{{write(high, tight=True)}}} {write(of)}"
        case tree.Fraction(top, bottom, small):
            command = r"\tfrac" if small else r"\frac"
            return f"{command}{{{write(top, tight=True)}}}{{{write(bottom, tight=True)}}}"
        case tree.Root(of):
            return rf"\sqrt {write(of)}" if isinstance(of, tree.Symbol) else rf"\sqrt{{{write(of)}}}"
        case tree.Call():
            return _call(formula, write)
        case tree.Relation(sign, parts):
            return (_RELATIONS[sign].strip() if tight else _RELATIONS[sign]).join(map(write, parts))
        case tree.Row(formulas, comma):
            return (r", \qquad " if comma else r" \qquad ").join(map(write, formulas))
        case tree.Box(of):
            return rf"\boxed{{{write(of)}}}"


def _call(call: tree.Call, write: Callable[[tree.Expression], str]) -> str:
    opening, closing = call.brackets
    if call.stretch:
        # \left adds a space, which is too wide before a bracket as high as a fraction.
        opening = (r"\!" if _is_tall(call.argument) else "") + rf"\left{opening}"
        closing = rf"\right{closing}"
    return f"{write(call.function)}{opening}{write(call.argument)}{closing}"


def _is_tall(formula: tree.Expression) -> bool:
    match formula:
        case tree.Fraction():
            return True
        case tree.Product(parts) | tree.Sum(parts):
            return any(map(_is_tall, parts))
        case _:
            return False
