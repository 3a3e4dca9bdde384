"""Plotly figures of the steps of attention: arguments in, a `go.Figure` out. Nothing here displays or computes."""

from attnviz.figures.steps import draw_step
from attnviz.figures.walk import Walk

__all__ = ["Walk", "draw_step"]
