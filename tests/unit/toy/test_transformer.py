"""The toy transformer: what torch's transformers compute with its weights, and what its settings change."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from attnviz.links.link import read_link
from attnviz.tokens import NoTokensError, WordTokenizer
from attnviz.toy import lab_positions, sinusoidal_positions
from attnviz.toy.config import (
    EXAMPLE_TARGET,
    MAX_FEED_FORWARD,
    MAX_LAYERS,
    MAX_WIDTH,
    TransformerConfig,
    fitting_heads,
    why_fewer_heads,
)
from attnviz.toy.stacks import Encoder, Seq2Seq
from attnviz.toy.transformer import ToyTransformer, Transformer, draw_stack, sizes_of, trace_transformer
from attnviz.trace.model import AttentionSize, MapSize
from attnviz.trace.trace import Trace
from tests.toy import tokens_of
from tests.unit.toy.transformers import torchs_stack

SOURCE, TARGET = tokens_of((3, 1, 4, 1, 5), "cadae"), tokens_of((9, 2, 6, 1), "xyza")
NEAR = {"rtol": 1e-5, "atol": 1e-5}
CONFIGS = [
    pytest.param(
        TransformerConfig(architecture, 2, 2, 16, activation, norm, "sinusoidal", bias, 7),
        id=f"{architecture}, {norm}, {activation}, bias {bias}",
    )
    for architecture, norm, (activation, bias) in product(
        ("encoder", "decoder", "both"), ("post", "pre"), (("relu", True), ("gelu", False))
    )
]


def run(config: TransformerConfig, source: Any = SOURCE, target: Any = TARGET) -> Trace:
    return trace_transformer(source, target if config.architecture == "both" else None, config)


def inputs(trace: Trace) -> tuple[Tensor, Tensor]:
    """Return what the stacks read, (T, C) each."""
    return tuple(sum(parts.values(), start=torch.zeros(())) for parts in  # type: ignore[return-value]
                 (trace.embedding_parts, trace.decoder_embedding_parts))  # fmt: skip


def last_hidden(theirs: Any, trace: Trace, config: TransformerConfig) -> Tensor:
    """Return the last hidden state that torch's stack gives for a trace's inputs, (T, C)."""
    x, y = inputs(trace)
    causal = nn.Transformer.generate_square_subsequent_mask
    with torch.no_grad():
        if config.architecture == "both":
            hidden: Tensor = theirs(x[None], y[None], tgt_mask=causal(len(y)), tgt_is_causal=True)
        else:
            hidden = theirs(x[None], mask=causal(len(x)) if config.architecture == "decoder" else None)
    return hidden[0]


@pytest.mark.parametrize("config", CONFIGS)
def test_the_last_hidden_state_is_torchs(config: TransformerConfig) -> None:
    trace, theirs = run(config), torchs_stack(config, draw_stack(config))
    expected = last_hidden(theirs, trace, config)
    torch.testing.assert_close(trace.last_hidden_state, expected, **NEAR)


@pytest.mark.parametrize("config", CONFIGS)
def test_each_attention_is_torchs_and_its_place_is_in_order(config: TransformerConfig) -> None:
    trace, theirs = run(config), torchs_stack(config, draw_stack(config))
    kinds = [place.kind for place in trace.places]
    if config.architecture == "both":
        assert kinds == ["encoder", "encoder", "decoder", "cross", "decoder", "cross"]
    else:
        assert kinds == [config.architecture] * 2
    modules = {
        "encoder": [layer.self_attn for layer in (theirs.encoder if config.architecture == "both" else theirs).layers],
        "decoder": [layer.self_attn for layer in (theirs.decoder if config.architecture == "both" else theirs).layers],
        "cross": [layer.multihead_attn for layer in theirs.decoder.layers] if config.architecture == "both" else [],
    }
    for number, place in enumerate(trace.places):
        layer = trace.walk_at(number, 1).layer
        query, key = layer.query_input, layer.key_input
        assert query is not None
        assert key is not None
        mask = None if place.kind != "decoder" else ~torch.ones(len(query), len(query)).tril().bool()
        with torch.no_grad():
            output, weights = modules[place.kind][place.layer](
                query[None], key[None], key[None], attn_mask=mask, average_attn_weights=False
            )
        torch.testing.assert_close(layer.attentions(), weights[0], **NEAR)
        torch.testing.assert_close(layer.output(), output[0], **NEAR)


@pytest.mark.parametrize("architecture", ["encoder", "decoder"])
@pytest.mark.parametrize("hidden", [1, 64, 75, MAX_FEED_FORWARD])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_feed_forward_of_any_width_is_torchs(architecture: Any, hidden: int, norm: Any) -> None:
    config = TransformerConfig(architecture, depth=1, norm=norm, activation="gelu", feed_forward=hidden)
    stack = torchs_stack(config, draw_stack(config))
    trace = run(config)
    torch.testing.assert_close(trace.last_hidden_state, last_hidden(stack, trace, config), **NEAR)
    steps = trace.block(0).steps()
    assert steps is not None
    assert steps.feed_forward_hidden is not None
    assert steps.feed_forward_hidden.shape == (len(SOURCE), hidden)
    described = ToyTransformer(config, WordTokenizer().tokenize).description
    assert described.feed_forward == hidden
    assert sum(described.parameters.values()) == sum(one.numel() for one in stack.parameters())


@pytest.mark.parametrize("hidden", [1, 64])
def test_of_an_encoder_and_a_decoder_every_block_has_this_feed_forward(hidden: int) -> None:
    config = TransformerConfig("both", 2, feed_forward=hidden, decoder_depth=1)
    theirs = torchs_stack(config, draw_stack(config))
    trace = run(config)
    torch.testing.assert_close(trace.last_hidden_state, last_hidden(theirs, trace, config), **NEAR)
    layers = [*theirs.encoder.layers, *theirs.decoder.layers]
    assert [one.linear1.out_features for one in layers] == [hidden] * 3


def test_without_a_width_of_its_own_the_feed_forward_is_four_times_as_wide_as_the_model() -> None:
    usual, same = (run(TransformerConfig("both", width=24, feed_forward=hidden)) for hidden in (None, 96))
    assert torch.equal(usual.last_hidden_state, same.last_hidden_state)
    assert usual.logits is not None
    assert same.logits is not None
    assert torch.equal(usual.logits, same.logits)


def test_another_width_of_the_feed_forward_changes_no_weight_of_an_attention() -> None:
    usual, narrow = (run(TransformerConfig(feed_forward=hidden)) for hidden in (None, 64))
    assert torch.equal(*(one.block(0).attention.attentions() for one in (usual, narrow)))
    for name in ("query", "key", "value"):
        maps = [(one.block(1).attention.projections or {})[name].weight for one in (usual, narrow)]
        assert all(one is not None for one in maps)
        assert torch.equal(*maps)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize(("encoder", "decoder"), [(6, 1), (1, 3)])
def test_encoder_and_decoder_have_their_own_numbers_of_blocks(encoder: int, decoder: int) -> None:
    config = TransformerConfig("both", encoder, width=16, norm="pre", seed=3, decoder_depth=decoder)
    theirs = torchs_stack(config, draw_stack(config))
    assert (len(theirs.encoder.layers), len(theirs.decoder.layers)) == (encoder, decoder)
    trace = run(config)
    torch.testing.assert_close(trace.last_hidden_state, last_hidden(theirs, trace, config), **NEAR)
    assert [place.kind for place in trace.places] == ["encoder"] * encoder + ["decoder", "cross"] * decoder
    described = ToyTransformer(config, WordTokenizer().tokenize).description
    assert sum(described.parameters.values()) == sum(one.numel() for one in theirs.parameters())
    assert described.layers == {"encoder": (encoder, 2), "decoder": (decoder, 2), "cross": (decoder, 2)}


def test_another_number_of_decoder_blocks_leaves_the_encoder_and_the_first_of_them() -> None:
    deep, shallow = (run(TransformerConfig("both", 3, decoder_depth=depth)) for depth in (3, 1))
    assert torch.equal(deep.last_hidden_state, run(TransformerConfig("both", 3)).last_hidden_state)
    assert torch.equal(shallow.last_hidden_state, deep.block(1, "decoder").attention.query_input)
    for kind in ("encoder", "decoder", "cross"):
        assert torch.equal(*(one.block(0, kind).attention.attentions() for one in (deep, shallow)))


@pytest.mark.parametrize("architecture", ["decoder", "both"])
def test_logits_are_dot_products_with_the_embeddings_of_the_texts_tokens(architecture: Any) -> None:
    config = TransformerConfig(architecture)
    trace = run(config)
    vocabulary = trace.vocabulary
    assert vocabulary is not None
    labels = tuple(map(vocabulary.label, range(vocabulary.size)))
    assert labels == (tuple("cadexyz") if architecture == "both" else tuple("cade"))
    for at, label in enumerate(SOURCE.labels):
        own = vocabulary.projection.weight[:, labels.index(label)] * config.width**0.5
        torch.testing.assert_close(own, trace.embedding_parts["token"][at])
    assert trace.logits is not None
    for row in range(trace.logits.shape[0]):
        for column in range(len(labels)):
            plain = sum(
                float(trace.last_hidden_state[row, c]) * float(vocabulary.projection.weight[c, column])
                for c in range(config.width)
            )
            assert float(trace.logits[row, column]) == pytest.approx(plain, abs=1e-4)


def test_an_encoder_alone_has_no_logits_and_says_why() -> None:
    trace = run(TransformerConfig())
    assert trace.logits is None
    model = ToyTransformer(TransformerConfig(), WordTokenizer().tokenize)
    assert "no language head" in model.description.unavailable["logits"]


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
@given(changed=st.integers(0, 3), norm=st.sampled_from(["post", "pre"]))
@settings(max_examples=10, deadline=None)
def test_a_later_word_changes_no_row_before_it_where_there_is_a_mask(
    architecture: Any, changed: int, norm: Any
) -> None:
    config = TransformerConfig(architecture, norm=norm)
    ids = list(TARGET.ids)
    ids[changed] = 77
    other = tokens_of(ids, "xyza")
    before, after = (
        run(config, target=TARGET), run(config, target=other)
    ) if architecture == "both" else (run(config, TARGET), run(config, other))  # fmt: skip
    moved = (before.last_hidden_state - after.last_hidden_state).abs().amax(-1)
    assert bool((moved[changed:] > 0).all()) or architecture == "encoder"
    assert bool((moved[:changed] == 0).all()) == (architecture != "encoder" or changed == 0)


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_reach_every_parameter(architecture: Any, norm: Any) -> None:
    model = Transformer(TransformerConfig(architecture, norm=norm, positions="random"), (1, 2, 3, 4))
    hidden = model([0, 1, 2], [3, 2, 0, 1] if architecture == "both" else None)
    torch.manual_seed(0)
    (model.logits(hidden) * torch.randn(hidden.shape[0], 4)).sum().backward()
    # Adding the same to all scores of a row changes no weight, so the bias of keys has a gradient of 0.
    assert [name for name, one in model.named_parameters() if one.grad is None] == []
    flat = [name for name, one in model.named_parameters() if one.grad is not None and not one.grad.abs().sum() > 1e-9]
    assert [name for name in flat if not name.endswith("key.bias")] == []


@pytest.mark.parametrize("config", CONFIGS)
def test_a_batch_of_texts_has_the_numbers_of_each(config: TransformerConfig) -> None:
    model = Transformer(config, (3, 1, 4, 5)).eval()
    texts, targets = [[0, 1, 2, 1], [3, 3, 0, 2], [1, 1, 1, 0]], [[2, 0, 1], [3, 2, 1], [0, 0, 3]]
    pairs = targets if config.architecture == "both" else [None] * 3
    with torch.no_grad():
        hidden = model(texts, targets if config.architecture == "both" else None)
        for text, (one, target) in enumerate(zip(texts, pairs, strict=True)):
            torch.testing.assert_close(hidden[text], model(one, target), **NEAR)
            torch.testing.assert_close(model.logits(hidden)[text], model.logits(model(one, target)), **NEAR)


def test_a_setting_changes_only_what_depends_on_it() -> None:
    config = TransformerConfig(positions="random")
    trace, deeper = run(config), run(replace(config, depth=5))
    first, same = (one.block(1).steps() for one in (trace, deeper))
    assert first is not None
    assert same is not None
    assert torch.equal(first.block_output, same.block_output)
    assert torch.equal(trace.block(0).attention.query.flatten(), run(config).block(0).attention.query.flatten())
    other = run(replace(config, heads=4)).block(0)
    for name in ("query", "key", "value"):
        maps = [(one.attention.projections or {})[name].weight for one in (trace.block(0), other)]
        assert torch.equal(*(torch.cat(list(one), dim=-1) for one in maps if one is not None))
    seeded = run(replace(config, seed=1))
    assert not torch.equal(trace.embeddings, seeded.embeddings)
    tokens = [run(replace(config, positions=one)).embedding_parts["token"] for one in ("none", "lab", "sinusoidal")]
    assert all(torch.equal(one, trace.embedding_parts["token"]) for one in tokens)


def test_positions_are_those_of_the_settings() -> None:
    for name, make in (("sinusoidal", sinusoidal_positions), ("lab", lab_positions)):
        trace = run(TransformerConfig(positions=name))  # type: ignore[arg-type]
        assert torch.equal(trace.embedding_parts["position"], make(5, 32))
    assert "position" not in run(TransformerConfig(positions="none")).embedding_parts


def test_weights_have_the_spread_that_is_said() -> None:
    stack = draw_stack(TransformerConfig(width=128, heads=4, depth=1))
    (layer,) = stack.layers  # type: ignore[misc]
    for linear in (layer.attention.query, layer.feed_forward.first):
        inputs, outputs = linear.in_features, linear.out_features
        assert float(linear.weight.detach().var()) == pytest.approx(2 / (inputs + outputs), rel=0.05)
        assert float(linear.bias.detach().abs().max()) <= inputs**-0.5
    assert torch.equal(layer.attention_norm.weight, torch.ones(128))


def test_the_model_reads_its_texts() -> None:
    tokenize = WordTokenizer().tokenize
    both = ToyTransformer(TransformerConfig("both"), tokenize)
    assert both.read("a b", "c")[1] == tokenize("c")
    assert both.read("a b")[1] == tokenize(EXAMPLE_TARGET)
    assert ToyTransformer(TransformerConfig("decoder"), tokenize).read("a b", "c") == (tokenize("a b"), None)
    assert both.description.layers == {"encoder": (2, 2), "decoder": (2, 2), "cross": (2, 2)}
    assert both.trace("a b", "c d e").block(0, "cross").attention.query.shape == (2, 3, 16)
    for text, pair in (("", "a"), ("a", " ")):
        with pytest.raises(NoTokensError):
            both.trace(text, pair)


@pytest.mark.parametrize("architecture", ["encoder", "decoder", "both"])
def test_parameters_are_counted(architecture: Any) -> None:
    config = TransformerConfig(architecture, norm="pre")
    stack = draw_stack(config)
    assert isinstance(stack, Encoder | Seq2Seq)
    counted = ToyTransformer(config, WordTokenizer().tokenize).description.parameters
    assert sum(counted.values()) == sum(one.numel() for one in stack.parameters())


def test_what_can_not_be_is_refused() -> None:
    has = ": the toy transformer has"
    for fields, said in (
        ({"depth": 0}, f"0 layers{has} 1 to 12"), ({"depth": MAX_LAYERS + 1}, f"13 layers{has} 1 to 12"),
        ({"decoder_depth": 0}, f"0 layers of the decoder{has} 1 to 12"),
        ({"decoder_depth": MAX_LAYERS + 1}, f"13 layers of the decoder{has} 1 to 12"),
        ({"heads": 9}, f"9 heads{has} 1 to 8"), ({"width": MAX_WIDTH + 8}, f"136 numbers a token{has} 8 to 128"),
        ({"heads": 3}, "a width of 32 can't be divided into 3 heads"),
        ({"feed_forward": 0}, f"0 hidden numbers of a feed-forward{has} 1 to 512"),
        ({"feed_forward": MAX_FEED_FORWARD + 1}, f"513 hidden numbers of a feed-forward{has} 1 to 512"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{said}$"):
            TransformerConfig(**fields)  # type: ignore[arg-type]
    assert [fitting_heads(heads, 32) for heads in range(1, 9)] == [1, 2, 2, 4, 4, 4, 4, 8]
    assert fitting_heads(6, 48) == 6
    assert why_fewer_heads(6, 32) == "a width of 32 can't be divided into 6 heads, so there are 4"
    assert why_fewer_heads(4, 5) == "a width of 5 can't be divided into 4 heads, so there is 1"


def test_the_parameters_of_each_part_are_torchs() -> None:
    config = TransformerConfig("both", 2, heads=4, width=24, norm="pre", decoder_depth=3, feed_forward=40)
    theirs = torchs_stack(config, draw_stack(config))
    counts = {"attention": 0, "feed_forward": 0, "norms": 0}
    for name, parameter in theirs.named_parameters():
        part = "attention" if "attn" in name else "feed_forward" if "linear" in name else "norms"
        counts[part] += parameter.numel()
    is_ = ToyTransformer(config, WordTokenizer().tokenize).description
    assert is_.parameters == counts
    assert (is_.width, is_.head_size, is_.norm_first, is_.final_norm, is_.shows_logits) == (24, 6, True, True, True)
    post = ToyTransformer(replace(config, architecture="encoder", norm="post"), WordTokenizer().tokenize).description
    assert (post.norm_first, post.final_norm, post.shows_logits) == (False, False, False)


def test_the_sizes_of_matrix_products_are_those_of_the_weights() -> None:
    config = TransformerConfig("both", 1, heads=4, width=24, decoder_depth=2, feed_forward=40)
    sizes = ToyTransformer(config, WordTokenizer().tokenize).description.sizes
    square = MapSize(24, 24)
    assert sizes is not None
    assert sizes.attentions == (AttentionSize(4, 6, 6, (square,) * 3, (square,)),) * 5
    assert sizes.feed_forwards == ((MapSize(24, 40), MapSize(40, 24)),) * 3
    assert sizes.logits == ()
    model = Transformer(config, (1, 2, 3))
    assert sizes_of(model.stack, head=nn.Linear(24, 7)).logits == (MapSize(24, 7),)


def test_a_links_settings_are_the_transformers() -> None:
    link = {"architecture": "both", "depth": "3", "heads": "5", "width": "24", "activation": "gelu", "norm": "pre",
            "positions": "random", "bias": "0", "seed": "7", "decoder_depth": "4", "feed_forward": "40",
            "cap": "2.5", "sink": "-0.5", "window": "4"}  # fmt: skip
    view, notes = read_link(link)
    assert not notes
    config = TransformerConfig("both", 3, 4, 24, "gelu", "pre", "random", False, 7, 4, 40, 2.5, -0.5, 4)
    assert TransformerConfig.of(view.__getitem__) == config
    assert TransformerConfig(depth=MAX_LAYERS, decoder_depth=MAX_LAYERS, heads=8, width=MAX_WIDTH).hidden_width == 512
    assert TransformerConfig(heads=1, width=8, depth=1).layers == {"encoder": (1, 1)}


def test_the_final_norms_are_named_by_the_stack_that_they_end() -> None:
    for architecture, names in (("encoder", ["encoder"]), ("decoder", ["decoder"]), ("both", ["encoder", "decoder"])):
        for norm in ("pre", "post"):
            trace = run(TransformerConfig(architecture, norm=norm))  # type: ignore[arg-type]
            assert list(trace.final_norms) == (names if norm == "pre" else [])


def test_of_a_target_with_tokens_of_the_source_each_is_one_token() -> None:
    source, target = tokens_of((3, 1, 4), "cad"), tokens_of((1, 9, 3, 9), "axcx")
    trace = run(TransformerConfig("both", positions="none"), source, target)
    assert trace.vocabulary is not None
    assert [trace.vocabulary.label(row) for row in range(trace.vocabulary.size)] == list("cadx")
    for at, row in enumerate((1, 3, 0, 3)):
        own = trace.vocabulary.projection.weight[:, row] * 32**0.5
        torch.testing.assert_close(trace.decoder_embedding_parts["token"][at], own)


def test_a_seeds_weights_are_those_of_earlier_versions() -> None:
    """With which links show the same numbers as when they were made."""
    trace = run(TransformerConfig("both", positions="random", seed=5))
    steps = trace.block(1, "decoder").attention
    found = {
        "token": trace.embedding_parts["token"], "position": trace.embedding_parts["position"],
        "query": (steps.projections or {})["query"].weight, "bias": (steps.projections or {})["value"].bias,
    }  # fmt: skip
    digests = {
        name: sha256(one.detach().contiguous().numpy().tobytes()).hexdigest()[:16] for name, one in found.items()
    }
    assert digests == {
        "token": "abf64f28d2f96cd5",
        "position": "45727ac87fcdcfcc",
        "query": "d547d0eb5de351ee",
        "bias": "95376c68e41e87f0",
    }
