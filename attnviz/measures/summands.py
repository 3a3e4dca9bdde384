"""What the input of an attention is a sum of: the embeddings, and what each earlier part added to the residual stream.

A row of the stream is the sum of its embeddings, of every earlier head's output times its rows of W_O, of every
feed-forward's output, and of biases. A LayerNorm subtracts the mean, which is linear, divides by the row's deviation,
and multiplies by a weight. With the deviation held at its actual value, it is a linear map of each summand, plus its
own bias. So the sum is exact up to rounding; it does not say how a summand changes the deviation.

Shapes: P summands, R rows, T tokens, C model width, H heads, D width of a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from attnviz.measures.residual_stream import is_pre_norm
from attnviz.reprs import ShortRepr
from attnviz.trace.embedding_sum import EmbeddingSum, is_sum
from attnviz.trace.layer import Block, BlockSteps, LayerTrace, LinearMap, Norm
from attnviz.trace.model import Kind, Place
from attnviz.trace.trace import Trace

Stack = Literal["encoder", "decoder"]

UNKNOWN_BLOCK = "What the layers before this one add to X is not known for this model family."
DIFFERENT_SUM = "The known parts of this model don't add up to its X, so they are not shown."


class NoSummandsError(ValueError):
    """The summands are not known. The message says why, in a sentence for the user."""


@dataclass(slots=True, eq=False, repr=False)
class Summands(ShortRepr):
    """The summands of some rows."""

    names: list[str]
    vectors: Tensor
    """(P, R, C), in double precision"""
    norms: list[str] = field(default_factory=list)
    """The norms that the summands have passed, whose deviations are held fixed"""

    @property
    def sum(self) -> Tensor:
        """The rows themselves, (R, C)."""
        return self.vectors.sum(0)

    def add(self, names: Sequence[str], vectors: Tensor) -> None:
        """Add summands, (n, R, C), or a bias of all rows, (C,)."""
        vectors = vectors.double()
        self.names += names
        self.vectors = torch.cat([self.vectors, vectors.expand(len(names), *self.vectors.shape[1:])])

    def add_bias(self, name: str, linear: LinearMap | Norm) -> None:
        """Add the bias of a map or a norm, if it has one."""
        if linear.bias is not None:
            self.add([name], linear.bias)

    def normalise(self, name: str, norm: Norm | None, x: Tensor) -> None:
        """Send the summands through a LayerNorm, with the deviation of each row of x, (R, C), their recorded sum.

        Raises:
            NoSummandsError: the norm is not known, or x is another sum.
        """
        if norm is None:
            raise NoSummandsError(UNKNOWN_BLOCK)
        self.check(x)
        variance = x.double().var(-1, correction=0, keepdim=True)  # (R, 1)
        centred = self.vectors - self.vectors.mean(-1, keepdim=True)
        self.vectors = centred / (variance + norm.eps).sqrt()
        if norm.weight is not None:
            self.vectors = self.vectors * norm.weight.double()
        self.norms.append(name)
        self.add_bias(f"{name} β", norm)

    def check(self, x: Tensor) -> None:
        """Compare the sum with the recorded rows, (R, C).

        Raises:
            NoSummandsError: they differ by more than rounding.
        """
        if not is_sum(self.sum, x):
            raise NoSummandsError(DIFFERENT_SUM)


def input_summands(trace: Trace, place: Place, rows: Sequence[int]) -> Summands:
    """Return the summands of the rows from which an attention computes its queries.

    In self-attention these are also the rows of keys and values.

    Args:
        trace: the trace.
        place: the attention.
        rows: numbers of R rows.

    Raises:
        NoSummandsError: they are not known.
        IndexError: there is no such attention or row.
    """
    trace.block(place.layer, place.kind)  # raises IndexError
    with torch.inference_mode():
        return _through(trace, place.stack, rows, place)


def output_summands(trace: Trace, stack: Stack, rows: Sequence[int]) -> Summands:
    """Return the summands of rows of a stack's output; arguments and errors are those of `input_summands`."""
    with torch.inference_mode():
        return _through(trace, stack, rows, None)


def _through(trace: Trace, stack: Stack, rows: Sequence[int], end: Place | None) -> Summands:
    """Return the summands before the attention at `end`, or after the last block and the final norm."""
    stream, before = _start(trace, stack, rows), None
    for number in trace.numbers_of(stack):
        block = trace.block(number, stack)
        if block.input is None or (before is not None and number != before + 1):
            raise NoSummandsError(UNKNOWN_BLOCK)
        stream.check(block.input[rows])
        if end == Place(stack, number):
            if not _reads_stream(block, rows):
                _normalise(stream, block, "attention_norm", f"layer {number} attention norm", block.input[rows])
            return stream
        crosses = trace.block(number, "cross") if number in trace.numbers.get("cross", ()) else None
        if _add_block(stream, number, block, rows, crosses, stops=end == Place("cross", number)):
            return stream
        before = number
    if stack in trace.final_norms:
        stream.normalise("final norm", trace.final_norms[stack], stream.sum)
    return stream


def _start(trace: Trace, stack: Kind, rows: Sequence[int]) -> Summands:
    """Return the summands of the first block's input; if they are not known, the input is the only one."""
    number = trace.numbers_of(stack)[0]
    first = trace.block(number, stack).input
    if first is None:
        raise NoSummandsError(UNKNOWN_BLOCK)
    parts = trace.decoder_embedding_parts or {"X" if number else "embeddings": first}
    known = trace.embedding_sum if stack == trace.kinds[0] else None
    embeddings = known or EmbeddingSum(parts)
    vectors = torch.stack([part[rows].double() for part in embeddings.parts.values()])
    stream = Summands(list(embeddings.parts), vectors)
    if embeddings.norm is not None:
        stream.normalise("embedding norm", embeddings.norm, stream.sum)
    return stream


def _add_block(
    stream: Summands, number: int, block: Block, rows: Sequence[int], crosses: Block | None, *, stops: bool
) -> bool:
    """Add what a block adds; if `stops`, only what precedes its cross-attention. Return whether it stopped there."""
    layer = f"layer {number}"
    attention = _of_rows(block.attention, rows)
    _add_heads(stream, attention, layer)
    steps = _steps(block, attention, rows)
    pre_norm = is_pre_norm(steps)
    if not pre_norm and steps.attention_norm is not None:
        _normalise(stream, block, "attention_norm", f"{layer} attention norm", steps.attention_residual)
    if crosses is not None and steps.cross_attention_residual is not None:
        if stops and pre_norm:
            _normalise(stream, block, "cross_attention_norm", f"{layer} cross norm", steps.attention_residual)
        if stops:
            return True
        _add_heads(stream, _of_rows(crosses.attention, rows), f"{layer} cross")
        if not pre_norm:
            _normalise(stream, block, "cross_attention_norm", f"{layer} cross norm", steps.cross_attention_residual)
    if steps.feed_forward_output is not None:
        stream.add([f"{layer} feed-forward"], steps.feed_forward_output[None])
    if not pre_norm and steps.feed_forward_residual is not None:
        _normalise(stream, block, "feed_forward_norm", f"{layer} feed-forward norm", steps.feed_forward_residual)
    return False


def _reads_stream(block: Block, rows: Sequence[int]) -> bool:
    """Return whether a block's attention reads the stream itself, without a norm in between."""
    x, read = block.pre_norm_input, block.attention.query_input
    return x is None or (read is not None and torch.equal(x[rows], read[rows]))


def _normalise(stream: Summands, block: Block, key: str, name: str, x: Tensor) -> None:
    stream.normalise(name, None if block.weights is None else block.weights.norms.get(key), x)


def _of_rows(layer: LayerTrace, rows: Sequence[int]) -> LayerTrace:
    """Return an attention of some of its rows, with all keys."""
    mask, cells = layer.mask, layer.mask.cells
    if cells is not None:
        cells = cells.expand(*cells.shape[:-2], layer.query.shape[1], layer.key.shape[1])
        mask = replace(mask, cells=cells[..., rows, :])
    x = None if layer.query_input is None else layer.query_input[rows]
    sinks, bias = layer.sinks, layer.position_bias
    if sinks is not None and sinks.shape[1] > 1:
        sinks = sinks[:, rows]
    if bias is not None:
        bias = bias.of_queries(rows)
    return replace(layer, query=layer.query[:, rows], mask=mask, query_input=x, sinks=sinks, position_bias=bias)


def _add_heads(stream: Summands, attention: LayerTrace, name: str) -> None:
    """Add each head's output times its rows of W_O, and the bias of W_O."""
    if attention.output_projection is None:
        raise NoSummandsError(UNKNOWN_BLOCK)
    outputs = attention.all_heads().head_outputs.double()  # (H, R, D)
    weights = attention.output_projection.weight.double().unflatten(0, (attention.heads, -1))  # (H, D, C)
    stream.add([f"{name} head {head}" for head in range(attention.heads)], outputs @ weights)
    stream.add_bias(f"{name} b_O", attention.output_projection)


def _steps(block: Block, attention: LayerTrace, rows: Sequence[int]) -> BlockSteps:
    """Compute the steps after the attention of these rows alone."""
    x, output = block.input, attention.output()
    if block.after_attention is None or x is None or output is None:
        raise NoSummandsError(block.unavailable_reason or UNKNOWN_BLOCK)
    return block.after_attention(x[rows], output)
