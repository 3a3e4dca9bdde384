"""Masked: the scaled scores, with −∞ where a query must not look, or with another number that a mask fills in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from attnviz.formatting import power_of_ten
from attnviz.marked import Marked, marked, named
from attnviz.steps.attention.formula import attention_formula
from attnviz.steps.picture import SCORES, Picture, pair_picture, panel
from attnviz.steps.step import Step

if TYPE_CHECKING:
    from attnviz.attention import Mask
    from attnviz.trace.walk import Walk

_WINDOW = (
    "What is farther away is a [hidden cell](part=hidden), −∞: it has to come through the layers, each of which "
    "reaches one window further."
)
_FAR_BELOW = -1e4
"""A hidden cell that holds less has a weight of exactly 0 in float32 beside any visible one"""


def _notice(walk: Walk) -> str:
    mask = walk.layer.mask
    if mask.kind == "none":
        return "No mask: every query sees every key, before and after it. The causal mask hides the future."
    if mask.window is not None and mask.is_infinite:
        return marked(f"{window_in_words(mask.window)} {_WINDOW}")
    if mask.is_infinite:
        return marked(
            "A [hidden cell](part=hidden) becomes −∞, not 0: exp(0) = 1, so a zero would still get a share. "
            "exp(−∞) = 0."
        )
    return marked(f"A [hidden cell](part=hidden) becomes {_finite(mask, walk.layer.scale)}")


def window_in_words(window: tuple[int, int]) -> str:
    """Say what queries see through a window, `Mask.window`, as a sentence."""
    before, after = window
    if not before and not after:
        return "Each query sees only itself."
    if not after:
        return f"Each query sees the last {before + 1} keys, itself among them: a sliding window of {before + 1}."
    many = "the key" if after == 1 else f"{after} keys"
    return f"Each query sees itself and {many} on both sides: a window of {before + after + 1}."


def _finite(mask: Mask, scale: float) -> str:
    """Return what a finite number in hidden cells does."""
    name, value = power_of_ten(mask.value), mask.hidden_value(scale)
    if mask.fills == "scaled":
        return f"{name}, not −∞. exp({name}) is 0 too, unless every key of a row is hidden: such a row becomes uniform."
    here = f"{name} before the scaling, so it holds {name} × s = {power_of_ten(value)} here"
    if value < _FAR_BELOW:
        return f"{here}. exp of it is 0 all the same, unless every key of a row is hidden."
    if value <= 0:
        return f"{here}: with so small a scale hidden cells keep a weight."
    return f"{here}: a negative scale makes hidden cells the largest."


def _code(walk: Walk) -> str:
    mask = walk.layer.mask
    if mask.cells is None:
        return "masked = scaled  # no mask"
    if mask.window is not None and mask.is_infinite:
        return _window_code(*mask.window)
    if mask.cells.is_floating_point():
        return "masked = scaled + mask"
    value = 'float("-inf")' if mask.is_infinite else f"{mask.value:g}"
    first, seen, comment = "", "mask", "  # mask: True where a query may look"
    if mask.kind == "causal":
        first, seen, comment = "past = torch.ones_like(scaled).tril().bool()\n", "past", ""
    if mask.fills == "scores":
        return f"{first}masked = scores.masked_fill(~{seen}, {value}) * {walk.layer.scale!r}{comment}"
    return f"{first}masked = scaled.masked_fill(~{seen}, {value}){comment}"


def _window_code(before: int, after: int) -> str:
    """Return the code of a window, `Mask.window`, that fills −∞ into what it hides."""
    far = f"apart.abs() > {before}" if after or not before else f"(apart < 0) | (apart > {before})"
    return (
        "at = torch.arange(len(scaled))\napart = at[:, None] - at  # query minus key\n"
        f'masked = scaled.masked_fill({far}, float("-inf"))'
    )


def _fact(walk: Walk) -> str:
    cells, hidden = walk.summary.cells, walk.summary.hidden
    if not cells:
        return ""
    if not hidden:
        return "Here nothing is hidden."
    return Marked.of("Here ", named(f"{hidden} of {cells} cells", part="hidden"), " are hidden.")


def _title(walk: Walk) -> str:
    """Return what the matrix holds: hidden cells have a number of the mask, or all have relative positions added."""
    mask = walk.layer.mask
    if mask.adds:
        return "masked = scaled + M"
    return f"masked = scaled, or {power_of_ten(mask.hidden_value(walk.layer.scale))}"


def _picture(walk: Walk) -> Picture:
    return pair_picture(
        panel("scaled", "scaled", limit=SCORES),
        panel("masked", _title(walk), limit=SCORES, bar=True),
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
