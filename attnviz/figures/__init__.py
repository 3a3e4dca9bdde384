"""Plotly figures of the steps of attention: arguments in, a `go.Figure` out. Nothing here displays or computes."""

from attnviz.figures.steps import draw_step, step_spec
from attnviz.figures.walk import Walk

__all__ = ["Walk", "draw_step", "step_spec"]
