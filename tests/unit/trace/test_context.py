"""The matrices of a walk, and the steps around each attention: computed again by torch's functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz.tokens import WordTokenizer
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.transformer import trace_transformer
from attnviz.trace.context import NORMS, AttentionContext, context_of
from attnviz.trace.layer import Block, LayerTrace, LinearMap, Norm, Projection
from attnviz.trace.matrices import AVERAGES, QKV, find_matrix, heads_matrix, matrix
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import Transform, Vocabulary
from tests.toy import run_block, tokens_of

BEFORE = ("input_norm", "attention_residual")
AFTER = ("attention_residual", "attention_norm")
FEED_FORWARD = (
    "W_1", "b_1", "feed_forward_inner", "feed_forward_hidden", "W_2", "b_2", "feed_forward_output",
    "feed_forward_residual",
)  # fmt: skip
LOGITS = ("W_vocabulary", "logits", "probabilities")


def run(architecture: Any, norm: Any, *, depth: int = 2) -> Trace:
    tokenize = WordTokenizer().tokenize
    config = TransformerConfig(
        architecture, norm=norm, depth=depth, heads=2, width=8, feed_forward=12, activation="gelu",
        decoder_depth=2 if architecture == "both" else None,
    )  # fmt: skip
    return trace_transformer(tokenize("a b c"), tokenize("x y z w") if architecture == "both" else None, config)


def names(context: AttentionContext) -> tuple[str, ...]:
    return tuple(name for name in context.matrices if not name.startswith(("gamma", "beta")))


def normed(given: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return functional.layer_norm(x, (8,), given[f"gamma_{name}"], given[f"beta_{name}"], 1e-5)


@pytest.mark.parametrize(
    ("architecture", "norm", "of_places"),
    [
        ("encoder", "post", [(*AFTER, *FEED_FORWARD, "block_output")] * 2),
        ("decoder", "pre", [
            (*BEFORE, "feed_forward_norm", *FEED_FORWARD),
            (*BEFORE, "feed_forward_norm", *FEED_FORWARD, "final_norm", *LOGITS),
        ]),
        ("both", "post", [
            (*AFTER, *FEED_FORWARD, "block_output"),
            AFTER, (*AFTER, *FEED_FORWARD, "block_output"),
            AFTER, (*AFTER, *FEED_FORWARD, "block_output", *LOGITS),
        ]),
        ("both", "pre", [
            (*BEFORE, "feed_forward_norm", *FEED_FORWARD, "final_norm"),
            BEFORE, (*BEFORE, "feed_forward_norm", *FEED_FORWARD),
            BEFORE, (*BEFORE, "feed_forward_norm", *FEED_FORWARD, "final_norm", *LOGITS),
        ]),
    ],
)  # fmt: skip
def test_each_attention_has_its_steps_and_they_are_torchs(architecture: Any, norm: Any, of_places: Any) -> None:
    trace = run(architecture, norm, depth=1 if architecture == "both" else 2)
    stream: Tensor | None = None
    for place, shown in zip(trace.places, of_places, strict=True):
        context = context_of(trace, place)
        assert context is not None
        assert names(context) == shown
        assert (context.place, context.activation, context.has_learned) == (place.name, "gelu", False)
        given, x = context.matrices, context.x
        assert set(context.eps) == {name for name in NORMS if name in given and f"gamma_{name}" in given}
        assert set(context.eps.values()) == {1e-5}
        if stream is not None and len(stream) == len(x):
            torch.testing.assert_close(x, stream)  # one attention leaves what the next one reads
        output = trace.layer(place.layer, place.kind).output()
        assert output is not None
        torch.testing.assert_close(given["attention_residual"], x + output)
        stream = given["attention_residual"]
        if norm == "pre":
            torch.testing.assert_close(given["input_norm"], normed(given, "input_norm", x))
        else:
            stream = normed(given, "attention_norm", stream)
            torch.testing.assert_close(given["attention_norm"], stream)
        if "W_1" in shown:
            read = normed(given, "feed_forward_norm", stream) if norm == "pre" else stream
            inner = functional.linear(read, given["W_1"].T, given["b_1"])
            torch.testing.assert_close(given["feed_forward_inner"], inner)
            added = functional.linear(functional.gelu(inner), given["W_2"].T, given["b_2"])
            torch.testing.assert_close(given["feed_forward_residual"], stream + added)
            stream = stream + added
            if norm == "post":
                stream = normed(given, "block_output", stream)
                torch.testing.assert_close(given["block_output"], stream)
        if "final_norm" in shown:
            torch.testing.assert_close(given["final_norm"], normed(given, "final_norm", stream))
        assert (context.vocabulary != ()) == ("logits" in shown)
        if "logits" in shown:
            torch.testing.assert_close(given["probabilities"], functional.softmax(given["logits"], dim=-1))
            torch.testing.assert_close(given["logits"], trace.logits)
            both = ("a", "b", "c", "x", "y", "z", "w")
            assert context.vocabulary == (both if architecture == "both" else both[:3])
            assert (context.rest, context.head_activation) == (0, None)
        assert context.focus == (3 if architecture == "both" else 2)


def test_a_head_with_a_transform_and_a_large_vocabulary() -> None:
    """As in BERT: 300 tokens, of which some have columns of their own; the row with token 7 is to be guessed."""
    made = torch.Generator().manual_seed(0)
    dense, projection = (torch.randn(8, n, generator=made) for n in (8, 300))
    gamma, beta = torch.randn(2, 8, generator=made)
    norm = Norm(gamma, beta, 1e-3)
    transform = Transform(LinearMap(dense, beta), functional.gelu, "gelu", norm)
    bias = torch.randn(300, generator=made)
    vocabulary = Vocabulary(LinearMap(projection, bias), lambda one: f"t{one}", transform, masked=7)
    plain = run("encoder", "post")
    trace = Trace(tokens_of((3, 7, 5)), None, plain.blocks, plain.last_hidden_state, vocabulary=vocabulary)
    context = context_of(trace, trace.places[-1])
    assert context is not None
    given, hidden = context.matrices, trace.last_hidden_state
    assert (context.head_activation, context.focus, context.eps["transform_norm"]) == ("gelu", 1, 1e-3)
    assert names(context)[-9:] == (
        "W_transform", "b_transform", "transform_inner", "transform_hidden", "transform_norm",
        "W_vocabulary", "b_vocabulary", "logits", "logits_and_rest", "probabilities",
    )[-9:]  # fmt: skip
    torch.testing.assert_close(given["transform_inner"], hidden @ dense + beta)
    x = functional.layer_norm(functional.gelu(hidden @ dense + beta), (8,), gamma, beta, 1e-3)
    torch.testing.assert_close(given["transform_norm"], x)
    logits = functional.linear(x, projection.T, bias)
    ids = [int(label[1:]) for label in context.vocabulary]
    assert ids[:8] == logits[1].topk(8).indices.tolist()
    assert set(logits.argmax(-1).tolist()) <= set(ids)
    assert context.rest == 300 - len(ids)
    probabilities = logits.softmax(-1)
    torch.testing.assert_close(given["logits"], logits[:, ids])
    torch.testing.assert_close(given["probabilities"][:, :-1], probabilities[:, ids])
    torch.testing.assert_close(given["probabilities"].sum(-1), torch.ones(3))
    torch.testing.assert_close(given["b_vocabulary"], bias[ids])
    first = context_of(trace, trace.places[0])
    assert first is not None
    assert first.vocabulary == ()
    assert "transform_inner" not in first.matrices


def test_what_is_not_known_is_left_out() -> None:
    plain = run("encoder", "post")
    block = plain.block(0)
    place = plain.places[0]
    attention = block.attention
    bare = Block(LayerTrace(attention.query, attention.key, attention.value, 0.5))
    tokens, hidden = plain.tokens, plain.last_hidden_state
    assert context_of(Trace(tokens, None, {"encoder": (bare,)}, hidden), place) is None
    context = context_of(Trace(tokens, None, {"encoder": (Block(attention),)}, hidden), place)
    assert context is not None
    assert context.matrices == {}
    assert context.x is attention.query_input
    without = Block(attention, block.after_attention)
    context = context_of(Trace(tokens, None, {"encoder": (without,)}, hidden, has_learned=True), place)
    assert context is not None
    assert context.has_learned
    assert context.activation is None
    assert names(context) == (
        *AFTER, "feed_forward_hidden", "feed_forward_output", "feed_forward_residual", "block_output"
    )  # fmt: skip
    assert not any(name.startswith(("gamma", "beta", "W_", "b_")) for name in context.matrices)


def test_a_final_norm_of_another_kind_gives_the_last_hidden_state() -> None:
    plain = run("encoder", "post")
    hidden = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    trace = Trace(plain.tokens, None, plain.blocks, hidden, final_norms={"encoder": None})
    contexts = [context_of(trace, place) for place in trace.places]
    found = [None if one is None else one.matrices.get("final_norm") for one in contexts]
    assert found[0] is None
    assert found[1] is hidden
    norm = Norm.of(nn.LayerNorm(8, eps=1e-2))
    known = context_of(Trace(plain.tokens, None, plain.blocks, hidden, final_norms={"encoder": norm}), plain.places[-1])
    assert known is not None
    assert known.eps["final_norm"] == 1e-2
    wanted = functional.layer_norm(known.matrices["block_output"], (8,), eps=1e-2)
    torch.testing.assert_close(known.matrices["final_norm"], wanted)


def test_settings_are_those_of_every_text_of_this_length() -> None:
    first, second = (context_of(one, one.places[0]) for one in (run("encoder", "post"), run("encoder", "pre")))
    again = context_of(run("encoder", "post"), run("encoder", "post").places[0])
    assert first is not None
    assert second is not None
    assert again is not None
    assert first.settings == again.settings != second.settings


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
