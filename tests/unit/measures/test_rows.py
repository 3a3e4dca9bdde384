"""Numbers of a row of weights, and their means over a head, against scipy, numpy and cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy as scipy_entropy

from attnviz.attention import Mask, attend, causal_mask
from attnviz.measures import NAMES as MEASURES
from attnviz.measures.summary import (
    average,
    choose_measures,
    distance,
    entropy,
    is_punctuation,
    measure_head,
    uniform_measures,
    weight_at,
    weight_on,
)
from attnviz.measures.survey import weights_by_chunk
from attnviz.tokens import Tokens, WordPiece
from attnviz.trace.layer import LayerTrace
from tests.toy import tokens_of

SCORES = arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 9), st.integers(1, 9)),
                elements=st.floats(-30, 30, width=32))  # fmt: skip


def softmax(scores: np.ndarray) -> torch.Tensor:
    return torch.softmax(torch.from_numpy(scores), -1)


def tokens(text: str, pair: str | None = None) -> Tokens:
    return WordPiece().tokenize(text, pair)


@given(SCORES)
def test_entropy_is_scipys(scores: np.ndarray) -> None:
    weights = softmax(scores)
    expected = scipy_entropy(weights.double().numpy(), base=2, axis=-1)
    np.testing.assert_allclose(entropy(weights).numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 7, 512])
def test_entropy_of_uniform_attention_is_the_logarithm_of_the_keys(n: int) -> None:
    np.testing.assert_allclose(entropy(torch.full((1, 3, n), 1 / n)).numpy(), math.log2(n), rtol=1e-5)


def test_entropy_of_one_key_and_of_none_is_nothing() -> None:
    assert entropy(torch.eye(5)).tolist() == [0] * 5
    assert entropy(torch.zeros(2, 3)).tolist() == [0, 0]


@given(SCORES)
def test_distance_is_the_weighted_mean_of_the_distances(scores: np.ndarray) -> None:
    weights = softmax(scores)
    heads, rows, cols = weights.shape
    expected = [
        [sum(float(weights[h, i, j]) * abs(i - j) for j in range(cols)) for i in range(rows)] for h in range(heads)
    ]
    np.testing.assert_allclose(distance(weights).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_distance_by_hand() -> None:
    weights = torch.tensor([[0.5, 0.0, 0.5], [0.25, 0.5, 0.25], [1.0, 0.0, 0.0]])
    assert distance(weights).tolist() == [1.0, 0.5, 2.0]


def test_the_weight_at_a_place_relative_to_the_query() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3]])
    for offset, expected in ((-1, [math.nan, 0.3, 0.1]), (0, [0.1, 0.3, 0.3]), (1, [0.2, 0.4, math.nan])):
        np.testing.assert_allclose(weight_at(weights, offset).numpy(), np.float32(expected))


@given(SCORES, st.integers(-3, 3))
def test_the_weight_at_a_place_cell_by_cell(scores: np.ndarray, offset: int) -> None:
    weights = softmax(scores)
    _, rows, cols = weights.shape
    found = weight_at(weights, offset)
    for i in range(rows):
        if 0 <= i + offset < cols:
            assert found[:, i].tolist() == weights[:, i, i + offset].tolist()
        else:
            assert bool(found[:, i].isnan().all())


@given(SCORES, st.data())
def test_the_weight_on_some_keys(scores: np.ndarray, data: st.DataObject) -> None:
    weights = softmax(scores)
    marked = data.draw(st.lists(st.booleans(), min_size=weights.shape[-1], max_size=weights.shape[-1]))
    expected = weights.numpy()[..., np.array(marked)].sum(-1)
    np.testing.assert_allclose(weight_on(weights, torch.tensor(marked)).numpy(), expected, atol=1e-6)


def test_a_mean_leaves_out_queries_that_see_nothing_or_have_no_number() -> None:
    values = torch.tensor([[1.0, 3.0, math.nan, 100.0], [math.nan] * 4, [1.0, 2.0, 3.0, 4.0]])
    seeing = torch.tensor([[True, True, True, False], [True] * 4, [False] * 4])
    np.testing.assert_array_equal(average(values, seeing).numpy(), np.float32([2, math.nan, math.nan]))


def measured(weights: torch.Tensor, keys: Tokens) -> dict[str, list[float]]:
    measures = choose_measures(weights.shape[-2], keys, same_text=True, causal=False)
    values = measure_head(weights, measures)
    return {one.name: values[..., n].tolist() for n, one in enumerate(measures)}


def test_heads_with_a_plain_shape() -> None:
    keys = tokens("a cat , a dog .")
    n = len(keys)
    assert keys.pieces == ("[CLS]", "a", "cat", ",", "a", "dog", ".", "[SEP]")
    same = torch.eye(n)
    previous = torch.cat([torch.eye(n)[-1:], torch.eye(n)[:-1]])  # the first query, which has none, looks at the last
    last = torch.zeros(n, n)
    last[:, -1] = 1
    found = measured(torch.stack([same, previous, last]), keys)
    assert found["entropy"] == [0, 0, 0]
    assert found["distance"] == [0, (n - 1) * 2 / n, (n - 1) / 2]
    assert found["previous"] == [0, 1, 0]
    assert found["same"] == [1, 0, 1 / n]
    assert found["next"] == pytest.approx([0, 0, 1 / (n - 1)])
    assert found["cls"] == [1 / n, 1 / n, 0]
    assert found["sep"] == [1 / n, 1 / n, 1]
    assert found["punctuation"] == [2 / n, 2 / n, 0]


def test_rows_that_are_wholly_masked_do_not_count() -> None:
    keys = tokens("one two")
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    mask[:, 3] = False
    steps = attend(torch.zeros(2, 4, 3), torch.zeros(2, 4, 3), torch.zeros(2, 4, 3), mask=mask)
    found = measured(steps.weights, keys)
    np.testing.assert_allclose(found["entropy"], [math.log2(3)] * 2, rtol=1e-6)
    np.testing.assert_allclose(found["cls"], [1 / 3] * 2, rtol=1e-6)
    assert found["sep"] == [0, 0]
    everything_hidden = measured(torch.zeros(1, 4, 4), keys)
    assert all(math.isnan(value) for (value,) in everything_hidden.values())


def test_one_token_alone() -> None:
    found = measured(torch.ones(2, 1, 1), Tokens(*ONE))
    assert found == {"entropy": [0, 0], "distance": [0, 0], "previous": pytest.approx([math.nan] * 2, nan_ok=True),
                     "next": pytest.approx([math.nan] * 2, nan_ok=True), "same": [1, 1], "first": [1, 1]}  # fmt: skip


ONE = ("x", None, ("x",), (1,), ((0, 1),), (0,), (False,), (False,), 0, 2, "one")


def test_chance_is_what_uniform_attention_has() -> None:
    keys = tokens("one two three")
    measures = choose_measures(5, keys, same_text=True, causal=True)
    hidden = ~causal_mask(5)
    uniform = causal_mask(5).float() / torch.arange(1, 6)[:, None]
    found = dict(zip((one.name for one in measures), uniform_measures(hidden, measures).tolist(), strict=True))
    assert found["entropy"] == pytest.approx(np.mean([math.log2(i) for i in range(1, 6)]))
    assert found["previous"] == pytest.approx(np.mean([1 / i for i in range(2, 6)]))
    assert found["distance"] == pytest.approx(np.mean([0, 0.5, 1, 1.5, 2]))
    np.testing.assert_allclose(list(found.values()), measure_head(uniform, measures).tolist(), rtol=1e-6)


def test_queries_that_see_nothing_do_not_count_in_chance() -> None:
    keys = tokens("one two")
    measures = choose_measures(4, keys, same_text=True, causal=False)
    hidden = torch.zeros(4, 4, dtype=torch.bool)
    hidden[2] = True
    found = dict(zip((one.name for one in measures), uniform_measures(hidden, measures).tolist(), strict=True))
    assert (found["entropy"], found["cls"], found["distance"]) == (2, 0.25, pytest.approx((1.5 + 1 + 1.5) / 3))


def test_a_measures_largest_value_is_one_that_a_row_can_have() -> None:
    keys = tokens("one two three")  # 5 with [CLS] and [SEP]
    high = {one.name: one.high for one in choose_measures(5, keys, same_text=True, causal=False)}
    first_looks_at_last = torch.zeros(5, 5)
    first_looks_at_last[0, 4] = 1
    assert high["distance"] == float(distance(first_looks_at_last).max())
    assert high["entropy"] == pytest.approx(float(entropy(torch.full((1, 5), 0.2))))
    (across, *_) = choose_measures(2, keys, same_text=False, causal=False)
    assert across.high == high["entropy"], "the keys count, not the queries"


@pytest.mark.parametrize(
    ("text", "pair", "same_text", "causal", "absent"),
    [
        ("the cat sat.", None, True, False, {"first"}),
        ("the cat sat", None, True, False, {"first", "punctuation"}),
        ("the cat sat.", None, True, True, {"first", "next"}),
        ("the cat.", None, False, False, {"first", "distance", "previous", "next", "same"}),
    ],
)
def test_only_what_means_something_is_measured(
    text: str, pair: str | None, same_text: bool, causal: bool, absent: set[str]
) -> None:
    keys = tokens(text, pair)
    measures = choose_measures(len(keys), keys, same_text=same_text, causal=causal)
    assert [one.name for one in measures] == [name for name in MEASURES if name not in absent]
    weights = torch.softmax(torch.randn(3, len(keys), len(keys), generator=torch.Generator().manual_seed(1)), -1)
    values = measure_head(weights, measures)
    for n, one in enumerate(measures):
        assert bool((values[:, n] >= one.low - 1e-6).all())
        assert bool((values[:, n] <= one.high + 1e-6).all())
        assert one.low == 0
        assert one.high == 1 or one.name in ("entropy", "distance")


def test_only_a_token_before_the_text_stands_for_its_first() -> None:
    """GPT-2 puts none there: a “<s>” that was typed is a token among others."""
    names = [[one.name for one in choose_measures(2, tokens_of((1, 2), pieces), same_text=False, causal=True)]
             for pieces in (("x", "<s>"), ("<s>", "x"), ("x", "</s>"))]  # fmt: skip
    assert names == [["entropy", "first", "cls"], ["entropy", "cls"], ["entropy", "first", "sep"]]


def test_separators_of_a_pair_and_typed_ones_all_count() -> None:
    keys = tokens("one [SEP] two", "three")
    assert keys.pieces.count("[SEP]") == 3
    (sep,) = [one for one in choose_measures(7, keys, same_text=True, causal=False) if one.name == "sep"]
    assert sep.title == "to [SEP]"
    assert float(sep.rows(torch.full((1, len(keys)), 1 / len(keys)))) == pytest.approx(3 / len(keys))


@pytest.mark.parametrize(
    ("text", "is_it"),
    [(".", True), (" ,", True), ("…", True), ("«", True), ("?!", True), ("。", True), ("a.", False), ("", False),
     (" ", False), ("+", False), ("🙂", False), ("3", False)],
)  # fmt: skip
def test_punctuation(text: str, is_it: bool) -> None:
    assert is_punctuation(text) is is_it


@pytest.mark.parametrize("masked", ["none", "causal", "float of each head"])
@pytest.mark.parametrize("tokens_", [1, 7, 200])
def test_weights_by_chunk_are_the_layers(masked: str, tokens_: int) -> None:
    generator = torch.Generator().manual_seed(tokens_)
    query, key, value = torch.randn(3, 9, tokens_, 4, generator=generator)
    mask = {
        "none": None,
        "causal": causal_mask(tokens_),
        "float of each head": torch.randn(9, tokens_, tokens_, generator=generator),
    }[masked]
    layer = LayerTrace(query, key, value, 0.5, Mask.recognise(mask))
    found = list(weights_by_chunk(layer))
    assert [head for heads, _ in found for head in heads] == list(range(9))
    assert tokens_ < 200 or len(found) > 1
    np.testing.assert_allclose(torch.cat([part for _, part in found]).numpy(), layer.attentions().numpy(), atol=1e-6)
    ((heads, some),) = weights_by_chunk(layer, [7, 2])
    assert heads == [7, 2]
    np.testing.assert_allclose(some.numpy(), layer.attentions()[[7, 2]].numpy(), atol=1e-6)


def test_with_a_sink_the_spread_is_that_between_the_keys_and_shares_are_of_all() -> None:
    """A sink that takes three quarters of each row leaves entropy and distance as they are."""
    keys = tokens("the cat sat on a mat.")
    measures = choose_measures(len(keys), keys, same_text=True, causal=False)
    weights = torch.softmax(torch.randn(3, len(keys), len(keys), generator=torch.Generator().manual_seed(1)), -1)
    plain, halved = measure_head(weights, measures), measure_head(weights * 0.25, measures)
    for n, one in enumerate(measures):
        factor = 1 if one.name in ("entropy", "distance") else 0.25
        torch.testing.assert_close(halved[:, n], factor * plain[:, n])


def test_each_head_of_a_layer_with_a_cap_and_sinks_has_its_own_weights() -> None:
    made = torch.Generator().manual_seed(2)
    query, key, value = (torch.randn(3, 4, 8, generator=made) for _ in range(3))
    layer = LayerTrace(query, key, value, 1.0, cap=1.5, sinks=torch.tensor([0.0, 1.0, 2.0])[:, None, None])
    (chunk,) = weights_by_chunk(layer, [2, 0])
    assert chunk[0] == [2, 0]
    for head, weights in zip(*chunk, strict=True):
        torch.testing.assert_close(weights, layer.head(head).weights)
        torch.testing.assert_close(weights, layer.attentions()[head])
