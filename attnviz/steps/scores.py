"""From scores to masked scores: the products of queries and keys, scaling, soft cap, mask.

A position bias, between soft cap and mask, is in `biased.py`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import number, power_of_ten
from attnviz.mask_reasons import REASON_WORDS
from attnviz.steps.biased import biased_panel, unbiased
from attnviz.steps.formula import attention_formula
from attnviz.steps.picture import (
    MADE_FROM,
    MorphSource,
    PanelSpec,
    Picture,
    pair_picture,
    panel,
    product_picture,
)
from attnviz.steps.step import Step
from attnviz.trace.matrices import operand

if TYPE_CHECKING:
    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk


def _scores_notice(walk: Walk) -> str:
    query = operand(walk.layer, "query")
    return annotated(
        f"Each cell is one dot product: a query's [row of Q](matrix={query}) with a key's "
        "[column of Kᵀ](matrix=key_t). Large means: they match."
    )


_BEFORE_AND_AFTER = ("scores", "scaled")
"""They share one colour domain up to the step Scaled, which shows how much smaller scaled scores are"""
_MASKED_AND_NOT = ("scaled", "masked")
"""They share one from the step Masked on: by that of the scores both would be almost white"""
_CAPPED_AND_NOT = ("scaled", "capped")
_MASKED_AND_CAPPED = ("capped", "masked")
"""With a soft cap: the step Capped shows how much smaller large scores become, and the later ones leave those out"""
_MASKED_AND_BIASED = ("biased", "masked")
"""With a position bias, which the step Biased shows beside both, likewise"""


def _scores_picture(walk: Walk) -> Picture:
    _, queries, width = walk.layer.query.shape
    state = "rotated" if walk.layer.rotation is not None else "normed" if walk.layer.norms else ""
    return product_picture(
        panel(operand(walk.layer, "query"), f"Q {state or 'query'}"),
        panel("key_t", f"Kᵀ {state or 'key'}"),
        panel("scores", "scores", limit=_BEFORE_AND_AFTER, bar=True),
        (queries, width, walk.layer.key.shape[1]),
        "Q · Kᵀ = scores",
    )


SCORES: Step[Walk] = Step(
    name="scores",
    title="Scores",
    formula=partial(attention_formula, boxed="scores"),
    notice=_scores_notice,
    code=lambda walk: f"scores = {operand(walk.layer, 'query')} @ {operand(walk.layer, 'key')}.T",
    picture=_scores_picture,
    matrices=("scores",),
    is_by_cell=True,
    cell="the score",
    can_be_covered=True,
)


def _scaled_notice(walk: Walk) -> str:
    if walk.layer.scale == 1:
        return "The scale is 1, so nothing changes here. Go on to the weights: large scores make them all or nothing."
    if walk.layer.position_terms:
        return (
            "Only the size changes. Dot products grow with the head width, and here others are added in the next step: "
            "the more there are, the smaller is the scale."
        )
    return "Only the size changes. Dot products grow with the head width; large ones would saturate the softmax."


def _scaled_code(walk: Walk) -> str:
    scale, width, products = walk.layer.scale, walk.layer.head_size, 1 + len(walk.layer.position_terms)
    if abs(scale - (products * width) ** -0.5) < 1e-9:
        return f"scaled = scores * (1 / math.sqrt({width if products == 1 else f'{products} * {width}'}))"
    return f"scaled = scores * {scale!r}"


def _scaled_fact(walk: Walk) -> str:
    scale, summary = walk.layer.scale, walk.summary
    if scale == 1 or not summary.cells:
        return ""
    q, k = divmod(summary.largest, walk.layer.key.shape[1])
    return AnnotatedText.of(
        "Here the largest magnitude goes from ",
        named(number(summary.largest_score), row=q, column=k, matrix="scores"),
        " to ",
        named(number(summary.largest_scaled), row=q, column=k, matrix="scaled"),
        f" (× {number(scale, 4)}).",
    )


def _scaled_picture(walk: Walk) -> Picture:
    return pair_picture(
        panel("scores", "scores", limit=_BEFORE_AND_AFTER),
        panel("scaled", f"scaled = scores × {number(walk.layer.scale, 3)}", limit=_BEFORE_AND_AFTER, bar=True),
        walk.layer.key.shape[1],
    )


SCALED: Step[Walk] = Step(
    name="scaled",
    title="Scaled",
    formula=partial(attention_formula, boxed="scaled"),
    notice=_scaled_notice,
    code=_scaled_code,
    picture=_scaled_picture,
    fact=_scaled_fact,
    matrices=("scaled",),
    is_by_cell=True,
    cell="the scaled score",
    can_be_covered=True,
)


CAPPED_TITLE = "capped = c · tanh(scaled / c)"


def _capped_notice(walk: Walk) -> str:
    return annotated(
        f"The [soft cap](matrix=capped) keeps every score between −{_cap(walk)} and {_cap(walk)}. Small ones hardly "
        f"change; large ones are pressed together: no two are more than {2 * (walk.layer.cap or 0):g} apart."
    )


def _cap(walk: Walk) -> str:
    return f"{walk.layer.cap:g}"


def _capped_fact(walk: Walk) -> str:
    layer, steps = walk.layer, walk.steps
    if layer.cap is None or not walk.summary.cells:
        return ""
    q, k = divmod(int(steps.scaled.abs().argmax()), layer.key.shape[1])
    return AnnotatedText.of(
        "Here the largest magnitude goes from ",
        named(number(abs(float(steps.scaled[q, k]))), row=q, column=k, matrix="scaled"),
        " to ",
        named(number(abs(float(steps.capped[q, k]))), row=q, column=k, matrix="capped"),
        f" (c = {_cap(walk)}).",
    )


def _capped_picture(walk: Walk) -> Picture:
    return pair_picture(
        panel("scaled", "scaled", limit=_CAPPED_AND_NOT),
        panel("capped", CAPPED_TITLE, limit=_CAPPED_AND_NOT, bar=True),
        walk.layer.key.shape[1],
    )


CAPPED: Step[Walk] = Step(
    name="capped",
    title="Capped",
    is_in=lambda walk: walk.layer.cap is not None,
    formula=partial(attention_formula, boxed="capped"),
    notice=_capped_notice,
    code=lambda walk: f"capped = {_cap(walk)} * torch.tanh(scaled / {_cap(walk)})",
    picture=_capped_picture,
    fact=_capped_fact,
    matrices=("capped",),
    is_by_cell=True,
    cell="the capped score",
    can_be_covered=True,
)


_WINDOW = (
    "What is farther away is a [hidden cell](part=hidden), −∞: it has to come through the layers, each of which "
    "reaches one window further."
)
_FAR_BELOW = -1e4
"""A hidden cell below this has a weight of exactly 0 in float32 if its row has a visible cell"""
_APART = 100
"""Of two scores that are this far apart, the lower one's weight is about the smallest number above 0 in float32"""


def _masked_notice(walk: Walk) -> str:
    mask = walk.layer.mask
    if mask.kind == "none":
        return "No mask: every query sees every key, before and after it. The causal mask hides the future."
    reasons = walk.layer.mask_reasons
    if reasons is not None and reasons.window is not None and mask.is_infinite:
        return annotated(f"{window_in_words(reasons.window)} {_WINDOW}")
    if mask.is_infinite:
        return annotated(
            "A [hidden cell](part=hidden) becomes −∞, not 0: exp(0) = 1, so a zero would still get a share. "
            "exp(−∞) = 0."
        )
    return annotated(f"A [hidden cell](part=hidden) becomes {_finite(walk.layer)}")


def window_in_words(window: tuple[int, int]) -> str:
    """Return a sentence that says which keys a query sees through a window, `MaskReasons.window`."""
    before, after = window
    if not before and not after:
        return "Each query sees only itself."
    if not after:
        return f"Each query sees the last {before + 1} keys, itself among them: a sliding window of {before + 1}."
    neighbours = "one key" if after == 1 else f"{after} keys"
    return f"Each query sees itself and {neighbours} on each side: a local window."


def _finite(layer: LayerTrace) -> str:
    """Describe the effect of a finite number in hidden cells."""
    mask, cap = layer.mask, layer.cap
    name, value = power_of_ten(mask.value), mask.hidden_value(layer.scale, cap)
    alone = "" if mask.fills == "scores" else ": such a row becomes uniform"
    whole = f", unless every key of a row is hidden{alone}."
    if layer.sinks is not None:
        whole = ". If every key of a row is hidden, all its weights are 0, and the sink takes all."
    if mask.fills == "scaled":
        return f"{name}, not −∞. exp({name}) is 0 too{whole}"
    start = f"{name} before the scaling, so it holds {name} × scale = {power_of_ten(value)} here"
    if cap is not None:
        start = f"{name} before the scaling, and the soft cap makes {number(value)} of it"
    if layer.position_bias is not None:
        start += ", which replaces the biased score"
    if value > 0:
        return f"{start}: a negative scale makes hidden cells the largest."
    if value < _FAR_BELOW:
        return f"{start}. exp of it is 0 all the same{whole}"
    small = "" if cap is not None else "with so small a scale "
    if value == 0 or (cap is not None and 2 * cap <= _APART):
        return f"{start}: {small}hidden cells keep a weight."
    return f"{start}: {small}hidden cells keep a weight, unless a visible score is about {_APART} above it or more."


def _masked_code(walk: Walk) -> str:
    mask, before = walk.layer.mask, _before_mask(walk)
    if mask.cells is None:
        return f"masked = {before}  # no mask"
    if mask.window is not None and mask.is_infinite:
        return _window_code(*mask.window, before)
    if mask.cells.is_floating_point():
        return f"masked = {before} + mask"
    value = 'float("-inf")' if mask.is_infinite else f"{mask.value:g}"
    if mask.fills == "scores" and before == "biased":
        value = f"{mask.hidden_value(walk.layer.scale, walk.layer.cap):g}"
    past_line, visible, comment = "", "mask", "  # mask: True where a query may look"
    if mask.kind == "causal":
        past_line, visible, comment = "past = torch.ones_like(scaled).tril().bool()\n", "past", ""
    if mask.fills == "scores" and before != "biased":
        scaled = f"scores.masked_fill(~{visible}, {value}) * {walk.layer.scale!r}"
        masked = scaled if walk.layer.cap is None else f"{_cap(walk)} * torch.tanh({scaled} / {_cap(walk)})"
        return f"{past_line}masked = {masked}{comment}"
    return f"{past_line}masked = {before}.masked_fill(~{visible}, {value}){comment}"


def _before_mask(walk: Walk) -> str:
    """Return the name of the matrix that a mask is added to."""
    return unbiased(walk) if walk.layer.position_bias is None else "biased"


def _window_code(before: int, after: int, source: str) -> str:
    """Return the code of a window, `Mask.window`, that fills −∞ into the cells of `source` outside of it."""
    far = f"apart.abs() > {before}" if after or not before else f"(apart < 0) | (apart > {before})"
    return (
        f"at = torch.arange(len({source}))\napart = at[:, None] - at  # query minus key\n"
        f'masked = {source}.masked_fill({far}, float("-inf"))'
    )


def _masked_fact(walk: Walk) -> str:
    cells, hidden = walk.summary.cells, walk.summary.hidden
    if not cells:
        return ""
    if not hidden:
        return "Here nothing is hidden."
    mask, keep = walk.layer.mask, ""
    if not mask.is_infinite and mask.fills == "scores":
        count = int((walk.steps.weights[walk.steps.hidden] > 0).sum())
        how_many = "none" if not count else "all" if count == hidden else str(count)
        keep = f" ({how_many} with a weight above 0)"
    here = named(f"{hidden} of {cells} cells", part="hidden")
    return AnnotatedText.of("Here ", here, f" are hidden{_by_reason(walk.layer)}{keep}.")


def _by_reason(layer: LayerTrace) -> str:
    """Say how many cells are hidden for each reason, if there are several."""
    reasons = layer.mask_reasons
    counts = {} if reasons is None else reasons.counts(layer.query.shape[1], layer.key.shape[1])
    words = [f"{count} {REASON_WORDS[reason]}" for reason, count in counts.items()]
    return f": {', '.join(words)}" if len(words) > 1 else ""


def _masked_title(walk: Walk) -> str:
    """Return the title, which says how it is computed: M is added to every cell, or hidden cells are filled."""
    mask, before = walk.layer.mask, _before_mask(walk)
    if mask.adds:
        return f"masked = {before} + M"
    return f"masked = {before}, or {power_of_ten(mask.hidden_value(walk.layer.scale, walk.layer.cap))}"


def masked_limit(walk: Walk) -> tuple[str, ...]:
    """Return the names of the matrices that share a colour domain with the masked scores."""
    return {"scaled": _MASKED_AND_NOT, "capped": _MASKED_AND_CAPPED, "biased": _MASKED_AND_BIASED}[_before_mask(walk)]


def masked_panel(walk: Walk, title: str, **options: Any) -> PanelSpec:
    """Describe the masked scores, whose colours end with those of the matrix before the mask."""
    spec = panel("masked", title, limit=masked_limit(walk), **options)
    before = _before_mask(walk)
    if before == "scaled":
        return spec
    return replace(spec, made_from=MorphSource(before, MADE_FROM["masked"].pace))


def _masked_picture(walk: Walk) -> Picture:
    before = _before_mask(walk)
    limit = masked_limit(walk)
    make = partial(biased_panel, walk) if before == "biased" else partial(panel, before)
    return pair_picture(
        make(before, limit=limit),
        masked_panel(walk, _masked_title(walk), bar=True),
        walk.layer.key.shape[1],
    )


MASKED: Step[Walk] = Step(
    name="masked",
    title="Masked",
    formula=partial(attention_formula, boxed="masked"),
    notice=_masked_notice,
    code=_masked_code,
    picture=_masked_picture,
    fact=_masked_fact,
    matrices=("masked",),
    is_by_cell=True,
    cell="the masked score",
    masked_value="−∞",
    can_be_covered=True,
)
