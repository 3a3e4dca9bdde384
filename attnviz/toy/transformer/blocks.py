"""The traced blocks of a stack of this project's own layers, from what a forward pass recorded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import Tensor, nn

from attnviz.attention import Mask
from attnviz.toy.language.model import NO_RESIDUAL, ReducedLayer
from attnviz.toy.layers import DecoderLayer, EncoderLayer, FeedForward, MultiHeadAttention
from attnviz.toy.stacks import Encoder, Seq2Seq
from attnviz.trace.block import Block, BlockSteps, Norm
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind
from attnviz.trace.recorder import Call
from attnviz.trace.sizes import AttentionSize, MapSize, ModelSizes

SAME_BLOCK = "They are among the steps after this block's first attention."


def blocks_of(stack: Encoder | Seq2Seq, calls: Sequence[Call]) -> dict[Kind, tuple[Block, ...]]:
    """Return the traced blocks; `calls` are in order of computation."""
    remaining = iter(calls)
    if isinstance(stack, Encoder):
        kind: Kind = "decoder" if stack.causal else "encoder"
        return {kind: tuple(_encoder_block(layer, next(remaining)) for layer in stack.layers)}
    encoder = tuple(_encoder_block(layer, next(remaining)) for layer in stack.encoder.layers)
    found: dict[Kind, list[Block]] = {"decoder": [], "cross": []}
    for layer in stack.decoder.layers:
        if not isinstance(layer, DecoderLayer):
            raise TypeError("a decoder consists of decoder layers")
        own, cross = next(remaining), next(remaining)
        if cross.key_input is None:
            raise TypeError("an attention of the toy is recorded with its inputs")
        after = partial(_after, layer, cross.key_input)
        found["decoder"].append(Block(_attention(layer.attention, own), after, "", own.block_input, layer.weights()))
        found["cross"].append(
            Block(_attention(layer.cross_attention, cross), None, SAME_BLOCK, cross.block_input, layer.weights())
        )
    return {"encoder": encoder, **{kind: tuple(blocks) for kind, blocks in found.items()}}


def _encoder_block(layer: nn.Module, call: Call) -> Block:
    if not isinstance(layer, EncoderLayer | ReducedLayer):
        raise TypeError("an encoder consists of encoder layers, whole or reduced")
    attention = _attention(layer.attention, call)
    if isinstance(layer, ReducedLayer) and not layer.residual:
        return Block(attention, None, NO_RESIDUAL, call.block_input)
    return Block(attention, layer.after, "", call.block_input, layer.weights())


def _after(layer: DecoderLayer, encoded: Tensor, x: Tensor, output: Tensor) -> BlockSteps:
    return layer.after(x, output, encoded)


def _attention(module: MultiHeadAttention, call: Call) -> LayerTrace:
    return LayerTrace(
        query=call.query,
        key=call.key,
        value=call.value,
        scale=call.scale,
        mask=Mask.recognise(call.mask),
        query_input=call.query_input,
        key_input=call.key_input,
        projections=module.projections(),
        output_projection=module.output_projection(),
    )


def final_norms(stack: Encoder | Seq2Seq) -> dict[str, Norm]:
    """Return the norms after the last blocks, by the stack that they end."""
    if isinstance(stack, Encoder):
        ends = {"decoder" if stack.causal else "encoder": stack.norm}
    else:
        ends = {"encoder": stack.encoder.norm, "decoder": stack.decoder.norm}
    return {name: Norm.of(norm) for name, norm in ends.items() if isinstance(norm, nn.LayerNorm)}


def parameters_of(stack: nn.Module) -> dict[str, int]:
    """Count the parameters of each part of the blocks."""
    parts = {"attention": MultiHeadAttention, "feed_forward": FeedForward, "norms": nn.LayerNorm}
    return {
        name: sum(
            parameter.numel() for one in stack.modules() if isinstance(one, kind) for parameter in one.parameters()
        )
        for name, kind in parts.items()
    }


def sizes_of(stack: nn.Module, *, head: nn.Linear | None = None) -> ModelSizes:
    """Return the sizes of all matrix products of the blocks, and of the map to the logits if it is given."""
    attentions, feed_forwards = [], []
    for module in stack.modules():
        if isinstance(module, MultiHeadAttention):
            projections = tuple(map(_size, (module.query, module.key, module.value)))
            key, value = (one.outputs // module.heads for one in projections[1:])
            attentions.append(AttentionSize(module.heads, key, value, projections, (_size(module.output),)))
        elif isinstance(module, FeedForward):
            feed_forwards.append((_size(module.first), _size(module.second)))
    return ModelSizes(tuple(attentions), tuple(feed_forwards), logits=() if head is None else (_size(head),))


def _size(module: nn.Linear) -> MapSize:
    return MapSize(module.in_features, module.out_features)
