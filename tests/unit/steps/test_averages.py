"""The lines of PyTorch of From averages to attention, run: three give one mean, the fourth torch's own attention."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch.nn import functional as F

from attnviz.steps import steps_of
from attnviz.steps.averages import WAYS
from attnviz.tokens import WordTokenizer
from attnviz.toy.block import walk_to_attention
from attnviz.toy.config import MAX_AVERAGED, ToyConfig
from attnviz.trace.walk import Walk

X = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
QUERY, KEY = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(1))
RESULTS = {"matrix": "by_matrix", "softmax": "by_softmax"}


def walk_of(text: str = "the animal didn't cross the street", **config: int) -> Walk:
    return walk_to_attention(WordTokenizer().tokenize(text), ToyConfig(**config))


def run(way: str) -> torch.Tensor:
    space = {"torch": torch, "math": math, "x": X, "query": QUERY, "key": KEY}
    exec(WAYS[way].code(walk_of()), space)
    averages: torch.Tensor = space["averages"]
    return averages


def test_no_line_is_broken_beside_the_picture() -> None:
    widest = max((line for way in WAYS.values() for line in way.code(walk_of()).splitlines()), key=len)
    assert len(widest) <= 30, widest


@pytest.mark.parametrize("way", ["loop", "matrix", "softmax"])
def test_three_ways_give_the_running_mean(way: str) -> None:
    torch.testing.assert_close(run(way), X.cumsum(0) / torch.arange(1, 8)[:, None])


def test_scores_from_the_data_are_causal_attention() -> None:
    expected = F.scaled_dot_product_attention(QUERY[None], KEY[None], X[None], is_causal=True)[0]
    torch.testing.assert_close(run("data"), expected)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_the_walk_has_the_means_and_torchs_own_attention_to_the_embeddings(seed: int) -> None:
    walk = walk_of(seed=seed)
    x, query, key = walk.layer.value[0], walk.layer.query, walk.layer.key
    n = len(x)
    for name in ("by_loop", "by_matrix", "by_softmax"):
        torch.testing.assert_close(walk.averages[name], x.cumsum(0) / torch.arange(1, n + 1)[:, None])
    expected = F.scaled_dot_product_attention(query, key, x[None], is_causal=True)[0]
    torch.testing.assert_close(walk.steps.head_outputs, expected)


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("way", ["matrix", "softmax", "data"])
def test_the_largest_difference_is_named_with_its_place(way: str, seed: int) -> None:
    walk = walk_of("the dog and the cat and the bird ran on and on", seed=seed)
    result = walk.steps.head_outputs if way == "data" else walk.averages[RESULTS[way]]
    gaps = (result.double() - walk.averages["by_loop"].double()).abs()
    said = WAYS[way].fact(walk)
    found = re.match(r"Largest difference to the loop: (\S+), in row (\d+), “(.*)”, feature (\d+)\. ", said)
    assert found
    written, row, label, feature = found.groups()
    size = float(written.replace("−", "-"))
    assert size == pytest.approx(float(gaps.max()), rel=0.05)
    assert float(gaps[int(row), int(feature)]) == float(gaps.max())
    assert label == walk.query_labels[int(row)]
    assert ("round" in said and "float32" in said) == (way != "data")
    assert (size < 1e-6) == (way != "data")


def test_one_token_differs_in_nothing() -> None:
    walk = walk_of("alone")
    for way in ("matrix", "softmax", "data"):
        assert WAYS[way].fact(walk) == (
            "Largest difference to the loop: 0. On these numbers every rounding comes out the same."
        )
    assert WAYS["loop"].fact(walk) == ""


def test_an_average_has_the_colours_of_what_it_is_of_and_the_only_bar() -> None:
    walk = walk_of()
    for name, step in steps_of(walk).items():
        shown = step.picture(walk)
        assert shown is not None
        *others, result = shown.panels
        assert (result.name, result.bar, any(one.bar for one in others)) == (f"by_{name}", True, False)
        limits = {one.name: one.limit for one in shown.panels}
        assert limits["embeddings_k"] == limits[f"by_{name}"] == ("embeddings_k",)
        assert {limits[one.name] for one in others if one.scale == "weights"} == ({1} if name != "loop" else set())


def test_its_steps_are_the_ways_to_a_mean_alone() -> None:
    assert steps_of(walk_of()) == WAYS


def test_more_tokens_than_the_loop_takes_are_refused() -> None:
    walk_of("a " * MAX_AVERAGED)
    with pytest.raises(ValueError, match="65 tokens: the loop takes at most 64"):
        walk_of("a " * (MAX_AVERAGED + 1))
