"""Head outputs: the values, averaged in the proportions of the weights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.marked import marked
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.attention.weights import faint, weights_panel
from attnviz.steps.picture import Picture, panel, product_picture
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

_NOTICE = marked(
    "Each row is an average of the [rows of V](matrix=value), in the proportions of the [weights](matrix=weights)."
)


def _picture(walk: Walk) -> Picture:
    _, keys, width = walk.layer.value.shape
    return product_picture(
        weights_panel("weights"),
        panel("value", "V value"),
        panel("head_outputs", "head outputs", bar=True),
        (walk.layer.query.shape[1], keys, width),
        "weights · V",
    )


STEP: Step[Walk] = Step(
    name="head_outputs",
    title="Head outputs",
    formula=partial(attention_formula, boxed="head_outputs"),
    notice=lambda _: _NOTICE,
    code=lambda _: "head_outputs = weights @ value",
    picture=_picture,
    advice=faint,
    matrices={"head_outputs": ("query", "dim")},
    can_be_covered=True,
    can_be_stretched=True,
)
