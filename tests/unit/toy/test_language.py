"""Bigram, GRU and transformers from ids to logits, against torch's own layers and against counting."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional

from attnviz.toy import BigramModel, CharGPT, GRUModel
from attnviz.toy.language.config import (
    BigramConfig,
    GRUConfig,
    LinearConfig,
    TokenConfig,
    has_attention,
    longest_context,
)
from attnviz.toy.language.model import ReducedStack, TokenModel, count_pairs
from tests.training import torchs_attention

IDS = torch.tensor([[3, 1, 4, 1, 5, 0], [2, 6, 5, 3, 5, 1]])


def reduced(**settings: object) -> TokenModel:
    torch.manual_seed(3)
    return TokenModel(TokenConfig(7, 6, layers=2, heads=2, width=8, **settings)).eval()  # type: ignore[arg-type]


def test_a_seeded_bigram_is_torchs_table() -> None:
    torch.manual_seed(1337)
    table = nn.Embedding(65, 65)
    torch.manual_seed(1337)
    model = BigramModel(65)
    assert torch.equal(model.logits(IDS), table(IDS))
    assert torch.equal(model(IDS[0]), table(IDS[0]))


def test_counting_gives_the_frequencies() -> None:
    text = torch.tensor([0, 1, 0, 1, 0, 2, 2])
    probabilities = BigramModel.by_counting(text, 4).logits(torch.arange(4)).softmax(-1)
    assert torch.allclose(probabilities[0], torch.tensor([0, 2 / 3, 1 / 3, 0]))
    assert torch.allclose(probabilities[1], torch.tensor([1.0, 0, 0, 0]))
    assert torch.allclose(probabilities[3], torch.full((4,), 0.25)), "nothing follows it"
    smoothed = BigramModel.by_counting(text, 4, smoothing=1).logits(torch.arange(4)).softmax(-1)
    assert torch.allclose(smoothed[0], torch.tensor([1, 3, 2, 1]) / 7)


def test_no_training_goes_below_the_counted_table() -> None:
    text = torch.randint(5, (400,), generator=torch.Generator().manual_seed(0)).cumsum(0) % 5
    x, y = text[:-1], text[1:]
    floor = functional.cross_entropy(BigramModel.by_counting(text, 5).logits(x), y).item()
    model = BigramModel(5)
    optimiser = torch.optim.LBFGS(model.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> float:
        optimiser.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()

    for _ in range(5):
        optimiser.step(closure)
    trained = closure()
    assert trained == pytest.approx(floor, abs=1e-4)
    assert trained >= floor - 1e-6


@pytest.mark.parametrize(
    ("ids", "vocabulary", "smoothing", "message"),
    [
        ([0, 7], 7, 0.0, "ids from 0 to 7: the vocabulary has 0 to 6"),
        ([0, -1], 7, 0.0, "ids from -1 to 0: the vocabulary has 0 to 6"),
        ([[0], [1]], 7, 0.0, "ids (2, 1) are not one sequence, (N,)"),
        ([0, 1], 7, -1.0, "smoothing is -1.0; it can't be negative"),
    ],
)
def test_counting_refuses(ids: list[int], vocabulary: int, smoothing: float, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        BigramModel.by_counting(torch.tensor(ids), vocabulary, smoothing=smoothing)


def test_the_gru_is_torchs() -> None:
    torch.manual_seed(5)
    embedding, gru, head = nn.Embedding(7, 16), nn.GRU(16, 16, batch_first=True), nn.Linear(16, 7)
    torch.manual_seed(5)
    model = GRUModel(7, width=16)
    assert torch.equal(model.logits(IDS), head(gru(embedding(IDS))[0]))


def test_a_gpt_with_copied_weights_is_torchs_encoder_with_the_causal_mask() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 128, 0.0, activation="gelu", batch_first=True, norm_first=True)
    theirs = nn.TransformerEncoder(layer, 3, norm=nn.LayerNorm(32), enable_nested_tensor=False).eval()
    model = CharGPT(7, block_size=6, layers=3, heads=4, width=32).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    model.blocks = type(model.blocks).from_torch(theirs, causal=True)  # type: ignore[union-attr]
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    expected = model.head(theirs(model.token(IDS) + model.position.weight[:6], mask=mask, is_causal=True))
    assert torch.allclose(model.logits(IDS), expected, atol=1e-5)
    assert model.block_size == 6


def test_a_stack_with_all_its_parts_equals_one_of_reduced_layers() -> None:
    whole = reduced()
    config = whole.config
    torch.manual_seed(3)
    token, position = nn.Embedding(7, 8), nn.Embedding(6, 8)
    stack = ReducedStack(config).eval()
    assert torch.equal(token.weight, whole.token.weight)
    stack.load_state_dict(whole.blocks.state_dict())
    expected = whole.head(stack(token(IDS) + position.weight[:6]))
    assert torch.allclose(whole.logits(IDS), expected, atol=1e-6)


def test_without_its_parts_a_block_is_attention_alone() -> None:
    model = reduced(feed_forward=0, residual=False, norm=False)
    x = model.token(IDS) + model.position.weight[:6]
    for layer in model.blocks.layers:  # type: ignore[union-attr]
        theirs = torchs_attention(layer.attention)
        x = theirs(x, x, x, attn_mask=nn.Transformer.generate_square_subsequent_mask(6))[0]
    assert torch.allclose(model.logits(IDS), model.head(x), atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{}, {"feed_forward": 0}, {"residual": False}, {"norm": False}, {"feed_forward": 0, "residual": False}],
)
def test_gradients_reach_every_parameter_and_later_tokens_reach_no_earlier_row(settings: dict[str, object]) -> None:
    model = reduced(**settings)
    functional.cross_entropy(model(IDS).flatten(0, 1), IDS.roll(-1, 1).flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert name.endswith("key.bias") or bool(parameter.grad.abs().sum() > 0), name  # softmax ignores a key's bias
    changed = IDS.clone()
    changed[:, 4] = (changed[:, 4] + 1) % 7
    before, after = model.logits(IDS), model.logits(changed)
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_padding_changes_nothing_in_any_sequence_of_a_batch() -> None:
    both, encoder = (reduced(architecture=architecture, padding=0) for architecture in ("both", "encoder"))
    padded = torch.tensor([[3, 1, 4, 0, 0, 0], [2, 6, 5, 3, 5, 0]])
    decoded, encoded = both.logits(IDS, padded), encoder.logits(padded)
    for row, length in enumerate((3, 5)):
        assert torch.allclose(decoded[row], both.logits(IDS[row], padded[row, :length]), atol=1e-6)
        assert torch.allclose(encoded[row, :length], encoder.logits(padded[row, :length]), atol=1e-6)


BOTH = "an encoder with a decoder has at least one layer each, with all of its parts"


def test_wrong_input_is_refused() -> None:
    model = reduced()
    for ids, message in (
        (torch.zeros(1, 7, dtype=torch.long), "7 tokens are more than the block size, 6"),
        (torch.zeros(1, 1, 6, dtype=torch.long), "ids (1, 1, 6) are neither (T,) nor (B, T)"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            model.logits(ids)
    with pytest.raises(IndexError):
        model.logits(torch.tensor([[7]]))
    with pytest.raises(ValueError, match=r"^this model has one stack of blocks, which reads no source$"):
        model.logits(IDS, IDS)
    with pytest.raises(ValueError, match=r"^the encoder of this model needs a source to read$"):
        reduced(architecture="both").logits(IDS)
    for settings, message in (
        ({"width": 9}, "a width of 9 can't be divided into 2 heads"),
        ({"layers": -1}, "layers -1 and feed_forward None can't be negative"),
        ({"feed_forward": -1}, "layers 4 and feed_forward -1 can't be negative"),
        ({"dropout": 1.0}, "dropout is 1.0; it must be at least 0 and below 1"),
        ({"architecture": "both", "residual": False}, BOTH),
        ({"architecture": "both", "layers": 0}, BOTH),
        ({"vocabulary": 0}, "vocabulary is 0; it must be at least 1"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            TokenConfig(**{"vocabulary": 7, "block_size": 6, "heads": 2, **settings})  # type: ignore[arg-type]
    assert math.isfinite(model.logits(IDS).sum().item())


@pytest.mark.parametrize("norm", [True, False])
def test_the_steps_of_a_reduced_block_add_up_to_its_output(norm: bool) -> None:
    for hidden in (0, 12):
        stack = ReducedStack(TokenConfig(7, 6, layers=1, heads=2, width=8, norm=norm, feed_forward=hidden))
        for parameter in stack.parameters():
            nn.init.normal_(parameter, std=0.3)
        (first,), x = stack.layers, torch.randn(6, 8)
        seen = x if not norm else functional.layer_norm(x, (8,), first.attention_norm.weight, first.attention_norm.bias)
        output = first.attention(seen)
        steps, weights = first.after(x, output), first.weights()
        assert steps.is_reduced
        assert torch.equal(steps.attention_residual, x + output)
        assert (steps.attention_norm is None) == (not norm)
        assert norm is False or torch.allclose(steps.attention_norm, seen, atol=1e-6)
        assert torch.allclose(steps.block_output, first(x), atol=1e-6)
        assert set(weights.norms) == (
            set() if not norm else {"attention_norm", *(["feed_forward_norm"] if hidden else [])}
        )
        assert (weights.first is None) == (weights.second is None) == (hidden == 0)
        if hidden == 0:
            assert steps.feed_forward_hidden is steps.feed_forward_norm is None
            continue
        forward, stream = first.feed_forward, steps.attention_residual
        normed = stream if not norm else first.feed_forward_norm(stream)
        expected = forward.second(functional.gelu(forward.first(normed)))
        assert torch.allclose(steps.feed_forward_output, expected, atol=1e-6)
        assert torch.allclose(steps.feed_forward_residual, stream + expected, atol=1e-6)
        assert (steps.feed_forward_norm is None) == (not norm)
    with pytest.raises(ValueError, match="adds nothing to its stream"):
        reduced(residual=False).blocks.layers[0].after(IDS, IDS)  # type: ignore[union-attr, operator]


@pytest.mark.parametrize("settings", [{}, {"feed_forward": 0}])
def test_a_text_that_is_read_in_parts_has_the_logits_of_the_whole(settings: dict[str, object]) -> None:
    model = reduced(**settings)
    past = model.new_past()
    parts = [model.logits(IDS[:, begin:end], past=past) for begin, end in ((0, 2), (2, 3), (3, 6))]
    assert torch.allclose(torch.cat(parts, dim=1), model.logits(IDS), atol=1e-6)
    with pytest.raises(ValueError, match=r"^7 tokens are more than the block size, 6$"):
        model.logits(IDS[:, :1], past=past)
    with pytest.raises(ValueError, match=r"^only a decoder alone can continue from a past$"):
        reduced(architecture="encoder").logits(IDS, past=[])


def test_an_encoder_sees_later_tokens_and_a_decoder_alone_does_not() -> None:
    changed = IDS.clone()
    changed[:, 5] = 6 - changed[:, 5]
    for architecture, sees in (("encoder", True), ("decoder", False)):
        for settings in ({}, {"norm": False}):
            model = reduced(architecture=architecture, **settings)
            assert torch.equal(model.logits(IDS)[:, 0], model.logits(changed)[:, 0]) is not sees


def test_dropout_and_outputs_are_those_of_the_settings() -> None:
    model = reduced(dropout=0.5, outputs=3, feed_forward=20, bias=False, norm=False)
    assert model.logits(IDS).shape == (2, 6, 3)
    (first, _) = model.blocks.layers  # type: ignore[union-attr]
    assert first.feed_forward.first.weight.shape == (20, 8) and first.feed_forward.first.bias is None
    assert first.attention.query.bias is None
    dropped = first.train().after(torch.zeros(200, 8), torch.ones(200, 8)).attention_residual
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    whole = reduced(dropout=0.25, bias=False)
    assert {one.p for one in whole.modules() if isinstance(one, nn.Dropout)} == {0.25}
    assert whole.blocks.norm.bias is None


def test_settings_at_their_limits_are_taken() -> None:
    least = TokenConfig(1, 1, layers=0, heads=1, width=1)
    assert (least.feed_forward_width, least.logit_count, least.is_complete) == (4, 1, True)
    assert not has_attention(least) and has_attention(TokenConfig(1, 1, layers=1))
    assert not TokenConfig(1, 1, feed_forward=0).is_complete
    assert (TokenConfig(7, 6, feed_forward=5).feed_forward_width, TokenConfig(7, 6, outputs=2).logit_count) == (5, 2)
    assert TokenModel(least).logits(torch.tensor([0])).shape == (1, 1)
    for wrong in ({"block_size": 0}, {"heads": 0}, {"width": 0}, {"feed_forward": -1}, {"dropout": -0.1},
                  {"architecture": "both", "layers": 0}, {"architecture": "both", "norm": False}):  # fmt: skip
        with pytest.raises(ValueError, match=r"must be|negative|at least"):
            TokenConfig(**{"vocabulary": 7, "block_size": 6, **wrong})  # type: ignore[arg-type]
    assert [longest_context(one) for one in (BigramConfig(9), GRUConfig(9, 5), TokenConfig(9, 6))] == [1, 5, 6]
    assert (LinearConfig(1, 1).features, GRUModel(1, width=1, block_size=1).block_size) == (1, 1)
    makers: dict[str, Callable[[], object]] = {
        "features": lambda: LinearConfig(0, 1), "classes": lambda: LinearConfig(1, 0),
        "vocabulary": lambda: GRUModel(0), "width": lambda: GRUModel(1, width=0),
        "layers": lambda: GRUModel(1, layers=0), "block_size": lambda: GRUModel(1, block_size=0),
    }  # fmt: skip
    for name, make in makers.items():
        with pytest.raises(ValueError, match=rf"^{name} is 0; it must be at least 1$"):
            make()
    with pytest.raises(ValueError, match=r"^a vocabulary of 0 tokens has none to predict$"):
        BigramModel(0)
    assert GRUModel(7, width=5, layers=3).gru.num_layers == 3
    assert BigramModel(1).logits(torch.tensor([0])).shape == (1, 1)
    usual = CharGPT(9).config
    assert (usual.block_size, usual.layers, usual.heads, usual.width, usual.dropout) == (64, 4, 4, 128, 0)


def test_pairs_are_counted_by_row_and_column() -> None:
    assert count_pairs(torch.tensor([0, 2, 2, 1, 2]), 3).tolist() == [[0, 0, 1], [0, 0, 1], [0, 1, 1]]
    assert count_pairs(torch.tensor([], dtype=torch.long), 2).tolist() == [[0, 0], [0, 0]]
    assert count_pairs(torch.tensor([2]), 3).sum() == 0
