"""A block's steps after its attention, against torch's `TransformerEncoderLayer` with the same weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.toy.encoder import EncoderLayer
from attnviz.trace.block import Block, BlockSteps
from attnviz.trace.layer import LayerTrace
from attnviz.trace.recorder import recording

C, H, F, T = 8, 2, 12, 5


def torchs(*, pre_norm: bool) -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(C, H, F, dropout=0.0, activation="gelu", norm_first=pre_norm)
    for parameter in layer.parameters():  # biases start at 0 and would hide a mistake
        nn.init.normal_(parameter, std=0.5)
    return layer.requires_grad_(False)


def with_weights_of(layer: nn.TransformerEncoderLayer) -> EncoderLayer:
    """Our layer with the weights of torch's."""
    ours, attention = EncoderLayer(C, H, F).requires_grad_(False), layer.self_attn
    maps = (ours.attention.query, ours.attention.key, ours.attention.value)
    projections = zip(maps, attention.in_proj_weight.chunk(3), attention.in_proj_bias.chunk(3), strict=True)
    for own, weight, bias in projections:
        own.load_state_dict({"weight": weight, "bias": bias})
    same = {
        ours.attention.output: attention.out_proj, ours.attention_norm: layer.norm1, ours.block_norm: layer.norm2,
        ours.feed_forward_in: layer.linear1, ours.feed_forward_out: layer.linear2,
    }  # fmt: skip
    for own, theirs in same.items():
        own.load_state_dict(theirs.state_dict())
    return ours


def traced(ours: EncoderLayer, x: Tensor) -> LayerTrace:
    """Our layer's attention to x, as recorded."""
    with recording() as recorder:
        ours.attention(x)
    (call,) = recorder.calls
    return LayerTrace(
        call.query, call.key, call.value, call.scale,
        query_input=call.query_input, key_input=call.key_input,
        projections=ours.attention.projections(), output_projection=ours.attention.output_projection(),
    )  # fmt: skip


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(T, C)


def test_a_post_norm_block_is_torchs(x: Tensor) -> None:
    theirs = torchs(pre_norm=False)
    ours = with_weights_of(theirs)
    block = Block(traced(ours, x), ours.after)
    steps = block.steps()
    assert steps is not None
    assert block.input is x
    torch.testing.assert_close(steps.block_output, theirs(x))
    attended = x + theirs.self_attn(x, x, x, need_weights=False)[0]
    torch.testing.assert_close(steps.attention_residual, attended)
    torch.testing.assert_close(steps.attention_norm, theirs.norm1(attended))


def test_a_pre_norm_block_starts_from_the_input_of_its_norm(x: Tensor) -> None:
    theirs = torchs(pre_norm=True)

    def after(block_input: Tensor, output: Tensor) -> BlockSteps:
        residual = block_input + output
        normed = theirs.norm2(residual)
        hidden = functional.gelu(theirs.linear1(normed))
        added = theirs.linear2(hidden)
        end = residual + added
        return BlockSteps(residual, theirs.norm1(block_input), hidden, added, end, end, normed)

    attention = traced(with_weights_of(theirs), theirs.norm1(x))
    block = Block(attention, after, pre_norm_input=x)
    steps = block.steps()
    assert steps is not None
    assert block.input is x
    torch.testing.assert_close(steps.block_output, theirs(x))
    assert [tensor is x for tensor in block.tensors()].count(True) == 1
    assert len(block.tensors()) == len(attention.tensors()) + 1


def test_without_all_that_they_need_there_are_no_steps(x: Tensor) -> None:
    ours = with_weights_of(torchs(pre_norm=False))
    attention = traced(ours, x)
    assert Block(attention).steps() is None
    assert Block(replace(attention, query_input=None), ours.after).steps() is None
    assert Block(replace(attention, output_projection=None), ours.after).steps() is None
