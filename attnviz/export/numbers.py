"""The numbers of a walk as files: a ZIP of CSV tables with the tokens as labels, or one npz for numpy."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from attnviz.trace.layer import LayerTrace
from attnviz.trace.walk import Walk

Array = npt.NDArray[np.float32]

MAX_CSV_CELLS = 2_500_000
"""Numbers of query times key that are written as text at most, some 30 MB and some seconds; npz takes any walk."""

AXES = {
    "token_embeddings": ("query", "feature"), "positions": ("query", "feature"), "embeddings": ("query", "feature"),
    "embeddings_k": ("key", "feature"),
    "W_query": ("feature", "dim"), "W_key": ("feature", "dim"), "W_value": ("feature", "dim"),
    "U_query": ("query", "key"), "U_key": ("key", "key"), "U_value": ("key", "key"),
    "b_query": ("bias", "dim"), "b_key": ("bias", "dim"), "b_value": ("bias", "dim"),
    "query": ("query", "dim"), "key": ("key", "dim"), "value": ("key", "dim"),
    "scores": ("query", "key"), "scaled": ("query", "key"), "masked": ("query", "key"), "weights": ("query", "key"),
    "head_outputs": ("query", "dim"), "concat": ("query", "column"), "W_output": ("column", "feature"),
    "b_output": ("bias", "feature"), "output": ("query", "feature"),
}  # fmt: skip
"""What stands on the rows and the columns of each quantity, in the order in which they are computed."""


_FORMULA, _TEXT = re.compile(r"""([;,\t]["\s]*)(?=[=+\-@＝＋－＠])"""), r"\1'"
"""Where a spreadsheet that cuts at another sign than a comma would see a cell that begins like a formula."""


class TooManyNumbersError(ValueError):
    """More numbers than are written as text. The message is for the user, and says what to do."""


def collect(walk: Walk, heads: Sequence[int]) -> dict[str, Array]:
    """Return every quantity of a walk by its name in the vocabulary, as far as this source knows it.

    What each head has of its own has an axis of these heads in front: `scores` is (len(heads), Tq, Tk), `W_query`
    (len(heads), C, D), a bias (len(heads), 1, D). What the heads share has none: `embeddings` (Tq, C), `concat`
    (Tq, H·D), `W_output` (H·D, C), `b_output` (1, C), `output` (Tq, C). `embeddings_k` is there where keys and values
    are made of something else than the queries, `U_query` where positions are mixed instead of features.

    Raises:
        IndexError: a head that the layer does not have.
    """
    found: dict[str, Tensor | None] = dict.fromkeys(AXES)
    if walk.parts is not None:
        found["token_embeddings"], found["positions"] = walk.parts
    layer, chosen = walk.layer, list(heads)
    found["embeddings"] = layer.query_input
    found["embeddings_k"] = None if layer.key_input is layer.query_input else layer.key_input
    found |= _maps(layer, chosen)
    steps = layer.all_heads()
    for name in ("query", "key", "value", "scores", "scaled", "masked", "weights", "head_outputs"):
        found[name] = getattr(steps, name)[chosen]
    found["concat"], found["output"] = steps.concat, layer.output()
    return {name: tensor.detach().float().numpy() for name, tensor in found.items() if tensor is not None}


def _maps(layer: LayerTrace, heads: list[int]) -> dict[str, Tensor | None]:
    """Return the weights and biases before and after attention, as far as they are known."""
    found: dict[str, Tensor | None] = {}
    for name, projection in (layer.projections or {}).items():
        letter = "U" if projection.kind == "positions" else "W"
        found[f"{letter}_{name}"] = None if projection.weight is None else projection.weight[heads]
        found[f"b_{name}"] = None if projection.bias is None else projection.bias[heads][:, None]
    if layer.output_projection is not None:
        bias = layer.output_projection.bias
        found["W_output"], found["b_output"] = layer.output_projection.weight, None if bias is None else bias[None]
    return found


def npz(walk: Walk, heads: Sequence[int]) -> bytes:
    """Write what `collect` returns as an npz, with `heads`, `scale`, `query_tokens` and `key_tokens`.

    Nothing in it is pickled: `numpy.load(file)` opens it. Not compressed: such digits hardly shrink, and take seconds.
    """
    buffer = io.BytesIO()
    everything: dict[str, Any] = {
        **collect(walk, heads),
        "heads": np.array(heads), "scale": np.float64(walk.layer.scale),
        "query_tokens": np.array(walk.query_labels, dtype=np.str_),
        "key_tokens": np.array(walk.key_labels, dtype=np.str_),
    }  # fmt: skip
    np.savez(buffer, **everything)
    return buffer.getvalue()


def csv_zip(walk: Walk, heads: Sequence[int], about: Mapping[str, Any]) -> bytes:
    """Write what `collect` returns as one CSV a quantity; with several heads, a folder for each of them.

    `about.json` says what the numbers are of (`about`) and lists the files with their axes. Numbers have all digits of
    a float32; a hidden cell is -inf.

    Raises:
        TooManyNumbersError: more than MAX_CSV_CELLS.
    """
    check_csv(walk, heads)
    arrays = collect(walk, heads)
    buffer, listed = io.BytesIO(), {}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file, name, array in _tables(arrays, heads):
            archive.writestr(file, table(array, *(_labels(walk, name, axis, array) for axis in (0, 1))))
            listed[file] = {"quantity": name, "rows": AXES[name][0], "columns": AXES[name][1], "shape": array.shape}
        facts = {**about, "heads": list(heads), "scale": walk.layer.scale, "files": listed}
        archive.writestr("about.json", json.dumps(facts, indent=2))
    return buffer.getvalue()


def check_csv(walk: Walk, heads: Sequence[int]) -> None:
    """See that a walk is not too large to be written as text.

    Raises:
        TooManyNumbersError: it is.
    """
    cells = 4 * len(heads) * len(walk.query_labels) * len(walk.key_labels)
    if cells > MAX_CSV_CELLS:
        raise TooManyNumbersError(
            f"These are {cells:,} numbers, and at most {MAX_CSV_CELLS:,} are written as CSV. Take one head, or npz."
        )


def _tables(arrays: Mapping[str, Array], heads: Sequence[int]) -> Iterator[tuple[str, str, Array]]:
    """Yield each two-dimensional table with its file and its quantity."""
    for name, array in arrays.items():
        if array.ndim == 2:
            yield f"{name}.csv", name, array
            continue
        for head, own in zip(heads, array, strict=True):
            yield (f"{name}.csv" if len(heads) == 1 else f"head_{head}/{name}.csv"), name, own


def _labels(walk: Walk, name: str, axis: int, array: Array) -> list[str]:
    """Label the rows or the columns of a table.

    A token stands behind its position in square brackets. That tells two of the same word apart, and no token can then
    be read as a formula, a date or a number by a spreadsheet (OWASP, "CSV injection"); where a sign of a formula stands
    behind a separator inside a token, an apostrophe keeps it text.
    """
    kind = AXES[name][axis]
    tokens = walk.labels.get(kind)
    if tokens is not None:
        return [f"[{i}] {_FORMULA.sub(_TEXT, token)}" for i, token in enumerate(tokens)]
    return ["bias"] if kind == "bias" else [f"{kind} {i}" for i in range(array.shape[axis])]


def table(array: Array, rows: Sequence[str], columns: Sequence[str]) -> bytes:
    """Write one CSV with labels, UTF-8 with the mark by which spreadsheets know it.

    All labels are quoted, so that none is cut at a separator of another country's spreadsheet.
    """
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["", *columns])
    line = ",".join(["%.9g"] * len(columns)) + "\r\n"  # nine digits give a float32 back bit for bit
    for label, row in zip(rows, array.tolist(), strict=True):
        text.write('"' + label.replace('"', '""') + '",' + line % tuple(row))
    return text.getvalue().encode("utf-8-sig")
