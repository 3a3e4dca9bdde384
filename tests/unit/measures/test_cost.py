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

from attnviz.measures.cost import (
    BERT_BASE,
    PAPER_BASE,
    Architecture,
    cost,
    equal_at,
    maps_in_words,
    outputs,
    parameters,
    weights,
)
from attnviz.tokens import WordTokenizer
from attnviz.toy.config import TransformerConfig
from attnviz.toy.language.config import TokenConfig
from attnviz.toy.language.model import TokenModel
from attnviz.toy.stacks import Encoder, Seq2Seq
from attnviz.toy.transformer import draw_stack, sizes_of, trace_transformer
from attnviz.trace.model import AttentionSize, MapSize, ModelSizes

WIDTH, HEADS, HIDDEN, LAYERS, VOCABULARY = 32, 4, 96, 3, 50
SIZES = sizes_of(Encoder(WIDTH, layers=LAYERS, heads=HEADS, feed_forward=HIDDEN), head=nn.Linear(WIDTH, VOCABULARY))


def flops(run: Any) -> int:
    """Count what torch multiplies; it counts a multiplication and an addition each."""
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        run()
    return counter.get_total_flops() // 2


def counted(tokens: int) -> int:
    """Count what torch's encoder and an output layer do, in multiplications."""
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, batch_first=True)
    model = nn.Sequential(
        nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False), nn.Linear(WIDTH, VOCABULARY)
    )  # fmt: skip
    return flops(lambda: model(torch.randn(1, tokens, WIDTH)))


def total(sizes: ModelSizes, tokens: int) -> int:
    return sum(part.multiplications for part in cost(sizes, tokens))


def test_multiplications_are_those_that_torch_counts() -> None:
    for tokens in (1, 7, 64):
        assert sum(part.multiplications for part in cost(SIZES, tokens)) == counted(tokens)


def test_attention_to_an_encoder_is_counted() -> None:
    model = nn.Transformer(
        WIDTH, HEADS, num_encoder_layers=3, num_decoder_layers=2, dim_feedforward=HIDDEN, batch_first=True
    )
    model.encoder.enable_nested_tensor = False
    text = torch.randn(1, 9, WIDTH)
    assert total(sizes_of(Seq2Seq.from_torch(model)), 9) == flops(lambda: model(text, text))


@pytest.mark.parametrize(
    "config",
    [
        TransformerConfig("encoder", depth=3, heads=4),
        TransformerConfig("decoder", depth=1, width=24, heads=3, norm="pre"),
        TransformerConfig("both", depth=2, heads=8),
        TransformerConfig("both", depth=6, decoder_depth=1),
        TransformerConfig("both", depth=2, feed_forward=64),
        TransformerConfig("encoder", depth=2, feed_forward=1),
    ],
)
def test_the_toys_layers_multiply_as_often_as_its_sizes_say(config: TransformerConfig) -> None:
    stack, text = draw_stack(config), torch.randn(11, config.width)
    texts = (text, text) if config.architecture == "both" else (text,)
    assert total(sizes_of(stack), 11) == flops(lambda: stack(*texts))


@pytest.mark.parametrize("hidden", [None, 0, 5])
def test_a_reduced_model_multiplies_as_often_as_its_sizes_say(hidden: int | None) -> None:
    model = TokenModel(TokenConfig(13, 8, layers=2, heads=2, width=12, feed_forward=hidden, norm=False))
    assert total(sizes_of(model.blocks, head=model.head), 7) == flops(lambda: model(torch.arange(7)))


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
    sizes = sizes_of(draw_stack(config), head=nn.Linear(config.width, 7))
    assert {part.name: part.nbytes for part in cost(sizes, len(tokens))} == made


@pytest.mark.parametrize("architecture", ["encoder", "both"])
def test_both_kinds_of_parts_cost_the_same_where_it_says(architecture: Any) -> None:
    sizes = sizes_of(draw_stack(TransformerConfig(architecture, depth=3, width=24, heads=3)))
    parts = cost(sizes, round(equal_at(sizes)))
    quadratic = sum(part.multiplications for part in parts if part.is_quadratic)
    assert 2 * quadratic == sum(part.multiplications for part in parts)
    assert equal_at(sizes) == (144 if architecture == "encoder" else 48 + 96 * 6 / 9)


def test_logits_are_no_part_of_what_is_compared() -> None:
    assert equal_at(SIZES) == 2 * WIDTH + HIDDEN


def test_values_may_be_wider_than_keys_and_other_maps_count() -> None:
    """By hand: 3 tokens; two heads with D = 2 and values of 5; X of 7."""
    maps = tuple(MapSize(7, one) for one in (4, 2, 10))
    sizes = ModelSizes((AttentionSize(2, 2, 5, maps, (MapSize(10, 7),)),), (), others=(MapSize(7, 3),))
    parts = {part.name: (part.multiplications, part.nbytes // 4) for part in cost(sizes, 3)}
    assert parts == {
        "Q, K, V": (3 * 7 * 16, 3 * 16),
        "scores": (9 * 4, 9 * 2),
        "weighted values": (9 * 10, 3 * 10),
        "W_O": (3 * 70, 3 * 7),
        "feed-forward": (0, 0),
        "other maps": (3 * 21, 3 * 3),
    }
    assert equal_at(sizes) == (7 * 16 + 70 + 21) / 14


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


def test_the_maps_are_named_with_their_sizes() -> None:
    assert maps_in_words(SIZES) == (
        "Each attention has 4 maps of 32 × 32; each feed-forward has 1 map of 32 × 96 and 1 map of 96 × 32."
    )
    gated = tuple(MapSize(*one) for one in ((8, 4), (8, 4), (4, 8)))
    attentions = tuple(
        AttentionSize(2, 4, 4, (MapSize(8, 8), MapSize(8, key), MapSize(8, key)), (MapSize(8, 8),)) for key in (8, 4)
    )
    assert maps_in_words(ModelSizes(attentions, (gated,))) == (
        "Each attention has 4 maps of 8 × 8 or 2 maps of 8 × 8 and 2 maps of 8 × 4; each feed-forward has 2 maps of "
        "8 × 4 and 1 map of 4 × 8."
    )
    assert maps_in_words(ModelSizes(attentions[:1], ())) == "Each attention has 4 maps of 8 × 8."


def test_with_a_cache_only_the_new_tokens_are_computed() -> None:
    """By hand: the last 2 of 5 tokens; C = 6, three heads with D = 2, F = 7, V = 11."""
    maps, projection = (MapSize(6, 6),) * 3, (MapSize(6, 6),)
    sizes = ModelSizes(
        (AttentionSize(3, 2, 2, maps, projection),), ((MapSize(6, 7), MapSize(7, 6)),), logits=(MapSize(6, 11),)
    )
    parts = {part.name: (part.multiplications, part.nbytes // 4) for part in cost(sizes, 5, new=2)}
    assert parts == {
        "Q, K, V": (2 * 3 * 36, 2 * 18),
        "scores": (2 * 5 * 6, 2 * 5 * 3),
        "weighted values": (2 * 5 * 6, 2 * 6),
        "W_O": (2 * 36, 2 * 6),
        "feed-forward": (2 * 84, 2 * 13),
        "logits": (2 * 66, 2 * 11),
    }


def test_parameters_by_hand() -> None:
    """C = 2, F = 3: an encoder of 1 layer, a decoder of 2 that looks at it, 5 rows of embeddings, a norm, a pooler."""
    assert parameters(Architecture(2, 3, encoder=1, decoder=2, embeddings=5, norms=1, pooler=True)) == {
        "embeddings": 10,
        "attention": (1 + 2 + 2) * (4 * 4 + 4 * 2),
        "feed-forward": 3 * (6 + 3 + 6 + 2),
        "norms": (2 + 3 + 3 + 1) * 4,
        "pooler": 4 + 2,
    }
    assert "pooler" not in parameters(Architecture(2, 3, encoder=1))
    assert maps_in_words(ModelSizes((), ())) == ""


def test_maps_multiply_as_often_as_their_weights_have_numbers() -> None:
    maps = MapSize(3, 5), MapSize(7, 2)
    assert (weights(maps), outputs(maps)) == (15 + 14, 7)
