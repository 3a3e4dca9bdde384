"""What each mistake does on a text, compared with the correct computation: two pictures and a table of numbers.

First come mistakes in the attention of one head (its maps, its mask, its inputs), then those in the rest of the block
(the joined heads, the norm, the feed-forward).

Shapes: T tokens, C model width, H heads, D head width, F feed-forward width; Tq and Tk tokens of decoder and encoder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from attnviz.attention import AttentionSteps, Mask, attend, causal_mask
from attnviz.formatting import number, percent
from attnviz.measures.changes import change_row, moments, norm_over_all
from attnviz.reprs import ShortRepr
from attnviz.tokens import Tokens
from attnviz.trace.layer import ACTIVATIONS, Block, BlockSteps, LayerTrace
from attnviz.trace.model import Activation, Kind
from attnviz.trace.trace import Trace

Value = float | int | str
T = TypeVar("T")


class NotKnownError(ValueError):
    """A mistake can't be shown with this model. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Picture(ShortRepr):
    """A matrix with the names of its axes."""

    name: str
    """The quantity's name in `attnviz.steps.picture.AXES`, which says what its rows and columns are"""
    title: str
    values: Tensor
    """(rows, columns); NaN in hidden cells"""
    tokens: Mapping[str, Sequence[str]]
    """The labels of rows and columns that are tokens, by "query" and "key" """


@dataclass(frozen=True, slots=True)
class Effect:
    """One line of the table: a quantity with the wrong code and with the right one."""

    what: str
    wrong: Value
    right: Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MistakeEffect(ShortRepr):
    """The effect of a mistake on a text."""

    wrong: Picture
    right: Picture
    effects: tuple[Effect, ...]
    signed: bool = True
    """Whether the numbers have a sign; if not, they are weights from 0 to 1"""
    where: str = ""
    """What was computed: "encoder block 0 · head 0" """
    note: str = ""
    """What is special about this text or model, as a sentence"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Case(ShortRepr):
    """The first block of the model's last stack, on a text: of its decoder, or of its only stack."""

    trace: Trace
    seed: int = 0
    """The seed of the numbers that a mistake draws at random"""

    @property
    def kind(self) -> Kind:
        """The kind of the block's self-attention."""
        return "decoder" if "decoder" in self.trace.blocks else self.trace.kinds[0]

    @property
    def block(self) -> Block:
        """The block."""
        return self.trace.block(self.trace.numbers_of(self.kind)[0], self.kind)

    @property
    def attention(self) -> LayerTrace:
        """Its self-attention."""
        return self.block.attention

    @property
    def tokens(self) -> Tokens:
        """Its tokens."""
        return self.trace.query_tokens(self.kind)

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The labels of its tokens, on rows and on columns."""
        return dict.fromkeys(("query", "key"), self.tokens.labels)

    def picture(self, name: str, values: Tensor, title: str = "") -> Picture:
        """Return a matrix whose rows and columns are the block's tokens, where they are tokens."""
        return Picture(name, title or name, values, self.labels)

    @property
    def where(self) -> str:
        """The block in words."""
        return f"{self.kind} block {self.trace.numbers_of(self.kind)[0]}"

    @property
    def inputs(self) -> Tensor:
        """The input of its self-attention, (T, C).

        Raises:
            NotKnownError: it is not known for this model.
        """
        return known(self.attention.query_input, "the input of its attention")


def known(value: T | None, what: str) -> T:
    """Return a value, which must not be None.

    Raises:
        NotKnownError: it is None; the message says that `what` is not known.
    """
    if value is None:
        raise NotKnownError(f"This can't be shown with this model: {what} is not known.")
    return value


def attended(layer: LayerTrace, queries: Tensor, keys: Tensor, mask: Tensor | None = None) -> AttentionSteps:
    """Attend with the projections of head 0 of a layer from queries, (Tq, C), to keys, (Tk, C).

    Raises:
        NotKnownError: the projections are not known for this model, its sinks depend on the query, or its position bias
            is not known for so many tokens.
    """
    maps = known(layer.projections, "how it makes queries, keys and values")
    if layer.sinks is not None and layer.sinks.shape[1] > 1:
        raise NotKnownError("This can't be shown with this model: the scores of its sink depend on the query.")
    query, key = (operand[0] for operand in layer.operands_of(queries, keys, [0]).values())
    sinks = None if layer.sinks is None else layer.sinks[0]
    value = maps["value"].apply(keys)[0]
    bias = None if layer.position_bias is None else layer.position_bias.of_operands(0, query, key)
    if bias is not None and (bias.shape[0] not in (1, len(queries)) or bias.shape[1] != len(keys)):
        raise NotKnownError("This can't be shown with this model: its position bias is known for the text alone.")
    return attend(query, key, value, mask=mask, scale=layer.scale, cap=layer.cap, sinks=sinks, position_bias=bias)


def leak(compute: Callable[[Tensor], Tensor], x: Tensor) -> Value:
    """Return the largest change in the rows before the last one when `change_row` changes the last one.

    Args:
        compute: takes (T, C) and returns (T, ...).
        x: (T, C).
    """
    if len(x) < 2:
        return "no row before it"
    with torch.inference_mode():
        changes = (compute(change_row(x, -1)) - compute(x)).abs()
    return float(changes[:-1].max())


FILL = -1e10
"""What the mistake puts in place of −∞"""
WIDTHS = (32, 128, 768)
"""C of the random vectors"""
LATER = "the last token changes: {} before it moves by at most"


def maps(case: Case) -> MistakeEffect:
    """A map of T × T, drawn at random, in place of W_Q of head 0."""
    x, layer = case.inputs, case.attention
    projection = known(layer.projections, "its W_Q")["query"]
    if projection.kind != "linear" or projection.weight is None:
        raise NotKnownError("This model makes its queries without a linear layer.")
    t, c = x.shape
    weight = projection.weight[0]  # (C, D)
    drawn = torch.randn(t, t, generator=_generator(case)) / math.sqrt(t)
    longer = torch.cat([x, x[-1:]])
    return MistakeEffect(
        case.picture("U_query", drawn, "W in q = W @ x"),
        case.picture("W_query", weight, "W in q = x @ W"),
        (
            Effect("numbers in the matrix", f"T · T = {drawn.numel():,}", f"C · D = {weight.numel():,}"),
            Effect(f"a text of {t + 1} tokens", _works(drawn, longer), _works(longer, weight)),
            Effect(LATER.format("q"), leak(lambda y: drawn @ y, x), leak(lambda y: y @ weight, x)),
        ),
        where=f"{case.where} · head 0",
        note=f"Here T = {t}, C = {c}, D = {weight.shape[1]}; W is drawn with seed {case.seed}.",
    )


def fill(case: Case) -> MistakeEffect:
    """Hide cells with −1e10 before scaling, in a text where one row is wholly hidden."""
    head = case.attention.head(0)
    t = len(head.scaled)
    visible = causal_mask(t).clone()
    visible[:, 0] = False  # the first token is padding

    def masked(mask: Mask) -> AttentionSteps:
        operands = head.query, head.key, head.value
        of_scores: dict[str, Any] = {"cap": head.cap, "sinks": head.sinks, "position_bias": head.position_bias}
        return attend(*operands, mask=mask, scale=head.scale, **of_scores)

    right, filled = masked(Mask.recognise(visible)), masked(Mask("other", visible, FILL, "scores"))
    wrong = filled.weights
    first_row = right.masked[:1] if head.sinks is None else torch.cat((right.masked[:1], head.sinks[:1]), dim=-1)
    bare = torch.softmax(first_row, dim=-1)[:, :t]
    seeing = (wrong[1:] - right.weights[1:]).abs().max().item() if t > 1 else "no such row"
    return MistakeEffect(
        case.picture("weights", wrong),
        case.picture("weights", right.weights.masked_fill(~visible, torch.nan)),
        (
            Effect("row 0, which sees nothing, sums to", wrong[0].sum().item(), right.weights[0].sum().item()),
            Effect("its weight on the tokens after it", wrong[0, 1:].sum().item(), right.weights[0, 1:].sum().item()),
            Effect("largest difference in all other rows", seeing, 0),
            Effect("a hidden cell before the softmax", filled.masked[0, 0].item(), "−∞"),
            Effect(
                "cells that are NaN after torch's softmax of row 0",
                *(int(weights.isnan().sum()) for weights in (wrong[0], bare)),
            ),
        ),
        signed=False,
        where=f"{case.where} · head 0",
        note=_note_of_fill(head),
    )


def _note_of_fill(head: AttentionSteps) -> str:
    """Say what a soft cap, or a sink, changes about hidden cells that are filled with a number before the scaling."""
    notes = []
    if head.cap is not None:
        capped = number(-head.cap)
        notes.append(f"This model's soft cap makes {capped} of the number: a hidden cell may keep a weight in any row.")
    if head.sinks is not None:
        notes.append("This model's sink takes part in each row: so no row is NaN, and row 0 need not sum to 1.")
    return " ".join(notes)


def cross(case: Case) -> MistakeEffect:
    """Make queries from the encoder's output, keys and values from the decoder's tokens."""
    if "cross" not in case.trace.blocks:
        raise NotKnownError(
            "This model has no cross-attention. Choose the toy with the architecture “both”: an encoder, and a decoder "
            "that looks at it."
        )
    layer = case.trace.layers["cross"][0]
    y, encoded = known(layer.query_input, "what it reads"), known(layer.key_input, "what it reads")
    right, wrong = attended(layer, y, encoded), attended(layer, encoded, y)
    changed = change_row(y, -1)
    changes = [
        _rows_that_change(attended(layer, *pair).head_outputs, before.head_outputs)
        for pair, before in (((encoded, changed), wrong), ((changed, encoded), right))
    ]
    names = case.trace.query_tokens("encoder").labels, case.tokens.labels
    fits = "yes: no error" if len(y) == len(encoded) else "no: an error"
    return MistakeEffect(
        Picture("weights", "weights", wrong.weights, {"query": names[0], "key": names[1]}),
        Picture("weights", "weights", right.weights, {"query": names[1], "key": names[0]}),
        (
            Effect("weights, rows × columns", _shape(wrong.weights), _shape(right.weights)),
            Effect(f"can be added to the decoder's {len(y)} rows", fits, "yes"),
            Effect("the decoder's last token changes: rows that change", *changes),
        ),
        signed=False,
        where="decoder block 0, attention to the encoder · head 0",
    )


def mask(case: Case) -> MistakeEffect:
    """Leave the causal mask out."""
    x, layer = case.inputs, case.attention
    seen = causal_mask(len(x)) & ~layer.hidden(0)  # beside the causal mask, what the model hides
    wrong, right = attended(layer, x, x).weights, attended(layer, x, x, seen).weights

    def moves(mask: Tensor | None) -> Value:
        return leak(lambda y: attended(layer, y, y, mask).head_outputs, x)

    reads = case.kind == "encoder"
    return MistakeEffect(
        case.picture("weights", wrong),
        case.picture("weights", right.masked_fill(~seen, torch.nan)),
        (
            Effect("cells that look ahead", int((wrong.triu(1) > 0).sum()), int((right.triu(1) > 0).sum())),
            Effect("weight on later tokens, mean of the rows",
                   *(weights.triu(1).sum(-1).mean().item() for weights in (wrong, right))),
            Effect(LATER.format("the output"), moves(None), moves(seen)),
        ),
        signed=False,
        where=f"{case.where} · head 0",
        note="This model is an encoder: it only reads, and rightly has no mask. To write, it would need the causal one."
        if reads else "",
    )  # fmt: skip


def same(case: Case) -> MistakeEffect:
    """Use random vectors as queries, keys and values."""
    ids = case.tokens.ids
    rows: dict[int, int] = {}
    for token in ids:
        rows.setdefault(token, len(rows))
    generator, widest = _generator(case), max(WIDTHS)
    drawn = torch.randn(len(rows), widest, generator=generator)[[rows[token] for token in ids]]  # (T, 768)
    w_query, w_key = (torch.randn(widest, widest, generator=generator) for _ in range(2))

    def weights(width: int, *, projected: bool) -> Tensor:
        x = drawn[:, :width]
        scaled = width**-0.5
        query = x @ w_query[:width, :width] * scaled if projected else x
        key = x @ w_key[:width, :width] * scaled if projected else x
        return attend(query, key, x).weights

    alike = torch.tensor([[token == other for other in ids] for token in ids])

    def on_itself(width: int, *, projected: bool) -> float:
        return float((weights(width, projected=projected) * alike).sum(-1).mean())

    return MistakeEffect(
        case.picture("weights", weights(widest, projected=False), f"weights, C = {widest}"),
        case.picture("weights", weights(widest, projected=True), f"weights, C = {widest}"),
        tuple(
            Effect(f"mean weight on itself, C = {width}",
                   *(on_itself(width, projected=projected) for projected in (False, True)))
            for width in WIDTHS
        ),
        signed=False,
        where=f"random vectors, seed {case.seed}",
        note="A word that occurs twice has the same vector in both places, and both count as itself."
        if len(rows) < len(ids) else "",
    )  # fmt: skip


def _generator(case: Case) -> torch.Generator:
    return torch.Generator().manual_seed(case.seed)


def _works(left: Tensor, right: Tensor) -> Value:
    """Try to multiply two matrices, and say whether that works."""
    try:
        return f"works: {_shape(left @ right)}"
    except RuntimeError:
        return f"an error: {_shape(left)} · {_shape(right)}"


def _shape(matrix: Tensor) -> str:
    return " × ".join(map(str, matrix.shape))


def _rows_that_change(after: Tensor, before: Tensor) -> Value:
    changed = (after - before).abs().amax(-1) > 0
    return f"{int(changed.sum())} of {len(changed)}"


EXAMPLE = (512, 6, 8)
"""C of the original paper, a number of heads that does not divide it, and the paper's number of heads"""
AFTER = "what follows its attention"
FEED_FORWARD = "its feed-forward"


def relu(case: Case) -> MistakeEffect:
    """Put the activation after the second linear map."""
    steps, weights = known(case.block.steps(), AFTER), known(case.block.weights, AFTER)
    name: Activation = known(weights.activation, "its activation")
    activation = ACTIVATIONS[name]
    first, second = known(weights.first, FEED_FORWARD), known(weights.second, FEED_FORWARD)
    x = _read_by_feed_forward(steps)
    right, wrong = second.apply(activation(first.apply(x))), activation(second.apply(first.apply(x)))
    weight = first.weight @ second.weight  # (C, C): both maps as one
    bias = second.apply(first.bias) if first.bias is not None else second.bias
    merged = x @ weight if bias is None else x @ weight + bias
    return MistakeEffect(
        case.picture("feed_forward_output", wrong, "feed-forward output"),
        case.picture("feed_forward_output", right, "feed-forward output"),
        (
            Effect("numbers below 0", _share(wrong < 0), _share(right < 0)),
            Effect("mean of what is added", wrong.mean().item(), right.mean().item()),
            Effect(
                "largest difference to one linear map in place of both",
                (wrong - activation(merged)).abs().max().item(), (right - merged).abs().max().item(),
            ),
            Effect("smallest number", wrong.min().item(), right.min().item()),
        ),
        where=case.where,
        note="" if name == "relu" else "This model's activation is GELU, in place of ReLU.",
    )  # fmt: skip


def norm(case: Case) -> MistakeEffect:
    """Normalise all tokens together."""
    x = known(case.block.steps(), AFTER).attention_residual

    def alone(rows: Tensor) -> Tensor:
        return functional.layer_norm(rows, rows.shape[-1:])

    wrong, right = norm_over_all(x), alone(x)
    statistics = [moments(rows) for rows in (wrong, right)]
    return MistakeEffect(
        case.picture("attention_norm", wrong, "after the norm"),
        case.picture("attention_norm", right, "after the norm"),
        (
            Effect("largest mean of a row", *(rows.mean.abs().max().item() for rows in statistics)),
            Effect("variance of the rows", *(_range(rows.variance) for rows in statistics)),
            Effect("the last token changes: rows before it move by at most", leak(norm_over_all, x), leak(alone, x)),
        ),
        where=f"{case.where}, after attention is added",
    )


def width(case: Case) -> MistakeEffect:
    """Split the width into a number of heads that does not divide it."""
    layer = case.attention
    if layer.sinks is not None and not bool((layer.sinks == layer.sinks[:1, :1]).all()):
        raise NotKnownError("Each head of this model has a sink of its own, and other heads would have none.")
    if layer.position_bias is not None:
        raise NotKnownError("Each head of this model has a position bias of its own, and other heads would have none.")
    sinks = None if layer.sinks is None else layer.sinks[:1, :1]
    joined = {name: _joined(getattr(layer, name)) for name in ("query", "key", "value")}  # (T, H·D) each
    t, c = joined["query"].shape
    counts = (*range(layer.heads + 1, c), *range(2, layer.heads))
    heads = next((count for count in counts if c % count), None)
    if heads is None:
        raise NotKnownError(f"Every number of heads divides a width of {c}.")
    size = c // heads

    def split(x: Tensor) -> Tensor:
        cut: Tensor = x[:, : heads * size].unflatten(-1, (heads, size))
        return cut.transpose(0, 1)  # (T, H', D') -> (H', T, D')

    # Keys and values are as wide as queries: where a group of heads shares them, they were repeated.
    output = attend(*(split(x) for x in joined.values()), mask=layer.mask, cap=layer.cap, sinks=sinks).concat
    wrong = torch.cat([output, torch.full((t, c - heads * size), torch.nan)], dim=-1)
    full, uneven, even = EXAMPLE
    return MistakeEffect(
        case.picture("concat", wrong, f"{heads} heads side by side"),
        case.picture("concat", layer.concat(), f"{layer.heads} heads side by side"),
        (
            Effect(f"heads · width of a head, C = {c}", *(_product(c, h) for h in (heads, layer.heads))),
            Effect("torch: q.view(T, H, C // H)", *(_view(joined["query"], h) for h in (heads, layer.heads))),
            Effect(f"the same with C = {full}, as in the paper", *(_product(full, h) for h in (uneven, even))),
        ),
        where=case.where,
        note="The hatched columns are left over.",
    )


def add(case: Case) -> MistakeEffect:
    """Add up the heads' outputs instead of joining them."""
    layer = case.attention
    projection = known(layer.output_projection, "its W_O")
    outputs = layer.all_heads().head_outputs  # (H, T, D)
    heads, _, size = outputs.shape
    first, bias = projection.weight[:size], projection.bias

    def summed(x: Tensor) -> Tensor:
        mapped = x.sum(0) @ first
        return mapped if bias is None else mapped + bias

    def side_by_side(x: Tensor) -> Tensor:
        return projection.apply(_joined(x))

    changes = [(make(outputs.roll(1, 0)) - make(outputs)).abs().max().item() for make in (summed, side_by_side)]
    wrong, right = summed(outputs), side_by_side(outputs)
    return MistakeEffect(
        case.picture("output", wrong),
        case.picture("output", right),
        (
            Effect("the heads change places: the output moves by at most", *changes),
            Effect("numbers a token that reach W_O", f"D = {size}", f"H · D = {heads * size}"),
            Effect("numbers in W_O", first.numel(), projection.weight.numel()),
            Effect("largest difference between the two outputs", (wrong - right).abs().max().item(), "–"),
        ),
        where=case.where,
        note="With one head there is nothing to join, and both are the same." if heads == 1 else "",
    )


def _read_by_feed_forward(steps: BlockSteps) -> Tensor:
    """Return the input of a block's feed-forward, (T, C)."""
    if steps.feed_forward_norm is not None:
        return steps.feed_forward_norm
    normed = steps.attention_norm if steps.cross_attention_norm is None else steps.cross_attention_norm
    return steps.attention_residual if normed is None else normed


def _joined(heads: Tensor) -> Tensor:
    """Put heads side by side: (H, T, D) -> (T, H·D)."""
    return heads.transpose(0, 1).flatten(1)


def _share(cells: Tensor) -> Value:
    return percent(cells.double().mean().item(), 1)


def _range(values: Tensor) -> Value:
    low, high = (number(bound.item(), 3) for bound in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _product(width: int, heads: int) -> Value:
    return f"{heads} · {width // heads} = {heads * (width // heads)}, {width % heads} left over"


def _view(x: Tensor, heads: int) -> Value:
    """Let torch try to split (T, C) into heads, and say whether it does."""
    try:
        x.contiguous().view(len(x), heads, x.shape[1] // heads)
    except RuntimeError:
        return "refuses"
    return "works"


COMPUTED: Mapping[str, Callable[[Case], MistakeEffect]] = {
    "maps": maps,
    "fill": fill,
    "cross": cross,
    "relu": relu,
    "norm": norm,
    "width": width,
    "mask": mask,
    "sum": add,
    "same": same,
}
"""By the names in `attnviz.measures.mistakes.TEXTS`"""


def find(name: str, case: Case) -> MistakeEffect:
    """Compute a mistake and its correction.

    Raises:
        NotKnownError: it can't be shown with this model.
    """
    with torch.inference_mode():
        return COMPUTED[name](case)
