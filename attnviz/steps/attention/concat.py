"""Concat: all heads of the layer side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


def _fact(walk: Walk) -> str:
    if not walk.steps.scores.numel():
        return ""
    heads, width = walk.layer.heads, walk.steps.head_outputs.shape[-1]
    return f"Here {heads} heads × {width} numbers = {walk.concat.shape[1]} a row."


STEP: Step[Walk] = Step(
    name="concat",
    title="Concat",
    formula=partial(attention_formula, boxed="concat"),
    notice=lambda _: "Every head has looked in its own way. Side by side, nothing is mixed yet.",
    code=lambda _: "concat = torch.cat(head_outputs_of_all_heads, dim=-1)",
    fact=_fact,
    matrices={"concat": ("query", "column")},
    is_of_head=False,
)
