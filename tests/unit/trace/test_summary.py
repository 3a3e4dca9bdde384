"""Numbers of heads that sentences name, against numpy, for all heads at once and one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from attnviz.attention import Mask, attend
from attnviz.toy.config import ToyConfig
from attnviz.trace.walk import HeadSummary, Walk, summaries
from tests.toy import run_block

CONFIGS = {"plain": ToyConfig(heads=3), "causal": ToyConfig(causal=True, heads=2), "scale -2": ToyConfig(scale="-2")}


def head(config: ToyConfig, tokens: int = 6) -> Walk:
    return run_block(range(3, 3 + tokens), config).walk(0, 0)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("crosses", [False, True])
def test_the_numbers_are_numpys(name: str, crosses: bool) -> None:
    walk = head(CONFIGS[name])
    if crosses:  # rows and columns are of other texts, so the diagonal counts
        walk = replace(walk, layer=replace(walk.layer, key_input=walk.layer.key_input.clone()))
    for one in walk.of_heads(range(walk.layer.heads)):
        steps, found = one.layer.head(one.head), one.summary
        scores, masked, weights = (x.numpy() for x in (steps.scores, steps.masked, steps.weights))
        assert found.cells == weights.size
        assert found.largest_score == pytest.approx(np.abs(scores).max(), rel=1e-6)
        assert found.largest_scaled == pytest.approx(np.abs(steps.scaled.numpy()).max(), rel=1e-6)
        assert found.largest == np.abs(scores).argmax()
        assert found.hidden == np.isneginf(masked).sum()
        others = weights if crosses else np.where(np.eye(len(weights), dtype=bool), -1, weights)
        assert found.strongest == others.argmax()
        assert found.strongest_weight == pytest.approx(others.max(), rel=1e-6)
        np.testing.assert_allclose(found.row_maxima, weights.max(1), rtol=1e-6)
        alone = replace(walk, head=one.head).summary
        assert (alone.strongest, alone.hidden) == (found.strongest, found.hidden)
        np.testing.assert_allclose(alone.row_maxima, found.row_maxima, rtol=1e-6)


@pytest.mark.parametrize("heads", [(-1,), (0, 3)])
def test_heads_that_the_layer_does_not_have_are_refused(heads: tuple[int, ...]) -> None:
    with pytest.raises(IndexError, match=rf"^head {heads[-1]} does not exist: this layer has heads 0 to 2$"):
        head(ToyConfig(heads=3)).of_heads(heads)


def test_without_tokens_all_numbers_are_0() -> None:
    steps = attend(torch.zeros(2, 0, 4), torch.zeros(2, 3, 4), torch.zeros(2, 3, 4))
    assert summaries(steps, but_diagonal=True) == [HeadSummary(0, 0, 0.0, 0.0, 0, 0, 0.0, ())] * 2


def test_one_token_and_a_hidden_row() -> None:
    only = head(ToyConfig(), tokens=1).summary
    assert (only.cells, only.strongest_weight, only.row_maxima) == (1, -1.0, (1.0,))
    walk = head(ToyConfig())
    cells = walk.layer.hidden(0).logical_not()
    cells[2] = False
    hidden = replace(walk, layer=replace(walk.layer, mask=Mask.recognise(cells))).summary
    assert (hidden.hidden, hidden.row_maxima[2]) == (6, 0.0)
