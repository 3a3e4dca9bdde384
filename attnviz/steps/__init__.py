"""The steps: everything that is said about each of them, in one value a step.

    step = STEPS["weights"]
    step.title, step.notice(walk), step.code(walk)

`attention/` has a file for each step of a head, `averages.py` the ways of the page From averages to attention.
Nothing here imports torch, so that a link can be read without it.
"""

from typing import Any

from attnviz.steps.attention import ATTENTION, TOKENS
from attnviz.steps.step import Step, unavailable

STEPS: dict[str, Step[Any]] = {TOKENS.name: TOKENS, **ATTENTION}
"""The steps from the text to the output, by name, in order."""

__all__ = ["ATTENTION", "STEPS", "TOKENS", "Step", "unavailable"]
