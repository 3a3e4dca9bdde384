"""The toys with rotary positions: against Llama's attention and torch's, and what they promise."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from torch import Tensor
from torch.nn import functional as F
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attnviz.document import document_of_layer
from attnviz.export.code.cells import cells, rotated_cells, script
from attnviz.export.code.toy import toy_inputs
from attnviz.export.code.transformer import transformer_cells
from attnviz.measures.changes import order_matters
from attnviz.measures.mistakes.computed import attended
from attnviz.measures.recomputed import rows_from_past
from attnviz.steps import names_at, steps_of
from attnviz.tokens import WordTokenizer
from attnviz.toy import MultiHeadAttention
from attnviz.toy.block import Toy, trace_toy
from attnviz.toy.config import ToyConfig, TransformerConfig
from attnviz.toy.layers import Past
from attnviz.toy.transformer import ToyTransformer, shared_stack, trace_transformer
from attnviz.trace.model import Place
from tests.toy import run_block

TEXT, IDS = "the cat sat on the mat", (5, 9, 5, 1, 77)
T, C, H = 6, 24, 3


def tokens(text: str = TEXT) -> Any:
    return WordTokenizer().tokenize(text)


def turned(x: Tensor) -> Tensor:
    """Turn each pair of neighbours of (H, T, D) as a complex number, times e^(i · position · frequency)."""
    pairs = x.numpy().astype(float)[..., : x.shape[-1] // 2 * 2]
    z = pairs[..., 0::2] + 1j * pairs[..., 1::2]
    frequencies = 10_000.0 ** -(np.arange(0, pairs.shape[-1], 2) / pairs.shape[-1])
    z = z * np.exp(1j * np.arange(x.shape[-2])[:, None] * frequencies)
    result = x.clone()
    result[..., : pairs.shape[-1]] = torch.from_numpy(np.stack((z.real, z.imag), axis=-1).reshape(pairs.shape))
    return result


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_llamas_with_the_dimensions_of_each_head_in_another_order(causal: bool) -> None:
    """Llama pairs the halves of a head, the toy neighbours: the same up to the order of the rows of W_Q and W_K."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(C, H, bias=False, rotary=True)
    config = tf.LlamaConfig(hidden_size=C, num_attention_heads=H, num_key_value_heads=H, attn_implementation="eager")
    theirs = LlamaAttention(config, 0).eval()
    order = torch.arange(C).view(H, -1, 2).transpose(1, 2).flatten()  # even dimensions of a head first
    x = torch.randn(2, T, C)
    with torch.no_grad():
        for mine, its, rows in (
            (ours.query, theirs.q_proj, order), (ours.key, theirs.k_proj, order),
            (ours.value, theirs.v_proj, slice(None)), (ours.output, theirs.o_proj, slice(None)),
        ):  # fmt: skip
            its.weight.copy_(mine.weight[rows])
        tables = LlamaRotaryEmbedding(config)(x, torch.arange(T)[None])
        mask = torch.ones(T, T).tril().bool() if causal else None
        added = None if mask is None else torch.zeros(T, T).masked_fill(~mask, -torch.inf)[None, None]
        expected = theirs(x, position_embeddings=tables, attention_mask=added)[0]
        torch.testing.assert_close(ours(x, mask=mask), expected)


def test_a_text_read_in_parts_is_turned_by_its_places_in_the_whole() -> None:
    torch.manual_seed(0)
    attention, x, past = MultiHeadAttention(C, H, rotary=True), torch.randn(T, C), Past()
    whole = attention(x, mask=torch.ones(T, T).tril().bool())
    parts = [attention(x[:2], mask=torch.ones(2, 2).tril().bool(), past=past)]
    parts += [attention(x[place : place + 1], past=past) for place in range(2, T)]
    torch.testing.assert_close(torch.cat(parts), whole)
    assert MultiHeadAttention(C, H).rotation(T) is None


@pytest.mark.parametrize("qkv", ["linear", "identity", "positions"])
def test_the_block_turns_its_queries_and_keys_and_adds_nothing_to_x(qkv: Any) -> None:
    rotary, none = (run_block(IDS, ToyConfig(qkv=qkv, positions=kind)).layer(0) for kind in ("rotary", "none"))
    assert rotary.rotation is not None and none.rotation is None
    torch.testing.assert_close(rotary.query_input, none.query_input, rtol=0, atol=0)
    for name in ("query", "key"):
        torch.testing.assert_close(rotary.projected(name), getattr(none, name))
        torch.testing.assert_close(getattr(rotary, name), turned(getattr(none, name)))
    torch.testing.assert_close(rotary.value, none.value, rtol=0, atol=0)
    expected = F.scaled_dot_product_attention(rotary.query, rotary.key, rotary.value, scale=rotary.scale)
    torch.testing.assert_close(rotary.all_heads().head_outputs, expected)


def test_equal_tokens_have_scores_of_their_distance_alone() -> None:
    """Without positions all scores of equal tokens are equal; with rotary ones those of a diagonal are."""
    scores = run_block((7,) * 6, ToyConfig(positions="rotary")).layer(0).head(0).scores
    for distance in range(-5, 6):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    assert float(scores.std()) > 0.01
    assert float(run_block((7,) * 6, ToyConfig(positions="none")).layer(0).head(0).scores.std()) < 1e-5


def test_only_models_with_rotary_positions_say_that_they_turn() -> None:
    for kind, layers in (("rotary", {"rotated": {"decoder": (0,)}}), ("sinusoidal", {})):
        toy = Toy(ToyConfig(positions=kind, causal=True), WordTokenizer().tokenize)  # type: ignore[arg-type]
        assert toy.description.steps_in == layers
    config = TransformerConfig("both", positions="rotary", decoder_depth=1)
    description = ToyTransformer(config, WordTokenizer().tokenize).description
    others: dict[str, Any] = {"normed": {}, "capped": {}, "biased": {}}
    assert description.steps_in == {"rotated": {"encoder": (0, 1), "decoder": (0,)}, **others}
    assert "rotated" not in names_at(description, Place("cross", 0))
    assert ToyTransformer(TransformerConfig(), WordTokenizer().tokenize).description.steps_in == {
        "rotated": {},
        **others,
    }


def test_heads_of_width_1_have_no_pair_to_turn() -> None:
    """Their script computes what is shown, too."""
    config = TransformerConfig(positions="rotary", width=8, heads=8)
    trace = trace_transformer(tokens(), None, config)
    walk = trace.walk(0, 0)
    assert walk.layer.rotation is None
    assert "rotated" not in steps_of(walk)
    assert "scores" in [step.name for step in document_of_layer(walk).header.steps]
    description = ToyTransformer(config, WordTokenizer().tokenize).description
    assert not any(description.steps_in.get("rotated", {}).values())
    try:
        with redirect_stdout(io.StringIO()) as printed:
            exec(script(transformer_cells(trace, config, 0)), {})
    finally:
        torch.set_grad_enabled(True)
    assert "matrices are those that the page showed." in printed.getvalue()


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
def test_the_transformer_turns_in_each_self_attention(architecture: Any) -> None:
    config = TransformerConfig(architecture, positions="rotary", norm="pre")
    trace = trace_transformer(tokens(), tokens("a dog") if architecture == "both" else None, config)
    plain = trace_transformer(tokens(), tokens("a dog") if architecture == "both" else None,
                              TransformerConfig(architecture, positions="none", norm="pre"))  # fmt: skip
    for kind, layers in trace.layers.items():
        for number, layer in enumerate(layers):
            assert (layer.rotation is not None) == (kind != "cross")
            assert layer.projections is not None and layer.query_input is not None
            if kind != "cross":
                torch.testing.assert_close(layer.query, turned(layer.projected("query")))
                torch.testing.assert_close(layer.key, turned(layer.projected("key")))
            before = plain.layer(number, kind).projections
            assert before is not None and torch.equal(layer.projections["key"].weight, before["key"].weight)
    walk = trace.walk_at(0, 0)
    assert tuple(steps_of(walk)) == names_at(
        ToyTransformer(config, WordTokenizer().tokenize).description, trace.places[0]
    )


def test_the_order_of_words_matters_to_an_encoder_with_rotary_positions_alone() -> None:
    x, order = torch.randn(5, 32, generator=torch.Generator().manual_seed(0)), [4, 3, 2, 1, 0]
    with torch.inference_mode():
        turned, plain = (
            order_matters(shared_stack(TransformerConfig(positions=kind)), x, torch.zeros_like(x), order)  # type: ignore[arg-type]
            for kind in ("rotary", "none")
        )
    assert float(plain.max()) < 1e-5
    assert float(turned.max()) > 1e-2


@pytest.mark.parametrize("causal", [False, True])
def test_a_row_from_its_past_is_turned_too(causal: bool) -> None:
    config = ToyConfig(positions="rotary", causal=causal)
    found = rows_from_past(run_block(IDS, config).layer(0), 1)
    for row in range(len(IDS)):
        shorter = run_block(IDS[: row + 1], config).layer(0).head(1).head_outputs[-1]
        torch.testing.assert_close(found.alone[row], shorter)
    assert (found.differing == []) == causal


def test_a_mistake_is_shown_with_turned_queries_and_keys() -> None:
    layer = run_block(IDS, ToyConfig(positions="rotary")).layer(0)
    assert layer.query_input is not None
    again = attended(layer, layer.query_input, layer.query_input)
    torch.testing.assert_close(again.scores, layer.head(0).scores)


def test_a_trace_holds_its_tables() -> None:
    layer = run_block(IDS, ToyConfig(positions="rotary")).layer(0)
    assert layer.rotation is not None
    assert any(tensor is layer.rotation.cos for tensor in layer.tensors())
    assert any(tensor is layer.rotation.sin for tensor in layer.tensors())


@pytest.mark.parametrize(
    "config",
    [ToyConfig(positions="rotary"), ToyConfig(positions="rotary", head_size=5, causal=True, bias=True),
     ToyConfig(positions="rotary", qkv="identity"), ToyConfig(positions="rotary", qkv="positions", padding=2)],
)  # fmt: skip
def test_the_blocks_script_computes_the_same(config: ToyConfig) -> None:
    walk = trace_toy(tokens(), config).walk(0, 0)
    inputs = *toy_inputs(walk.query_tokens.ids, config), *rotated_cells(walk)
    namespace: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as printed:
        exec(script(cells(walk, inputs, place="a test", needs="torch")), namespace)
    assert "All 13 matrices are those that the page showed." in printed.getvalue()
    torch.testing.assert_close(namespace["rotated_query"], walk.layer.query)
    torch.testing.assert_close(namespace["query"], walk.layer.projected("query"))
