"""What a comparison says: sentences follow from its numbers, and say nothing that is not in them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnviz.attention import AttentionSteps, attend, causal_mask
from attnviz.compare.alignment import Alignment, align
from attnviz.compare.explain import FORMULAS, gap_note, name, notice, perplexity
from attnviz.compare.matrices import compare, measure_distance
from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, MinimalPair, counterpart
from attnviz.formulas import latex
from attnviz.tokens import WordPiece
from attnviz.toy.config import ToyConfig
from tests.toy import run_block


def steps(weights: list[list[float]]) -> AttentionSteps:
    """Make a head whose scores are the logarithms of these weights, scaled by 1."""
    scores = torch.tensor(weights).log()
    n = scores.shape[1]
    return attend(scores, torch.eye(n), torch.eye(n), scale=1.0)


def explain(a: AttentionSteps, b: AttentionSteps, quantity: str = "weights", differs: tuple[str, ...] = ()) -> str:
    labels = ["x", "y"]
    places = align(labels, labels)
    found = compare(a, b, quantity, places, places)
    return notice(found, measure_distance(found), labels, labels, differs)


def test_the_row_that_changes_most_and_where_it_looks() -> None:
    a, b = steps([[0.5, 0.5], [0.9, 0.1]]), steps([[0.5, 0.5], [0.2, 0.8]])
    sentence = explain(a, b)
    # ½ (0.9 log₂(0.9/0.55) + 0.1 log₂(0.1/0.45)) + ½ (0.2 log₂(0.2/0.55) + 0.8 log₂(0.8/0.45)) = ½ (0.4224 + 0.3722)
    assert sentence.startswith("The row that changes most is “y” (0.40 of at most 1 bit; a row's average is 0.199): ")
    assert sentence.endswith("A looks most at “x” (0.90; B: 0.20), B at “y” (0.80; A: 0.10).")


def test_a_common_maximum_is_named_once() -> None:
    sentence = explain(steps([[0.9, 0.1], [0.5, 0.5]]), steps([[0.6, 0.4], [0.5, 0.5]]))
    assert "both look most at “x”, A with 0.90 and B with 0.60." in sentence


def test_repeated_words_are_numbered() -> None:
    assert name(["the", "cat", "the"], 2) == "“the” at 2"
    assert name(["the", "cat", "the"], 1) == "“cat”"


def test_scores_name_the_cell() -> None:
    a, b = steps([[1.0, 1.0], [1.0, 1.0]]), steps([[1.0, 1.0], [float(np.e), 1.0]])
    assert explain(a, b, "scores") == "The largest change is the score of “y” for “x”: 0.00 in A, 1.00 in B."


@pytest.mark.parametrize(
    ("differs", "quantity", "why"),
    [
        (("scale",), "scores", "The scale comes after the scores."),
        (("mask",), "scaled", "The mask comes after the scaling."),
        (("mask",), "scores", "The mask comes after the scores."),
        (("scale",), "scaled", ""),
        (("scale",), "weights", ""),
        (("scale", "head"), "scores", ""),
        ((), "scores", ""),
    ],
)
def test_equal_matrices_are_called_equal_and_why(differs: tuple[str, ...], quantity: str, why: str) -> None:
    a = steps([[0.3, 0.7], [0.5, 0.5]])
    assert explain(a, a, quantity, differs=differs) == f"A and B are equal in every cell. {why}".strip()


def test_what_the_mask_leaves_is_equal_only_where_both_have_it() -> None:
    a = steps([[0.3, 0.7], [0.5, 0.5]])
    b = attend(a.query, a.key, a.value, scale=1.0, mask=causal_mask(2))
    assert explain(a, b, "masked") == "A and B are equal in every cell that both have."


def test_matrices_without_common_cells_are_reported() -> None:
    nothing = compare(
        steps([[1.0]]), steps([[1.0]]), "weights", Alignment((0, -1), (-1, 0), (False,) * 2), align("a", "a")
    )
    assert notice(nothing, measure_distance(nothing), ["a", "b"], ["a"]) == (
        "A and B have no cell in common, so there is nothing to subtract."
    )


def test_a_changed_word_reaches_only_its_row_and_column_of_the_toys_scores() -> None:
    a, b = (run_block(ids, ToyConfig()).layer(0).head(0) for ids in ((1, 2, 3, 4), (1, 2, 9, 4)))
    places = align("wxyz", "wxvz")
    found = compare(a, b, "scores", places, places)
    labels = ["w", "x", "y | v", "z"]
    assert notice(found, measure_distance(found), labels, labels).endswith(
        " in B. Only rows and columns of “y | v” differ: the change affects nothing else in this layer."
    )
    weights = compare(a, b, "weights", places, places)
    assert "Only rows" not in notice(weights, measure_distance(weights), labels, labels)


def test_of_many_changed_words_three_are_named_and_a_change_elsewhere_is_not_denied() -> None:
    a, b = (run_block(ids, ToyConfig()).layer(0).head(0) for ids in ((1, 2, 3, 4, 5), (11, 12, 13, 14, 5)))
    places, labels = align("vwxyz", "abcdz"), list("vwxyz")
    found = compare(a, b, "scores", places, places)
    assert "Only rows and columns of “v”, “w”, “x” differ" in notice(found, measure_distance(found), labels, labels)
    a = attend(a.scores, torch.eye(5), torch.eye(5))  # whose scores are its queries
    a.query[4, 4] += 1e-3 * float(a.query.abs().max())  # a thousandth: more than rounding
    found = compare(a, b, "scores", places, places)
    assert "Only rows" not in notice(found, measure_distance(found), labels, labels)


def test_where_other_keys_than_queries_have_changed_the_queries_are_named() -> None:
    a, b = steps([[2.0] * 4] * 4), steps([[2.0] * 4] * 4)
    b.query[1], b.query[:, 2] = 1, 1
    found = compare(a, b, "scores", align("wxyz", "wvyz"), align("wxyz", "wxvz"))
    assert "Only rows and columns of “x” differ" in notice(found, measure_distance(found), list("wxyz"), list("wxyz"))


def test_rounding_alone_is_not_put_down_to_a_token() -> None:
    a, b = steps([[2.0] * 2] * 2), steps([[2.0] * 2] * 2)
    b.query[0, 1] += 1e-6
    assert not torch.equal(a.scores, b.scores)
    assert "Only rows" not in explain(a, b, "scores")


def test_a_weight_that_one_side_hides_is_called_0() -> None:
    a, b = steps([[0.1, 0.9], [0.5, 0.5]]), steps([[0.2, 0.7, 0.1], [0.4, 0.4, 0.2]])
    a = attend(a.query, a.key, a.value, scale=1.0, mask=causal_mask(2))
    found = compare(a, b, "weights", align("xy", "xy"), align("xy", "xyz"))
    assert notice(found, measure_distance(found), ["x", "y"], ["x", "y", "z"]) == (
        "The largest change is the weight of “x” for “x”: 1.00 in A, 0.20 in B."
    )
    b.weights[0, 0] = 0.9
    found = compare(a, b, "weights", align("xy", "xy"), align("xy", "xyz"))
    assert notice(found, measure_distance(found), ["x", "y"], ["x", "y", "z"]) == (
        "The largest change is the weight of “x” for “y”: 0.00 in A, 0.70 in B."
    )


def test_perplexity_of_rows() -> None:
    rows = np.array([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0], [np.nan] * 4], np.float32)
    assert perplexity(rows) == pytest.approx((1 + 4 + 2) / 3)
    assert perplexity(np.full((2, 2), np.nan, np.float32)) is None


@pytest.mark.parametrize("differs", [("scale",), ("mask",), ("head",)])
def test_scale_and_mask_are_explained_by_how_rows_spread(differs: tuple[str, ...]) -> None:
    sentence = explain(steps([[0.5, 0.5], [0.5, 0.5]]), steps([[0.9, 0.1], [0.9, 0.1]]), differs=differs)
    spread = " On average a row of A spreads over 2.0 keys, one of B over 1.4 (2 to its entropy)."
    assert sentence.endswith(spread) is (differs != ("head",))


def test_gaps_are_counted() -> None:
    places = align(["was", "good"], ["was", "not", "good"])
    a, b = steps([[1.0, 1.0]] * 2), steps([[1.0, 1.0, 1.0]] * 3)
    assert gap_note(compare(a, b, "scores", places, places)) == "Hatched: 1 row only B has, 1 column only B has."
    turned = align(["was", "really", "not", "good"], ["was", "good"])
    assert gap_note(compare(steps([[1.0] * 4] * 4), a, "scores", turned, align("ab", "ab"))) == (
        "Hatched: 2 rows only A has."
    )
    same = align("ab", "ab")
    assert gap_note(compare(a, a, "scores", same, same)) == ""


def test_all_figures_have_a_formula() -> None:
    assert {name: latex(formula, str) for name, formula in FORMULAS.items()} == {
        "mean |A − B|": r"\text{mean |A − B|} = \frac{1}{n} \sum_{ij} \lvert A_{ij}-B_{ij} \rvert"
        r" \qquad \text{over the } n \text{ cells that both have}",
        "divergence of a row": r"\text{divergence of a row} = \tfrac{1}{2} \sum_j p_j \log_2 \frac{p_j}{m_j}"
        r" + \tfrac{1}{2} \sum_j q_j \log_2 \frac{q_j}{m_j}, \qquad m = \tfrac{1}{2} (p + q)",
        "cosine": r"\text{cosine} = \frac{\sum_{ij} A_{ij} B_{ij}}"
        r"{\sqrt{\sum_{ij} A_{ij}^2} \sqrt{\sum_{ij} B_{ij}^2}}",
    }


@pytest.mark.parametrize("pair", MINIMAL_PAIRS, ids=lambda pair: pair.a[:20])
def test_minimal_pairs_differ_in_a_word_or_three(pair: MinimalPair) -> None:
    tokens = WordPiece()
    places = align(tokens.tokenize(pair.a).pieces, tokens.tokenize(pair.b).pieces)
    assert 1 <= places.gaps + sum(places.changed) <= 3
    assert counterpart(pair.a) == pair.b
    assert counterpart(f" {pair.b} ") == pair.a


def test_other_texts_have_no_other_side() -> None:
    assert counterpart("Something else.") is None
