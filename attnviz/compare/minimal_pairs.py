"""Minimal pairs to compare attention on: two sentences that differ in a word or two, and so in meaning."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.compare.alignment import GAP, align


@dataclass(frozen=True, slots=True)
class MinimalPair:
    """Two sentences, and what the differing words decide."""

    a: str
    b: str
    about: str


MINIMAL_PAIRS = (
    MinimalPair(
        "The animal didn't cross the street because it was too tired.",
        "The animal didn't cross the street because it was too wide.",
        "what “it” is: the animal, or the street",
    ),
    MinimalPair(
        "The trophy doesn't fit into the suitcase because it is too large.",
        "The trophy doesn't fit into the suitcase because it is too small.",
        "what “it” is: the trophy, or the suitcase (Levesque's Winograd schema)",
    ),
    MinimalPair(
        "They sat down by the bank of the river.",
        "They sat down by the bank of the city.",
        "which bank: land beside water, or a financial institution",
    ),
    MinimalPair(
        "The film was good.",
        "The film was not good.",
        "one more word reverses the meaning",
    ),
    MinimalPair(
        "The key to the cabinets is on the table.",
        "The keys to the cabinets are on the table.",
        "which noun the verb agrees with: not the nearest one",
    ),
    MinimalPair(
        "The dog chased the cat.",
        "The cat chased the dog.",
        "the same words in another order",
    ),
    MinimalPair(
        "The nurse told the patient that she was ready.",
        "The nurse told the patient that he was ready.",
        "whom the pronoun refers to: what a model has learned about nurses",
    ),
)


def counterpart(text: str) -> str | None:
    """Return the other sentence of this sentence's minimal pair, or None if no pair contains it."""
    for pair in MINIMAL_PAIRS:
        if text.strip() == pair.a:
            return pair.b
        if text.strip() == pair.b:
            return pair.a
    return None


def joined_words(a: str, b: str) -> list[tuple[str, str]]:
    """Align the words of two texts: for each place, the first text's word and the second's, or "" in a gap."""
    first, second = a.split(), b.split()
    places = align(first, second)
    return [
        ("" if i == GAP else first[i], "" if j == GAP else second[j])
        for i, j in zip(places.first, places.second, strict=True)
    ]
