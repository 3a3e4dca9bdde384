"""Output: the heads mixed by the output projection W_O."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.marked import marked
from attnviz.steps.attention.concat import concat_panel
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.picture import Picture, panel, picture, product_picture
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


def _notice(walk: Walk) -> str:
    if walk.layer.output_projection is None and "output_projection" not in walk.layer.unavailable:
        return "There is no output projection, so the heads stay side by side, unmixed."
    text = marked("[W_O](matrix=W_output) mixes what the heads found and brings it back to the width of the input.")
    return text if walk.layer.output_projection is not None else str(text)


def _code(walk: Walk) -> str:
    projection = walk.layer.output_projection
    if projection is None:
        return "output = concat  # no output projection"
    return "output = concat @ W_output" + ("" if projection.bias is None else " + b_output")


def _picture(walk: Walk) -> Picture:
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


STEP: Step[Walk] = Step(
    name="output",
    title="Output",
    formula=partial(attention_formula, boxed="output"),
    notice=_notice,
    code=_code,
    picture=_picture,
    weights={"W_output": ("column", "feature"), "b_output": ("bias", "feature")},
    matrices={"output": ("query", "feature")},
    needs=("output_projection",),
    is_of_head=False,
)
