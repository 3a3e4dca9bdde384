"""Comparing two heads: differences and figures against torch and numpy, what-if against torch, cases by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from torch import Tensor
from torch.nn import functional as F

from attnviz.attention import AttentionSteps, Mask, attend, causal_mask
from attnviz.compare import matrices
from attnviz.compare.alignment import Alignment, align
from attnviz.compare.matrices import (
    EXACT_CELLS,
    QUANTITIES,
    Comparison,
    align_tokens,
    compare,
    divergences,
    encode,
    jensen_shannon,
    joined_labels,
    measure_distance,
    what_if,
)
from attnviz.links.link import KEYS
from attnviz.tokens import WordPiece, WordTokenizer
from attnviz.trace.layer import LayerTrace
from tests.memory import held


def head(seed: int, n: int = 5, *, mask: Tensor | None = None) -> AttentionSteps:
    made = torch.Generator().manual_seed(seed)
    query, key, value = (torch.randn(n, 4, generator=made) for _ in range(3))
    return attend(query, key, value, mask=mask)


def whole(n: int) -> Alignment:
    return align(range(n), range(n))


def compared(a: AttentionSteps, b: AttentionSteps, quantity: str = "weights") -> Comparison:
    places = whole(a.weights.shape[0])
    return compare(a, b, quantity, places, places)


def layer(*, mask: Tensor | None = None, keys: int = 5) -> LayerTrace:
    made = torch.Generator().manual_seed(3)
    query = torch.randn(2, 5, 4, generator=made)
    key, value = (torch.randn(2, keys, 4, generator=made) for _ in range(2))
    return LayerTrace(query, key, value, 0.5, Mask.recognise(mask))


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_difference_is_a_minus_b_of_the_very_steps(quantity: str) -> None:
    a, b = head(0), head(1)
    found = compared(a, b, quantity)
    np.testing.assert_array_equal(found.a, getattr(a, quantity).numpy())
    np.testing.assert_array_equal(found.b, getattr(b, quantity).numpy())
    np.testing.assert_array_equal(found.difference, (getattr(a, quantity) - getattr(b, quantity)).numpy())


def test_the_links_quantities_are_those_that_can_be_compared() -> None:
    assert [KEYS["quantity"].read(quantity) for quantity in QUANTITIES] == list(QUANTITIES)
    with pytest.raises(ValueError, match=r"^tokens is not one of scores, scaled, capped, biased, masked, weights$"):
        compared(head(0), head(1), "tokens")


def test_a_hidden_weight_is_drawn_as_hidden_and_counts_as_0() -> None:
    a, b = head(0), head(0, mask=causal_mask(5))
    found = compared(a, b)
    above = np.triu(np.ones((5, 5), bool), 1)
    np.testing.assert_array_equal(np.isnan(found.b), above)
    np.testing.assert_array_equal(found.difference[above], a.weights.numpy()[above])
    assert np.isfinite(found.difference).all()


def test_a_hidden_score_has_no_difference() -> None:
    found = compared(head(0), head(1, mask=causal_mask(5)), "masked")
    above = np.triu(np.ones((5, 5), bool), 1)
    np.testing.assert_array_equal(np.isnan(found.difference), above)
    assert not np.isnan(found.a).any()


def test_rows_and_columns_that_one_side_lacks_have_no_difference() -> None:
    a, b = head(0, 3), head(1, 4)
    places = align(["was", "good", "."], ["was", "not", "good", "."])
    found = compare(a, b, "scores", places, places)
    kept = [0, 2, 3]
    np.testing.assert_array_equal(found.difference[np.ix_(kept, kept)], (a.scores - b.scores[kept][:, kept]).numpy())
    assert np.isnan(found.difference[1]).all()
    assert np.isnan(found.difference[:, 1]).all()
    assert np.isnan(found.a[1]).all()
    assert not np.isnan(found.b).any()


@pytest.mark.parametrize("quantity", ["scores", "weights"])
def test_the_figures_equal_torchs(quantity: str) -> None:
    a, b = head(0), head(1, mask=causal_mask(5))
    distance = measure_distance(compared(a, b, quantity))
    assert distance is not None
    one, other = getattr(a, quantity).double(), getattr(b, quantity).double()
    assert distance.cells == 25
    assert distance.mean == pytest.approx(float(F.l1_loss(one, other)), rel=1e-6)
    assert distance.cosine == pytest.approx(float(F.cosine_similarity(one.flatten(), other.flatten(), dim=0)), rel=1e-6)
    i, j = distance.at
    assert abs(distance.largest) == pytest.approx(float((one - other).abs().max()), rel=1e-6)
    assert distance.largest == pytest.approx(float(one[i, j] - other[i, j]), rel=1e-6)


def test_figures_of_nothing() -> None:
    assert measure_distance(compare(head(0), head(1), "scores", align("abcde", ""), align("abcde", "abcde"))) is None
    zero = attend(torch.zeros(2, 3), torch.zeros(2, 3), torch.zeros(2, 3))
    distance = measure_distance(compared(zero, zero, "scores"))
    assert distance is not None
    assert (distance.mean, distance.largest, distance.cosine) == (0, 0, None)


def test_the_divergence_by_hand() -> None:
    p = np.array([[1.0, 0.0], [1.0, 0.0], [0.25, 0.75]])
    q = np.array([[0.0, 1.0], [0.5, 0.5], [0.25, 0.75]])
    half = (np.log2(1 / 0.75) + 0.5 * np.log2(0.5 / 0.75) + 0.5 * np.log2(0.5 / 0.25)) / 2
    np.testing.assert_allclose(jensen_shannon(p, q), [1.0, half, 0.0], atol=1e-12)


def test_rows_of_float32_that_share_no_key_diverge_by_one_bit_and_no_more() -> None:
    thirds = np.array([[1 / 3] * 3 + [0.0] * 3], np.float32).astype(np.float64)
    assert thirds.sum() > 1
    assert jensen_shannon(thirds, thirds[:, ::-1]).tolist() == [1.0]


rows = st.lists(st.lists(st.floats(-8, 8), min_size=4, max_size=4), min_size=2, max_size=2)


@given(rows)
def test_the_divergence_equals_torchs(scores: list[list[float]]) -> None:
    p, q = torch.softmax(torch.tensor(scores, dtype=torch.float64), dim=1)
    middle = ((p + q) / 2).log()
    nats = (F.kl_div(middle, p, reduction="sum") + F.kl_div(middle, q, reduction="sum")) / 2
    (found,) = jensen_shannon(p[None].numpy(), q[None].numpy())
    assert found == pytest.approx(float(nats) / np.log(2), abs=1e-12)
    (turned,) = jensen_shannon(q[None].numpy(), p[None].numpy())
    assert found == pytest.approx(turned, abs=1e-15)
    assert 0 <= found <= 1


def test_weights_with_the_same_keys_have_a_divergence_a_row() -> None:
    a, b = head(0), head(1)
    found = compared(a, b)
    assert found.no_divergence_reason == ""
    assert found.divergence is not None
    np.testing.assert_array_equal(
        found.divergence, jensen_shannon(a.weights.double().numpy(), b.weights.double().numpy())
    )


def test_the_share_of_a_sink_counts_as_one_more_key() -> None:
    a = head(0)
    b = attend(a.query, a.key, a.value, sinks=torch.full((1, 1), 2.0))
    found = compared(a, b).divergence
    assert found is not None
    p, q = torch.cat([a.weights, torch.zeros(5, 1)], -1).double(), torch.cat([b.weights, b.sink], -1).double()
    np.testing.assert_allclose(found, jensenshannon(p, q, base=2, axis=1) ** 2, rtol=1e-5)
    both = divergences({0: a.weights.numpy(), 1: b.weights.numpy()}, 0)
    assert both.bits_at(1) == pytest.approx(found.mean(), rel=1e-5)


def test_a_cap_makes_a_quantity_of_its_own_and_without_one_it_is_the_scaled_score() -> None:
    a = head(0)
    b = attend(a.query, a.key, a.value, cap=0.5)
    np.testing.assert_array_equal(compared(a, b, "capped").b, (0.5 * torch.tanh(b.scaled / 0.5)).numpy())
    np.testing.assert_array_equal(compared(a, b, "capped").a, a.scaled.numpy())


def test_rows_without_weights_have_no_divergence() -> None:
    nothing = causal_mask(5)
    nothing[2] = False
    found = compared(head(0), head(1, mask=nothing))
    assert found.divergence is not None
    np.testing.assert_array_equal(np.isnan(found.divergence), [False, False, True, False, False])


def test_a_missing_divergence_has_a_reason() -> None:
    assert compared(head(0), head(1), "scaled").no_divergence_reason == "only rows of weights sum to 1"
    places = align("abcde", "abcd")
    found = compare(head(0), head(1, 4), "weights", places, places)
    assert found.divergence is None
    assert found.no_divergence_reason == "A and B do not have the same keys"
    one_key_more = compare(head(0), head(1), "weights", places, whole(5))
    assert one_key_more.divergence is not None
    assert np.isnan(one_key_more.divergence).tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("scale", [None, 1.0, 0.125])
@pytest.mark.parametrize("causal", [False, True])
def test_what_if_equals_torch(scale: float | None, causal: bool) -> None:
    given_layer = layer()
    found = what_if(given_layer, scale, causal).attentions()
    expected = F.scaled_dot_product_attention(
        given_layer.query, given_layer.key, torch.eye(5).expand(2, 5, 5), is_causal=causal, scale=scale or 0.5
    )
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(given_layer.attentions(), layer().attentions())


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_what_if_keeps_what_the_model_hides(kind: str) -> None:
    allowed = torch.tensor([True, True, True, True, False]).expand(1, 5, 5)
    mask = allowed if kind == "bool" else torch.zeros(1, 5, 5).masked_fill(~allowed, -torch.inf)
    weights = what_if(layer(mask=mask), None, True).attentions()
    assert (weights == 0).equal(~(allowed & causal_mask(5)).expand(2, 5, 5))


def test_a_causal_mask_means_nothing_where_rows_and_columns_are_other_tokens() -> None:
    across = layer(keys=7)
    assert what_if(across, None, True).mask.kind == "none"


def test_tokens_of_one_tokenizer_are_the_same_only_as_pieces() -> None:
    words = WordTokenizer()
    places = align_tokens(words.tokenize("The end"), words.tokenize("the end"))
    assert places.changed == (True, False)


def test_tokens_of_two_tokenizers_are_the_same_where_they_stand_for_the_same_characters() -> None:
    places = align_tokens(WordTokenizer().tokenize("The end came"), WordPiece().tokenize("the END, came"))
    assert places.first == (-1, 0, 1, -1, 2, -1)
    assert places.second == (0, 1, 2, 3, 4, 5)
    assert not any(places.changed)


def test_tokens_of_two_tokenizers_are_the_same_in_any_case_and_with_a_space_in_front() -> None:
    ours = WordTokenizer().tokenize("The Straße ends")
    theirs = WordTokenizer().tokenize("the STRASSE began")
    spaces = ((0, 3), (3, 11), (11, 17))  # as GPT-2's tokens hold the space before a word
    places = align_tokens(ours, replace(theirs, tokenizer="other", offsets=spaces))
    assert places.changed == (False, False, True)


def test_labels_mark_what_changed_and_what_is_missing() -> None:
    a, b = ["it", "was", "too", "tired", "."], ["it", "is", "very", "too", "wide"]
    assert joined_labels(align(a, b), a, b) == ["it", "was | is", "– | very", "too", "tired | wide", ". | –"]


def decode(coded: np.ndarray, covers: list[float]) -> np.ndarray:
    """Do what frontend/compare/compare.ts does."""
    low, high = covers
    matrices = coded.astype(np.float64)
    return np.where(coded == 65535, np.nan, low + matrices * ((high - low) / 65534))


def test_small_matrices_go_as_they_are() -> None:
    matrix = np.random.default_rng(0).random((362, 362), np.float32)
    assert matrix.size <= EXACT_CELLS
    coded, covers = encode(matrix)
    assert coded is matrix
    assert covers is None


@given(st.lists(st.floats(-50, 50, width=32) | st.just(float("nan")), min_size=1, max_size=40))
def test_large_matrices_are_within_the_documented_error(numbers: list[float]) -> None:
    matrix = np.array([numbers], np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "EXACT_CELLS", 0)
        coded, covers = encode(matrix)
    assert covers is not None
    assert coded.dtype == np.uint16
    found = decode(coded, covers)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(matrix))
    error = (covers[1] - covers[0]) / 131068
    assert np.nanmax(np.abs(found - matrix), initial=0) <= error * (1 + 1e-9)


def test_weights_of_512_tokens_are_within_8e_6() -> None:
    matrix = np.random.default_rng(0).dirichlet(np.full(512, 0.05), 512).astype(np.float32)
    coded, covers = encode(matrix)
    assert covers is not None
    assert coded.nbytes == 2 * 512 * 512
    assert np.abs(decode(coded, covers) - matrix).max() <= 7.7e-6


def random_rows(seed: int, heads: int, queries: int, keys: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).dirichlet(np.full(keys, 0.3), (heads, queries))
    return drawn.astype(np.float32)


@pytest.mark.parametrize("of", [0, 2, 4])
def test_each_is_the_mean_of_scipy_s_squared_distances(of: int) -> None:
    weights = random_rows(of, 5, 7, 9)
    found = divergences(dict(enumerate(weights)), of)
    with np.errstate(invalid="ignore"):  # of a matrix beside itself, where rounding leaves less than 0
        roots = [jensenshannon(one, weights[of], base=2, axis=1) for one in weights.astype(float)]
    theirs = [np.nan_to_num(one**2).mean() for one in roots]
    np.testing.assert_allclose(found.bits, theirs, atol=1e-7)
    assert found.bits[of] == 0
    assert found.nbytes == held(found)
    assert found.most == int(np.argmax(theirs))


def test_rows_whose_keys_are_all_hidden_do_not_count() -> None:
    weights = random_rows(1, 2, 3, 4)
    weights[:, 0] = 0
    theirs = jensenshannon(*weights[:, 1:].astype(float), base=2, axis=1) ** 2
    assert divergences(dict(enumerate(weights)), 0).bits[1] == pytest.approx(theirs.mean())
    assert divergences(dict(enumerate(np.zeros((2, 3, 4), np.float32))), 0).most is None
    for side in (0, 1):  # hidden on one side only
        weights = random_rows(1, 2, 3, 4)
        weights[side, 0] = 0
        assert divergences(dict(enumerate(weights)), 0).bits[1] == pytest.approx(theirs.mean())


def test_a_single_head_has_no_other_and_of_equal_heads_the_first_other_one_is_taken() -> None:
    one = random_rows(3, 1, 3, 3)
    assert divergences(dict(enumerate(one)), 0).most is None
    assert divergences(dict(enumerate(np.repeat(one, 3, axis=0))), 0).most == 1


def test_layers_go_by_their_numbers() -> None:
    weights = random_rows(4, 3, 3, 3)
    found = divergences(dict(zip((1, 3, 7), weights, strict=True)), 3)
    assert found.bits_at(3) == 0
    assert found.most in (1, 7)
    assert found.bits_at(found.most) == max(found.bits)
