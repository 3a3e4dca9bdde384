"""Texts run together have the weights that transformers' eager attention gives each of them alone."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from attnviz.pretrained import Kind, open_model
from attnviz.pretrained.model import weights_digest
from attnviz.tokens import NoTokensError
from tests.unit.families import BART, BERT
from tests.unit.pretrained.architectures import tokenizer

TEXTS = (("the dog", "and the cat"), ("the cat sat on the mat", None), ("on the mat", None))
MODELS: dict[str, tuple[Callable[[], Any], Kind]] = {
    "bert": (lambda: tf.BertModel(tf.BertConfig(**BERT | {"vocab_size": 128})), "encoder"),
    "gpt2": (lambda: tf.GPT2Model(tf.GPT2Config(vocab_size=128, n_embd=32, n_layer=2, n_head=4)), "decoder"),
    "bart": (lambda: tf.BartModel(tf.BartConfig(**BART | {"vocab_size": 128})), "encoder"),
}


@pytest.mark.parametrize("name", MODELS)
def test_of_a_batch_each_text_has_its_own_weights_and_padding_gets_none(name: str) -> None:
    make, kind = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    words = tokenizer()
    words.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    opened = open_model(model, words)
    texts = [opened.tokenize(*text) for text in TEXTS]
    layers_of_decoder = opened.body.decoder.layers if name == "bart" else ()
    for layer in layers_of_decoder:
        layer.register_forward_pre_hook(lambda *_: pytest.fail("the decoder runs, of which nothing was asked"))
    found = opened.batch_weights(texts, kind)
    model.set_attn_implementation("eager")
    alone = model.get_encoder() if name == "bart" else model
    for row, text in enumerate(texts):
        inputs = words(*TEXTS[row], return_tensors="pt")
        if name == "bart":
            del inputs["token_type_ids"]
        with torch.inference_mode():
            theirs = alone(**inputs, output_attentions=True).attentions
        assert len(found) == len(theirs) == 2
        for weights, wanted in zip(found, theirs, strict=True):
            torch.testing.assert_close(weights[row, :, : len(text), : len(text)], wanted[0], rtol=0, atol=1e-6)
            assert not weights[row, :, : len(text), len(text) :].any()


def test_an_encoder_and_a_decoder_both_need_a_token() -> None:
    model = open_model(MODELS["bart"][0](), tokenizer())
    for texts in (("the cat", " "), ("the cat", ""), (" ", "the cat")):
        with pytest.raises(NoTokensError):
            model.trace(*texts)


def test_weights_have_the_same_digest_only_if_names_shapes_types_and_numbers_are_the_same() -> None:
    def digest(**weights: Tensor) -> str:
        body = nn.ParameterDict({name: nn.Parameter(one, requires_grad=False) for name, one in weights.items()})
        return weights_digest(SimpleNamespace(body=body))  # type: ignore[arg-type]

    one, zeros = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.zeros(2)
    assert digest(a=one, b=zeros) == digest(b=zeros.clone(), a=one.clone())
    last = one.clone()
    last[1, 1] = 4.0001
    others = (
        {"a": one, "c": zeros}, {"a": one.view(4), "b": zeros}, {"a": last, "b": zeros}, {"a": one},
        {"a": one, "b": zeros.int()}, {"a": one, "b": -zeros}, {"a": zeros, "b": one},
    )  # fmt: skip
    assert len({digest(a=one, b=zeros), *(digest(**other) for other in others)}) == 1 + len(others)
