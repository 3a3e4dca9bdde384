"""The trace of a whole model: whose tokens are on rows and columns, which layer a walk shows, and what is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from attnviz.trace.block import Block
from attnviz.trace.layer import LayerTrace
from attnviz.trace.model import Kind, layers_and_heads
from attnviz.trace.trace import Trace
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
    for layer, head in ((-1, 0), (3, 0), (0, -1), (0, 2)):
        with pytest.raises(IndexError, match="does not exist"):
            TRACE.walk(layer, head, "decoder")


def test_parts_are_the_two_summands_where_there_are_no_others() -> None:
    token, position, segment = torch.zeros(3, 8), torch.ones(3, 8), torch.ones(3, 8)
    parts = replace(TRACE, embedding_parts={"position": position, "token": token}).parts
    assert parts is not None
    assert parts[0] is token
    assert parts[1] is position
    assert replace(TRACE, embedding_parts={"token": token, "position": position, "segment": segment}).parts is None
    assert TRACE.parts is None


def test_the_memory_of_a_trace_is_that_of_all_its_tensors() -> None:
    vectors = 4 * 2 * 4 * (2 * 3 * 3 + 3 * 3 * 2 + 3 * (2 + 3 + 3))  # four bytes, two heads of width 4
    assert TRACE.nbytes == vectors + TRACE.last_hidden_state.nbytes
    more = replace(TRACE, embedding_parts={"token": torch.zeros(5, 8)}, weights=(torch.zeros(7),))
    assert more.nbytes == TRACE.nbytes + 4 * (5 * 8 + 7)


def test_a_short_form_names_each_kind_and_both_lengths() -> None:
    kinds = "encoder 2 layers x 2 heads, decoder 3 layers x 2 heads, cross 3 layers x 2 heads"
    assert repr(TRACE) == f"Trace(tiny, 3 tokens, 2 decoder tokens, {kinds})"
    assert repr(TRACE.layer(0, "cross")) == "LayerTrace(2 heads, 2 x 3 tokens, head_size 4, mask none)"
    assert layers_and_heads({"decoder": (3, 2)}) == "3 layers x 2 heads"
    assert (
        layers_and_heads({"decoder": (3, 2), "cross": (1, 4)}) == "decoder 3 layers x 2 heads, cross 1 layers x 4 heads"
    )
