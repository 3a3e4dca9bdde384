"""What an output layer favours is what transformers' own models say where their last layer reads zeros."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from torch.nn import functional

from attnviz.bert.embedding_and_output import drawn, favoured, tied
from attnviz.bert.table import table_of
from attnviz.pretrained import load
from tests.loaded import built_in_model
from tests.memory import held
from tests.unit.bert.test_blank import OTHERS
from tests.unit.families import BERT, SIZES, save_model

MODELS: dict[str, Any] = {
    "bert": lambda: tf.BertForMaskedLM(tf.BertConfig(**BERT)),
    **OTHERS,
    "decoder": lambda: tf.BertLMHeadModel(tf.BertConfig(**BERT, is_decoder=True)),
}


def logits_of_zeros(whole: Any) -> torch.Tensor:
    """Return a model's logits, (V,), where its last layer is handed zeros in the place of what comes before."""
    layer = whole.get_output_embeddings()
    hook = layer.register_forward_pre_hook(lambda _, read: (torch.zeros_like(read[0]),))
    with torch.inference_mode():
        logits: torch.Tensor = whole.eval()(input_ids=torch.tensor([[2, 5, 3]])).logits[0, 1].clone()
    hook.remove()
    return logits


@pytest.mark.parametrize("name", MODELS)
def test_the_bias_is_what_a_models_head_says_of_zeros(name: str, tmp_path: Path) -> None:
    torch.manual_seed(2)
    whole = MODELS[name]()
    model = load(str(save_model(whole, tmp_path / name, name)))
    theirs = logits_of_zeros(whole)
    assert model.output_bias is not None
    torch.testing.assert_close(model.output_bias, theirs, rtol=0, atol=1e-6)
    found = favoured(tied(table_of(model).weight).output, model.output_bias, count=6)
    order = theirs.argsort(descending=True)
    assert found.by == "bias"
    assert found.most.tolist() == order[:6].tolist()
    assert found.least.tolist() == order.flip(0)[:6].tolist()
    torch.testing.assert_close(found.largest, theirs[found.most])
    torch.testing.assert_close(found.smallest, theirs[found.least])
    probabilities = functional.softmax(theirs, dim=0)
    torch.testing.assert_close(found.probabilities(found.largest), probabilities[found.most], rtol=1e-4, atol=1e-8)
    torch.testing.assert_close(found.probabilities(found.smallest), probabilities[found.least], rtol=1e-4, atol=1e-8)
    assert found.differ
    assert found.nbytes == held(found)


def test_a_head_without_a_bias_and_a_model_without_a_head_have_none(tmp_path: Path) -> None:
    whole = tf.GPT2LMHeadModel(tf.GPT2Config(**SIZES, n_embd=32, n_layer=2, n_head=4))
    gpt2 = load(str(save_model(whole, tmp_path / "gpt2", "gpt2")))
    assert gpt2.language_head is not None
    assert gpt2.output_bias is None
    headless = load(str(save_model(tf.BertModel(tf.BertConfig(**BERT)), tmp_path / "bert", "bert")))
    assert (headless.language_head, headless.output_bias) == (None, None)
    assert built_in_model().output_bias is None


def test_without_a_bias_the_longer_of_two_rows_at_the_same_angle_has_the_larger_logit() -> None:
    weight = table_of(built_in_model()).weight
    found = favoured(tied(weight).output)
    lengths = weight.double().norm(dim=1).float()
    assert found.by == "length"
    torch.testing.assert_close(found.largest, lengths.topk(8).values, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found.smallest, lengths.topk(8, largest=False).values, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(lengths[found.most], found.largest, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(lengths[found.least], found.smallest, rtol=1e-5, atol=1e-6)
    long, short = weight[found.most[0]], weight[found.least[0]]
    x = functional.normalize(long, dim=0) + functional.normalize(short, dim=0)  # at the same angle to both
    assert x @ long > x @ short > 0
    assert found.probabilities(torch.zeros(1)).item() == pytest.approx(1 / 30522, rel=1e-5)


def test_rows_of_length_1_and_an_equal_bias_favour_none() -> None:
    rows = tied(torch.randn(50, 12, generator=torch.Generator().manual_seed(0)), is_unit=True)
    assert not favoured(rows.output).differ
    assert not favoured(rows.output, torch.full((50,), -0.5)).differ
    assert favoured(drawn(0, 50, 12).output).differ
    assert len(favoured(tied(torch.eye(3)).output).most) == 3
