"""Layouts of the matrices of each attention step, and Plotly figures of them for notebooks."""

from attnviz.figures.steps import draw_step, step_spec

__all__ = ["draw_step", "step_spec"]
