"""The steps of one head of attention, one file each. A new step is a new file, named in the list below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.steps.attention import (
    concat,
    embeddings,
    head_outputs,
    masked,
    output,
    qkv,
    scaled,
    scores,
    tokens,
    weights,
)

if TYPE_CHECKING:
    from attnviz.steps.step import Step
    from attnviz.trace.walk import Walk

TOKENS = tokens.STEP
"""The first step: it shows the tokens and has no matrices"""

_MODULES = (embeddings, qkv, scores, scaled, masked, weights, head_outputs, concat, output)

ATTENTION: dict[str, Step[Walk]] = {module.STEP.name: module.STEP for module in _MODULES}
"""The steps that show a walk, by name, in order."""

OF_HEAD = tuple(name for step in ATTENTION.values() if step.is_of_head for name in step.matrices)
"""The matrices of one head, by the names that `attnviz.attention.AttentionSteps` gives them."""
