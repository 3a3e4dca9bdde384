"""What is read off a model, and what becomes of every text architecture: heads, widths, numbers of transformers."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as tf
from torch import nn
from transformers.models.llama.modeling_llama import repeat_kv
from transformers.pytorch_utils import Conv1D

from attnviz import files
from attnviz.bert.configuration import configuration_of
from attnviz.pretrained import load, open_model
from attnviz.pretrained.families import count_layers_of, find_input_projections, layer_numbers, reproduces
from attnviz.pretrained.model import ModuleNames
from attnviz.pretrained.transformers_model import TransformersModel
from attnviz.trace.layer import Projection
from attnviz.trace.model import Description, Place, by_kind, either, layers_in_words, places
from tests.unit.families import BART, BERT, FAMILIES, HYBRIDS, opened, save_model
from tests.unit.pretrained import architectures
from tests.unit.pretrained.architectures import Outcome, made, table, tokenizer, written


def test_each_side_of_an_encoder_decoder_says_its_own_heads(tmp_path: Path) -> None:
    config = tf.BartConfig(**BART | {"decoder_attention_heads": 2})
    is_ = load(str(save_model(tf.BartModel(config), tmp_path, "bart"))).description
    encoder, decoder = 32 // config.encoder_attention_heads, 32 // config.decoder_attention_heads
    assert is_.head_sizes == {"encoder": (encoder,) * 2, "decoder": (decoder,) * 3, "cross": (decoder,) * 3}
    assert is_.head_size == 8, "that of the first attention"
    assert is_.heads_and_sizes == "encoder 4 × 8, decoder and cross 2 × 16"
    assert "head_size encoder 8, decoder and cross 16" in repr(is_)
    assert [is_.head_size_at(Place(kind, 1)) for kind in is_.layers] == [8, 16, 16]


def test_settings_are_those_of_the_part_about_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gemma 3's own configuration has neither F nor the padding token, and that of its tower has another F."""
    # as if F could not be measured
    monkeypatch.setattr("attnviz.pretrained.transformers_model.watch_maps", lambda *_: None)
    gemma = made("Gemma3ForConditionalGeneration", "gemma3")
    config = gemma.config.text_config
    config.pad_token_id = 7
    model = open_model(gemma, tokenizer())
    assert model.description.feed_forward == config.intermediate_size
    assert model.not_run == ("vision_tower", "multi_modal_projector")
    of_pictures = [*gemma.model.vision_tower.parameters(), *gemma.model.multi_modal_projector.parameters()]
    assert model.description.parameters["other"] == sum(one.numel() for one in of_pictures)
    read = []
    model.body.get_input_embeddings().register_forward_pre_hook(lambda _, args: read.append(args[0]))
    with torch.inference_mode():
        model.padded_forward([[1, 2, 3], [4]], [[0, 0, 0], [0]])
    assert read[0].tolist() == [[1, 2, 3], [4, 7, 7]]


def test_the_layers_of_a_stack_are_its_longest_outermost_list() -> None:
    stack = nn.Module()
    stack.embeddings = nn.Module()
    stack.embeddings.tables = nn.ModuleList([nn.Identity()] * 9)
    stack.norms = nn.ModuleList([nn.Identity()])
    stack.layers = nn.ModuleList([nn.ModuleList([nn.Identity()] * 8) for _ in range(3)])
    assert count_layers_of(stack) == 3
    assert count_layers_of(nn.Linear(1, 1)) == 0
    for kind in (tf.LongT5Config, tf.PegasusXConfig):
        sizes = {"d_model": 32, "d_ff": 8, "d_kv": 8, "num_heads": 4, "vocab_size": 9, "max_position_embeddings": 9}
        layers = {"num_layers": 3, "num_decoder_layers": 2, "encoder_layers": 3, "decoder_layers": 2}
        with torch.device("meta"):
            model = tf.AutoModel.from_config(kind(**sizes, **layers))
        assert [count_layers_of(model.get_encoder()), count_layers_of(model.get_decoder())] == [3, 2]


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


def test_the_configuration_of_a_model_says_heads_and_widths() -> None:
    model = opened("bert")
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
def test_where_all_layers_have_attention_they_are_counted_from_0(family: str) -> None:
    is_ = opened(family).description
    assert is_.numbers == {kind: tuple(range(count)) for kind, (count, _) in is_.layers.items()}


def test_the_modules_names_and_the_final_norm_are_found() -> None:
    gpt2 = tf.GPT2Model(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=2, n_head=4))
    nn.init.normal_(gpt2.ln_f.weight)
    opened = open_model(gpt2, tokenizer())
    assert opened.module_names(1, "decoder") == ModuleNames("h.1.attn", ("c_attn",), "h.1.attn.c_proj", False)
    assert isinstance(gpt2.h[1].attn.c_proj, Conv1D), "its weight is (in, out)"
    norm = opened.final_norms["decoder"]
    assert norm is not None and norm.weight is not None
    assert torch.equal(norm.weight, gpt2.ln_f.weight)
    opened = open_model(tf.BertModel(tf.BertConfig(**BERT | {"vocab_size": 128})), tokenizer())
    path = "encoder.layer.1.attention"
    assert opened.module_names(1, "encoder") == ModuleNames(
        f"{path}.self", ("query", "key", "value"), f"{path}.output.dense", True
    )
    assert not opened.final_norms


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


class Grouped(nn.Module):
    """Four query heads of width 3, two heads of keys and values, with biases."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(8, 12), nn.Linear(8, 6), nn.Linear(8, 6)


def test_shared_heads_are_repeated_as_transformers_repeats_them() -> None:
    torch.manual_seed(0)
    module, x = Grouped(), torch.randn(5, 8)
    found = find_input_projections(module, heads=4, head_size=3)
    assert found is not None
    with torch.no_grad():
        for name, layer in (("key", module.k_proj), ("value", module.v_proj)):
            expected = repeat_kv(layer(x).view(1, 5, 2, 3).transpose(1, 2), 2)[0]  # (G, T, D) -> (H, T, D)
            torch.testing.assert_close(found[name].apply(x), expected)
        torch.testing.assert_close(found["query"].apply(x), module.q_proj(x).view(5, 4, 3).transpose(0, 1))


class Fused(nn.Module):
    """One layer for several projections, as in GPT-2."""

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.c_attn = Conv1D(maps * 8, 8)
        nn.init.normal_(self.c_attn.bias)


def test_one_layer_holds_the_three_projections_or_is_another() -> None:
    torch.manual_seed(0)
    module, x = Fused(3), torch.randn(5, 8)
    found = find_input_projections(module, heads=2, head_size=4)
    assert found is not None
    with torch.no_grad():
        expected = module.c_attn(x).split(8, dim=1)
    for name, part in zip(("query", "key", "value"), expected, strict=True):
        torch.testing.assert_close(found[name].apply(x), part.view(5, 2, 4).transpose(0, 1))
    assert find_input_projections(Fused(2), heads=2, head_size=4) is None, "keys and values of GPT-2's cross-attention"


def test_a_projection_counts_only_if_it_gives_what_was_recorded() -> None:
    torch.manual_seed(0)
    projection, x = Projection("linear", torch.randn(2, 8, 4), torch.randn(2, 4)), torch.randn(5, 8)
    recorded = projection.apply(x)
    assert reproduces(projection, x, recorded)
    assert reproduces(projection, x, recorded * (1 + 1e-6))
    changed = recorded.clone()
    changed[1, 3, 2] += 0.01
    assert not reproduces(projection, x, changed)
    assert not reproduces(projection, x, recorded[:1])
    assert not reproduces(projection, x[:, :4], recorded)


ROWS = [
    tuple(cell.strip() for cell in line.split("|")[1:4]) for line in written().splitlines() if line.startswith("| ")
][2:]
PYTHON = re.compile(r"object has no|attribute|NoneType|<class|Error\b|\bself\b|\w+\(\)|__|None\b|tensor")


@cache
def found() -> dict[str, Outcome]:
    return architectures.outcomes()


@pytest.mark.parametrize("model_type", [row[0] for row in ROWS])
def test_a_model_is_shown_as_its_own_eager_attention_or_refused_in_one_sentence(model_type: str) -> None:
    one = found()[model_type]
    assert one.state != "different", one.words
    if one.state == "refused":
        assert one.words.endswith(".")
        assert "\n" not in one.words
        assert not PYTHON.search(one.words.removesuffix(".")), one.words


PINNED = f"transformers=={tf.__version__}" in files.REQUIREMENTS.read_text().splitlines()


@pytest.mark.skipif(not PINNED, reason="the table is that of the pinned transformers")
def test_the_table_names_every_architecture_and_is_up_to_date() -> None:
    assert len(ROWS) > 200
    assert tf.__version__ in written()
    assert written() == table(found()), "run: python -m tests.unit.pretrained.architectures"


@pytest.mark.parametrize("model_type", ["phi3", "glm4", "persimmon"])
def test_attention_is_shown_though_what_follows_it_is_not_known(model_type: str) -> None:
    model = architectures.made(found()[model_type].name, model_type)
    opened = architectures.open_model(model, architectures.tokenizer())
    assert opened.trace(architectures.TEXT).attentions(0).shape[0] == 4
    assert "after its attention is not known" in opened.description.unavailable["attention_residual"]
