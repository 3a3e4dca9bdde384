"""The matrices of a walk by their names: each is what the model holds or what torch makes of that."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.layer import LinearMap, Projection
from attnviz.trace.matrices import AVERAGES, QKV, find_matrix, heads_matrix, matrix
from tests.toy import run_block

IDS = (4, 8, 15, 16, 23)


def test_a_blocks_matrices_are_those_of_torch() -> None:
    """Five tokens of 16 numbers, three heads of 8: head 2, with biases and a causal mask."""
    walk = run_block(IDS, ToyConfig(heads=3, causal=True, bias=True)).walk(0, 2)
    made = {
        name: matrix(walk, name) for name in ("embeddings", *QKV, *(f"{one}_{name}" for one in "Wb" for name in QKV))
    }
    for name in QKV:
        torch.testing.assert_close(
            made[name], functional.linear(made["embeddings"], made[f"W_{name}"].T, made[f"b_{name}"])
        )
        assert find_matrix(walk, f"U_{name}") is None
        of_heads = heads_matrix(walk.layer, f"W_{name}")
        assert of_heads is not None
        assert torch.equal(of_heads[2], made[f"W_{name}"])
    torch.testing.assert_close(matrix(walk, "token_embeddings") + matrix(walk, "positions"), made["embeddings"])
    assert matrix(walk, "embeddings_k") is matrix(walk, "embeddings")
    assert torch.equal(matrix(walk, "key_t"), made["key"].T)
    scores = made["query"] @ made["key"].T
    torch.testing.assert_close(matrix(walk, "scores"), scores)
    torch.testing.assert_close(matrix(walk, "scaled"), scores / 8**0.5)
    output = functional.scaled_dot_product_attention(*(made[name][None] for name in QKV), is_causal=True)[0]
    torch.testing.assert_close(matrix(walk, "head_outputs"), output)
    assert torch.equal(matrix(walk, "by_data"), matrix(walk, "head_outputs"))
    torch.testing.assert_close(matrix(walk, "row_sum"), torch.ones(5, 1))
    torch.testing.assert_close(matrix(walk, "concat")[:, 16:], output)
    bias = find_matrix(walk, "b_output")
    projected = functional.linear(matrix(walk, "concat"), matrix(walk, "W_output").T, bias)
    torch.testing.assert_close(matrix(walk, "output"), projected)


def test_the_output_has_its_bias() -> None:
    walk = run_block(IDS, ToyConfig(heads=2)).walk(0, 1)
    projection, bias = walk.layer.output_projection, torch.arange(16.0)
    assert projection is not None
    moved = replace(walk, layer=replace(walk.layer, output_projection=replace(projection, bias=bias)))
    assert matrix(moved, "b_output") is bias
    torch.testing.assert_close(matrix(moved, "output"), walk.concat @ projection.weight + bias)


def test_what_the_source_does_not_give_is_not_known() -> None:
    walk = run_block(IDS, ToyConfig(qkv="positions")).walk(0, 0)
    assert matrix(walk, "U_query").shape == (5, 5)
    bare = replace(walk, parts=None, layer=replace(walk.layer, projections=None, output_projection=None))
    for name in ("token_embeddings", "positions", "U_query", "W_query", "b_query", "W_output", "b_output", "output",
                 "logits", *AVERAGES):  # fmt: skip
        assert find_matrix(bare, name) is None
        with pytest.raises(KeyError, match=f"{name} is not known of this head"):
            matrix(bare, name)
    assert find_matrix(walk, "W_query") is None
    with pytest.raises(KeyError):
        find_matrix(walk, "no such name")


def test_in_a_block_the_stream_before_the_norm_is_the_input() -> None:
    tokens = WordTokenizer().tokenize("a b c")
    trace = trace_transformer(tokens, None, TransformerConfig("encoder", norm="pre"))
    walk = trace.walk_at(1, 1)
    assert walk.block is not None
    assert walk.number == walk.layer_index == 1
    assert matrix(walk, "embeddings") is trace.block(1).pre_norm_input
    assert matrix(trace.walk(1, 1), "embeddings") is trace.layer(1).query_input
    assert matrix(walk, "feed_forward_hidden") is walk.block.matrices["feed_forward_hidden"]


@pytest.mark.parametrize("kind", ["identity", "linear", "positions"])
def test_projections_take_a_text_and_a_batch(kind: str) -> None:
    """B = 2, T = 3, C = 4, H = 5, D = 6."""
    made = torch.Generator().manual_seed(0)
    x, bias = torch.randn(2, 3, 4, generator=made), torch.randn(5, 6, generator=made)
    weight = torch.randn(5, *((4, 6) if kind == "linear" else (3, 3)), generator=made)
    projection = {
        "identity": Projection("identity"),
        "linear": Projection("linear", weight, bias),
        "positions": Projection("positions", weight),
    }[kind]

    def wanted(text: Tensor) -> Tensor:
        if kind == "identity":
            return text[None]
        if kind == "positions":
            return torch.einsum("hst,tc->hsc", weight, text)
        return torch.stack([functional.linear(text, weight[head].T, bias[head]) for head in range(5)])

    torch.testing.assert_close(projection.apply(x[0]), wanted(x[0]))
    torch.testing.assert_close(projection.apply(x), torch.stack([wanted(text) for text in x]))
    mapped = LinearMap(weight[0], bias[0] if kind == "linear" else None)
    if kind == "linear":
        torch.testing.assert_close(mapped.apply(x), functional.linear(x, weight[0].T, bias[0]))
