"""Our layers, stacks and positions compute what torch's with the same weights and plain Python compute."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from math import cos, sin
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from attnviz.attention import causal_mask, padding_mask
from attnviz.toy import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    Seq2Seq,
    lab_positions,
    sinusoidal_positions,
)
from attnviz.toy.layers import Past
from attnviz.trace.recorder import recording

B, T, S, C, H, F = 3, 5, 7, 24, 4, 40
LENGTHS = torch.tensor([7, 4, 1])
"""Of the texts that the encoder reads, padded to S"""
NEAR = {"rtol": 1e-5, "atol": 1e-5}
CHOICES = [
    pytest.param(
        {"norm_first": pre, "activation": activation, "bias": bias}, id=f"pre={pre}, {activation}, bias={bias}"
    )
    for pre, activation, bias in product((False, True), ("relu", "gelu"), (True, False))
]


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def drawn(module: nn.Module) -> Any:
    """The module with all parameters drawn: biases and norms start at 0 and 1, which would hide a mistake."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module.eval()


def torchs(layer: Callable[..., nn.Module], **choice: Any) -> Any:
    return drawn(layer(C, H, F, dropout=0.1, batch_first=True, **choice))


def hides(lengths: Tensor, n: int) -> Tensor:
    """torch's padding mask, (B, n): True where a token is hidden."""
    return torch.arange(n) >= lengths[:, None]


@pytest.mark.parametrize("bias", [True, False])
def test_attention_is_torchs(bias: bool) -> None:
    theirs = drawn(nn.MultiheadAttention(C, H, bias=bias, batch_first=True))
    ours = MultiHeadAttention.from_torch(theirs)
    x, context = torch.randn(B, T, C), torch.randn(B, S, C)
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0], **NEAR)
    torch.testing.assert_close(ours(x[0]), theirs(x[0], x[0], x[0])[0], **NEAR)
    expected = theirs(x, context, context, key_padding_mask=hides(LENGTHS, S))[0]
    torch.testing.assert_close(ours(x, context, mask=padding_mask(LENGTHS, S)), expected, **NEAR)
    expected = theirs(x, x, x, attn_mask=~causal_mask(T))[0]
    torch.testing.assert_close(ours(x, mask=causal_mask(T)), expected, **NEAR)


@pytest.mark.parametrize("choice", CHOICES)
def test_an_encoder_layer_is_torchs(choice: dict[str, Any]) -> None:
    theirs = torchs(nn.TransformerEncoderLayer, **choice)
    ours = EncoderLayer.from_torch(theirs)
    x = torch.randn(B, S, C)
    torch.testing.assert_close(ours(x), theirs(x), **NEAR)
    torch.testing.assert_close(ours(x[0]), theirs(x[0]), **NEAR)
    expected = theirs(x, src_key_padding_mask=hides(LENGTHS, S))
    visible = ~hides(LENGTHS, S)  # torch's fast path sets rows of padding to 0
    torch.testing.assert_close(ours(x, mask=padding_mask(LENGTHS, S))[visible], expected[visible], **NEAR)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_decoder_layer_is_torchs_with_its_causal_mask(choice: dict[str, Any]) -> None:
    theirs = torchs(nn.TransformerDecoderLayer, **choice)
    ours = DecoderLayer.from_torch(theirs)
    y, encoded = torch.randn(B, T, C), torch.randn(B, S, C)
    mask = ~causal_mask(T)
    torch.testing.assert_close(ours(y, encoded), theirs(y, encoded, tgt_mask=mask), **NEAR)
    torch.testing.assert_close(ours(y[0], encoded[0]), theirs(y[0], encoded[0], tgt_mask=mask), **NEAR)
    lengths = torch.tensor([5, 2, 3])
    expected = theirs(
        y, encoded, tgt_mask=mask, tgt_key_padding_mask=hides(lengths, T), memory_key_padding_mask=hides(LENGTHS, S)
    )
    got = ours(y, encoded, mask=padding_mask(lengths, T), encoded_mask=padding_mask(LENGTHS, S))
    torch.testing.assert_close(got, expected, **NEAR)


@pytest.mark.parametrize("final_norm", [True, False])
@pytest.mark.parametrize("pre_norm", [True, False])
def test_stacks_are_torchs(final_norm: bool, pre_norm: bool) -> None:
    norm = nn.LayerNorm(C) if final_norm else None
    layer = torchs(nn.TransformerEncoderLayer, norm_first=pre_norm)
    encoder = drawn(nn.TransformerEncoder(layer, 3, norm, enable_nested_tensor=False))
    x, y = torch.randn(B, S, C), torch.randn(B, T, C)
    torch.testing.assert_close(Encoder.from_torch(encoder)(x), encoder(x), **NEAR)
    causal = Encoder.from_torch(encoder, causal=True)
    torch.testing.assert_close(causal(x), encoder(x, mask=~causal_mask(S)), **NEAR)
    decoder = drawn(nn.TransformerDecoder(torchs(nn.TransformerDecoderLayer, norm_first=pre_norm), 2, norm))
    expected = decoder(y, x, tgt_mask=~causal_mask(T))
    torch.testing.assert_close(Decoder.from_torch(decoder)(y, x), expected, **NEAR)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")  # torch's model asks for it where it can't be
@pytest.mark.parametrize("choice", CHOICES)
def test_the_whole_model_is_torchs(choice: dict[str, Any]) -> None:
    theirs = drawn(nn.Transformer(C, H, 2, 3, F, batch_first=True, **choice))
    ours = Seq2Seq.from_torch(theirs)
    x, y = torch.randn(B, S, C), torch.randn(B, T, C)
    mask = ~causal_mask(T)
    torch.testing.assert_close(ours(x, y), theirs(x, y, tgt_mask=mask), **NEAR)
    torch.testing.assert_close(ours(x[0], y[0]), theirs(x[0], y[0], tgt_mask=mask), **NEAR)
    hidden = hides(LENGTHS, S)
    expected = theirs(x, y, tgt_mask=mask, src_key_padding_mask=hidden, memory_key_padding_mask=hidden)
    torch.testing.assert_close(ours(x, y, x_mask=padding_mask(LENGTHS, S)), expected, **NEAR)


def test_the_steps_of_a_decoder_layer_are_torchs_sublayers() -> None:
    y, encoded = torch.randn(T, C), torch.randn(S, C)
    theirs = torchs(nn.TransformerDecoderLayer)
    steps = DecoderLayer.from_torch(theirs).steps(y, encoded)
    residual = y + theirs.self_attn(y, y, y, attn_mask=~causal_mask(T))[0]
    torch.testing.assert_close(steps.attention_residual, residual, **NEAR)
    torch.testing.assert_close(steps.attention_norm, theirs.norm1(residual), **NEAR)
    cross = theirs.norm1(residual) + theirs.multihead_attn(theirs.norm1(residual), encoded, encoded)[0]
    torch.testing.assert_close(steps.cross_attention_residual, cross, **NEAR)
    torch.testing.assert_close(steps.cross_attention_norm, theirs.norm2(cross), **NEAR)
    assert steps.feed_forward_norm is None
    before = torchs(nn.TransformerDecoderLayer, norm_first=True)
    steps = DecoderLayer.from_torch(before).steps(y, encoded)
    torch.testing.assert_close(steps.attention_norm, before.norm1(y), **NEAR)
    torch.testing.assert_close(steps.cross_attention_norm, before.norm2(steps.attention_residual), **NEAR)
    assert steps.cross_attention_residual is not None
    torch.testing.assert_close(steps.feed_forward_norm, before.norm3(steps.cross_attention_residual), **NEAR)
    assert steps.block_output is steps.feed_forward_residual


@given(changed=st.integers(0, T - 1), pre_norm=st.booleans())
@settings(max_examples=20, deadline=None)
def test_no_token_of_a_decoder_sees_a_later_one(changed: int, pre_norm: bool) -> None:
    model = Seq2Seq(C, heads=H, norm_first=pre_norm).eval()
    gpt = Encoder(C, heads=H, causal=True, norm_first=pre_norm).eval()
    x, y = torch.randn(S, C), torch.randn(T, C)
    other = y.clone()
    other[changed] = torch.randn(C)  # not plus 1: LayerNorm would take it away
    for one, two in ((model(x, y), model(x, other)), (gpt(y), gpt(other))):
        assert torch.equal(one[:changed], two[:changed])
        assert not torch.allclose(one[changed], two[changed])


@given(st.permutations(range(S)))
@settings(max_examples=20, deadline=None)
def test_an_encoder_without_positions_permutes_with_its_tokens(order: list[int]) -> None:
    encoder, x = Encoder(C, heads=H).eval(), torch.randn(S, C)
    torch.testing.assert_close(encoder(x[order]), encoder(x)[order], **NEAR)


@pytest.mark.parametrize("norm_first", [True, False])
def test_gradients_reach_every_parameter(norm_first: bool) -> None:
    model = Seq2Seq(C, heads=H, norm_first=norm_first, activation="gelu")
    (model(torch.randn(B, S, C), torch.randn(B, T, C)) * torch.randn(C)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if not name.endswith("key.bias"):  # it adds the same to all scores of a row, which softmax ignores
            assert parameter.grad.abs().max() > 0, name


def test_everything_has_defaults() -> None:
    x, y = torch.randn(6, 32), torch.randn(4, 32)
    assert MultiHeadAttention()(x).shape == (6, 32)
    assert MultiHeadAttention(1, 1)(torch.ones(2, 1)).shape == (2, 1)
    assert FeedForward()(x).shape == (6, 32)
    assert FeedForward().hidden(x).shape == (6, 128)
    assert EncoderLayer()(x).shape == Encoder()(x).shape == (6, 32)
    assert DecoderLayer()(y, x).shape == Decoder()(y, x).shape == Seq2Seq()(x, y).shape == (4, 32)


NEITHER = "is neither (T, 32) nor (B, T, 32)"
NOT_SAME = "are not of the same texts"
OWN_KEY = "this attention adds a key of its own (bias_k or add_zero_attn)"


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: MultiHeadAttention(512, 6), "a width of 512 can't be divided into 6 heads"),
        (lambda: Encoder(30, heads=4), "a width of 30 can't be divided into 4 heads"),
        (lambda: MultiHeadAttention(8, 0), "a width of 8 can't be divided into 0 heads"),
        (lambda: MultiHeadAttention(0, 2), "a width of 0 can't be divided into 2 heads"),
        (lambda: Encoder(layers=0), "0 layers: a stack has at least 1"),
        (lambda: EncoderLayer(activation="swish"), "there is no activation 'swish': relu, gelu, gelu_tanh"),
        (lambda: EncoderLayer(32)(torch.zeros(4, 31)), f"x (4, 31) {NEITHER}"),
        (lambda: EncoderLayer(32)(torch.zeros(1, 2, 4, 32)), f"x (1, 2, 4, 32) {NEITHER}"),
        (lambda: DecoderLayer()(torch.zeros(4, 32), torch.zeros(6, 16)), f"context (6, 16) {NEITHER}"),
        (
            lambda: Seq2Seq()(torch.zeros(2, 4, 32), torch.zeros(3, 4, 32)),
            f"x (3, 4, 32) and context (2, 4, 32) {NOT_SAME}",
        ),
        (lambda: Seq2Seq()(torch.zeros(2, 4, 32), torch.zeros(4, 32)), f"x (4, 32) and context (2, 4, 32) {NOT_SAME}"),
        (
            lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2, kdim=4, vdim=4)),
            "keys of width 4 and values of 4, not 8",
        ),
        (lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2, add_bias_kv=True)), OWN_KEY),
        (
            lambda: EncoderLayer.from_torch(nn.TransformerEncoderLayer(8, 2, activation=nn.Tanh())),
            "the activation Tanh() is neither ReLU nor GELU",
        ),
        (
            lambda: EncoderLayer.from_torch(nn.TransformerEncoderLayer(8, 2, activation=nn.GELU(approximate="tanh"))),
            "the activation GELU(approximate='tanh') is neither ReLU nor GELU",
        ),
        (lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2, add_zero_attn=True)), OWN_KEY),
        (
            lambda: Seq2Seq.from_torch(nn.Transformer(8, 2, batch_first=True, custom_decoder=nn.Identity())),
            "TransformerEncoder and Identity are not torch's own stacks",
        ),
        (
            lambda: Seq2Seq.from_torch(nn.Transformer(8, 2, custom_encoder=nn.Identity())),
            "Identity and TransformerDecoder are not torch's own stacks",
        ),
    ],
)
def test_what_can_not_be_is_refused_in_a_sentence(run: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        run()


def test_dropout_draws_zeros_in_training_alone() -> None:
    layer = EncoderLayer(C, H, dropout=0.5)
    x, output = torch.zeros(200, C), torch.ones(200, C)
    dropped = layer.after(x, output).attention_residual
    assert set(dropped.unique().tolist()) == {0.0, 2.0}  # what stays is scaled by 1 / (1 − p)
    assert abs(float((dropped == 0).float().mean()) - 0.5) < 0.05
    assert torch.equal(layer.eval().after(x, output).attention_residual, output)


@pytest.mark.parametrize("norm_first", [True, False])
def test_dropout_is_in_each_sublayer(norm_first: bool) -> None:
    """The three sums of a decoder's layer; its input is 0, so that a dropped output leaves what was there before."""
    layer = DecoderLayer(C, H, F, dropout=0.5, norm_first=norm_first)
    steps = layer.steps(torch.zeros(50, C), torch.randn(S, C))
    whole = layer.eval().steps(torch.zeros(50, C), torch.randn(S, C))
    cross_input = steps.attention_residual if norm_first else steps.attention_norm
    forward_input = steps.cross_attention_residual if norm_first else steps.cross_attention_norm
    sums = (
        (steps.attention_residual, torch.zeros(50, C)), (steps.cross_attention_residual, cross_input),
        (steps.feed_forward_residual, forward_input),
    )  # fmt: skip
    for total, before in sums:
        assert abs(float((total == before).float().mean()) - 0.5) < 0.1
    for total in (whole.attention_residual, whole.feed_forward_residual):
        assert bool((total != 0).all())


@pytest.mark.parametrize("training", [True, False])
def test_a_copy_is_in_torchs_mode_and_on_its_own(training: bool) -> None:
    theirs = nn.TransformerEncoderLayer(C, H, F, dropout=0.25, layer_norm_eps=1e-3).train(training)
    ours = EncoderLayer.from_torch(theirs)
    assert (ours.training, ours.dropout.p, ours.attention_norm.eps) == (training, 0.25, 1e-3)
    before = ours.feed_forward.first.weight.clone()
    with torch.no_grad():
        theirs.linear1.weight.zero_()
    assert torch.equal(ours.feed_forward.first.weight, before)


def test_a_recording_holds_the_inputs_of_each_attention() -> None:
    model, x, y = Seq2Seq(C, heads=H, layers=1, norm_first=True).eval(), torch.randn(B, S, C), torch.randn(B, T, C)
    with torch.no_grad(), recording() as recorder:
        model(x, y)
        encoded = model.encoder(x)
    encoder, decoder, cross, _ = recorder.calls
    assert [tuple(call.query.shape) for call in (encoder, decoder, cross)] == [(H, n, C // H) for n in (S, T, T)]
    assert tuple(cross.key.shape) == (H, S, C // H)
    assert torch.equal(encoder.block_input, x[0])
    assert encoder.key_input is encoder.query_input
    assert torch.equal(decoder.mask, causal_mask(T))
    assert torch.equal(cross.key_input, encoded[0])
    assert cross.block_input is not None
    assert torch.equal(model.decoder.layers[0].cross_attention_norm(cross.block_input), cross.query_input)


@pytest.mark.parametrize("final_norm", [True, False])
def test_a_text_that_is_read_in_parts_has_torchs_numbers_of_the_whole(final_norm: bool) -> None:
    layer = torchs(nn.TransformerEncoderLayer, norm_first=True)
    theirs = drawn(nn.TransformerEncoder(layer, 2, nn.LayerNorm(C) if final_norm else None, enable_nested_tensor=False))
    ours = Encoder.from_torch(theirs, causal=True)
    x, past = torch.randn(B, S, C), [Past(), Past()]
    parts = []
    for begin, end in ((0, 1), (1, 4), (4, 7)):
        assert [len(one) for one in past] == [begin, begin]
        parts.append(ours(x[:, begin:end], past=past))
    torch.testing.assert_close(torch.cat(parts, dim=1), theirs(x, mask=~causal_mask(S)), **NEAR)


@pytest.mark.parametrize(
    ("choice", "last"),
    [({}, False), ({"norm_first": True}, True), ({"final_norm": True}, True),
     ({"norm_first": True, "final_norm": False}, False)],
)  # fmt: skip
def test_a_norm_ends_a_pre_norm_stack_unless_it_is_said_otherwise(choice: dict[str, Any], last: bool) -> None:
    model = Seq2Seq(C, heads=H, layers=1, decoder_layers=2, bias=False, eps=0.125, **choice)
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (1, 2)
    norms = [one for one in model.modules() if isinstance(one, nn.LayerNorm)]
    assert len(norms) == 2 + 2 * 3 + (2 if last else 0)
    assert {(one.bias is None, one.eps) for one in norms} == {(True, 0.125)}
    assert [type(one.norm) for one in (model.encoder, model.decoder)] == [nn.LayerNorm if last else nn.Identity] * 2
    assert len(Seq2Seq(C, heads=H, layers=3).decoder.layers) == 3


def test_each_layer_gives_its_weights_as_torch_would_apply_them() -> None:
    theirs = torchs(nn.TransformerDecoderLayer, activation="gelu")
    ours = DecoderLayer.from_torch(theirs)
    x, found = torch.randn(T, C), ours.weights()
    assert found.first is not None and found.second is not None
    torch.testing.assert_close(found.first.apply(x), theirs.linear1(x), **NEAR)
    hidden = torch.randn(T, F)
    torch.testing.assert_close(found.second.apply(hidden), theirs.linear2(hidden), **NEAR)
    assert found.activation == "gelu"
    norms = {"attention_norm": theirs.norm1, "cross_attention_norm": theirs.norm2, "feed_forward_norm": theirs.norm3}
    assert found.norms.keys() == norms.keys()
    for name, norm in norms.items():
        torch.testing.assert_close(found.norms[name].apply(x), norm(x), **NEAR)
    for attention, module in (
        (ours.attention, theirs.self_attn), (ours.cross_attention, theirs.multihead_attn),
    ):  # fmt: skip
        maps, weights = attention.projections(), module.in_proj_weight.chunk(3)
        for name, weight, bias in zip(("query", "key", "value"), weights, module.in_proj_bias.chunk(3), strict=True):
            projected = nn.functional.linear(x, weight, bias)  # (T, C), a head's columns beside the next one's
            torch.testing.assert_close(maps[name].apply(x).transpose(0, 1).flatten(1), projected, **NEAR)
        torch.testing.assert_close(attention.output_projection().apply(x), module.out_proj(x), **NEAR)


@pytest.mark.parametrize(
    ("given", "ours"), [(nn.ReLU(), "relu"), (nn.GELU(), "gelu"), (nn.functional.gelu, "gelu"), ("relu", "relu")]
)
def test_torchs_activations_are_known_as_functions_and_as_modules(given: Any, ours: str) -> None:
    layer = EncoderLayer.from_torch(nn.TransformerEncoderLayer(8, 2, 24, activation=given))
    assert (layer.feed_forward.activation, layer.feed_forward.first.out_features) == (ours, 24)


SIZES = [(0, 4), (1, 1), (5, 16), (40, 7), (3, 0)]


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_the_papers_formula(n: int, width: int) -> None:
    waves = [(sin, cos)[j % 2] for j in range(width)]
    expected = [[waves[j](position / 10000 ** (2 * (j // 2) / width)) for j in range(width)] for position in range(n)]
    torch.testing.assert_close(sinusoidal_positions(n, width), torch.tensor(expected).view(n, width))


@pytest.mark.parametrize(("n", "width"), SIZES)
def test_the_labs_formula(n: int, width: int) -> None:
    """`pos / 10000 ** (dim / C)`, a sine where dim is even and a cosine where it is odd, as the lab's loop has it."""
    expected = torch.zeros(n, width)
    for pos in range(n):
        for dim in range(width):
            angle = pos / 10000 ** (dim / width)
            expected[pos, dim] = sin(angle) if dim % 2 == 0 else cos(angle)
    torch.testing.assert_close(lab_positions(n, width), expected)


def test_the_labs_printed_numbers() -> None:
    """What the lab's own code prints for T = 4, C = 8, and the squared lengths of its rows at C = 64."""
    printed = [0.8415, 0.9504, 0.0998, 0.9995, 0.0100, 1.0, 0.001, 1.0]
    torch.testing.assert_close(lab_positions(4, 8)[1], torch.tensor(printed), rtol=0, atol=5e-5)
    squares = lab_positions(64, 64).square().sum(dim=1)[:3]
    torch.testing.assert_close(squares, torch.tensor([32.0, 32.387, 32.359]), rtol=0, atol=5e-4)


def test_the_labs_sines_are_the_papers() -> None:
    ours, papers = lab_positions(50, 12), sinusoidal_positions(50, 12)
    torch.testing.assert_close(ours[:, ::2], papers[:, ::2])
    assert not torch.allclose(ours[:, 1::2], papers[:, 1::2], atol=0.1)


def test_only_the_papers_rows_have_one_norm_and_products_of_the_distance_alone() -> None:
    for positions, holds in ((sinusoidal_positions(30, 32), True), (lab_positions(30, 32), False)):
        norms = positions.norm(dim=1)
        assert torch.allclose(norms, torch.tensor(4.0), atol=1e-5) is holds
        products = positions @ positions.T
        spread = max(float(products.diagonal(k).max() - products.diagonal(k).min()) for k in range(1, 29))
        assert (spread < 1e-4) is holds


def test_negative_sizes_are_refused() -> None:
    for make in (sinusoidal_positions, lab_positions):
        with pytest.raises(ValueError, match=r"^-1 positions of width 4: neither can be negative$"):
            make(-1, 4)
        with pytest.raises(ValueError, match=r"^4 positions of width -1: neither can be negative$"):
            make(4, -1)


@pytest.mark.parametrize("layer", [EncoderLayer, DecoderLayer, Encoder, Decoder, Seq2Seq])
@pytest.mark.parametrize("argument", ["rotary", "kv_head", "of_attention"])
def test_an_argument_that_a_layer_does_not_have_is_refused(layer: Any, argument: str) -> None:
    """The positions of a stack are set after it is made, for self-attention alone."""
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{argument}'"):
        layer(8, 2, **{argument: True}) if layer in (EncoderLayer, DecoderLayer) else layer(8, **{argument: True})
    assert layer(8, heads=2, kv_heads=1, qk_norm=True)
