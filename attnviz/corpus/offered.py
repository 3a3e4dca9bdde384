"""The statistics that the app offers: the files of the setting `corpora`, then the file in `assets/corpus/`.

All sessions share them. Without that setting, nothing is loaded for models other than the built-in one.
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
"""The columns that are read for the labels, with their types"""
KEPT = 4
"""How many files' statistics are kept in memory, some 10 MB each"""
Shares = tuple[tuple[str, float], ...]
"""Labels that hold on at least one sentence, each with its share of all sentences; the largest share first"""


class OfferedError(ValueError):
    """A file can't be used. The message is one sentence."""


@dataclass(frozen=True, slots=True)
class About:
    """The metadata of a file."""

    corpus: str
    """Its display name"""
    model: str
    kind: str
    """The kind of attention"""
    layers: tuple[int, ...]
    """The model's own numbers of its layers"""
    heads: int
    """Heads per layer"""
    sentences: int
    limited: tuple[bool, ...]
    """`CorpusStatistics.limited` of each layer"""


@dataclass(frozen=True, slots=True)
class Labels:
    """The share of sentences on which each label holds."""

    sentences: int
    shares: Mapping[tuple[int, int], Shares]
    """By layer and head"""


def corpora(
    model: str, kind: str, layers: Sequence[int], heads: int, *, on_error: Callable[[str], object] = lambda _: None
) -> dict[str, Path]:
    """Return the files with statistics of a model by their names in links; those from the setting come first.

    Args:
        model: a name that `attnviz.pretrained.load` takes.
        kind: the kind of attention.
        layers: the model's own numbers of its layers with this kind. If a file has other numbers, or another number of
            heads, it was made with a different model of the same name.
        heads: the number of heads per layer.
        on_error: called with a sentence about each configured file that has no statistics, or can't be read.
    """
    files: dict[str, Path] = {}
    for path in (*map(Path, settings().corpora), *([SHIPPED] if model == BUILT_IN else [])):
        try:
            file = about(path)
        except OfferedError as error:
            on_error(str(error))
            continue
        if (file.kind, file.layers, file.heads) == (kind, tuple(layers), heads) and _is_same(file.model, model):
            files.setdefault(name_in_links(path), path)
    return files


def _is_same(name: str, other: str) -> bool:
    """Whether two names refer to the same model: a folder can have several names."""
    folder = os.path.expanduser(other)  # noqa: PTH111 — these three functions of os.path don't raise for any name
    return name == other or (os.path.isdir(name) and os.path.isdir(folder) and os.path.samefile(name, folder))  # noqa: PTH112, PTH121


def statistics(path: Path) -> tuple[CorpusStatistics, CorpusCard]:
    """Return the contents of a file; the arrays are read-only.

    Raises:
        OfferedError: it has no statistics, or can't be read.
    """
    return _statistics(path, stamp(path))


def about(path: Path) -> About:
    """Return a file's metadata.

    Raises:
        OfferedError: it has no statistics, or none that this version can show, or it can't be read.
    """
    return _about(path, stamp(path))


def labels(path: Path) -> Labels:
    """Return only the labels of a file, which takes some hundredths of a second.

    Raises:
        OfferedError: the file has no statistics, or can't be read.
    """
    return _labels(path, stamp(path))


def stamp(path: Path) -> tuple[int, int]:
    """Return a file's modification time in ns and its size in bytes, which change when it is replaced.

    Raises:
        OfferedError: it can't be read.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise OfferedError(f"{path.name} can't be read.") from error
    return status.st_mtime_ns, status.st_size


@lru_cache(KEPT)
def _statistics(path: Path, _: tuple[int, int]) -> tuple[CorpusStatistics, CorpusCard]:
    from attnviz.corpus.table import TableError, read  # imported late: its own imports take half a second

    try:
        corpus, card = read(path)
    except (TableError, OSError) as error:
        raise OfferedError(f"{path.name} can't be shown: {error}") from error
    corpus.freeze()
    return corpus, card


@lru_cache(64)
def _about(path: Path, _: tuple[int, int]) -> About:
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
        header, card = (json.loads(schema.metadata[name]) for name in (b"attnviz", b"card"))
        types = [str(schema.field(name).type) for name in COLUMNS]
        is_known = header["format"] == FORMAT and tuple(header["labels"]) == LABELS and types == list(COLUMNS.values())
        layers = tuple(map(int, header.get("numbers", range(int(header["layers"])))))
        limited = tuple(map(bool, header.get("limited", ())))
        sizes = layers, int(header["heads"]), int(header["sentences"])
        file_about = About(str(card["corpus"]), str(card["model"]), str(card["kind"]), *sizes, limited)
    except Exception as error:  # for other files, the reader raises almost any type
        raise OfferedError(f"{path.name} has no statistics of a corpus, or it can't be read.") from error
    if not is_known:
        raise OfferedError(f"The statistics in {path.name} are of another version of this program; compute them again.")
    if len(file_about.limited) != len(file_about.layers):
        raise OfferedError(f"{path.name} has no statistics of a corpus, or it is damaged.")
    if file_about.sentences < 1:
        raise OfferedError(f"The statistics in {path.name} are of no sentence.")
    return file_about


@lru_cache(4 * KEPT)
def _labels(path: Path, _: tuple[int, int]) -> Labels:
    import pyarrow.parquet as pq

    sentences = about(path).sentences
    try:
        with pq.ParquetFile(path) as file:
            shares = _shares(file.read(list(COLUMNS)))
    except Exception as error:
        raise OfferedError(f"{path.name} has no statistics of a corpus, or it is damaged.") from error
    return Labels(sentences, MappingProxyType(shares))


def _shares(table: pa.Table) -> dict[tuple[int, int], Shares]:
    # Read from the buffers: pyarrow's own conversion to numpy imports pandas, which takes a quarter of a second.
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    layers, heads = (np.frombuffer(columns[name].buffers()[1], np.int16) for name in ("layer", "head"))
    means = np.frombuffer(columns["mean"].buffers()[1], np.float64)
    kinds = np.frombuffer(columns["kind"].indices.buffers()[1], np.int8)
    measures = np.frombuffer(columns["measure"].indices.buffers()[1], np.int16)
    kind_names, names = ([value.as_py() for value in columns[name].dictionary] for name in ("kind", "measure"))
    shares: dict[tuple[int, int], list[tuple[str, float]]] = {}
    for row in np.flatnonzero((kinds[: table.num_rows] == kind_names.index("label")) & (means[: table.num_rows] > 0)):
        at = int(layers[row]), int(heads[row])
        shares.setdefault(at, []).append((names[measures[row]], float(means[row])))
    return {head: tuple(sorted(labels, key=lambda label: -label[1])) for head, labels in shares.items()}
