"""The statistics that the app offers: the files of the setting `corpora`, then those in `assets/corpus/`.

All sessions share them. Where no file is set, asking for those of another model than the built-in loads nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from attnviz.corpus import FORMAT, LABELS
from attnviz.files import FOLDER
from attnviz.pretrained.names import BUILT_IN
from attnviz.settings import name_in_links, settings

if TYPE_CHECKING:
    import pyarrow as pa

    from attnviz.corpus.run import CorpusCard
    from attnviz.corpus.statistics import CorpusStatistics

SHIPPED = FOLDER / "assets" / "corpus" / f"{BUILT_IN}.parquet"
COLUMNS = {
    "kind": "dictionary<values=string, indices=int8, ordered=0>", "layer": "int16", "head": "int16",
    "measure": "dictionary<values=string, indices=int16, ordered=0>", "mean": "double",
}  # fmt: skip
"""The columns in which labels are, with their types"""
KEPT = 4
"""Files whose statistics are kept in memory, some 10 MB each"""
Shares = tuple[tuple[str, float], ...]
"""Labels that hold on a sentence at least, and on which share of all; the largest first"""


class OfferedError(ValueError):
    """A file that is set has no statistics. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class About:
    """What a file says of itself."""

    corpus: str
    """Its name, for people"""
    model: str
    kind: str
    """Of attention"""
    layers: tuple[int, ...]
    """The model's own numbers of its layers"""
    heads: int
    """Of a layer"""
    sentences: int


@dataclass(frozen=True, slots=True)
class Labels:
    """On how many sentences labels hold."""

    sentences: int
    shares: Mapping[tuple[int, int], Shares]
    """By layer and head"""


def corpora(
    model: str, kind: str, layers: Sequence[int], heads: int, *, on_error: Callable[[str], object] = lambda _: None
) -> dict[str, Path]:
    """Return the files with statistics of a model by their names in links; those that are set come first.

    Args:
        model: as `attnviz.pretrained.load` takes it.
        kind: of attention.
        layers: the model's own numbers of its layers with this kind. A file with others, or with another number of
            heads, is of another model that had the same name.
        heads: of a layer.
        on_error: is called with a sentence about each file that is set and has no statistics, or can't be read.
    """
    found: dict[str, Path] = {}
    for path in (*map(Path, settings().corpora), *([SHIPPED] if model == BUILT_IN else [])):
        try:
            there = about(path)
        except OfferedError as error:
            on_error(str(error))
            continue
        if (there.kind, there.layers, there.heads) == (kind, tuple(layers), heads) and _is_same(there.model, model):
            found.setdefault(name_in_links(path), path)
    return found


def _is_same(one: str, other: str) -> bool:
    """Whether two names are of one model: a folder may be named in several ways."""
    folder = os.path.expanduser(other)  # noqa: PTH111 — of os.path, these three raise for no name
    return one == other or (os.path.isdir(one) and os.path.isdir(folder) and os.path.samefile(one, folder))  # noqa: PTH112, PTH121


def statistics(path: Path) -> tuple[CorpusStatistics, CorpusCard]:
    """Return what a file holds; the arrays can't be written.

    Raises:
        OfferedError: it has no statistics, or can't be read.
    """
    return _statistics(path, stamp(path))


def about(path: Path) -> About:
    """Return what a file says of itself.

    Raises:
        OfferedError: it has no statistics, or none that can be shown here, or it can't be read.
    """
    return _about(path, stamp(path))


def labels(path: Path) -> Labels:
    """Return only the labels of `statistics`, which takes some hundredths of a second.

    Raises:
        OfferedError: the file has no statistics, or can't be read.
    """
    return _labels(path, stamp(path))


def stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a file is replaced: its time in ns and its size in bytes.

    Raises:
        OfferedError: it can't be read.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise OfferedError(f"{path.name} can't be read.") from error
    return found.st_mtime_ns, found.st_size


@lru_cache(KEPT)
def _statistics(path: Path, _: tuple[int, int]) -> tuple[CorpusStatistics, CorpusCard]:
    from attnviz.corpus.table import TableError, read  # late, as what it imports takes half a second

    try:
        found, card = read(path)
    except (TableError, OSError) as error:
        raise OfferedError(f"{path.name} can't be shown: {error}") from error
    found.freeze()
    return found, card


@lru_cache(64)
def _about(path: Path, _: tuple[int, int]) -> About:
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
        said, card = (json.loads(schema.metadata[name]) for name in (b"attnviz", b"card"))
        types = [str(schema.field(name).type) for name in COLUMNS]
        is_known = said["format"] == FORMAT and tuple(said["labels"]) == LABELS and types == list(COLUMNS.values())
        layers = tuple(map(int, said.get("numbers", range(int(said["layers"])))))
        sizes = layers, int(said["heads"]), int(said["sentences"])
        found = About(str(card["corpus"]), str(card["model"]), str(card["kind"]), *sizes)
    except Exception as error:  # of another file, the reader raises almost every type
        raise OfferedError(f"{path.name} has no statistics of a corpus, or it can't be read.") from error
    if not is_known:
        raise OfferedError(f"The statistics in {path.name} are of another version of this program; make them anew.")
    if found.sentences < 1:
        raise OfferedError(f"The statistics in {path.name} are of no sentence.")
    return found


@lru_cache(4 * KEPT)
def _labels(path: Path, _: tuple[int, int]) -> Labels:
    import pyarrow.parquet as pq

    there = about(path)
    try:
        with pq.ParquetFile(path) as file:
            shares = _shares(file.read(list(COLUMNS)))
    except Exception as error:
        raise OfferedError(f"{path.name} has no statistics of a corpus, or it is damaged.") from error
    return Labels(there.sentences, MappingProxyType(shares))


def _shares(table: pa.Table) -> dict[tuple[int, int], Shares]:
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
    return {place: tuple(sorted(own, key=lambda one: -one[1])) for place, own in shares.items()}
