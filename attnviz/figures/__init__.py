"""Layouts of the matrices of each attention step, and Plotly figures of them for notebooks.

Importing this package does not import torch; drawing a step does.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnviz.figures.steps import draw_step, step_spec

__all__ = ["draw_step", "step_spec"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from attnviz.figures import steps

        return getattr(steps, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
