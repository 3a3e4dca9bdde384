"""The trace of a whole model: whose tokens are on rows and columns, which layer a walk shows, and what is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from attnviz.attention import Mask, attend
from attnviz.toy.config import ToyConfig
from attnviz.trace.layer import Block, LayerTrace, LinearMap
from attnviz.trace.model import (
    Description,
    Kind,
    Place,
    by_kind,
    either,
    layers_and_heads,
    layers_in_words,
    no_layer,
    numbered,
    places,
)
from attnviz.trace.trace import Trace
from attnviz.trace.vocabulary import Vocabulary
from attnviz.trace.walk import HeadSummary, Walk, summaries
from tests.toy import run_block, tokens_of

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


CONFIGS = {"plain": ToyConfig(heads=3), "causal": ToyConfig(causal=True, heads=2), "scale -2": ToyConfig(scale="-2")}


def head(config: ToyConfig, tokens: int = 6) -> Walk:
    return run_block(range(3, 3 + tokens), config).walk(0, 0)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("crosses", [False, True])
def test_the_numbers_are_numpys(name: str, crosses: bool) -> None:
    walk = head(CONFIGS[name])
    if crosses:  # rows and columns are of other texts, so the diagonal counts
        walk = replace(walk, layer=replace(walk.layer, key_input=walk.layer.key_input.clone()))
    for one in walk.of_heads(range(walk.layer.heads)):
        steps, found = one.layer.head(one.head), one.summary
        scores, masked, weights = (x.numpy() for x in (steps.scores, steps.masked, steps.weights))
        assert found.cells == weights.size
        assert found.largest_score == pytest.approx(np.abs(scores).max(), rel=1e-6)
        assert found.largest_scaled == pytest.approx(np.abs(steps.scaled.numpy()).max(), rel=1e-6)
        assert found.largest == np.abs(scores).argmax()
        assert found.hidden == np.isneginf(masked).sum()
        others = weights if crosses else np.where(np.eye(len(weights), dtype=bool), -1, weights)
        assert found.strongest == others.argmax()
        assert found.strongest_weight == pytest.approx(others.max(), rel=1e-6)
        np.testing.assert_allclose(found.row_maxima, weights.max(1), rtol=1e-6)
        alone = replace(walk, head=one.head).summary
        assert (alone.strongest, alone.hidden) == (found.strongest, found.hidden)
        np.testing.assert_allclose(alone.row_maxima, found.row_maxima, rtol=1e-6)


@pytest.mark.parametrize("heads", [(-1,), (0, 3)])
def test_heads_that_the_layer_does_not_have_are_refused(heads: tuple[int, ...]) -> None:
    with pytest.raises(IndexError, match=rf"^head {heads[-1]} does not exist: this layer has heads 0 to 2$"):
        head(ToyConfig(heads=3)).of_heads(heads)


def test_without_tokens_all_numbers_are_0() -> None:
    steps = attend(torch.zeros(2, 0, 4), torch.zeros(2, 3, 4), torch.zeros(2, 3, 4))
    assert summaries(steps, but_diagonal=True) == [HeadSummary(0, 0, 0.0, 0.0, 0, 0, 0.0, ())] * 2


def test_one_token_and_a_hidden_row() -> None:
    only = head(ToyConfig(), tokens=1).summary
    assert (only.cells, only.strongest_weight, only.row_maxima) == (1, -1.0, (1.0,))
    walk = head(ToyConfig())
    cells = walk.layer.hidden(0).logical_not()
    cells[2] = False
    hidden = replace(walk, layer=replace(walk.layer, mask=Mask.recognise(cells))).summary
    assert (hidden.hidden, hidden.row_maxima[2]) == (6, 0.0)


BOTH = Description(
    "tiny", {"encoder": (2, 4), "decoder": (1, 3), "cross": (1, 3)}, 32, 8,
    numbers={"decoder": (5,), "cross": (3,)}, head_sizes={"encoder": (8, 512)},
    depths={"decoder": 6},
)  # fmt: skip


def test_layers_without_numbers_are_counted_from_0() -> None:
    assert BOTH.numbers == {"encoder": (0, 1), "decoder": (5,), "cross": (3,)}
    assert numbered({"decoder": 2}, {"decoder": (0, 7)}) == {"decoder": (0, 7)}
    assert BOTH.depths == {"encoder": 2, "decoder": 6, "cross": 1}
    for wrong in ((1,), (1, 2, 3), (2, 2), (3, 2), (-1, 0)):
        with pytest.raises(ValueError, match="2 decoder layers can't have the numbers"):
            numbered({"decoder": 2}, {"decoder": wrong})


def test_places_are_in_the_order_of_computation() -> None:
    found = places({"cross": (1, 3), "decoder": (0, 1, 3), "encoder": (0, 2)})
    assert [one.name for one in found] == [
        "encoder block 0", "encoder block 2",
        "decoder block 0",
        "decoder block 1", "decoder block 1, attention to the encoder",
        "decoder block 3", "decoder block 3, attention to the encoder",
    ]  # fmt: skip
    assert [one.stack for one in found] == ["encoder"] * 2 + ["decoder"] * 5


def test_a_layer_that_is_not_there_is_named_with_those_that_are() -> None:
    assert no_layer(6, (0, 1, 2)) == "layer 6 does not exist: layers go from 0 to 2"
    assert no_layer(2, (3, 7)) == "layer 2 has no attention: this model has it in layers 3 and 7"
    words = [layers_in_words(numbers) for numbers in ((3,), (1, 3), (3, 7, 11), range(3, 61), (0, 1, 4, 5, 6, 9))]
    assert words == [
        "layer 3", "layers 1 and 3", "layers 3, 7 and 11", "layers 3 to 60", "layers 0, 1, 4 to 6 and 9"
    ]  # fmt: skip


def test_sizes_in_words() -> None:
    assert [either(numbers) for numbers in ((8, 8), (512, 8), (1536, 4, 8, 4))] == ["8", "8 or 512", "4, 8 or 1,536"]
    assert by_kind({"encoder": "4", "decoder": "4"}) == "4"
    assert by_kind({"encoder": "4", "decoder": "2", "cross": "2"}) == "encoder 4, decoder and cross 2"
    assert BOTH.heads_and_sizes == "encoder 4 × 8 or 512, decoder and cross 3 × 8"
    assert Description("one", {"encoder": (3, 4)}, 32, 8).heads_and_sizes == "4 × 8"
    assert repr(BOTH) == (
        "Description(tiny, encoder 2 layers x 4 heads, decoder 1 layers x 3 heads, cross 1 layers x 3 heads, "
        "width 32, head_size encoder 8 or 512, decoder and cross 8)"
    )
    at = [BOTH.head_size_at(Place(*one)) for one in (("encoder", 0), ("encoder", 1), ("decoder", 5), ("cross", 3))]
    assert at == [8, 512, 8, 8]
    assert BOTH.is_checked
