"""Concat: all heads of the layer side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.marked import Marked, named
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.picture import PanelSpec, Picture, panel, picture, share
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


def _fact(walk: Walk) -> str:
    heads, keys, width = walk.layer.value.shape
    queries = walk.layer.query.shape[1]
    if not queries or not keys:
        return ""
    return Marked.of(
        f"Here {heads} heads × {width} numbers = {heads * width} a row; ",
        named(f"head {walk.head}", head=walk.head),
        f" has columns {walk.head * width} to {(walk.head + 1) * width - 1}: its own subspace, which no other "
        "head writes, as each group of a grouped convolution, or each filter of a bank, has channels of its own.",
    )


def concat_panel(walk: Walk, title: str, **options: Any) -> PanelSpec:
    """Describe the concatenation, with a label in the middle of each head's columns."""
    heads, width = walk.layer.heads, walk.layer.value.shape[-1]
    ticks = {h * width + width // 2: f"head {h}" if heads <= 4 else str(h) for h in range(heads)}
    return panel("concat", title, ticks=ticks, part_width=width, **options)


def _picture(walk: Walk) -> Picture:
    row = (
        panel("head_outputs", f"head {walk.head}", limit=("concat",)),
        concat_panel(walk, "concat: all heads", limit=("concat",), bar=True),
    )
    return picture((row,), share(1, walk.layer.heads))


STEP: Step[Walk] = Step(
    name="concat",
    title="Concat",
    formula=partial(attention_formula, boxed="concat"),
    notice=lambda _: "Every head has looked in its own way. Side by side, nothing is mixed yet.",
    code=lambda _: "concat = torch.cat(head_outputs_of_all_heads, dim=-1)",
    picture=_picture,
    names_head=True,
    fact=_fact,
    matrices={"concat": ("query", "column")},
    is_of_head=False,
)
