"""The words in which two sentences differ."""

from __future__ import annotations

import pytest

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, MinimalPair, joined_words


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
