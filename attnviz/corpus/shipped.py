"""The statistics that ship with the app, by the model's name: files in `assets/corpus/`. All sessions share them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from attnviz.corpus.names import NAMES
from attnviz.files import FOLDER

if TYPE_CHECKING:
    from attnviz.corpus.card import CorpusCard
    from attnviz.corpus.sums.finished import CorpusStatistics

Shares = tuple[tuple[str, float], ...]
"""Labels that hold on a sentence at least, and on which share of all; the largest first"""


@dataclass(frozen=True, slots=True)
class ShippedLabels:
    """On how many sentences labels hold."""

    sentences: int
    shares: Mapping[tuple[int, int], Shares]
    """By layer and head"""


@lru_cache(len(NAMES))
def shipped(model: str) -> tuple[CorpusStatistics, CorpusCard]:
    """Return the statistics of a model of `NAMES`; their arrays can't be written.

    Raises:
        KeyError: the model has none.
    """
    from attnviz.corpus.table import read  # late, as what it imports takes half a second

    found, card = read(_path(model))
    found.freeze()
    return found, card


@lru_cache(len(NAMES))
def shipped_labels(model: str) -> ShippedLabels:
    """Return only the labels of `shipped`, which takes some hundredths of a second."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(_path(model)) as file:
        said = json.loads(file.schema_arrow.metadata[b"attnviz"])
        table = file.read(["kind", "layer", "head", "measure", "mean"])
    # From the buffers: pyarrow's own ways to numpy import pandas, which takes a quarter of a second.
    found = {name: table.column(name).combine_chunks() for name in table.column_names}
    layers, heads = (np.frombuffer(found[name].buffers()[1], np.int16) for name in ("layer", "head"))
    means = np.frombuffer(found["mean"].buffers()[1], np.float64)
    kinds = np.frombuffer(found["kind"].indices.buffers()[1], np.int8)
    measures = np.frombuffer(found["measure"].indices.buffers()[1], np.int16)
    kind_names, names = ([one.as_py() for one in found[name].dictionary] for name in ("kind", "measure"))
    shares: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for row in np.flatnonzero((kinds[: table.num_rows] == kind_names.index("label")) & (means[: table.num_rows] > 0)):
        at = int(layers[row]), int(heads[row])
        shares.setdefault(at, []).append((names[measures[row]], float(means[row])))
    ranked = {place: tuple(sorted(own, key=lambda one: -one[1])) for place, own in shares.items()}
    return ShippedLabels(int(said["sentences"]), MappingProxyType(ranked))


def _path(model: str) -> Path:
    if model not in NAMES:
        raise KeyError(model)
    return FOLDER / "assets" / "corpus" / f"{model}.parquet"
