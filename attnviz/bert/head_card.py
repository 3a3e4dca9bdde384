"""The card of a masked-language head: what it learned from, and how well it names hidden tokens. Imports no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any

from attnviz.formatting import percent
from attnviz.pretrained.described import HEAD_FILE
from attnviz.training.settings import TrainingSettings

WHAT = "A masked-language head on the frozen built-in model: it names hidden tokens"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A text that a head learned from."""

    name: str
    sentences: int
    sha256: str
    """Digest of its sentences, one a line"""

    @classmethod
    def of(cls, name: str, sentences: Sequence[str]) -> Corpus:
        """Describe sentences."""
        return cls(name, len(sentences), hashlib.sha256("\n".join(sentences).encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Score:
    """How well hidden tokens are named."""

    tokens: int
    """How many tokens were hidden"""
    top_1: float
    """The part of them, from 0 to 1, of which the likeliest token is the right one"""
    top_5: float
    """The part of which the right one is among the five likeliest"""
    perplexity: float
    """exp of the mean cross-entropy"""


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The results on held-out sentences of a head trained with one seed, and of two baselines."""

    seed: int
    head: Score
    words: Score
    """Of the head, for tokens with a letter or a digit only"""
    most_frequent: Score
    """Always the same tokens: those that were hidden most often in the training sentences"""
    neighbours: Score
    """The rows of the table of token embeddings with the largest cosine with the state, without a trained layer"""


@dataclass(frozen=True, slots=True)
class Card:
    """The description of a masked-language head."""

    what: str
    corpora: tuple[Corpus, ...]
    hidden_part: float
    """The part of a sentence's tokens that were hidden at once"""
    trained_on: int
    """Hidden tokens in the training sentences"""
    settings: TrainingSettings
    seeds: tuple[SeedResult, ...]
    """The results of this head's seed and of the following ones"""
    project_sentences: Score
    """On sentences that the project wrote, and that no seed was trained on: each word hidden alone"""
    command: str
    """The command that made it"""
    date: str
    """YYYY-MM-DD"""
    torch: str
    """The version of torch"""

    def to_bytes(self) -> bytes:
        """Return the card as a JSON file."""
        return f"{json.dumps(asdict(self), indent=2, ensure_ascii=False)}\n".encode()

    @property
    def verdict(self) -> str:
        """How well hidden tokens are named, in a sentence."""
        scores = self.seeds[0].head, self.seeds[0].most_frequent
        first, five, usual, usual_five = (percent(share, 1) for one in scores for share in (one.top_1, one.top_5))
        return (
            f"of the hidden tokens of held-out sentences {first} are its first guess, {five} among its first five; the "
            f"most frequent tokens as guesses give {usual} and {usual_five}"
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Card:
        """Return the card from plain values."""
        entries = {field.name: value[field.name] for field in fields(cls)}
        seeds = tuple(
            SeedResult(seed["seed"], **{name: Score(**seed[name]) for name in SCORES}) for seed in entries["seeds"]
        )
        return cls(
            **{
                **entries,
                "corpora": tuple(Corpus(**corpus) for corpus in entries["corpora"]),
                "settings": TrainingSettings(**entries["settings"]),
                "seeds": seeds,
                "project_sentences": Score(**entries["project_sentences"]),
            }
        )


SCORES = tuple(field.name for field in fields(SeedResult) if field.name != "seed")


@cache
def read_card() -> Card:
    """Return the card of the head that ships with the app."""
    return Card.from_json(json.loads(HEAD_FILE.with_suffix(".json").read_text(encoding="utf-8")))
