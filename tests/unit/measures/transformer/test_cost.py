"""Costs against torch's own counter of operations, parameters against transformers' and torch's models."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, BertModel

from attnviz.measures.transformer.cost import Sizes, cost, equal_at
from attnviz.measures.transformer.parameters import BERT_BASE, PAPER_BASE, Architecture, parameters
from attnviz.tokens import WordTokenizer
from attnviz.toy.transformer.config import TransformerConfig
from attnviz.toy.transformer.trace import trace_transformer

SIZES = Sizes(width=32, heads=4, feed_forward=96, layers=3, vocabulary=50)


def counted(tokens: int) -> int:
    """Count what torch's encoder and an output layer do, in multiplications."""
    layer = nn.TransformerEncoderLayer(SIZES.width, SIZES.heads, SIZES.feed_forward, batch_first=True)
    model = nn.Sequential(
        nn.TransformerEncoder(layer, SIZES.layers, enable_nested_tensor=False),
        nn.Linear(SIZES.width, SIZES.vocabulary),
    )
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):
        model(torch.randn(1, tokens, SIZES.width))
    return counter.get_total_flops() // 2  # a multiplication and an addition each


def test_multiplications_are_those_that_torch_counts() -> None:
    for tokens in (1, 7, 64):
        assert sum(part.multiplications for part in cost(SIZES, tokens)) == counted(tokens)


def test_attention_to_an_encoder_is_counted() -> None:
    model = nn.Transformer(
        SIZES.width, SIZES.heads, num_encoder_layers=3, num_decoder_layers=2, dim_feedforward=96, batch_first=True
    )
    model.encoder.enable_nested_tensor = False
    counter, text = FlopCounterMode(display=False), torch.randn(1, 9, SIZES.width)
    with counter, sdpa_kernel(SDPBackend.MATH):
        model(text, text)
    sizes = Sizes(SIZES.width, SIZES.heads, SIZES.feed_forward, layers=5, crosses=2)
    assert sum(part.multiplications for part in cost(sizes, 9)) == counter.get_total_flops() // 2


def test_quadratic_parts_grow_fourfold_when_the_text_doubles() -> None:
    for short, long in zip(cost(SIZES, 20), cost(SIZES, 40), strict=True):
        assert long.multiplications == (4 if short.is_quadratic else 2) * short.multiplications


def test_bytes_are_those_of_the_matrices() -> None:
    by_name = {part.name: part.nbytes for part in cost(SIZES, 10)}
    assert by_name["scores"] == 3 * torch.zeros(4, 10, 10).nbytes
    assert by_name["feed-forward"] == 3 * (torch.zeros(10, 96).nbytes + torch.zeros(10, 32).nbytes)
    assert by_name["logits"] == torch.zeros(10, 50).nbytes


@pytest.mark.parametrize("architecture", ["decoder", "both"])
def test_bytes_are_those_of_the_tensors_of_a_real_pass(architecture: Any) -> None:
    config = TransformerConfig(architecture, depth=3, heads=4)
    tokens = WordTokenizer().tokenize("one two three four five six seven")
    trace = trace_transformer(tokens, tokens if architecture == "both" else None, config)
    made: Counter[str] = Counter()
    for of_kind in trace.blocks.values():
        for block in of_kind:
            layer, whole = block.attention, block.attention.all_heads()
            made["Q, K, V"] += layer.query.nbytes + layer.key.nbytes + layer.value.nbytes
            made["scores"] += whole.scores.nbytes
            made["weighted values"] += whole.head_outputs.nbytes
            made["W_O"] += (layer.output() if layer.output() is not None else torch.zeros(0)).nbytes
            steps = block.steps()
            if steps is not None:
                made["feed-forward"] += steps.feed_forward_hidden.nbytes + steps.feed_forward_output.nbytes
    assert trace.logits is not None
    made["logits"] = trace.logits.nbytes
    crosses = 3 if architecture == "both" else 0
    sizes = Sizes(config.width, 4, 4 * config.width, layers=3 + crosses, crosses=crosses, vocabulary=7)
    assert {part.name: part.nbytes for part in cost(sizes, len(tokens))} == made


def test_both_kinds_of_parts_cost_the_same_where_it_says() -> None:
    sizes = Sizes(width=32, heads=4, feed_forward=96, layers=3)
    parts = cost(sizes, round(equal_at(sizes)))
    quadratic = sum(part.multiplications for part in parts if part.is_quadratic)
    assert 2 * quadratic == sum(part.multiplications for part in parts)


def test_bert_base_has_the_parameters_of_transformers_model() -> None:
    with torch.device("meta"):
        theirs = BertModel(BertConfig())
    assert sum(parameters(BERT_BASE).values()) == sum(one.numel() for one in theirs.parameters()) == 109_482_240
    counts = parameters(BERT_BASE)
    assert counts["attention"] == sum(
        one.numel() for name, one in theirs.named_parameters() if ".attention." in name and "LayerNorm" not in name
    )


def test_the_papers_model_has_the_parameters_of_torchs() -> None:
    with torch.device("meta"):
        theirs = nn.Transformer(batch_first=True)
    norms = 2 * 2 * 512  # torch adds a norm after each stack, which the paper does not have
    tables = PAPER_BASE.embeddings * PAPER_BASE.width
    ours = sum(parameters(PAPER_BASE).values())
    assert ours - tables == sum(one.numel() for one in theirs.parameters()) - norms
    assert round(ours / 1e6) == 63  # the paper says 65, of tables whose exact size it does not give


def test_a_part_that_is_not_there_is_left_out() -> None:
    assert parameters(Architecture(8, 32, decoder=2)) == {
        "attention": 2 * 4 * (64 + 8),
        "feed-forward": 2 * (2 * 8 * 32 + 32 + 8),
        "norms": 4 * 16,
    }
