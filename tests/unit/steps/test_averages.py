"""The lines of PyTorch of From averages to attention, run: three give one mean, the fourth torch's own attention."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from attnviz.steps.averages import CODE_WIDTH, WAYS
from attnviz.toy.averages import attend_to_past, average_past

X = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
QUERY, KEY = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(1))


def run(way: str) -> torch.Tensor:
    space = {"torch": torch, "math": math, "x": X, "query": QUERY, "key": KEY}
    exec(WAYS[way].code(average_past(X)), space)
    averages: torch.Tensor = space["averages"]
    return averages


def test_no_line_is_broken_beside_the_picture() -> None:
    widest = max((line for way in WAYS.values() for line in way.code(average_past(X)).splitlines()), key=len)
    assert len(widest) <= CODE_WIDTH, widest


@pytest.mark.parametrize("way", ["loop", "matrix", "softmax"])
def test_three_ways_give_the_running_mean(way: str) -> None:
    torch.testing.assert_close(run(way), X.cumsum(0) / torch.arange(1, 8)[:, None])


def test_scores_from_the_data_are_causal_attention() -> None:
    expected = F.scaled_dot_product_attention(QUERY[None], KEY[None], X[None], is_causal=True)[0]
    torch.testing.assert_close(run("data"), expected)
    torch.testing.assert_close(attend_to_past(X, QUERY, KEY).head_outputs, expected)
