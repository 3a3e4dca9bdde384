"""Layers by the model's own numbers, against transformers' configurations and the modules' own `layer_idx`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as tf

from attnviz.pretrained import load
from attnviz.pretrained.families import layer_numbers
from attnviz.pretrained.model import ModuleNames
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.trace.model import Description, Place, layers_in_words, places
from tests.unit.families import FAMILIES, HYBRIDS, save, save_model

TEXT = "the cat sat on the mat"


def hybrid(name: str, folder: Path) -> TransformersModel:
    torch.manual_seed(0)
    found = load(str(save_model(HYBRIDS[name](), folder, name)))
    assert isinstance(found, TransformersModel)
    return found


@pytest.mark.parametrize("name", HYBRIDS)
def test_layers_with_attention_keep_their_numbers_in_the_model(name: str, tmp_path: Path) -> None:
    model = hybrid(name, tmp_path)
    types = model.body.config.layer_types
    expected = tuple(number for number, one in enumerate(types) if one == "full_attention")
    assert expected == (1, 3)
    assert model.description.numbers == {"decoder": expected}
    assert model.description.layers == {"decoder": (2, 4)}
    for number in expected:
        module = model.body.get_submodule(model.module_names(number, "decoder").attention)
        assert module.layer_idx == number


@pytest.mark.parametrize("name", HYBRIDS)
def test_a_trace_finds_a_layer_by_its_own_number_and_has_its_own_weights(name: str, tmp_path: Path) -> None:
    model = hybrid(name, tmp_path)
    trace = model.trace(TEXT)
    eager = tf.AutoModel.from_pretrained(tmp_path, attn_implementation="eager", dtype=torch.float32).eval()
    seen = {}
    for number in (1, 3):
        attention = eager.layers[number].self_attn
        attention.register_forward_hook(lambda module, _, out: seen.__setitem__(module.layer_idx, out[1][0]))
    with torch.inference_mode():
        eager(input_ids=torch.tensor([trace.tokens.ids]), use_cache=False)
    assert trace.numbers == {"decoder": (1, 3)} and trace.numbers_of() == (1, 3)
    for number in (1, 3):
        np.testing.assert_allclose(trace.attentions(number), seen[number], rtol=0, atol=1e-5)
        assert trace.walk(number, 2).layer_index == number
    assert [walk.block and walk.block.place for walk in (trace.walk_at(0, 0), trace.walk_at(1, 0))] in (
        ["decoder block 1", "decoder block 3"], [None, None],
    )  # fmt: skip
    for missing in (0, 2, 4, 5, -1):
        with pytest.raises(IndexError, match=f"layer {missing} has no attention: this model has it in layers 1 and 3"):
            trace.layer(missing)
    assert trace.embeddings is None  # the first layer has no attention, so what it reads is not recorded


@pytest.mark.parametrize("family", FAMILIES)
def test_where_all_layers_have_attention_they_are_counted_from_0(family: str, tmp_path: Path) -> None:
    is_ = load(str(save(family, tmp_path))).description
    assert is_.numbers == {kind: tuple(range(count)) for kind, (count, _) in is_.layers.items()}


def test_numbers_are_those_of_the_outermost_list_and_layers_that_share_modules_are_counted() -> None:
    def numbers(*paths: str) -> tuple[int, ...]:
        return layer_numbers([ModuleNames(path, (), "") for path in paths])

    assert numbers("layers.2.self_attn", "layers.10.self_attn") == (2, 10)
    assert numbers("encoder.block.1.layer.0.SelfAttention", "encoder.block.3.layer.0.SelfAttention") == (1, 3)
    assert numbers("groups.0.layers.0.attention", "groups.0.layers.0.attention") == (0, 1)
    assert numbers("blocks.0.0.attention", "blocks.0.1.attention", "blocks.1.0.attention") == (0, 1, 2)
    assert numbers("attention", "other") == (0, 1)


def test_places_go_through_the_model_by_its_numbers() -> None:
    found = places({"cross": (3, 8), "decoder": (0, 3)})
    assert found == (Place("decoder", 0), Place("decoder", 3), Place("cross", 3), Place("cross", 8))
    assert places({"decoder": (1,), "encoder": (4,)}) == (Place("encoder", 4), Place("decoder", 1))
    assert found[2].name == "decoder block 3, attention to the encoder"


@pytest.mark.parametrize("numbers", [(1,), (1, 1), (3, 1), (-1, 2), (0, 1, 2)])
def test_a_model_of_two_layers_has_two_numbers_that_ascend(numbers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="2 decoder layers can't have the numbers"):
        Description("x", {"decoder": (2, 1)}, 8, 8, numbers={"decoder": numbers})


def test_layers_are_named_in_words() -> None:
    assert layers_in_words((3,)) == "layer 3"
    assert layers_in_words((1, 3)) == "layers 1 and 3"
    assert layers_in_words((3, 7, 11)) == "layers 3, 7 and 11"
