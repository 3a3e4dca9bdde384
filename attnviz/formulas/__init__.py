"""Formulas as trees, and their writers: LaTeX for pages, MathML for the browser, runs of text for exported files.

    formula = Relation("=", (Symbol("Y"), Product((Symbol("A"), Symbol("X")))))
    latex(formula, LIGHT.ink.of), mathml(formula), runs(formula)

This package imports no other part of attnviz. A tree has no colours: a symbol has a role, and a writer chooses the
role's colour.
"""

from attnviz.formulas.latex import latex
from attnviz.formulas.mathml import mathml
from attnviz.formulas.runs import Run, runs
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

__all__ = [
    "Box",
    "Call",
    "Expression",
    "Fraction",
    "Indexed",
    "Name",
    "Product",
    "Relation",
    "Role",
    "Root",
    "Row",
    "Run",
    "Sum",
    "Symbol",
    "Text",
    "Total",
    "Transpose",
    "latex",
    "mathml",
    "runs",
]
