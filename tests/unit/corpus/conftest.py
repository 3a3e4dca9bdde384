"""What the tests of corpus statistics share: one model, one reader, some sentences."""

from __future__ import annotations

import pytest

from attnviz.corpus.sentences import Reader
from attnviz.pretrained import load
from attnviz.pretrained.built_in import BuiltInModel

SENTENCES = (
    "The cat sat on the mat, because the mat was warm.",
    "An unfathomably oversized hippopotamus yawned.",
    "No.",
    "She sold what she had bought; he bought what she had sold, and nobody else came to the market on that day.",
    "日本語 and 🐶, \u202e then <b>\x00 1,000.50 l'été",
    "We walked for hours without a word",
    "Is it true that the shop closes at noon?",
    "word " * 60,
)


@pytest.fixture(scope="session")
def minilm() -> BuiltInModel:
    model = load("minilm")
    assert isinstance(model, BuiltInModel)
    return model


@pytest.fixture(scope="session")
def reader(minilm: BuiltInModel) -> Reader:
    return Reader(minilm, batch=4, pairs_every=2)
