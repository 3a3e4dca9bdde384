"""The statistics that ship with the app, by the model's name: files in `assets/corpus/`."""

from __future__ import annotations

from functools import lru_cache

from attnviz.corpus.card import CorpusCard
from attnviz.corpus.names import NAMES
from attnviz.corpus.sums.finished import CorpusStatistics
from attnviz.corpus.table import read
from attnviz.files import FOLDER


@lru_cache(len(NAMES))
def shipped(model: str) -> tuple[CorpusStatistics, CorpusCard]:
    """Return the statistics of a model of `NAMES`. All sessions share them: their arrays can't be written.

    Raises:
        KeyError: the model has none.
    """
    if model not in NAMES:
        raise KeyError(model)
    found, card = read(FOLDER / "assets" / "corpus" / f"{model}.parquet")
    found.freeze()
    return found, card
