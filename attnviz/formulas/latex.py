"""Writes a formula as LaTeX for KaTeX and amsmath."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attnviz.formulas import tree

_LETTERS = {
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "ε": r"\varepsilon", "μ": r"\mu", "π": r"\pi", "σ": r"\sigma",
    "θ": r"\theta", "δ": r"\delta", "Φ": r"\Phi",
}  # fmt: skip
_SIGNS = {"+": "+", "−": "-"}
_BETWEEN = {"thin": r"\,", "dot": r" \cdot ", "none": " "}
_RELATIONS = {"=": " = ", "≤": r" \le ", "∈": r" \in ", "→": r" \;\rightarrow\; ", "for": r" \;\text{for}\; "}


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
            letter = _LETTERS.get(name, name)
            return letter if role is None else rf"{{\color{{{colour(role)}}}{letter}}}"
        case tree.Name(name):
            return rf"\operatorname{{{name}}}"
        case tree.Text(words):
            return rf"\text{{{words}}}"
        case tree.Indexed(base, index):
            return f"{write(base)}_{_script(index, write)}"
        case tree.Transpose(of):
            return rf"{write(of)}^{{\top}}"
        case tree.Power(base, exponent):
            return f"{write(base)}^{_script(exponent, write)}"
        case tree.Negative(of):
            return f"-{_grouped(of, write)}"
        case tree.Absolute(of):
            return rf"\lvert {write(of, tight=True)} \rvert"
        case tree.Product(factors, sign):
            return _product([_grouped(factor, write) for factor in factors], sign, tight=tight)
        case tree.Sum(terms):
            return _sum(terms, write, "" if tight else " ")
        case tree.Total():
            return _total(formula, write)
        case tree.Fraction(top, bottom, small):
            command = r"\tfrac" if small else r"\frac"
            return f"{command}{{{write(top, tight=True)}}}{{{write(bottom, tight=True)}}}"
        case tree.Root(of):
            return rf"\sqrt {write(of)}" if isinstance(of, tree.Symbol) else rf"\sqrt{{{write(of)}}}"
        case tree.Logarithm(base, of):
            return rf"\log_{_script(base, write)} {_grouped(of, write)}"
        case tree.Call():
            return _call(formula, write)
        case tree.Relation(sign, parts):
            return ("=" if tight and sign == "=" else _RELATIONS[sign]).join(map(write, parts))
        case tree.List(items):
            return ("," if tight else ", ").join(map(write, items))
        case tree.Row(formulas, comma):
            return (r", \qquad " if comma else r" \qquad ").join(map(write, formulas))
        case tree.Box(of):
            return rf"\boxed{{{write(of)}}}"


def _script(formula: tree.Expression, write: Callable[..., str]) -> str:
    """Write a subscript or a superscript."""
    written = write(formula, tight=True)
    return written if len(written) == 1 else f"{{{written}}}"


def _product(written: list[str], sign: str, *, tight: bool) -> str:
    is_word = tight and sign == "none" and all(len(factor) == 1 for factor in written)
    return ("" if is_word else _BETWEEN[sign]).join(written)


def _total(total: tree.Total, write: Callable[..., str]) -> str:
    end = "" if total.high is None else f"^{{{write(total.high, tight=True)}}}"
    start = f"{{{write(total.low, tight=True)}}}" if end else _script(total.low, write)
    return rf"\sum_{start}{end} {_grouped(total.of, write)}"


def _sum(terms: tuple[tree.Expression, ...], write: Callable[..., str], space: str) -> str:
    signed = map(tree.sign_and_term, terms[1:])
    return write(terms[0]) + "".join(f"{space}{_SIGNS[sign]}{space}{_grouped(term, write)}" for sign, term in signed)


def _grouped(formula: tree.Expression, write: Callable[..., str]) -> str:
    """Write an operand, in brackets if it is a sum or has a minus sign."""
    return f"({write(formula)})" if isinstance(formula, tree.Sum | tree.Negative) else write(formula)


def _call(call: tree.Call, write: Callable[..., str]) -> str:
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
