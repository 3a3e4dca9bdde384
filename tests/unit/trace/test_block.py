"""A block's steps after its attention, against torch's `TransformerEncoderLayer` with the same weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from attnviz.toy.layers import EncoderLayer
from attnviz.trace.block import Block, BlockWeights
from attnviz.trace.layer import LayerTrace, LinearMap
from attnviz.trace.recorder import recording

C, H, F, T = 8, 2, 12, 5


def torchs(*, pre_norm: bool) -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(C, H, F, dropout=0.0, activation="gelu", norm_first=pre_norm)
    for parameter in layer.parameters():  # biases start at 0 and would hide a mistake
        nn.init.normal_(parameter, std=0.5)
    return layer.requires_grad_(False)


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


def test_weights_after_attention_have_a_short_form() -> None:
    first, second = LinearMap(torch.zeros(C, F)), LinearMap(torch.zeros(F, C))
    assert repr(BlockWeights({}, first, second, "gelu")) == "BlockWeights(8 to 12 and back, gelu)"
    assert repr(BlockWeights({}, first, second)) == "BlockWeights(8 to 12 and back, another activation)"
    assert repr(BlockWeights({}, None, None)) == "BlockWeights(no feed-forward)"


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(T, C)


def test_a_post_norm_block_is_torchs(x: Tensor) -> None:
    theirs = torchs(pre_norm=False)
    ours = EncoderLayer.from_torch(theirs)
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
    ours = EncoderLayer.from_torch(theirs)
    attention = traced(ours, theirs.norm1(x))
    block = Block(attention, ours.after, pre_norm_input=x)
    steps = block.steps()
    assert steps is not None
    assert block.input is x
    torch.testing.assert_close(steps.block_output, theirs(x))
    assert [tensor is x for tensor in block.tensors()].count(True) == 1
    assert len(block.tensors()) == len(attention.tensors()) + 1


def test_without_all_that_they_need_there_are_no_steps(x: Tensor) -> None:
    ours = EncoderLayer.from_torch(torchs(pre_norm=False))
    attention = traced(ours, x)
    assert Block(attention).steps() is None
    assert Block(replace(attention, query_input=None), ours.after).steps() is None
    assert Block(replace(attention, output_projection=None), ours.after).steps() is None
