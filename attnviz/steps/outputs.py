"""From weights to the output: weighted values, the heads side by side, and the output projection W_O."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import counted
from attnviz.steps.formula import attention_formula
from attnviz.steps.picture import PanelSpec, Picture, panel, picture, product_picture, share
from attnviz.steps.step import Step
from attnviz.steps.weighing import faint, weights_panel

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


_HEAD_OUTPUTS_NOTICE = annotated(
    "Each row is an average of the [rows of V](matrix=value), in the proportions of the [weights](matrix=weights)."
)


def _head_outputs_picture(walk: Walk) -> Picture:
    _, keys, width = walk.layer.value.shape
    return product_picture(
        weights_panel("weights"),
        panel("value", "V value"),
        panel("head_outputs", "head outputs", bar=True),
        (walk.layer.query.shape[1], keys, width),
        "weights · V",
    )


HEAD_OUTPUTS: Step[Walk] = Step(
    name="head_outputs",
    title="Head outputs",
    formula=partial(attention_formula, boxed="head_outputs"),
    notice=lambda _: _HEAD_OUTPUTS_NOTICE,
    code=lambda _: "head_outputs = weights @ value",
    picture=_head_outputs_picture,
    advice=faint,
    matrices=("head_outputs",),
    can_be_covered=True,
    can_be_stretched=True,
)


def _concat_fact(walk: Walk) -> str:
    heads, keys, width = walk.layer.value.shape
    queries = walk.layer.query.shape[1]
    if not queries or not keys:
        return ""
    return AnnotatedText.of(
        f"Here {counted(heads, 'head')} × {counted(width, 'number')} = {heads * width} a row; ",
        named(f"head {walk.head}", head=walk.head),
        f" has columns {walk.head * width} to {(walk.head + 1) * width - 1}: its own subspace, which no other "
        "head writes, as each group of a grouped convolution, or each filter of a bank, has channels of its own.",
    )


def concat_panel(walk: Walk, title: str, **options: Any) -> PanelSpec:
    """Describe the concatenation, with a label in the middle of each head's columns."""
    heads, width = walk.layer.heads, walk.layer.value.shape[-1]
    ticks = {h * width + width // 2: f"head {h}" if heads <= 4 else str(h) for h in range(heads)}
    return panel("concat", title, ticks=ticks, part_width=width, **options)


def _concat_picture(walk: Walk) -> Picture:
    row = (
        panel("head_outputs", f"head {walk.head}", limit=("concat",)),
        concat_panel(walk, "concat: all heads", limit=("concat",), bar=True),
    )
    return picture((row,), share(1, walk.layer.heads))


CONCAT: Step[Walk] = Step(
    name="concat",
    title="Concat",
    formula=partial(attention_formula, boxed="concat"),
    notice=lambda _: "Every head has looked in its own way. Side by side, nothing is mixed yet.",
    code=lambda _: "concat = torch.cat(head_outputs_of_all_heads, dim=-1)",
    picture=_concat_picture,
    names_head=True,
    fact=_concat_fact,
    matrices=("concat",),
    is_of_head=False,
)


def _output_notice(walk: Walk) -> str:
    if walk.layer.output_projection is None and "output_projection" not in walk.layer.unavailable:
        return "There is no output projection, so the heads stay side by side, unmixed."
    text = annotated("[W_O](matrix=W_output) mixes what the heads found and brings it back to the width of the input.")
    return text if walk.layer.output_projection is not None else str(text)


def _output_code(walk: Walk) -> str:
    projection = walk.layer.output_projection
    if projection is None:
        return "output = concat  # no output projection"
    return "output = concat @ W_output" + ("" if projection.bias is None else " + b_output")


def _output_picture(walk: Walk) -> Picture:
    concat = concat_panel(walk, "concat")
    projection = walk.layer.output_projection
    if projection is None:
        return picture(((concat,),), (1,))
    biased = projection.bias is not None
    return product_picture(
        concat,
        panel("W_output", "W_O"),
        panel("output", "output", bar=True),
        (walk.layer.query.shape[1], *projection.weight.shape),
        "concat · W_O + b" if biased else "concat · W_O",
        "b_output" if biased else None,
    )


OUTPUT: Step[Walk] = Step(
    name="output",
    title="Output",
    formula=partial(attention_formula, boxed="output"),
    notice=_output_notice,
    code=_output_code,
    picture=_output_picture,
    weights=("W_output", "b_output"),
    matrices=("output",),
    needs=("output_projection",),
    is_of_head=False,
)
