"""Writes statistics to a Parquet file with a row for each layer, head and measure, and reads them back.

Kinds of rows: "measure", with all columns; "label", whose mean is the share of sentences on which it holds; "offset",
the mean weight at a relative position; "part", the mean weight from one part of a sentence to another; "pair", the
divergence from another head. Only measures have a standard deviation, quantiles, a histogram and strongest sentences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attnviz.corpus import FORMAT, LABELS, QUANTILES
from attnviz.corpus.observing import OFFSETS, PARTS
from attnviz.corpus.run import CorpusCard
from attnviz.corpus.statistics import KEPT, KEPT_BINS, CorpusStatistics, Place, Strongest
from attnviz.files import write_atomically
from attnviz.measures import NAMES

COLUMNS = tuple(f"q{round(100 * q):02d}" for q in QUANTILES)
"""The columns of the quantiles: q50 is the median"""
EXAMPLE = pa.struct([("value", pa.float32()), ("file", pa.int32()), ("line", pa.int64()), ("text", pa.string())])
"""A sentence; `file` is its number in the card's files"""
SCHEMA = pa.schema(
    [
        ("kind", pa.dictionary(pa.int8(), pa.string())),
        ("layer", pa.int16()),
        ("head", pa.int16()),
        ("measure", pa.dictionary(pa.int16(), pa.string())),
        ("mean", pa.float64()),
        ("count", pa.int64()),
        ("std", pa.float64()),
        *((name, pa.float64()) for name in COLUMNS),
        ("histogram", pa.list_(pa.int64())),
        ("strongest", pa.list_(EXAMPLE)),
    ]
)


class TableError(ValueError):
    """A file has no statistics of a corpus. The message is one sentence."""


def write(path: Path, corpus: CorpusStatistics, card: CorpusCard) -> None:
    """Write statistics atomically: on an error, the file stays as it was.

    Raises:
        OSError: it can't be written.
    """
    import io

    layers, heads = corpus.shape
    header = {
        "format": FORMAT, "layers": layers, "heads": heads, "sentences": corpus.sentences, "tokens": corpus.tokens,
        "measures": corpus.measures, "labels": corpus.labels, "offsets": corpus.offsets, "parts": corpus.parts,
        "numbers": corpus.numbers, "limited": corpus.limited.tolist(),
    }  # fmt: skip
    table = pa.concat_tables([pa.Table.from_pylist(list(_rows(corpus)), SCHEMA), _pairs(corpus)])
    table = (
        table.unify_dictionaries()
        .combine_chunks()
        .replace_schema_metadata({"attnviz": json.dumps(header), "card": card.to_json()})
    )
    written = io.BytesIO()
    pq.write_table(table, written, compression="zstd", compression_level=19)
    write_atomically(path, written.getvalue())


def read(path: Path) -> tuple[CorpusStatistics, CorpusCard]:
    """Read statistics from the output of `write`.

    Raises:
        TableError: the file has no statistics of a corpus, or is damaged.
        OSError: it can't be read.
    """
    try:
        table = pq.read_table(path)
        header = json.loads(table.schema.metadata[b"attnviz"])
        names = [tuple(header[name]) for name in ("measures", "labels", "offsets", "parts")]
        if header["format"] != FORMAT or names != [NAMES, LABELS, OFFSETS, PARTS] or not table.schema.equals(SCHEMA):
            raise TableError("The statistics are of another version of this program.")
        return _statistics(table, header), CorpusCard.from_json(table.schema.metadata[b"card"].decode())
    except (OSError, TableError):
        raise
    except Exception as error:  # for a damaged file, the reader raises almost any type
        raise TableError(f"{path.name} has no statistics of a corpus, or it is damaged.") from error


def _rows(corpus: CorpusStatistics) -> Iterator[dict[str, Any]]:
    for layer, head in np.ndindex(corpus.shape):
        at = {"layer": corpus.numbers[layer], "head": head}
        for number, name in enumerate(corpus.measures):
            mean, std, *quantiles = _plain(
                [
                    corpus.mean[layer, head, number],
                    corpus.std[layer, head, number],
                    *corpus.quantiles[layer, head, number],
                ]
            )
            yield {
                "kind": "measure", **at, "measure": name, "mean": mean, "std": std,
                "count": int(corpus.count[layer, head, number]),
                **dict(zip(COLUMNS, quantiles, strict=True)),
                "histogram": corpus.histograms[layer, head, number].tolist(),
                "strongest": _examples(corpus.strongest, (layer, head, number)),
            }  # fmt: skip
        shares = zip(corpus.labels, corpus.label_share[:, layer, head], strict=True)
        offsets = zip(corpus.offsets, corpus.offset_mean[layer, head], corpus.offset_count, strict=True)
        for kind, name, mean, count in (
            *(("label", name, share, corpus.sentences) for name, share in shares),
            *(("offset", f"{offset:+d}", mean, count) for offset, mean, count in offsets),
            *(("part", f"{query} to {key}", corpus.part_mean[layer, head, row, column], corpus.part_count[row])
              for row, query in enumerate(corpus.parts) for column, key in enumerate(corpus.parts)),
        ):  # fmt: skip
            yield {"kind": kind, **at, "measure": name, "mean": _plain([mean])[0], "count": int(count)}


def _pairs(corpus: CorpusStatistics) -> pa.Table:
    """Return the rows of the divergence. They are built column by column, since there are (L · H)² of them."""
    heads = corpus.shape[1]
    count = len(corpus.divergence)
    head_number, other_number = np.divmod(np.arange(count**2), count)  # of each row, as `corpus.head` counts them
    names = pa.array(["{}.{}".format(*corpus.head(number)) for number in range(count)])
    columns = {
        "kind": pa.array(["pair"] * count**2).dictionary_encode().cast(SCHEMA.field("kind").type),
        "layer": np.array(corpus.numbers, np.int16)[head_number // heads],
        "head": (head_number % heads).astype(np.int16),
        "measure": pa.DictionaryArray.from_arrays(other_number.astype(np.int32), names).cast(
            SCHEMA.field("measure").type
        ),
        "mean": pa.array(corpus.divergence.ravel(), from_pandas=True),  # NaN becomes null
        "count": np.full(count**2, corpus.pair_count),
    }
    rest = {name: pa.nulls(count**2, SCHEMA.field(name).type) for name in SCHEMA.names if name not in columns}
    return pa.table({name: (columns | rest)[name] for name in SCHEMA.names}, schema=SCHEMA)


def _examples(strongest: Strongest, at: tuple[int, int, int]) -> list[dict[str, Any]]:
    return [
        {"value": float(value), "file": file, "line": line, "text": strongest.texts[Place(file, line)]}
        for value, (file, line) in zip(strongest.values[at], strongest.places[at].tolist(), strict=True)
        if np.isfinite(value)
    ]


def _statistics(table: pa.Table, header: dict[str, Any]) -> CorpusStatistics:
    layers, heads, measures = int(header["layers"]), int(header["heads"]), tuple(header["measures"])
    kinds = pc.cast(table.column("kind"), pa.string())
    rows = {kind: table.filter(pc.equal(kinds, kind)) for kind in ("measure", "label", "offset", "part", "pair")}

    def column(kind: str, name: str, *shape: int) -> Any:
        """Return a column as (L, H, ...); raises ValueError if the number of rows is different."""
        cells = rows[kind].column(name)
        values = (pc.list_flatten(cells) if name == "histogram" else cells).to_numpy()  # null becomes NaN
        return np.array(values, np.int64 if name in ("count", "histogram") else np.float64).reshape(
            layers, heads, *shape
        )

    many, parts = len(measures), len(header["parts"])
    sentences = int(header["sentences"])
    limited = np.array(header["limited"], bool)
    if limited.shape != (layers,):
        raise ValueError("`limited` is not of each layer")
    labels = np.moveaxis(column("label", "mean", len(header["labels"])), -1, 0)
    return CorpusStatistics(
        sentences=sentences,
        tokens=int(header["tokens"]),
        measures=measures,
        count=column("measure", "count", many),
        mean=column("measure", "mean", many),
        std=column("measure", "std", many),
        quantiles=np.stack([column("measure", name, many) for name in COLUMNS], -1),
        histograms=column("measure", "histogram", many, KEPT_BINS),
        limited=limited,
        labels=tuple(header["labels"]),
        label_count=np.rint(np.nan_to_num(labels) * sentences).astype(np.int64),
        offsets=tuple(header["offsets"]),
        offset_count=column("offset", "count", len(header["offsets"]))[0, 0],
        offset_mean=column("offset", "mean", len(header["offsets"])),
        parts=tuple(header["parts"]),
        part_count=column("part", "count", parts, parts)[0, 0, :, 0],
        part_mean=column("part", "mean", parts, parts),
        pair_count=int(column("pair", "count", -1)[0, 0, 0]),
        divergence=column("pair", "mean", layers * heads).reshape(layers * heads, -1),
        strongest=_strongest(rows["measure"].column("strongest").to_pylist(), (layers, heads, many)),
        numbers=tuple(map(int, header["numbers"])),
    )


def _strongest(examples: list[list[dict[str, Any]]], shape: tuple[int, ...]) -> Strongest:
    strongest = Strongest.none(shape)
    for at, sentences in zip(np.ndindex(shape), examples, strict=True):
        for rank, sentence in enumerate(sentences[:KEPT]):
            place = Place(int(sentence["file"]), int(sentence["line"]))
            strongest.values[*at, rank], strongest.places[*at, rank] = sentence["value"], place
            strongest.texts[place] = str(sentence["text"])
    return strongest


def _plain(values: Any) -> list[float | None]:
    """Return the numbers with None in place of NaN, which becomes null in Parquet."""
    return [None if value != value else float(value) for value in values]  # noqa: PLR0124
