"""Alignment: against a distance worked out another way, and by hand; and the words in which two sentences differ."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.compare.alignment import GAP, align, expand
from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, MinimalPair, joined_words

WORDS = st.lists(st.sampled_from("abcd"), max_size=9)


def distance(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[int, int]:
    """Work out Levenshtein's distance by its definition, and the fewest substitutions with so few edits."""

    @cache
    def of(i: int, j: int) -> tuple[int, int]:
        if not i or not j:
            return i + j, 0
        (deleted, one), (inserted, other), (before, both) = of(i - 1, j), of(i, j - 1), of(i - 1, j - 1)
        differ = int(first[i - 1] != second[j - 1])
        return min((deleted + 1, one), (inserted + 1, other), (before + differ, both + differ))

    return of(len(first), len(second))


@pytest.mark.parametrize(
    ("a", "b", "first", "second", "changed"),
    [
        ("too tired .", "too wide .", (0, 1, 2), (0, 1, 2), (False, True, False)),
        ("was good", "was not good", (0, GAP, 1), (0, 1, 2), (False, False, False)),
        ("was not good", "was good", (0, 1, 2), (0, GAP, 1), (False, False, False)),
        ("dog bit man", "man bit dog", (0, 1, 2), (0, 1, 2), (True, False, True)),
        ("x y z w", "y z w v", (0, 1, 2, 3, GAP), (GAP, 0, 1, 2, 3), (False,) * 5),
        (
            "was too tired .",
            "is very too wide",
            (0, GAP, 1, 2, 3),
            (0, 1, 2, 3, GAP),
            (True, False, False, True, False),
        ),
        ("a a b", "b c", (0, 1, 2, GAP), (GAP, GAP, 0, 1), (False,) * 4),
        ("", "a b", (GAP, GAP), (0, 1), (False, False)),
        ("", "", (), (), ()),
    ],
)
def test_by_hand(a: str, b: str, first: tuple[int], second: tuple[int], changed: tuple[bool]) -> None:
    places = align(a.split(), b.split())
    assert (places.first, places.second, places.changed) == (first, second, changed)


@given(WORDS, WORDS)
def test_there_are_as_few_changes_as_there_can_be_and_then_as_many_equal_pairs(a: list[str], b: list[str]) -> None:
    places = align(a, b)
    assert (places.gaps + sum(places.changed), sum(places.changed)) == distance(tuple(a), tuple(b))


@given(WORDS, WORDS)
def test_each_item_has_one_place_and_keeps_its_order(a: list[str], b: list[str]) -> None:
    places = align(a, b)
    assert [i for i in places.first if i != GAP] == list(range(len(a)))
    assert [j for j in places.second if j != GAP] == list(range(len(b)))
    for i, j, changed in zip(places.first, places.second, places.changed, strict=True):
        assert (i, j) != (GAP, GAP)
        assert changed == (GAP not in (i, j) and a[i] != b[j])


@given(WORDS)
def test_the_same_is_aligned_as_it_stands(a: list[str]) -> None:
    places = align(a, list(a))
    assert places.first == places.second == tuple(range(len(a)))
    assert places.gaps == 0


def test_long_texts_are_quick() -> None:
    words = [f"w{i % 50}" for i in range(1024)]
    places = align(words, [*words[:500], "new", *words[501:]])
    assert [i for i, changed in enumerate(places.changed) if changed] == [500]


def test_expand_leaves_gaps_empty() -> None:
    found = expand(np.array([[1.0, 2.0], [3.0, 4.0]]), (0, GAP, 1), (GAP, 0, 1))
    nan = np.nan
    np.testing.assert_array_equal(found, [[nan, 1, 2], [nan, nan, nan], [nan, 3, 4]])
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("a", "b", "differing"),
    [
        ("it was too tired", "it was too wide", [("tired", "wide")]),
        ("it was good", "it was not good", [("", "not")]),
        ("the dog chased the cat", "the cat chased the dog", [("dog", "cat"), ("cat", "dog")]),
        ("", "one", [("", "one")]),
        ("the same", "the  same ", []),
    ],
)
def test_words_are_aligned(a: str, b: str, differing: list[tuple[str, str]]) -> None:
    words = joined_words(a, b)
    assert [pair for pair in words if pair[0] != pair[1]] == differing
    for side, text in enumerate((a, b)):
        assert " ".join(filter(None, (pair[side] for pair in words))) == " ".join(text.split())


@pytest.mark.parametrize("pair", MINIMAL_PAIRS, ids=lambda pair: pair.b)
def test_a_minimal_pair_differs_in_a_word_or_two(pair: MinimalPair) -> None:
    assert 1 <= sum(one != other for one, other in joined_words(pair.a, pair.b)) <= 2
