"""From scores to the output: scaling, soft cap, mask, softmax of each row, weighted values, joined heads and W_O."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import counted, number, power_of_ten
from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Fraction,
    Indexed,
    List,
    Name,
    Negative,
    Power,
    Product,
    Relation,
    Sum,
    Symbol,
    Transpose,
)
from attnviz.steps.picture import (
    FEW,
    MADE_FROM,
    MANY,
    MorphSource,
    PanelSpec,
    Picture,
    pair_picture,
    panel,
    picture,
    product_picture,
    share,
)
from attnviz.steps.step import Step
from attnviz.trace.matrices import operand

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk

SCALE, CAP, SINK = Name("scale"), Symbol("c"), Symbol("z")
QUERY, KEY, VALUE = Symbol("Q", "query"), Symbol("K", "key"), Symbol("V", "value")


def normed_symbol(symbol: Symbol) -> Indexed:
    """Return the symbol of normed queries, or keys: Q_norm."""
    return Indexed(symbol, Name("norm"))


def operand_symbol(walk: Walk, symbol: Symbol) -> Symbol | Indexed:
    """Return the symbol of the queries, or of the keys, of the scores: Q; Q_norm after a norm; Q_θ if turned."""
    if walk.layer.rotation is not None:
        return Indexed(symbol, Symbol("θ"))
    return normed_symbol(symbol) if walk.layer.norms else symbol


def attention_formula(walk: Walk, boxed: str) -> Expression:
    """Return output = concat[softmax(Q Kᵀ · scale + M) V] W_O, without the terms that are missing in this walk.

    A soft cap c makes c · tanh(Q Kᵀ · scale / c) of the scaled scores; a sink z stands beside the keys in the softmax.
    """

    def term(step: str, expression: Expression) -> Expression:
        return Box(expression) if step == boxed else expression

    layer = walk.layer
    query, key = operand_symbol(walk, QUERY), operand_symbol(walk, KEY)
    scores = term("scores", Product((query, Transpose(key))))
    scaled = term("scaled", Product((scores, SCALE), "dot"))
    capped = scaled if layer.cap is None else term("capped", _capped(scaled))
    has_mask = layer.mask.kind != "none" or boxed == "masked"
    masked = term("masked", _masked(walk, capped) if has_mask else capped)
    in_softmax = masked if layer.sinks is None else List((masked, SINK))
    weights = term("weights", Call(Name("softmax"), in_softmax))
    head_outputs = term("head_outputs", Product((weights, VALUE)))
    concat = term("concat", Call(Indexed(Name("concat"), Symbol("h")), head_outputs, "[]"))
    is_projected = layer.output_projection is not None
    output = term("output", Product((concat, Indexed(Symbol("W"), Symbol("O")))) if is_projected else concat)
    return Relation("=", (Name("output"), output))


def _capped(scaled: Expression) -> Expression:
    """Return c · tanh(scaled / c)."""
    return Product((CAP, Call(Name("tanh"), Fraction(scaled, CAP))), "dot")


def _masked(walk: Walk, capped: Expression) -> Expression:
    """Return capped + M, where M is −∞ in hidden cells; for a mask with a finite number, fill(capped, number)."""
    mask = walk.layer.mask
    if mask.is_infinite:
        return Sum((capped, Symbol("M")))
    return Call(Name("fill"), List((capped, _filled_value(walk.layer))))


def _filled_value(layer: LayerTrace) -> Expression:
    """Return the finite number that a mask fills into hidden cells, such as −10¹⁰ or −10¹⁰ · scale.

    A soft cap makes −c or c of a large one, by the sign of the scale, and c · tanh(−10¹⁰ · scale / c) of others.
    """
    mask, cap = layer.mask, layer.cap
    filled = mask.hidden_value(layer.scale, cap)
    if cap is not None and mask.fills == "scores" and math.isclose(abs(filled), cap):
        return Negative(CAP) if filled < 0 else CAP
    exponent = round(math.log10(-mask.value))
    value = Negative(Power(Symbol("10"), Symbol(str(exponent))))
    if mask.fills == "scaled":
        return value
    scaled = Negative(Product((value.of, SCALE), "dot"))
    return scaled if cap is None else _capped(scaled)


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
    return "Only the size changes. Dot products grow with the head width; large ones would saturate the softmax."


def _scaled_code(walk: Walk) -> str:
    scale, width = walk.layer.scale, walk.layer.head_size
    if abs(scale - width**-0.5) < 1e-9:
        return f"scaled = scores * (1 / math.sqrt({width}))"
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
    if mask.window is not None and mask.is_infinite:
        return annotated(f"{window_in_words(mask.window)} {_WINDOW}")
    if mask.is_infinite:
        return annotated(
            "A [hidden cell](part=hidden) becomes −∞, not 0: exp(0) = 1, so a zero would still get a share. "
            "exp(−∞) = 0."
        )
    return annotated(f"A [hidden cell](part=hidden) becomes {_finite(walk.layer)}")


def window_in_words(window: tuple[int, int]) -> str:
    """Return a sentence that says which keys a query sees through a window, `Mask.window`."""
    before, after = window
    if not before and not after:
        return "Each query sees only itself."
    if not after:
        return f"Each query sees the last {before + 1} keys, itself among them: a sliding window of {before + 1}."
    neighbours = "the key" if after == 1 else f"{after} keys"
    return f"Each query sees itself and {neighbours} on both sides: a window of {before + after + 1}."


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
    past_line, visible, comment = "", "mask", "  # mask: True where a query may look"
    if mask.kind == "causal":
        past_line, visible, comment = "past = torch.ones_like(scaled).tril().bool()\n", "past", ""
    if mask.fills == "scores":
        scaled = f"scores.masked_fill(~{visible}, {value}) * {walk.layer.scale!r}"
        masked = scaled if walk.layer.cap is None else f"{_cap(walk)} * torch.tanh({scaled} / {_cap(walk)})"
        return f"{past_line}masked = {masked}{comment}"
    return f"{past_line}masked = {before}.masked_fill(~{visible}, {value}){comment}"


def _before_mask(walk: Walk) -> str:
    """Return the name of the matrix that a mask is added to."""
    return "scaled" if walk.layer.cap is None else "capped"


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
    return AnnotatedText.of("Here ", named(f"{hidden} of {cells} cells", part="hidden"), f" are hidden{keep}.")


def _masked_title(walk: Walk) -> str:
    """Return the title, which says how it is computed: M is added to every cell, or hidden cells are filled."""
    mask, before = walk.layer.mask, _before_mask(walk)
    if mask.adds:
        return f"masked = {before} + M"
    return f"masked = {before}, or {power_of_ten(mask.hidden_value(walk.layer.scale, walk.layer.cap))}"


def _masked_panel(walk: Walk, title: str, **options: Any) -> PanelSpec:
    """Describe the masked scores, whose colours end with those of the matrix before the mask."""
    if walk.layer.cap is None:
        return panel("masked", title, limit=_MASKED_AND_NOT, **options)
    spec = panel("masked", title, limit=_MASKED_AND_CAPPED, **options)
    return replace(spec, made_from=MorphSource("capped", MADE_FROM["masked"].pace))


def _masked_picture(walk: Walk) -> Picture:
    before = _before_mask(walk)
    limit = _MASKED_AND_NOT if walk.layer.cap is None else _MASKED_AND_CAPPED
    return pair_picture(
        panel(before, before, limit=limit),
        _masked_panel(walk, _masked_title(walk), bar=True),
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


FAINT_BELOW = 0.1
"""Weights below this look like 0 if the colour domain ends at 1; the browser gets it with core/constants.ts"""

_WEIGHTS_NOTICE = annotated(
    "Each row now [sums to 1](matrix=row_sum): it says how one query shares out its attention over the keys."
)


_WEIGHTS_NOTICE_OF_SOME = annotated(
    "Each row that sees a key now [sums to 1](matrix=row_sum): it says how one query shares out its attention."
)


_WEIGHTS_NOTICE_WITH_SINK = annotated(
    "The [sink](matrix=sink), with its score [z](matrix=sinks), takes part in each row's softmax like one more key, "
    "and gives nothing. So a row of weights [sums to less than 1](matrix=row_sum): a query need not look anywhere."
)


def _weights_notice(walk: Walk) -> str:
    mask = walk.layer.mask
    if walk.layer.sinks is not None:
        return _WEIGHTS_NOTICE_WITH_SINK
    return _WEIGHTS_NOTICE_OF_SOME if mask.is_infinite and mask.hides_rows else _WEIGHTS_NOTICE


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


def _weights_fact(walk: Walk) -> str:
    """Name a row that sees no key, or else the largest weight on another token: a weight on itself says less."""
    summary = walk.summary
    sink = walk.steps.sink
    if sink is not None:
        return _sink_fact(walk, sink[:, 0])
    if walk.layer.mask.hides_rows:
        return _row_without_keys(walk)
    if summary.strongest_weight <= 0:
        return ""
    q, k = divmod(summary.strongest, walk.layer.key.shape[1])
    share = number(100 * summary.strongest_weight, 0)
    return AnnotatedText.of(
        "Here ",
        named(f"row {q}, “{walk.query_labels[q]}”", row=q),
        ", puts ",
        named(f"{share} %", row=q, column=k, matrix="weights"),
        " on ",
        named(f"column {k}, “{walk.key_labels[k]}”", column=k),
        ".",
    )


_LEAST_SAID = 0.005
"""A share below this would be written as 0 %"""


def _sink_fact(walk: Walk, shares: Tensor) -> str:
    """Name the row that gives most to the sink, and the mean of its shares, (Tq,)."""
    if not len(shares):
        return ""
    q = int(shares.argmax())
    if float(shares[q]) < _LEAST_SAID:
        return "Here the sink takes less than 1 % of every row."
    return AnnotatedText.of(
        f"Here the sink takes {number(100 * float(shares.mean()), 0)} % of a row on average, and most of ",
        named(f"row {q}, “{walk.query_labels[q]}”", row=q),
        ": ",
        named(f"{number(100 * float(shares[q]), 0)} %", row=q, matrix="sink"),
        ".",
    )


def _row_without_keys(walk: Walk) -> str:
    """Describe the first row whose keys are all hidden: −∞ gives it no weights, a finite number gives equal ones."""
    q = int(walk.layer.hidden(walk.head).all(dim=1).int().argmax())
    row = named(f"row {q}, “{walk.query_labels[q]}”", row=q)
    if walk.layer.mask.is_infinite:
        why = ", every key is hidden: its exponentials sum to 0, and 0/0 is no number (torch: NaN). It gets no weights."
        return AnnotatedText.of("In ", row, why)
    keys = walk.layer.key.shape[1]
    why = f", every key is hidden, so all its masked scores are equal, and softmax gives each key 1/{keys}."
    return AnnotatedText.of("In ", row, why)


def _weights_code(walk: Walk) -> str:
    code = "weights = torch.softmax(masked, dim=-1)"
    mask = walk.layer.mask
    if walk.layer.sinks is not None:
        return (
            "with_sink = torch.softmax(torch.cat((masked, sinks), dim=-1), dim=-1)  # sinks: a column, (Tq, 1)\n"
            "weights, sink = with_sink[:, :-1], with_sink[:, -1:]"
        )
    return f"{code}.nan_to_num()  # NaN: no key is seen" if mask.is_infinite and mask.hides_rows else code


def weights_panel(title: str, *, name: str = "weights", bar: bool = False) -> PanelSpec:
    """Describe the weights, or another matrix of weights; their colours end at 1 unless they are darkened."""
    return panel(name, title, limit=1.0, scale="weights", stretched="weights · colours end at {}", bar=bar)


def _weights_picture(walk: Walk) -> Picture:
    few = walk.layer.key.shape[1] <= FEW
    masked, weights = (
        _masked_panel(walk, "masked", numbered=few),
        weights_panel("weights = softmax of each row", bar=True),
    )
    row_sum = panel("row_sum", "Σ", limit=1.0, scale="weights")
    if walk.layer.sinks is None:
        return picture(((masked, weights, row_sum),), (8, 8 if few else 16, 1.4))
    limit = (*(_MASKED_AND_NOT if walk.layer.cap is None else _MASKED_AND_CAPPED), "sinks")
    score, share = panel("sinks", "z", limit=limit), panel("sink", "to z", limit=1.0, scale="weights")
    row = replace(masked, limit=limit), score, weights, share, row_sum
    return picture((row,), (8, 1.4, 8 if few else 16, 1.4, 1.4))


WEIGHTS: Step[Walk] = Step(
    name="weights",
    title="Weights",
    formula=partial(attention_formula, boxed="weights"),
    notice=_weights_notice,
    code=_weights_code,
    picture=_weights_picture,
    fact=_weights_fact,
    advice=faint,
    matrices=("sinks", "weights", "sink"),
    is_by_cell=True,
    cell="the weight",
    masked_value="0",
    is_distribution=True,
    can_be_covered=True,
    can_be_stretched=True,
)


_HEAD_OUTPUTS_NOTICE = annotated(
    "Each row is an average of the [rows of V](matrix=value), in the proportions of the [weights](matrix=weights)."
)
_HEAD_OUTPUTS_NOTICE_WITH_SINK = annotated(
    "Each row is the sum of the [rows of V](matrix=value), each times its [weight](matrix=weights). The sink's share "
    "adds nothing, so the output is shorter than an average."
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
    notice=lambda walk: _HEAD_OUTPUTS_NOTICE if walk.layer.sinks is None else _HEAD_OUTPUTS_NOTICE_WITH_SINK,
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
