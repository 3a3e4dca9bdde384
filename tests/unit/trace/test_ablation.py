"""Heads whose outputs are replaced, in modules of this project and of transformers, in one thread alone."""

from __future__ import annotations

import threading

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from attnviz.pretrained.attention_interface import IMPLEMENTATION
from attnviz.toy.layers import MultiHeadAttention
from attnviz.trace.recorder import Replacement, is_replacing, replaced

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
