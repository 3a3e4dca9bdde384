"""Masked: the scaled scores, with −∞ where a query must not look."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.marked import Marked, marked, named
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.picture import SCORES, Picture, pair_picture, panel
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk


def _notice(walk: Walk) -> str:
    if walk.layer.mask.kind == "none":
        return "No mask: every query sees every key, before and after it. The causal mask hides the future."
    return marked(
        "A [hidden cell](part=hidden) becomes −∞, not 0: exp(0) = 1, so a zero would still get a share. exp(−∞) = 0."
    )


def _code(walk: Walk) -> str:
    mask = walk.layer.mask
    if mask.cells is None:
        return "masked = scaled  # no mask"
    if mask.kind == "causal":
        return 'past = torch.ones_like(scaled).tril().bool()\nmasked = scaled.masked_fill(~past, float("-inf"))'
    if mask.cells.is_floating_point():
        return "masked = scaled + mask"
    return 'masked = scaled.masked_fill(~mask, float("-inf"))  # mask: True where a query may look'


def _fact(walk: Walk) -> str:
    cells, hidden = walk.summary.cells, walk.summary.hidden
    if not cells:
        return ""
    if not hidden:
        return "Here nothing is hidden."
    return Marked.of("Here ", named(f"{hidden} of {cells} cells", part="hidden"), " are hidden.")


def _picture(walk: Walk) -> Picture:
    """Return the picture; its title says whether the mask hides cells only, or also adds relative positions."""
    return pair_picture(
        panel("scaled", "scaled", limit=SCORES),
        panel(
            "masked",
            "masked = scaled + M" if walk.layer.mask.adds else "masked = scaled, or −∞",
            limit=SCORES,
            bar=True,
        ),
        walk.layer.key.shape[1],
    )


STEP: Step[Walk] = Step(
    name="masked",
    title="Masked",
    formula=partial(attention_formula, boxed="masked"),
    notice=_notice,
    code=_code,
    picture=_picture,
    fact=_fact,
    matrices={"masked": ("query", "key")},
    is_by_cell=True,
    cell="the masked score",
    masked_value="−∞",
    can_be_covered=True,
)
