"""Traced layers, blocks and vocabularies: masks, maps and steps, against torch with the same weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.attention import Mask, causal_mask
from attnviz.toy.layers import EncoderLayer
from attnviz.trace import vocabulary as module
from attnviz.trace.layer import Block, BlockWeights, LayerTrace, LinearMap, Projection, held_bytes
from attnviz.trace.recorder import recording
from attnviz.trace.vocabulary import Vocabulary

PADDED = torch.tensor([[True, True, False]] * 3)
FLOAT = torch.zeros(3, 3).masked_fill(~causal_mask(3), -torch.inf)


@pytest.mark.parametrize("cells", [causal_mask(3), FLOAT, FLOAT[None]])
def test_hidden_is_what_can_not_be_seen(cells: torch.Tensor) -> None:
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, x, 1.0, Mask.recognise(cells))
    assert layer.hidden(1).tolist() == [[False, True, True], [False, False, True], [False, False, False]]
    assert torch.equal(layer.hidden(0), layer.head(0).masked.isneginf())


def test_sizes_and_heads_of_a_layer() -> None:
    """H = 2, Tq = 3, Tk = 5, D = 4."""
    made = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, count, 4, generator=made) for count in (3, 5, 5))
    layer = LayerTrace(query, key, value, 0.25)
    assert (layer.heads, layer.head_size) == (2, 4)
    assert layer.hidden(1).shape == (3, 5)
    wanted = functional.scaled_dot_product_attention(query, key, value, scale=0.25)
    torch.testing.assert_close(layer.all_heads().head_outputs, wanted)
    torch.testing.assert_close(layer.head(1).head_outputs, wanted[1])
    torch.testing.assert_close(layer.attentions(), (query @ key.mT / 4).softmax(-1))
    torch.testing.assert_close(layer.concat(), torch.cat([*wanted], dim=-1))
    assert layer.output() is None
    assert [id(one) for one in layer.tensors()] == list(map(id, (query, key, value)))
    for head in (-1, 2):
        with pytest.raises(IndexError, match=f"head {head} does not exist: this layer has heads 0 to 1"):
            layer.head(head)


def test_heads_that_share_a_key_have_its_map() -> None:
    """Two keys of width 3 for four query heads: heads 0 and 1 have the first one's map, 2 and 3 the second one's."""
    linear, x = nn.Linear(8, 6).requires_grad_(False), torch.randn(5, 8, generator=torch.Generator().manual_seed(1))
    found = Projection.of_heads(LinearMap(linear.weight.T, linear.bias), heads=4, head_size=3).apply(x)
    first, second = linear(x).split(3, dim=-1)
    torch.testing.assert_close(found, torch.stack([first, first, second, second]))


def test_heads_may_have_masks_of_their_own() -> None:
    mask = Mask.recognise(torch.stack([causal_mask(3), PADDED]))
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, x, 1.0, mask)
    assert torch.equal(layer.hidden(0), ~causal_mask(3))
    assert torch.equal(layer.hidden(1), ~PADDED)


@pytest.mark.parametrize("bias", [True, False])
def test_maps_of_heads_together_are_torchs_linear(bias: bool) -> None:
    linear, x = nn.Linear(8, 12, bias=bias).requires_grad_(False), torch.randn(5, 8)
    per_head = Projection.of_heads(LinearMap(linear.weight.T, linear.bias), heads=4, head_size=3).apply(x)  # (H, T, D)
    torch.testing.assert_close(per_head.transpose(0, 1).flatten(1), linear(x))
    torch.testing.assert_close(LinearMap(linear.weight.T, linear.bias).apply(x), linear(x))


def test_a_tensor_that_two_names_share_is_counted_once() -> None:
    x = torch.zeros(2, 3, 4)
    layer = LayerTrace(x, x, torch.zeros(2, 3, 4), 1.0, Mask.causal(3))
    assert held_bytes(layer.tensors()) == 2 * x.numel() * 4 + 9


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


def drawn(size: int, rows: int) -> tuple[Vocabulary, torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(size)
    weight, bias = torch.randn(6, size, generator=made), torch.randn(size, generator=made)
    x = torch.randn(rows, 6, generator=made)
    return Vocabulary(LinearMap(weight, bias), str), x, x @ weight + bias


@pytest.mark.parametrize("size", [3, 256])
def test_a_small_vocabulary_is_shown_whole(size: int) -> None:
    vocabulary, x, logits = drawn(size, 5)
    shown = vocabulary.shown(x, [4])
    assert shown.tokens == tuple(range(size))
    assert shown.rest is None
    torch.testing.assert_close(shown.logits, logits)
    assert repr(vocabulary) == f"Vocabulary({size} tokens)"


@pytest.mark.parametrize(("rows", "focus"), [(5, [4]), (9, [2, 7]), (100, [0, 50, 99]), (300, [*range(300)])])
def test_of_a_larger_one_the_likeliest_tokens_are(rows: int, focus: list[int]) -> None:
    """The likeliest of each row in focus before their second ones, then the likeliest of all other rows."""
    vocabulary, x, logits = drawn(257, rows)
    shown = vocabulary.shown(x, focus)
    likely = [logits[row].topk(8).indices.tolist() for row in focus]
    every = [row[rank] for rank in range(8) for row in likely] + logits.argmax(-1).tolist()
    assert shown.tokens == tuple(dict.fromkeys(every))[:48]
    assert rows < 300 or len(set(every)) > 48 == len(shown.tokens)
    torch.testing.assert_close(shown.logits, logits[:, list(shown.tokens)])
    assert shown.rest is not None
    together = torch.cat([shown.logits, shown.rest[:, None]], dim=-1).softmax(-1)
    torch.testing.assert_close(together[:, :-1], logits.softmax(-1)[:, list(shown.tokens)])


@pytest.mark.parametrize("cells", [1, 2 * 257 + 1])
def test_a_few_rows_at_a_time_give_the_same(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary, x, _ = drawn(257, 9)
    whole = vocabulary.shown(x, [7])
    monkeypatch.setattr(module, "CELLS", cells)
    apply, made = LinearMap.apply, []

    def noted(one: LinearMap, x: torch.Tensor) -> torch.Tensor:
        made.append(apply(one, x))
        return made[-1]

    monkeypatch.setattr(LinearMap, "apply", noted)
    parts = vocabulary.shown(x, [7])
    assert max(logits.numel() for logits in made) == max(cells - 1, 257), "as many whole rows at once as fit, or one"
    assert parts.tokens == whole.tokens
    torch.testing.assert_close(parts.rest, whole.rest)


def test_columns_are_those_of_the_tokens_with_and_without_a_bias() -> None:
    vocabulary, x, logits = drawn(9, 4)
    assert vocabulary.size == 9
    torch.testing.assert_close(vocabulary.columns([7, 2]).apply(x), logits[:, [7, 2]])
    plain = Vocabulary(LinearMap(vocabulary.projection.weight), str)
    assert plain.columns([7, 2]).bias is None
    torch.testing.assert_close(plain.logits(x), x @ plain.projection.weight)
