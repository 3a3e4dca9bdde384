"""Writes a formula as MathML Core, which browsers render.

Roles and the box become CSS classes, which the page's style sheet colours for light and dark themes.
https://www.w3.org/TR/mathml-core/
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape

from attnviz.formulas import tree

_BETWEEN = {"thin": '<mspace width="0.167em"></mspace>', "dot": "<mo>⋅</mo>", "none": "<mo>\N{INVISIBLE TIMES}</mo>"}
_GAP = '<mspace width="2em"></mspace>'
_APPLY = "<mo>\N{FUNCTION APPLICATION}</mo>"


@lru_cache(256)
def mathml(formula: tree.Expression) -> str:
    """Return a formula as one `<math>` element in display style; cached, because layers of a model share formulas."""
    return f'<math display="block">{_write(formula)}</math>'


def _write(formula: tree.Expression) -> str:  # noqa: PLR0911, PLR0912 — one case a kind of node
    """Return a part of a formula as exactly one element."""
    match formula:
        case tree.Symbol(name, role):
            kind = "mn" if name.isdigit() else "mi"
            coloured = "" if role is None else f' class="{role}"'
            return f"<{kind}{coloured}>{escape(name)}</{kind}>"
        case tree.Name(name):
            return f'<mi mathvariant="normal">{escape(name)}</mi>'
        case tree.Text(words):
            return f"<mtext>{escape(words)}</mtext>"
        case tree.Indexed(base, index):
            return f"<msub>{_write(base)}{_write(index)}</msub>"
        case tree.Transpose(of):
            return f"<msup>{_write(of)}<mo>⊤</mo></msup>"
        case tree.Power(base, exponent):
            return f"<msup>{_write(base)}{_write(exponent)}</msup>"
        case tree.Negative(of):
            return f"<mrow><mo>−</mo>{_grouped(of)}</mrow>"
        case tree.Absolute(of):
            return f"<mrow><mo>|</mo>{_write(of)}<mo>|</mo></mrow>"
        case tree.Product(factors, sign):
            return f"<mrow>{_BETWEEN[sign].join(map(_grouped, factors))}</mrow>"
        case tree.Sum(terms):
            signed = (f"<mo>{sign}</mo>{_grouped(term)}" for sign, term in map(tree.sign_and_term, terms[1:]))
            return f"<mrow>{_write(terms[0])}{''.join(signed)}</mrow>"
        case tree.Total():
            return _total(formula)
        case tree.Fraction(top, bottom, small):
            fraction = f"<mfrac>{_write(top)}{_write(bottom)}</mfrac>"
            return f'<mstyle displaystyle="false">{fraction}</mstyle>' if small else fraction
        case tree.Root(of):
            return f"<msqrt>{_write(of)}</msqrt>"
        case tree.Logarithm(base, of):
            return f"<mrow><msub><mi>log</mi>{_write(base)}</msub>{_APPLY}{_grouped(of)}</mrow>"
        case tree.Call(function, argument, brackets, stretch):
            opening, closing = brackets
            grows = "" if stretch else ' stretchy="false"'
            inside = f"<mo{grows}>{opening}</mo>{_write(argument)}<mo{grows}>{closing}</mo>"
            return f"<mrow>{_write(function)}{_APPLY}<mrow>{inside}</mrow></mrow>"
        case tree.Relation("for", parts):
            return _between(parts, "<mtext>\N{NO-BREAK SPACE}for\N{NO-BREAK SPACE}</mtext>")
        case tree.Relation(sign, parts):
            return _between(parts, f"<mo>{sign}</mo>")
        case tree.List(items):
            return _between(items, "<mo>,</mo>")
        case tree.Row(formulas, comma):
            return _between(formulas, ("<mo>,</mo>" if comma else "") + _GAP)
        case tree.Box(of):
            return f'<mrow class="boxed">{_write(of)}</mrow>'


def _total(total: tree.Total) -> str:
    low = f"<mo>∑</mo>{_write(total.low)}"
    limits = f"<munder>{low}</munder>" if total.high is None else f"<munderover>{low}{_write(total.high)}</munderover>"
    return f"<mrow>{limits}{_grouped(total.of)}</mrow>"


def _grouped(formula: tree.Expression) -> str:
    """Return an operand as one element, in brackets if it is a sum or has a minus sign."""
    written = _write(formula)
    return f"<mrow><mo>(</mo>{written}<mo>)</mo></mrow>" if isinstance(formula, tree.Sum | tree.Negative) else written


def _between(parts: Iterable[tree.Expression], sign: str) -> str:
    return f"<mrow>{sign.join(map(_write, parts))}</mrow>"
