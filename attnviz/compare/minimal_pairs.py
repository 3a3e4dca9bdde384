"""Pairs of sentences that differ in a word or two, and by them in what they mean: what to compare attention on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MinimalPair:
    """Two sentences, and what the words that differ decide."""

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
        "which bank: land beside water, or a house of money",
    ),
    MinimalPair(
        "The film was good.",
        "The film was not good.",
        "a word more turns the meaning round",
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
        "whom the pronoun is taken for: what a model has learned about nurses",
    ),
)


def other_side(text: str) -> str | None:
    """Return the sentence that differs from this one in what matters; None where no pair holds it."""
    for pair in MINIMAL_PAIRS:
        if text.strip() == pair.a:
            return pair.b
        if text.strip() == pair.b:
            return pair.a
    return None
