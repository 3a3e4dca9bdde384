"""What kind of mask is recorded in tiny random models of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

from attnviz.pretrained import load, open_model
from attnviz.pretrained.model import true_mask
from tests.unit.families import BART, BERT, save, save_model
from tests.unit.pretrained.architectures import tokenizer

WANTED = {
    "bert": {"encoder": "none"},
    "gpt2": {"decoder": "causal"},
    "llama": {"decoder": "causal"},
    "bart": {"encoder": "none", "decoder": "causal", "cross": "none"},
    "t5": {"encoder": "other", "decoder": "other", "cross": "none"},
}
"""T5 adds relative positions to the scores of both of its self-attentions."""


@pytest.mark.parametrize("family", WANTED)
def test_models_masks_are_known_for_what_they_are(family: str, tmp_path: Path) -> None:
    trace = load(str(save(family, tmp_path))).trace("the cat sat on the mat", "and the dog")
    found = {kind: {layer.mask.kind for layer in layers} for kind, layers in trace.layers.items()}
    assert found == {kind: {mask} for kind, mask in WANTED[family].items()}
    for kind, layers in trace.layers.items():
        assert len({id(layer.mask) for layer in layers}) == 1 or WANTED[family][kind] == "other"


def test_one_token_has_no_future_to_hide(tmp_path: Path) -> None:
    assert load(str(save("gpt2", tmp_path))).trace("a").layer(0).mask.kind == "none"


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
