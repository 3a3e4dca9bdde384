"""How many heads there are and how wide, read off each layer, against transformers' configurations."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers as tf

from attnviz.bert.configuration import configuration_of
from attnviz.pretrained import load
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.trace.model import Description, Place, by_kind, either
from tests.unit.families import BART, BERT, save, save_model


def test_each_side_of_an_encoder_decoder_says_its_own_heads(tmp_path: Path) -> None:
    config = tf.BartConfig(**BART | {"decoder_attention_heads": 2})
    is_ = load(str(save_model(tf.BartModel(config), tmp_path, "bart"))).description
    encoder, decoder = 32 // config.encoder_attention_heads, 32 // config.decoder_attention_heads
    assert is_.head_sizes == {"encoder": (encoder,) * 2, "decoder": (decoder,) * 3, "cross": (decoder,) * 3}
    assert is_.heads_and_sizes == "encoder 4 × 8, decoder and cross 2 × 16"
    assert "head_size encoder 8, decoder and cross 16" in repr(is_)
    assert [is_.head_size_at(Place(kind, 1)) for kind in is_.layers] == [8, 16, 16]


def test_layers_of_two_widths_say_both(tmp_path: Path) -> None:
    types = ["sliding_attention", "full_attention"] * 2
    config = tf.Gemma4TextConfig(
        **BERT | {"num_hidden_layers": 4}, num_key_value_heads=2, head_dim=8, global_head_dim=512, layer_types=types,
        hidden_size_per_layer_input=0, vocab_size_per_layer_input=8, num_kv_shared_layers=0, sliding_window=4,
    )  # fmt: skip
    torch.manual_seed(0)
    model = load(str(save_model(tf.Gemma4TextModel(config), tmp_path, "gemma4")))
    assert model.description.head_sizes == {"decoder": (8, 512, 8, 512)}
    assert model.description.heads_and_sizes == "4 × 8 or 512"
    assert "head_size 8 or 512" in repr(model.description)
    trace = model.trace("the cat sat on the mat")
    assert [layer.head_size for layer in trace.layers["decoder"]] == [8, 512, 8, 512]


def test_the_configuration_of_a_model_says_heads_and_widths(tmp_path: Path) -> None:
    model = load(str(save("bert", tmp_path)))
    assert isinstance(model, TransformersModel)
    assert configuration_of(model).heads_and_sizes == model.description.heads_and_sizes == "4 × 8"


@pytest.mark.parametrize(
    ("numbers", "words"), [((8,), "8"), ((512, 8, 512), "8 or 512"), ((16, 4, 8), "4, 8 or 16"), ((9, 10), "9 or 10")]
)
def test_different_numbers_are_named_once_each(numbers: tuple[int, ...], words: str) -> None:
    assert either(numbers) == words


def test_what_holds_for_all_kinds_is_said_once() -> None:
    assert by_kind({"encoder": "8", "decoder": "8"}) == "8"
    assert by_kind({"encoder": "8", "decoder": "9", "cross": "8"}) == "encoder and cross 8, decoder 9"
    is_ = Description("x", {"encoder": (2, 4)}, 32, 8)
    assert (is_.head_sizes, is_.heads_and_sizes) == ({"encoder": (8, 8)}, "4 × 8")
