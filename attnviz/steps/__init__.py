"""The steps: one value per step with its title, formula, notice and code.

    step = STEPS["weights"]
    step.title, step.notice(walk), step.code(walk)

`attention/` has a file for each step of a head, `averages.py` the ways of the page From averages to attention. None of
them imports torch, so that links are parsed without it.
"""

from typing import Any

from attnviz.steps.attention import ATTENTION, TOKENS
from attnviz.steps.step import Step, unavailable

STEPS: dict[str, Step[Any]] = {TOKENS.name: TOKENS, **ATTENTION}
"""The steps from the text to the output, by name, in order."""

__all__ = ["ATTENTION", "STEPS", "TOKENS", "Step", "unavailable"]
