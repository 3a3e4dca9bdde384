"""Exports the numbers of a head: a ZIP of CSV tables labelled with the tokens, or an npz file for NumPy.

In a transformer, the numbers of the steps around the head's attention are among them.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.export.csv_files import protected
from attnviz.figures.style import AXIS_TITLE, ROWS_AND_COLUMNS
from attnviz.steps import OF_HEAD, PARTS
from attnviz.trace.matrices import (
    AXES,
    NORM_WEIGHTS,
    NORMED,
    OF_BIAS,
    POSITION_TABLES,
    QKV,
    ROTATED,
    find_matrix,
    heads_matrix,
)
from attnviz.trace.walk import Walk

Array = npt.NDArray[np.float32]

MAX_CSV_CELLS = 2_500_000
"""The largest number of cells in CSV: about 30 MB, written in a few seconds. npz has no limit."""

_WORDS = {
    "model": "feature", "key_model": "feature", "output": "feature", "value_dim": "dim", "hidden": "neuron",
    "relative": "relative position", "concat": "column", "vocabulary": "entry", "outcome": "entry", "one": "number",
}  # fmt: skip


def _axes(name: str) -> tuple[str, str]:
    """Return the names of a quantity's rows and columns; a vector is one row."""
    *rows, columns = (_WORDS.get(axis, axis) for axis in AXES[name])
    of_vector = {"gamma": "weight", "root": "root of mean square"}.get(name.partition("_")[0], "bias")
    return rows[0] if rows else of_vector, columns


QUANTITIES = {name: _axes(name) for step in PARTS.values() for name in (*step.weights, *step.matrices)}
"""The rows and columns of each quantity, in the order of computation."""


class TooManyNumbersError(ValueError):
    """There are more numbers than `MAX_CSV_CELLS`. The message tells the user what to do."""


def collect(walk: Walk, heads: Sequence[int]) -> dict[str, Array]:
    """Return the quantities that the source provides, by name.

    Quantities of a head have a leading axis for these heads: `scores` is (len(heads), Tq, Tk), `W_query`
    (len(heads), C, D), a bias (len(heads), 1, D). Shared quantities have none: `embeddings` (Tq, C), `concat`
    (Tq, H·D), `W_output` (H·D, C), `b_output` (1, C), `output` (Tq, C). `embeddings_k` is included if keys and values
    have a different input from the queries, `U_query` if the toy mixes positions instead of features. A walk through a
    transformer also has the steps around the attention, and `embeddings` is the incoming residual stream.

    Raises:
        IndexError: the layer does not have one of the heads.
    """
    layer, chosen = walk.layer, list(heads)
    steps = layer.all_heads()
    maps = (f"{letter}_{of}" for letter in "WUb" for of in QKV)
    of_layer = (*QKV, *NORMED, *ROTATED, *NORM_WEIGHTS, *maps, "sinks", *POSITION_TABLES, *OF_BIAS)
    quantities = {name: heads_matrix(layer, name, chosen) for name in of_layer}
    computed = {name: getattr(steps, name) for name in OF_HEAD if name not in quantities}
    if layer.cap is None:
        del computed["capped"]
    if layer.position_bias is None:
        del computed["biased"]
    quantities |= {name: None if tensor is None else tensor[chosen] for name, tensor in computed.items()}
    quantities["concat"] = steps.concat
    quantities["embeddings_k"] = None if layer.key_input is layer.query_input else layer.key_input
    for name in QUANTITIES.keys() - quantities.keys():
        quantities[name] = find_matrix(walk, name)
    return {
        name: (tensor if len(AXES[name]) > 1 else tensor.unsqueeze(-2)).detach().float().numpy()
        for name in QUANTITIES
        if (tensor := quantities[name]) is not None
    }


def npz(walk: Walk, heads: Sequence[int]) -> bytes:
    """Return the quantities of `collect` as an npz file, with `heads`, `scale`, `query_tokens`, `key_tokens`, and
    in `axes` a sentence on its rows and columns.

    The file contains no pickles, so `numpy.load(file)` opens it. It is not compressed: that takes seconds and saves
    little.
    """
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        **collect(walk, heads),
        "heads": np.array(heads), "scale": np.float64(walk.layer.scale),
        "query_tokens": np.array(walk.query_labels, dtype=np.str_),
        "key_tokens": np.array(walk.key_labels, dtype=np.str_),
        "axes": np.array(ROWS_AND_COLUMNS),
    }  # fmt: skip
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def csv_zip(walk: Walk, heads: Sequence[int]) -> bytes:
    """Return a ZIP with one CSV per quantity of `collect`; with several heads, a folder per head.

    `about.json` says what they are of, and lists the files with their axes. Numbers have all digits of a float32; a
    masked cell is -inf, or the number that the mask fills in.

    Raises:
        TooManyNumbersError: there are more than MAX_CSV_CELLS numbers.
    """
    check_csv(walk, heads)
    arrays = collect(walk, heads)
    buffer, listed = io.BytesIO(), {}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file, name, array in _tables(arrays, heads):
            archive.writestr(file, table(array, _corner(name), *(_labels(walk, name, axis, array) for axis in (0, 1))))
            listed[file] = {
                "quantity": name,
                "rows": QUANTITIES[name][0],
                "columns": QUANTITIES[name][1],
                "shape": array.shape,
            }
        tokens = walk.query_tokens
        facts = {
            "of": walk.name, "text": tokens.text, "second_text": tokens.pair, "link": walk.link,
            "axes": ROWS_AND_COLUMNS, "heads": list(heads), "scale": walk.layer.scale, "files": listed,
        }  # fmt: skip
        archive.writestr("about.json", json.dumps(facts, indent=2))
    return buffer.getvalue()


def check_csv(walk: Walk, heads: Sequence[int]) -> None:
    """Check the size of a CSV export.

    Raises:
        TooManyNumbersError: there are more than MAX_CSV_CELLS numbers.
    """
    cells = 4 * len(heads) * len(walk.query_labels) * len(walk.key_labels)
    if walk.block is not None:
        cells += sum(matrix.numel() for matrix in walk.block.matrices.values())
    if cells > MAX_CSV_CELLS:
        raise TooManyNumbersError(
            f"These are {cells:,} numbers; CSV takes at most {MAX_CSV_CELLS:,}. Export one head, or use npz."
        )


def _tables(arrays: Mapping[str, Array], heads: Sequence[int]) -> Iterator[tuple[str, str, Array]]:
    """Yield the file name, quantity and array of each two-dimensional table."""
    for name, array in arrays.items():
        if array.ndim == 2:
            yield f"{name}.csv", name, array
            continue
        for head, of_head in zip(heads, array, strict=True):
            yield (f"{name}.csv" if len(heads) == 1 else f"head_{head}/{name}.csv"), name, of_head


def _labels(walk: Walk, name: str, axis: int, array: Array) -> list[str]:
    """Return the labels of a table's rows (axis 0) or columns (axis 1).

    A token follows its position in square brackets. This distinguishes equal words, and no spreadsheet can interpret a
    token as a formula, a date or a number (OWASP, "CSV injection"). An apostrophe protects a formula character after a
    separator inside a token.
    """
    kind = QUANTITIES[name][axis]
    tokens = walk.labels.get(kind)
    if tokens is not None:
        return [f"[{i}] {token}" for i, token in enumerate(tokens)]
    if kind == "entry" and walk.block is not None:
        labels = [f"[{i}] {token}" for i, token in enumerate(walk.block.vocabulary)]
        return [*labels, "all others"][: array.shape[axis]]
    bias = walk.layer.position_bias
    if kind == _WORDS["relative"] and bias is not None and bias.terms is not None:
        return bias.terms.labels()
    return [kind] if kind in ("bias", "weight") else [f"{kind} {i}" for i in range(array.shape[axis])]


def _corner(name: str) -> str:
    """Return what a table's first cell says of its rows and columns."""
    return " \\ ".join(AXIS_TITLE[axis] if axis in ("query", "key") else axis for axis in QUANTITIES[name])


def table(array: Array, corner: str, rows: Sequence[str], columns: Sequence[str]) -> bytes:
    """Return one CSV with labels, and `corner` in its first cell.

    It is in UTF-8 with a byte order mark, by which spreadsheets recognise it. All labels are quoted, so that no
    locale's separator splits them.
    """
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC).writerow(map(protected, [corner, *columns]))
    line = ",".join(["%.9g"] * len(columns)) + "\r\n"  # nine digits restore a float32 exactly
    for label, row in zip(rows, array.tolist(), strict=True):
        text.write('"' + protected(label).replace('"', '""') + '",' + line % tuple(row))
    return text.getvalue().encode("utf-8-sig")
