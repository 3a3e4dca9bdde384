"""Pictures of the steps of attention: a walk in, its matrices laid out; or a Plotly figure of them, for notebooks."""

from attnviz.figures.steps import draw_step, step_spec
from attnviz.trace.walk import Walk

__all__ = ["Walk", "draw_step", "step_spec"]
