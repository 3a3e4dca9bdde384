"""What the recorder stores of a forward pass, against torch; and heads whose outputs are replaced, in one thread."""

from __future__ import annotations

import threading

import pytest
import torch
import transformers as tf
from torch import Tensor, nn
from torch.nn import functional

from attnviz.attention import causal_mask
from attnviz.pretrained.attention_interface import IMPLEMENTATION
from attnviz.toy.layers import MultiHeadAttention
from attnviz.trace.recorder import (
    Recorder,
    Replacement,
    batch_weights,
    is_replacing,
    recorded_attention,
    recording,
    replaced,
    watch_inputs,
    watch_norm,
)

C, H, D = 8, 2, 4


class Attention(nn.Module):
    """Attention from x to `memory`, or to x itself, with H heads of width D."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(C, H * D) for _ in range(3))

    def operands(self, x: Tensor, memory: Tensor) -> list[Tensor]:
        inputs = zip(self.maps, (x, memory, memory), strict=True)
        return [project(given).unflatten(-1, (H, D)).transpose(-3, -2) for project, given in inputs]

    def forward(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        query, key, value = self.operands(x, x if memory is None else memory)
        return recorded_attention(self, query, key, value, mask=mask).concat


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def record(module: nn.Module, *args: Tensor | None) -> tuple[Recorder, Tensor]:
    with torch.no_grad(), recording() as recorder:
        return recorder, module(*args)


def test_operands_and_result_are_torchs() -> None:
    attention, x, mask = Attention(), torch.randn(5, C), causal_mask(5)
    watch_inputs(attention)
    recorder, result = record(attention, x, None, mask)
    (call,) = recorder.calls
    assert recorder.modules == [attention]
    assert call.query_input is call.key_input is x
    assert call.mask is mask
    expected = [project(x).view(5, H, D).transpose(0, 1) for project in attention.maps]
    for found, operand in zip((call.query, call.key, call.value), expected, strict=True):
        assert torch.equal(found, operand)
    theirs = functional.scaled_dot_product_attention(*expected, is_causal=True, scale=call.scale)
    torch.testing.assert_close(result, theirs.transpose(0, 1).flatten(1))
    assert call.scale == D**-0.5


def test_of_a_batch_the_first_text_is_recorded() -> None:
    attention, x = Attention(), torch.randn(3, 5, C)
    watch_inputs(attention)
    mask = torch.rand(3, 1, 5, 5) < 0.8
    (call,) = record(attention, x, None, mask)[0].calls
    (alone,) = record(attention, x[0], None, mask[0])[0].calls
    assert call.mask is not None
    assert torch.equal(call.mask, mask[0])
    assert call.query_input is call.key_input
    for name in ("query", "key", "value", "query_input"):
        torch.testing.assert_close(getattr(call, name), getattr(alone, name))


def test_weights_of_a_batch_are_torchs_and_the_pass_ends_with_the_last() -> None:
    first, second, x = Attention(), Attention(), torch.randn(3, 5, C)
    mask = torch.rand(3, 1, 5, 5) < 0.8
    mask[..., 0] = True
    ended: list[str] = []

    def run() -> None:
        second(first(x, None, mask))
        ended.append("not at once")

    with torch.no_grad():
        ((weights, found),) = batch_weights(run, 1)
        query, key, _ = first.operands(x, x)
        scores = (query @ key.transpose(-2, -1) / D**0.5).masked_fill(~mask, -torch.inf)
        torch.testing.assert_close(weights, scores.softmax(-1))
        assert found is mask
        assert [tuple(one.shape) for one, _ in batch_weights(run, 2)] == [(3, H, 5, 5)] * 2
        assert not ended
        assert batch_weights(run, 0) == []
        with pytest.raises(ValueError, match=r"^the forward pass has 2 attention calls, not 3$"):
            batch_weights(run, 3)
    assert ended


def test_inputs_are_those_that_the_given_function_finds() -> None:
    attention, x, memory = Attention(), torch.randn(1, 5, C), torch.randn(1, 7, C)
    watch_inputs(attention, lambda args, _: (args[0], args[1]))
    (call,) = record(attention, x, memory)[0].calls
    assert call.query_input is not None
    assert call.key_input is not None
    assert torch.equal(call.query_input, x[0])
    assert torch.equal(call.key_input, memory[0])
    unknown = Attention()
    watch_inputs(unknown, lambda *_: (None, None))
    (call,) = record(unknown, x)[0].calls
    assert call.query_input is call.key_input is None


def test_inputs_of_one_module_are_not_taken_for_those_of_the_next() -> None:
    norm, first, second = nn.LayerNorm(C), Attention(), Attention()
    watch_norm(norm)
    watch_inputs(first)
    x = torch.randn(5, C)
    before, after = record(nn.Sequential(norm, first, second), x)[0].calls
    assert before.block_input is x
    assert before.query_input is not None
    torch.testing.assert_close(before.query_input, functional.layer_norm(x, (C,)))
    assert (after.query_input, after.key_input, after.block_input) == (None, None, None)


def test_nothing_is_recorded_outside_a_recording() -> None:
    attention, x = Attention(), torch.randn(5, C)
    watch_inputs(attention)
    recorder, inside = record(attention, x)
    with torch.no_grad():
        assert torch.equal(attention(x), inside)
    assert len(recorder.calls) == 1


def test_threads_on_one_model_record_their_own_texts() -> None:
    attention, texts = Attention(), [torch.randn(5, C) for _ in range(4)]
    watch_inputs(attention)
    together, recorded = threading.Barrier(len(texts)), {}

    def run(index: int) -> None:
        with torch.no_grad(), recording() as recorder:
            for _ in range(20):
                together.wait(timeout=30)
                attention(texts[index])
        recorded[index] = recorder.calls

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, text in enumerate(texts):
        assert [call.query_input is text for call in recorded[index]] == [True] * 20


WIDTH, HEADS = 8, 4


@pytest.fixture
def attention() -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(WIDTH, HEADS).eval().requires_grad_(False)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(5, WIDTH, generator=torch.Generator().manual_seed(1))


def test_a_head_replaced_by_zero_is_one_whose_rows_of_the_output_projection_are_zero(
    attention: MultiHeadAttention, x: Tensor
) -> None:
    whole = attention(x)
    with replaced({attention: Replacement.by_zero([1, 3], HEADS)}):
        assert is_replacing()
        without = attention(x)
    assert not is_replacing()
    assert torch.equal(attention(x), whole)
    with torch.no_grad():
        attention.output.weight.unflatten(1, (HEADS, -1))[:, [1, 3]] = 0
    assert torch.equal(without, attention(x))


def test_a_replaced_head_puts_out_the_given_values_at_every_position(attention: MultiHeadAttention, x: Tensor) -> None:
    values = torch.arange(float(WIDTH)).view(HEADS, -1)
    seen: list[Tensor] = []
    hook = attention.output.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    with replaced({attention: Replacement(torch.tensor([False, False, True, False]), values)}):
        attention(x)
    attention(x)
    hook.remove()
    changed, own = (one.unflatten(-1, (HEADS, -1)) for one in seen)
    assert torch.equal(changed[:, 2], values[2].expand(5, -1))
    assert torch.equal(changed[:, [0, 1, 3]], own[:, [0, 1, 3]])


def test_each_text_of_a_batch_may_be_without_another_head(attention: MultiHeadAttention, x: Tensor) -> None:
    with replaced({attention: Replacement(torch.eye(HEADS, dtype=torch.bool))}):
        batch = attention(x.expand(HEADS, -1, -1))
    for head in range(HEADS):
        with replaced({attention: Replacement.by_zero([head], HEADS)}):
            torch.testing.assert_close(batch[head], attention(x), rtol=0, atol=1e-6)


def test_blocks_add_up_and_an_error_ends_them(attention: MultiHeadAttention, x: Tensor) -> None:
    other, nothing = MultiHeadAttention(WIDTH, HEADS).requires_grad_(False), Replacement.by_zero(range(HEADS), HEADS)
    with replaced({attention: nothing}):
        with pytest.raises(ZeroDivisionError), replaced({other: nothing}):
            for one in (attention, other):
                assert torch.equal(one(x), one.output.bias.expand(5, -1))
            raise ZeroDivisionError
        assert not torch.equal(other(x), other.output.bias.expand(5, -1))
    assert not is_replacing()


def test_another_thread_runs_the_whole_model(attention: MultiHeadAttention, x: Tensor) -> None:
    whole, found = attention(x), []
    with replaced({attention: Replacement.by_zero([0], HEADS)}):
        other = threading.Thread(target=lambda: found.append(attention(x)))
        other.start()
        other.join()
        assert not torch.equal(attention(x), whole)
    assert torch.equal(found[0], whole)


def test_heads_of_transformers_models_are_replaced_too() -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = tf.BertConfig(**sizes, intermediate_size=64, attn_implementation=IMPLEMENTATION)
    model = tf.BertModel(config).eval().requires_grad_(False)
    ids, attention = torch.tensor([[1, 5, 9, 2]]), model.encoder.layer[1].attention
    with replaced({attention.self: Replacement.by_zero([2], 4)}):
        without = model(ids).last_hidden_state
    with torch.no_grad():
        attention.output.dense.weight[:, 16:24] = 0
    torch.testing.assert_close(without, model(ids).last_hidden_state, rtol=0, atol=1e-6)


@pytest.mark.parametrize("head", [-1, 4])
def test_a_head_that_does_not_exist_is_refused(head: int) -> None:
    with pytest.raises(IndexError, match=f"head {head} does not exist: heads go from 0 to 3"):
        Replacement.by_zero([head], HEADS)


def test_modules_that_are_not_replaced_are_left_alone(attention: MultiHeadAttention, x: Tensor) -> None:
    whole = attention(x)
    with replaced({nn.Identity(): Replacement.by_zero([0], HEADS)}):
        assert torch.equal(attention(x), whole)
