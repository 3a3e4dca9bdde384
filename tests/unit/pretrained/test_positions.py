"""Tiny random models of transformers: the kind of mask that is recorded, and how many tokens a model reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch import nn
from torch.nn import functional

from attnviz.pretrained import ModelError, load, open_model
from attnviz.pretrained.model import MAX_TOKENS, true_mask
from attnviz.pretrained.passes import PositionTables
from tests.unit.families import BART, BERT, opened, save_model
from tests.unit.pretrained.architectures import tokenizer

WANTED = {
    "bert": {"encoder": "none"},
    "gpt2": {"decoder": "causal"},
    "llama": {"decoder": "causal"},
    "bart": {"encoder": "none", "decoder": "causal", "cross": "none"},
    "t5": {"encoder": "none", "decoder": "causal", "cross": "none"},
}
"""T5's position biases are no part of its masks"""


@pytest.mark.parametrize("family", WANTED)
def test_models_masks_are_known_for_what_they_are(family: str) -> None:
    trace = opened(family).trace("the cat sat on the mat", "and the dog")
    found = {kind: {layer.mask.kind for layer in layers} for kind, layers in trace.layers.items()}
    assert found == {kind: {mask} for kind, mask in WANTED[family].items()}
    for kind, layers in trace.layers.items():
        assert len({id(layer.mask) for layer in layers}) == 1 or WANTED[family][kind] == "other"


def test_one_token_has_no_future_to_hide() -> None:
    assert opened("gpt2").trace("a").layer(0).mask.kind == "none"


WINDOWS = {
    "mistral": (lambda: tf.MistralModel(tf.MistralConfig(**BERT, num_key_value_heads=2, sliding_window=3)),
                "decoder", [("window", (2, 0))] * 2),
    "modernbert": (lambda: tf.ModernBertModel(tf.ModernBertConfig(
        **BERT, local_attention=4, pad_token_id=0, layer_types=["full_attention", "sliding_attention"])),
        "encoder", [("none", None), ("window", (2, 2))]),
    "gemma3": (lambda: tf.Gemma3TextModel(tf.Gemma3TextConfig(
        **BERT, num_key_value_heads=2, head_dim=8, sliding_window=4,
        layer_types=["sliding_attention", "full_attention"])), "decoder", [("window", (3, 0)), ("causal", None)]),
}  # fmt: skip


@pytest.mark.parametrize("family", WINDOWS)
def test_a_window_is_called_one_with_its_width_and_its_weights_are_transformers(family: str, tmp_path: Path) -> None:
    make, kind, expected = WINDOWS[family]
    torch.manual_seed(0)
    trace = load(str(save_model(make(), tmp_path, family))).trace("the cat sat on the mat and the dog sat")
    assert trace.kinds == (kind,)
    masks = [layer.mask for layer in trace.layers[kind]]
    assert [(mask.kind, mask.window) for mask in masks] == expected
    eager = tf.AutoModel.from_pretrained(tmp_path, attn_implementation="eager", dtype=torch.float32).eval()
    with torch.inference_mode():
        theirs = eager(input_ids=torch.tensor([trace.tokens.ids]), output_attentions=True, use_cache=False).attentions
    for number, one in enumerate(theirs):
        torch.testing.assert_close(trace.attentions(number), one[0], atol=1e-5, rtol=0)
        assert torch.equal(one[0] == 0, masks[number].hidden(one[0].shape))


def test_the_lowest_number_hides_a_key_also_where_a_bias_is_added_and_no_other_number_does() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        lowest, bias = torch.tensor(torch.finfo(dtype).min, dtype=dtype), torch.tensor(3.5, dtype=dtype)
        mask = torch.stack([lowest, lowest + bias, lowest - bias, lowest + lowest, 0 * bias, bias, -1000 * bias])
        hides = true_mask(mask)
        assert hides is not None
        assert hides.isneginf().tolist() == [True] * 4 + [False] * 3
        assert torch.equal(hides[4:], mask[4:])
    visible = torch.tensor([[True, False]])
    assert true_mask(visible) is visible
    assert true_mask(None) is None


def test_between_two_texts_hidden_keys_are_no_future() -> None:
    """A hook of the user's hides from each token of the decoder the encoder's later ones."""
    torch.manual_seed(0)
    model = tf.BartModel(tf.BartConfig(**BART | {"vocab_size": 128})).eval()

    def hide(_: Any, args: Any, kwargs: Any) -> Any:
        x = args[0] if args else kwargs["hidden_states"]
        lowest = torch.full((1, 1, x.shape[1], kwargs["key_value_states"].shape[1]), torch.finfo(x.dtype).min)
        return args, kwargs | {"attention_mask": lowest.triu(1)}

    for layer in model.decoder.layers:
        layer.encoder_attn.register_forward_pre_hook(hide, with_kwargs=True)
    trace = open_model(model, tokenizer()).trace("the cat sat", "on the mat")
    assert [trace.layer(0, kind).mask.kind for kind in trace.kinds] == ["none", "causal", "cross"]
    assert torch.equal(trace.attentions(0, "cross") > 0, torch.ones(4, 3, 3).tril() > 0)


def test_a_llama_that_hides_nothing_is_no_decoder(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = tf.LlamaConfig(**BERT, num_key_value_heads=2, is_causal=False)
    trace = load(str(save_model(tf.LlamaModel(config), tmp_path, "llama"))).trace("the cat sat on the mat")
    assert trace.kinds == ("encoder",)
    assert trace.layer(0).mask.kind == "none"
    assert (trace.attentions(0) > 0).all()


SIZES = {**BERT, "vocab_size": 128}
SMALL_BART = {
    "vocab_size": 128, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
}  # fmt: skip
OPT = {**SIZES, "ffn_dim": 48, "word_embed_proj_dim": 32}
T5 = {"vocab_size": 128, "d_model": 32, "num_layers": 1, "num_heads": 4, "d_kv": 8, "d_ff": 48}
ROTARY = {**SIZES, "num_key_value_heads": 2}

MODELS: dict[str, tuple[Callable[[], Any], int]] = {
    "RoBERTa, padding 0": (
        lambda: tf.RobertaModel(tf.RobertaConfig(**SIZES, max_position_embeddings=16, pad_token_id=0)), 15,
    ),
    "RoBERTa, padding 1": (
        lambda: tf.RobertaModel(tf.RobertaConfig(**SIZES, max_position_embeddings=16, pad_token_id=1)), 14,
    ),
    "XLM-R": (lambda: tf.XLMRobertaModel(tf.XLMRobertaConfig(**SIZES, max_position_embeddings=16)), 14),
    "CamemBERT": (lambda: tf.CamembertModel(tf.CamembertConfig(**SIZES, max_position_embeddings=16)), 14),
    "with a head": (
        lambda: tf.RobertaForMaskedLM(tf.RobertaConfig(**SIZES, max_position_embeddings=16, pad_token_id=0)), 15,
    ),
    "BERT": (lambda: tf.BertModel(tf.BertConfig(**SIZES, max_position_embeddings=16)), 16),
    "GPT-2": (lambda: tf.GPT2Model(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=1, n_head=4, n_positions=16)), 16),
    "OPT": (lambda: tf.OPTModel(tf.OPTConfig(**OPT, max_position_embeddings=16)), 16),
    "BART": (lambda: tf.BartModel(tf.BartConfig(**SMALL_BART, max_position_embeddings=16)), 16),
    "Marian, sines": (
        lambda: tf.MarianModel(tf.MarianConfig(**SMALL_BART, max_position_embeddings=16, pad_token_id=0)), 16,
    ),
    "T5, relative": (lambda: tf.T5Model(tf.T5Config(**T5)), MAX_TOKENS),
    "Llama, rotated": (lambda: tf.LlamaModel(tf.LlamaConfig(**ROTARY, max_position_embeddings=24)), 24),
    "Llama, more than is drawn": (
        lambda: tf.LlamaModel(tf.LlamaConfig(**ROTARY, max_position_embeddings=4096)), MAX_TOKENS,
    ),
    "GPT-2, more than is drawn": (
        lambda: tf.GPT2Model(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=1, n_head=4, n_positions=4096)),
        MAX_TOKENS,
    ),
    "Mistral, a window": (
        lambda: tf.MistralModel(tf.MistralConfig(**ROTARY, head_dim=8, max_position_embeddings=24, sliding_window=4)),
        24,
    ),
    "no room for the probe": (
        lambda: tf.RobertaModel(tf.RobertaConfig(**SIZES, max_position_embeddings=4, pad_token_id=1)), 2,
    ),
}  # fmt: skip
"""Each, and how many tokens it reads"""


@pytest.mark.parametrize("name", MODELS)
def test_a_text_is_cut_where_the_table_ends_and_the_rest_is_counted(name: str) -> None:
    make, most = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    opened = open_model(model, tokenizer())
    assert opened.max_tokens == most
    for words in (most, most + 1) if most < MAX_TOKENS else ():
        trace = opened.trace(" ".join(["the cat"] * words).split(" ", words)[0] if words == 1 else "the " * words)
        assert (len(trace.tokens), trace.tokens.dropped) == (most, words - most)
    text = opened.trace("the cat " * 18)
    assert (len(text.tokens), text.tokens.dropped) == (min(most, 36), max(0, 36 - most))
    if most < MAX_TOKENS and name not in ("Llama, rotated", "Mistral, a window"):
        ids = torch.full((1, most + 1), 5)
        both = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=ids, **both)


def test_consecutive_rows_are_those_of_the_axis_that_is_read() -> None:
    """However a model reads its table: five rows, one for each word, but neither columns nor the words themselves."""
    model = nn.Embedding(16, 5)
    table, ids = model.weight, torch.arange(3, 8)
    reads: list[tuple[Callable[[], Any], list[tuple[int, int]]]] = [
        (lambda: table[3:8], [(16, 13)]),
        (lambda: table[:5], [(16, 16)]),
        (lambda: table[ids], [(16, 13)]),
        (lambda: table[None][:, 3:8, :], [(16, 13)]),
        (lambda: table.index_select(0, ids), [(16, 13)]),
        (lambda: torch.index_select(table, dim=0, index=ids), [(16, 13)]),
        (lambda: functional.embedding(ids[None], table), [(16, 13)]),
        (lambda: functional.embedding(input=ids, weight=table), [(16, 13)]),
        (lambda: table[..., :5], []),
        (lambda: table[None, 3:8], []),
        (lambda: table[2:6], []),
        (lambda: table[ids.flip(0)], []),
        (lambda: table[torch.tensor([[4], [9], [2], [4], [7]])], []),
        (lambda: functional.embedding(torch.tensor([4, 9, 2, 4, 7]), table), []),
        (lambda: torch.zeros(16, 5)[3:8], []),
    ]
    for number, (read, found) in enumerate(reads):
        with PositionTables(model, [4, 9, 2, 4, 7]) as tables, torch.no_grad():
            read()
        assert list(zip(tables.rows, tables.rooms, strict=True)) == found, number


@pytest.mark.parametrize(
    ("name", "kinds"), [("BERT", ["encoder"]), ("GPT-2", ["decoder"]), ("BART", ["encoder", "decoder", "cross"])]
)
def test_where_one_token_hides_nothing_the_module_says_whether_it_is_a_decoder(name: str, kinds: list[str]) -> None:
    words = tokenizer()
    words.model_max_length = 1
    model = open_model(MODELS[name][0](), words)
    assert (list(model.description.layers), model.max_tokens) == (kinds, 1)


@pytest.mark.parametrize("pair", ["on the mat " * 9, "and the dog", "the cat"])
def test_of_a_pair_the_longer_text_is_cut(pair: str) -> None:
    words, texts = tokenizer(adds=True), ("the cat sat on the mat and the dog", pair)
    opened = open_model(MODELS["BERT"][0](), words)
    theirs = words(*texts, truncation=True, max_length=16)["input_ids"]
    found = opened.tokenize(*texts)
    assert (list(found.ids), found.dropped) == (theirs, len(words(*texts)["input_ids"]) - len(theirs))


def test_a_tokenizers_limit_counts_too() -> None:
    words = tokenizer()
    words.model_max_length = 9
    assert open_model(tf.BertModel(tf.BertConfig(**SIZES)), words).max_tokens == 9


def test_a_model_without_room_for_what_the_tokenizer_adds_is_refused_in_one_sentence() -> None:
    def roberta(rows: int) -> Any:
        return tf.RobertaModel(tf.RobertaConfig(**SIZES, max_position_embeddings=rows, pad_token_id=0))

    assert open_model(roberta(4), tokenizer(adds=True)).max_tokens == 3
    with pytest.raises(ModelError, match="has positions for 2 tokens, and its tokenizer adds 2 to each text"):
        open_model(roberta(3), tokenizer(adds=True))
