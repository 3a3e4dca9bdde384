"""The trace of a whole model: whose tokens are on rows and columns, which layer a walk shows, and what is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch

from attnviz.trace.block import Block
from attnviz.trace.layer import LayerTrace, LinearMap
from attnviz.trace.model import Kind, layers_and_heads
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import Vocabulary
from tests.toy import tokens_of

ENCODER, DECODER = tokens_of((1, 2, 3), "abc"), tokens_of((4, 5), "de")


def blocks(queries: int, keys: int, layers: int) -> tuple[Block, ...]:
    """Return layers of two heads of width 4, each with other numbers."""
    made = torch.Generator().manual_seed(queries * keys)
    shapes = ((2, queries, 4), (2, keys, 4), (2, keys, 4))
    return tuple(
        Block(LayerTrace(*(torch.randn(shape, generator=made) for shape in shapes), 0.5)) for _ in range(layers)
    )


TRACE = Trace(
    ENCODER,
    DECODER,
    {"encoder": blocks(3, 3, 2), "decoder": blocks(2, 2, 3), "cross": blocks(2, 3, 3)},
    torch.zeros(2, 8),
    model="tiny",
)


@pytest.mark.parametrize(
    ("kind", "rows", "columns"),
    [("encoder", ENCODER, ENCODER), ("decoder", DECODER, DECODER), ("cross", DECODER, ENCODER)],
)
def test_rows_are_of_the_text_that_asks_and_columns_of_the_text_it_looks_at(
    kind: Kind, rows: object, columns: object
) -> None:
    walk = TRACE.walk(1, 0, kind)
    assert walk.query_tokens is rows
    assert walk.key_tokens is columns
    assert walk.labels == {"query": walk.query_tokens.labels, "key": walk.key_tokens.labels}
    assert (
        walk.steps.weights.shape == walk.layer.hidden(0).shape == (len(walk.labels["query"]), len(walk.labels["key"]))
    )


def test_a_walk_is_of_the_layer_that_it_names() -> None:
    for layer in range(3):
        walk = TRACE.walk(layer, 1, "cross")
        assert walk.layer_index == layer
        assert torch.equal(walk.steps.query, TRACE.blocks["cross"][layer].attention.query[1])
    layers, heads = "does not exist: layers go from 0 to 2", "does not exist: this layer has heads 0 to 1"
    for layer, head, said in (
        (-1, 0, f"layer -1 {layers}"), (3, 0, f"layer 3 {layers}"),
        (0, -1, f"head -1 {heads}"), (0, 2, f"head 2 {heads}"),
    ):  # fmt: skip
        with pytest.raises(IndexError, match=f"^{said}$"):
            TRACE.walk(layer, head, "decoder")


def test_parts_are_the_two_summands_where_there_are_no_others() -> None:
    token, position, segment = torch.zeros(3, 8), torch.ones(3, 8), torch.ones(3, 8)
    parts = replace(TRACE, embedding_parts={"position": position, "token": token}).parts
    assert parts is not None
    assert parts[0] is token
    assert parts[1] is position
    assert replace(TRACE, embedding_parts={"token": token, "position": position, "segment": segment}).parts is None
    assert TRACE.parts is None


def test_only_a_first_self_attention_reads_the_summands() -> None:
    encoder = {"token": torch.zeros(3, 8), "position": torch.ones(3, 8)}
    decoder = {"token": torch.zeros(2, 8)}
    trace = replace(TRACE, embedding_parts=encoder, decoder_embedding_parts=decoder, has_positions=True)
    first, second = trace.walk(0, 0, "encoder"), trace.walk(1, 0, "encoder")
    assert first.parts is not None
    assert first.parts[0] is encoder["token"]
    assert (first.has_positions, second.has_positions) == (True, True)
    assert second.parts is None
    of_decoder = trace.walk(0, 0, "decoder")
    assert (of_decoder.parts, of_decoder.has_positions) == (None, False)
    assert (trace.walk(0, 0, "cross").parts, trace.walk(0, 0, "cross").has_positions) == (None, True)


def test_layers_keep_the_models_own_numbers() -> None:
    x = torch.zeros(3, 8)
    made = tuple(replace(one, attention=replace(one.attention, query_input=x)) for one in blocks(3, 3, 2))
    trace = Trace(ENCODER, None, {"encoder": made}, x, numbers={"encoder": (1, 4)})
    assert trace.block(4) is made[1]
    assert trace.walk(4, 0).layer_index == 4
    assert trace.embeddings is None
    assert Trace(ENCODER, None, {"encoder": made}, x).embeddings is x
    with pytest.raises(IndexError, match=r"^layer 0 has no attention: this model has it in layers 1 and 4$"):
        trace.block(0)
    with pytest.raises(IndexError, match=r"^no cross attention: this model has encoder$"):
        trace.block(1, "cross")
    with pytest.raises(IndexError, match=r"^no decoder attention: this model has encoder$"):
        trace.numbers_of("decoder")


def test_attentions_are_counted_in_the_order_of_computation() -> None:
    walks = [TRACE.walk_at(number, 1) for number in range(8)]
    assert [(walk.kind, walk.layer_index, walk.number, walk.head, walk.model) for walk in walks] == [
        ("encoder", 0, 0, 1, "tiny"), ("encoder", 1, 1, 1, "tiny"),
        *(("decoder" if number % 2 == 0 else "cross", number // 2 - 1, number, 1, "tiny") for number in range(2, 8)),
    ]  # fmt: skip
    for number in (-1, 8):
        with pytest.raises(IndexError, match=f"attention {number} does not exist: attentions go from 0 to 7"):
            TRACE.walk_at(number, 0)


def test_rows_in_focus_are_those_to_be_guessed_or_the_last_of_the_text() -> None:
    words = replace(ENCODER, special=(True, False, True))
    encoder = Trace(words, None, {"encoder": blocks(3, 3, 1)}, torch.zeros(3, 8))
    assert encoder.focus == (1,)
    assert replace(encoder, tokens=replace(ENCODER, special=(True,) * 3)).focus == (2,)
    assert Trace(words, None, {"decoder": blocks(3, 3, 1)}, torch.zeros(3, 8)).focus == (2,)
    assert TRACE.focus == (1,)  # of the decoder's two
    vocabulary = Vocabulary(LinearMap(torch.zeros(8, 9)), str, masked=3)
    assert replace(encoder, vocabulary=vocabulary).focus == (2,)
    assert replace(encoder, vocabulary=vocabulary, tokens=tokens_of((3, 1, 3))).focus == (0, 2)
    assert replace(encoder, vocabulary=replace(vocabulary, masked=9)).focus == (1,)


def test_logits_are_what_the_language_head_makes_of_the_last_hidden_state() -> None:
    assert TRACE.logits is None
    hidden = torch.arange(16.0).reshape(2, 8)
    logits = replace(TRACE, last_hidden_state=hidden, language_head=lambda x: x[:, :3] * 2).logits
    assert logits is not None
    assert logits.tolist() == [[0, 2, 4], [16, 18, 20]]


def test_weights_are_torchs_of_the_head_alone_and_among_the_heads_of_its_layer() -> None:
    """One head's matrix product and a layer's are different kernels: on some processors they differ in the last bit."""
    operands = TRACE.blocks["cross"][1].attention
    weights = torch.softmax(operands.query[1] @ operands.key[1].T * 0.5, dim=-1)
    close = partial(torch.testing.assert_close, atol=1e-6, rtol=0)
    close(TRACE.head(1, 1, "cross").weights, weights)
    close(TRACE.attentions(1, "cross")[1], weights)
    assert (TRACE.attentions(1, "cross")[0] - weights).abs().max() > 0.1  # the other head's are far from these
    assert (TRACE.attentions(2, "cross")[1] - weights).abs().max() > 0.1  # and so are the next layer's


def test_the_memory_of_a_trace_is_that_of_all_its_tensors() -> None:
    vectors = 4 * 2 * 4 * (2 * 3 * 3 + 3 * 3 * 2 + 3 * (2 + 3 + 3))  # four bytes, two heads of width 4
    assert TRACE.nbytes == vectors + TRACE.last_hidden_state.nbytes
    more = replace(TRACE, embedding_parts={"token": torch.zeros(5, 8)}, weights=(torch.zeros(7),))
    assert more.nbytes == TRACE.nbytes + 4 * (5 * 8 + 7)
    of_decoder = replace(TRACE, decoder_embedding_parts={"token": torch.zeros(3, 8)})
    assert of_decoder.nbytes == TRACE.nbytes + 4 * 3 * 8


def test_a_short_form_names_each_kind_and_both_lengths() -> None:
    kinds = "encoder 2 layers x 2 heads, decoder 3 layers x 2 heads, cross 3 layers x 2 heads"
    assert repr(TRACE) == f"Trace(tiny, 3 tokens, 2 decoder tokens, {kinds})"
    assert repr(TRACE.layer(0, "cross")) == "LayerTrace(2 heads, 2 x 3 tokens, head_size 4, mask none)"
    assert layers_and_heads({"decoder": (3, 2)}) == "3 layers x 2 heads"
    assert (
        layers_and_heads({"decoder": (3, 2), "cross": (1, 4)}) == "decoder 3 layers x 2 heads, cross 1 layers x 4 heads"
    )
