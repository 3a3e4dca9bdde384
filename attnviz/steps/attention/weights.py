"""Weights: the softmax of each row."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.formatting import number
from attnviz.marked import Marked, marked, named
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.picture import FEW, MANY, SCORES, PanelSpec, Picture, panel, picture
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

FAINT_BELOW = 0.1
"""Weights below this look like 0 if the colour domain ends at 1; frontend/heads/values.js has the same value"""

_NOTICE = marked(
    "Each row now [sums to 1](matrix=row_sum): it says how one query shares out its attention over the keys."
)


_NOTICE_OF_SOME = marked(
    "Each row that sees a key now [sums to 1](matrix=row_sum): it says how one query shares out its attention."
)


def _notice(walk: Walk) -> str:
    mask = walk.layer.mask
    return _NOTICE_OF_SOME if mask.is_infinite and mask.hides_rows else _NOTICE


def faint(walk: Walk) -> str:
    """Return advice if the weights look empty with colours from 0 to 1, else "".

    They look empty if half of the rows have no weight above `FAINT_BELOW`. Darkening helps unless the largest is near
    1, like the first row's under a causal mask. With `MANY` keys the colours adapt by themselves.
    """
    rows = walk.summary.row_maxima
    if not rows or walk.layer.key.shape[1] >= MANY:
        return ""
    if 2 * sum(row > FAINT_BELOW for row in rows) >= len(rows):
        return ""
    helps = "darken them" if max(rows) <= 0.5 else "zoom in, or point at a row"
    return f"Most rows have no weight above {FAINT_BELOW}, and the colours go to 1, so they are faint: {helps}."


def _fact(walk: Walk) -> str:
    """Name a row that sees no key, or else the largest weight between two tokens: one on itself says less."""
    found = walk.summary
    if walk.layer.mask.hides_rows:
        return _row_without_keys(walk)
    if found.strongest_weight <= 0:
        return ""
    q, k = divmod(found.strongest, walk.layer.key.shape[1])
    share = number(100 * found.strongest_weight, 0)
    return Marked.of(
        "Here ",
        named(f"row {q}, “{walk.query_labels[q]}”", row=q),
        ", puts ",
        named(f"{share} %", row=q, column=k, matrix="weights"),
        " on ",
        named(f"column {k}, “{walk.key_labels[k]}”", column=k),
        ".",
    )


def _row_without_keys(walk: Walk) -> str:
    """Say what the first row has whose keys are all hidden: nothing beside −∞, equal weights beside a finite number."""
    q = int(walk.layer.hidden(walk.head).all(dim=1).int().argmax())
    row = named(f"row {q}, “{walk.query_labels[q]}”", row=q)
    if walk.layer.mask.is_infinite:
        why = ", every key is hidden: its exponentials sum to 0, and 0/0 is no number (torch: NaN). It gets no weights."
        return Marked.of("In ", row, why)
    keys = walk.layer.key.shape[1]
    why = f", every key is hidden, so all its masked scores are equal, and softmax gives each key 1/{keys}."
    return Marked.of("In ", row, why)


def _code(walk: Walk) -> str:
    code = "weights = torch.softmax(masked, dim=-1)"
    mask = walk.layer.mask
    return f"{code}.nan_to_num()  # NaN: no key is seen" if mask.is_infinite and mask.hides_rows else code


def weights_panel(title: str, *, name: str = "weights", bar: bool = False) -> PanelSpec:
    """Describe the weights, or others by their name; their colours end at 1 unless they are darkened."""
    return panel(name, title, limit=1.0, scale="weights", stretched="weights · colours end at {}", bar=bar)


def _picture(walk: Walk) -> Picture:
    few = walk.layer.key.shape[1] <= FEW
    row = (
        panel("masked", "masked", limit=SCORES, numbered=few),
        weights_panel("weights = softmax of each row", bar=True),
        panel("row_sum", "Σ", limit=1.0, scale="weights"),
    )
    return picture((row,), (8, 8 if few else 16, 1.4))


STEP: Step[Walk] = Step(
    name="weights",
    title="Weights",
    formula=partial(attention_formula, boxed="weights"),
    notice=_notice,
    code=_code,
    picture=_picture,
    fact=_fact,
    advice=faint,
    matrices={"weights": ("query", "key")},
    is_by_cell=True,
    cell="the weight",
    masked_value="0",
    is_distribution=True,
    can_be_covered=True,
    can_be_stretched=True,
)
