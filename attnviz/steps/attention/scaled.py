"""Scaled: the scores times the scale."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.formatting import number
from attnviz.marked import Marked, named
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.picture import SCORES, Picture, pair_picture, panel
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


def _notice(walk: Walk) -> str:
    if walk.layer.scale == 1:
        return "The scale is 1, so nothing changes here. Go on to the weights: large scores make them all or nothing."
    return "Only the size changes. Dot products grow with the head width; large ones would saturate the softmax."


def _code(walk: Walk) -> str:
    scale, width = walk.layer.scale, walk.layer.head_size
    if abs(scale - width**-0.5) < 1e-9:
        return f"scaled = scores * (1 / math.sqrt({width}))"
    return f"scaled = scores * {scale!r}"


def _fact(walk: Walk) -> str:
    scale, found = walk.layer.scale, walk.summary
    if scale == 1 or not found.cells:
        return ""
    q, k = divmod(found.largest, walk.layer.key.shape[1])
    return Marked.of(
        "Here the largest magnitude goes from ",
        named(number(found.largest_score), row=q, column=k, matrix="scores"),
        " to ",
        named(number(found.largest_scaled), row=q, column=k, matrix="scaled"),
        f" (× {number(scale, 4)}).",
    )


def _picture(walk: Walk) -> Picture:
    return pair_picture(
        panel("scores", "scores", limit=SCORES),
        panel("scaled", f"scaled = scores × {number(walk.layer.scale, 3)}", limit=SCORES, bar=True),
        walk.layer.key.shape[1],
    )


STEP: Step[Walk] = Step(
    name="scaled",
    title="Scaled",
    formula=partial(attention_formula, boxed="scaled"),
    notice=_notice,
    code=_code,
    picture=_picture,
    fact=_fact,
    matrices={"scaled": ("query", "key")},
    is_by_cell=True,
    cell="the scaled score",
    can_be_covered=True,
)
