"""From weights to the output: softmax of each row, weighted values, joined heads and W_O."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import counted, percent
from attnviz.steps.formula import attention_formula
from attnviz.steps.picture import (
    FEW,
    MANY,
    PanelSpec,
    Picture,
    panel,
    picture,
    product_picture,
    share,
)
from attnviz.steps.scores import masked_limit, masked_panel
from attnviz.steps.step import Step, row_words

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.walk import Walk

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
    if walk.layer.sinks is not None and walk.steps.sink is not None:
        return _sink_fact(walk, walk.steps.sink[:, 0])
    if walk.layer.mask.hides_rows:
        return _row_without_keys(walk)
    if summary.strongest_weight <= 0:
        return ""
    q, k = divmod(summary.strongest, walk.layer.key.shape[1])
    return AnnotatedText.of(
        "Here ",
        named(row_words(walk, q), row=q),
        ", puts ",
        named(percent(summary.strongest_weight), row=q, column=k, matrix="weights"),
        " on ",
        named(f"column {k}, “{walk.key_labels[k]}”", column=k),
        ".",
    )


_LEAST_SAID = 0.01
"""Where the sink takes less of every row, no row is worth naming"""


def _sink_fact(walk: Walk, shares: Tensor) -> str:
    """Name the row that gives most to the sink, and the mean of its shares, (Tq,)."""
    if not len(shares):
        return ""
    q = int(shares.argmax())
    if float(shares[q]) < _LEAST_SAID:
        return "Here the sink takes less than 1 % of every row."
    return AnnotatedText.of(
        f"Here the sink takes {percent(float(shares.mean()))} of a row on average, and most of ",
        named(row_words(walk, q), row=q),
        ": ",
        named(percent(float(shares[q])), row=q, matrix="sink"),
        ".",
    )


def _row_without_keys(walk: Walk) -> str:
    """Describe the first row whose keys are all hidden: −∞ gives it no weights, a finite number gives equal ones."""
    q = int(walk.layer.hidden(walk.head).all(dim=1).int().argmax())
    row = named(row_words(walk, q), row=q)
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
        masked_panel(walk, "masked", numbered=few),
        weights_panel("weights = softmax of each row", bar=True),
    )
    row_sum = panel("row_sum", "Σ", limit=1.0, scale="weights")
    if walk.layer.sinks is None:
        return picture(((masked, weights, row_sum),), (8, 8 if few else 16, 1.4))
    limit = (*masked_limit(walk), "sinks")
    score, share = panel("sinks", "z", limit=limit), panel("sink", "→z", limit=1.0, scale="weights")
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
