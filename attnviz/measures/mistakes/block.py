"""Mistakes in what follows the attention of a block: the joined heads, the norm, the feed-forward.

Shapes: T tokens, C model width, H heads, D head width, F feed-forward width.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from attnviz.attention import attend
from attnviz.formatting import number
from attnviz.measures.mistakes.case import Case, Effect, Found, NotKnownError, Value, known, leak
from attnviz.measures.transformer.layer_norm import moments, norm_over_all
from attnviz.trace.block import ACTIVATIONS, BlockSteps
from attnviz.trace.model import Activation

EXAMPLE = (512, 6, 8)
"""C of the original paper, with a number of heads that does not divide it, and its own"""
AFTER = "what follows its attention"
FEED_FORWARD = "its feed-forward"


def relu(case: Case) -> Found:
    """Put the activation after the second linear map."""
    steps, weights = known(case.block.steps(), AFTER), known(case.block.weights, AFTER)
    name: Activation = known(weights.activation, "its activation")
    activation = ACTIVATIONS[name]
    first, second = known(weights.first, FEED_FORWARD), known(weights.second, FEED_FORWARD)
    x = _read_by_feed_forward(steps)
    right, wrong = second.apply(activation(first.apply(x))), activation(second.apply(first.apply(x)))
    one = first.weight @ second.weight  # (C, C): both maps as one
    bias = second.apply(first.bias) if first.bias is not None else second.bias
    merged = x @ one if bias is None else x @ one + bias
    return Found(
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


def norm(case: Case) -> Found:
    """Normalise all tokens together."""
    x = known(case.block.steps(), AFTER).attention_residual

    def alone(rows: Tensor) -> Tensor:
        return functional.layer_norm(rows, rows.shape[-1:])

    wrong, right = norm_over_all(x), alone(x)
    of = [moments(one) for one in (wrong, right)]
    return Found(
        case.picture("attention_norm", wrong, "after the norm"),
        case.picture("attention_norm", right, "after the norm"),
        (
            Effect("largest mean of a row", *(one.mean.abs().max().item() for one in of)),
            Effect("variance of the rows", *(_range(one.variance) for one in of)),
            Effect("the last token changes: rows before it move by at most", leak(norm_over_all, x), leak(alone, x)),
        ),
        where=f"{case.where}, after attention is added",
    )


def width(case: Case) -> Found:
    """Split the width into a number of heads by which it can't be divided."""
    layer = case.attention
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

    # The projection of key and value is as wide as that of the query: groups that share a key were repeated.
    output = attend(*(split(one) for one in joined.values()), mask=layer.mask).concat  # (T, H'·D')
    wrong = torch.cat([output, torch.full((t, c - heads * size), torch.nan)], dim=-1)
    full, uneven, even = EXAMPLE
    return Found(
        case.picture("concat", wrong, f"{heads} heads side by side"),
        case.picture("concat", layer.concat(), f"{layer.heads} heads side by side"),
        (
            Effect(f"heads · width of a head, C = {c}", *(_product(c, one) for one in (heads, layer.heads))),
            Effect("torch: q.view(T, H, C // H)", *(_view(joined["query"], one) for one in (heads, layer.heads))),
            Effect(f"the same with C = {full}, as in the paper", *(_product(full, one) for one in (uneven, even))),
        ),
        where=case.where,
        note="The hatched columns are left over.",
    )


def add(case: Case) -> Found:
    """Add the heads' outputs up."""
    layer = case.attention
    projection = known(layer.output_projection, "its W_O")
    outputs = layer.all_heads().head_outputs  # (H, T, D)
    heads, _, size = outputs.shape
    first, bias = projection.weight[:size], projection.bias

    def summed(one: Tensor) -> Tensor:
        mapped = one.sum(0) @ first
        return mapped if bias is None else mapped + bias

    def side_by_side(one: Tensor) -> Tensor:
        return projection.apply(_joined(one))

    moved = [(make(outputs.roll(1, 0)) - make(outputs)).abs().max().item() for make in (summed, side_by_side)]
    wrong, right = summed(outputs), side_by_side(outputs)
    return Found(
        case.picture("output", wrong),
        case.picture("output", right),
        (
            Effect("the heads change places: the output moves by at most", *moved),
            Effect("numbers a token that reach W_O", f"D = {size}", f"H · D = {heads * size}"),
            Effect("numbers in W_O", first.numel(), projection.weight.numel()),
            Effect("largest difference between the two outputs", (wrong - right).abs().max().item(), "–"),
        ),
        where=case.where,
        note="With one head there is nothing to join, and both are the same." if heads == 1 else "",
    )


def _read_by_feed_forward(steps: BlockSteps) -> Tensor:
    """Return what the feed-forward of a block reads, (T, C)."""
    if steps.feed_forward_norm is not None:
        return steps.feed_forward_norm
    normed = steps.attention_norm if steps.cross_attention_norm is None else steps.cross_attention_norm
    return steps.attention_residual if normed is None else normed


def _joined(heads: Tensor) -> Tensor:
    """Put heads side by side: (H, T, D) -> (T, H·D)."""
    return heads.transpose(0, 1).flatten(1)


def _share(cells: Tensor) -> Value:
    return f"{number(100 * cells.float().mean().item(), 1)} %"


def _range(values: Tensor) -> Value:
    low, high = (number(one.item(), 3) for one in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _product(width: int, heads: int) -> Value:
    return f"{heads} · {width // heads} = {heads * (width // heads)}, {width % heads} left over"


def _view(x: Tensor, heads: int) -> Value:
    """Say whether torch splits (T, C) into heads, by asking it."""
    try:
        x.contiguous().view(len(x), heads, x.shape[1] // heads)
    except RuntimeError:
        return "refuses"
    return "works"
