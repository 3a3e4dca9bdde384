"""Formulas as trees, and their writers: LaTeX for pages, MathML for the browser, runs of text for exported files.

    formula = tree.Relation("=", (tree.Symbol("Y"), tree.Product((tree.Symbol("A"), tree.Symbol("X")))))
    latex(formula, LIGHT.text_ink.of), mathml(formula), runs(formula)

This package imports no other part of attnviz. A tree has no colours: a symbol has a role, and a writer chooses the
role's colour.
"""

from attnviz.formulas import tree
from attnviz.formulas.latex import latex
from attnviz.formulas.mathml import mathml
from attnviz.formulas.runs import Run, runs
from attnviz.formulas.tree import Expression, Role

__all__ = ["Expression", "Role", "Run", "latex", "mathml", "runs", "tree"]
