"""What the tests of corpus statistics share: one model, one reader, some sentences."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.corpus.blocks import Source, read_block
from attnviz.corpus.run import Job, Run
from attnviz.corpus.sentences import Reader
from attnviz.corpus.statistics import HeadStatistics
from attnviz.pretrained.built_in import BuiltInModel

JOB = Job("minilm", batch=4, pairs_every=2, lines=3)
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
def reader(minilm: BuiltInModel) -> Reader:
    return Reader(minilm, batch=4, pairs_every=2)


@pytest.fixture(scope="module")
def undisturbed(files: list[Source], reader: Reader) -> Run:
    """Return the run over the files of a module's tests by one reader."""
    found = Run(JOB, files)
    for block in found.remaining():
        found.fold(read_block(reader, block))
    return found


def equal(one: Run, other: Run) -> bool:
    assert one.statistics is not None and other.statistics is not None
    return same(one.statistics, other.statistics) and one.problems == other.problems and one.lines == other.lines


def same(one: HeadStatistics, other: HeadStatistics) -> bool:
    """Whether two statistics are equal in every bit."""
    mine, theirs = one.arrays(), other.arrays()
    return one.settings() == other.settings() and all(np.array_equal(mine[name], theirs[name]) for name in mine)
