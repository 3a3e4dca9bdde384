"""Exports a head as code: a script or notebook of plain torch that computes the same numbers without attnviz.

User text appears only as ASCII Python literals (`ascii`), never in comments or prose. So no text can end a string,
start a line, or become markup in a notebook.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from attnviz.figures.style import ROWS_AND_COLUMNS
from attnviz.formatting import power_of_ten
from attnviz.steps import OF_HEAD, WALK
from attnviz.trace.layer import LayerTrace
from attnviz.trace.matrices import NORMED, OF_BIAS, ROTATED, find_matrix, operand
from attnviz.trace.walk import Walk

CORNER = 6
"""The code compares this many rows and columns of each matrix number by number."""
TOLERANCE = 1e-4
"""The relative and absolute tolerance for float32 on another machine, where sums run in another order."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a notebook."""

    kind: Literal["markdown", "code"]
    text: str


def section(title: str, *codes: str) -> tuple[Cell, ...]:
    """Return a heading and the code below it, a cell for each."""
    return (Cell("markdown", f"## {title}"), *(Cell("code", code) for code in codes))


HEADING = """\
# Attention, step by step, in plain torch

Written by attnviz from a view of the page {page}: {place}.
{axes} Layers and heads are counted from 0.
It needs {needs}, but not attnviz. At the end it compares its numbers with those that the page showed.\
"""

BEGIN = """\
import math

import torch
from torch.nn import functional as F

torch.set_printoptions(precision=4, sci_mode=False, linewidth=200, threshold=2000)
VIEW = {link}  # where the app shows the same
QUERY_TOKENS = {query_tokens}
KEY_TOKENS = {key_tokens}
HEAD = {head}


def show(name, matrix):
    print(f"\\n{{name}}, {{' x '.join(map(str, matrix.shape))}}")
    print(matrix)\
"""

COMPUTE = (
    ("scores: each query with each key", """\
scores = {query} @ {key}.transpose(-2, -1)  # (H, Tq, D) @ (H, D, Tk) -> (H, Tq, Tk)
show("scores", scores[HEAD])"""),
    ("scaled: dot products grow with the head width", """\
scaled = scores * scale
show("scaled", scaled[HEAD])"""),
    ("masked: hidden cells become {named}", """\
if mask is None:
    masked = {before}
elif mask.dtype == torch.bool:
    masked = {filled}  # True: visible
else:
    masked = {before} + mask
show("masked", masked[HEAD])"""),
    ("weights: the softmax makes each row sum to 1", """\
weights = torch.softmax(masked, dim=-1){rows}
show("weights", weights[HEAD])"""),
    ("head outputs: the values, each times its weight, added up", """\
head_outputs = weights @ value  # (H, Tq, Tk) @ (H, Tk, D) -> (H, Tq, D)
show("head_outputs", head_outputs[HEAD])"""),
    ("concat and output: the heads side by side, then projected", """\
concat = head_outputs.transpose(0, 1).flatten(1)  # (H, Tq, D) -> (Tq, H·D)
show("concat", concat)
output = None if W_O is None else concat @ W_O if b_O is None else concat @ W_O + b_O
if output is not None:
    show("output", output)"""),
)  # fmt: skip

ROTATION = "rotated: each pair of dimensions is turned by an angle that grows with the position"
SHOW_ROTATED = """\
{code}
show("rotated_query", rotated_query[HEAD])
show("rotated_key", rotated_key[HEAD])\
"""

CAPPED = (
    "capped: a soft cap keeps scores between −{cap} and {cap}",
    """\
capped = {cap} * torch.tanh(scaled / {cap})
show("capped", capped[HEAD])""",
)
"""The part of `COMPUTE` after `scaled` with a soft cap"""
BIASED = (
    "biased: a number for each distance is added",
    """\
biased = {unbiased} + position_bias
show("position_bias", position_bias[HEAD])
show("biased", biased[HEAD])""",
)
"""The part of `COMPUTE` before `masked` with a position bias"""
TERMS_TITLE = "biased: products with vectors of relative positions are added"
"""The title of that part if the bias is a sum of DeBERTa's terms"""
WITH_SINK = (
    "weights and sink: each row of both sums to 1",
    """\
# The sink is one more column of the softmax, which gives nothing to the output
with_sink = torch.softmax(torch.cat((masked, sinks), dim=-1), dim=-1)  # (H, Tq, Tk + 1)
weights, sink = with_sink[..., :-1], with_sink[..., -1:]
show("weights", weights[HEAD])
show("sink", sink[HEAD])""",
)
"""The part of `COMPUTE` for the weights with a sink: `sinks` is (H, Tq, 1)"""

SAME_AS_TORCH = """\
# torch's own attention on the same query, key and value
theirs = F.scaled_dot_product_attention({operands}, attn_mask={added}, scale=scale)[0]{rows}\
"""
ADDED_AS_MASK = """\
# torch's own attention on the same query, key and value. What it does not know is given to it as a mask that is added.
# In double precision: a difference of large numbers has few digits
exact_query, exact_key, exact_value = {query}.double(), {key}.double(), value.double()
added = masked.double() - exact_query @ exact_key.transpose(-2, -1) * scale  # (H, Tq, Tk): what comes between the two
{sink}theirs = F.scaled_dot_product_attention({operands}, attn_mask=added[None], scale=scale)[0].float(){rows}\
"""
SINK_AS_KEY = """\
added = torch.cat((added, sinks.double()), dim=-1)  # a sink is one more key; its numbers and its value are 0
exact_key, exact_value = F.pad(exact_key, (0, 0, 0, 1)), F.pad(exact_value, (0, 0, 0, 1))  # (H, Tk + 1, D)
"""

COMPARE = """\
{theirs}
torch.testing.assert_close(head_outputs, theirs, rtol={tolerance}, atol={tolerance})

# What the page showed: the first {corner} rows and columns of each matrix, and the sum of all its finite magnitudes
INF = math.inf
SHOWN = {{
{shown}
}}
COMPUTED = {{
    "embeddings": x, "query": query[HEAD], "key": key[HEAD], "value": value[HEAD], "scores": scores[HEAD],
    "scaled": scaled[HEAD], "masked": masked[HEAD], "weights": weights[HEAD], "head_outputs": head_outputs[HEAD],
    "concat": concat, "output": output,{more}
}}
for name, (corner, total) in SHOWN.items():
    matrix = COMPUTED[name]
    torch.testing.assert_close(matrix[:{corner}, :{corner}], torch.tensor(corner), rtol={tolerance}, atol={tolerance})
    finite = matrix[matrix.isfinite()].double().abs().sum().item()
    assert math.isclose(finite, total, rel_tol={tolerance}, abs_tol={tolerance}), (name, finite, total)
print(f"\\nAll {{len(SHOWN)}} matrices are those that the page showed.")\
"""


def rotated_cells(walk: Walk) -> tuple[Cell, ...]:
    """Return the cells that turn queries and keys by `cos` and `sin`, (T, R / 2); none if nothing turns them."""
    if walk.layer.rotation is None:
        return ()
    return section(ROTATION, SHOW_ROTATED.format(code=WALK["rotated"].code(walk)))


def cells(
    walk: Walk,
    inputs: Iterable[Cell],
    *,
    place: str,
    needs: str,
    page: str = "Step by step",
    unknown: Collection[str] = (),
) -> tuple[Cell, ...]:
    """Return a head as cells of a notebook.

    Args:
        walk: the head, its tokens and its link.
        inputs: the cells that define the inputs of `COMPUTE`: `x` (Tq, C) or None, `query`, `key`, `value` (H, T, D),
            `scale`, `mask` (bool, float or None), `W_O` (H·D, C) and `b_O` (C) or None; `normed_query` and `normed_key`
            of a layer with norms; `rotated_query` and `rotated_key` of one with a rotation, from `rotated_cells`; and
            with a sink `sinks`, its scores (H, Tq, 1); and `position_bias`, which broadcasts to (H, Tq, Tk), if there
            is one.
        place: where the head is, without user text, such as "decoder block 3".
        needs: the required packages, such as "torch and transformers".
        page: the title of the view's page.
        unknown: the names of matrices that the page shows, but the inputs lack.
    """
    where = f"{place}, head {walk.head}"
    texts = _of_mask(walk.layer) | {"query": operand(walk.layer, "query"), "key": operand(walk.layer, "key")}
    texts |= {"more": _more_computed(walk, unknown), "theirs": _theirs(walk.layer, texts)}
    tokens = {"query_tokens": literals(walk.query_labels), "key_tokens": literals(walk.key_labels)}
    return (
        Cell("markdown", HEADING.format(axes=ROWS_AND_COLUMNS, place=where, needs=needs, page=page)),
        Cell("code", BEGIN.format(link=ascii(walk.link), head=walk.head, **tokens)),
        *inputs,
        *(
            cell
            for title, code in _computed(walk.layer)
            for cell in section(title.format(**texts), code.format(**texts))
        ),
        *section(
            "The same as torch, and as the page",
            COMPARE.format(tolerance=TOLERANCE, corner=CORNER, shown=_shown(walk, unknown), **texts),
        ),
    )


def _of_mask(layer: LayerTrace) -> dict[str, str]:
    """Return the code that depends on the mask: what it fills in, where, and what it does in rows without a key."""
    mask, cap = layer.mask, "" if layer.cap is None else f"{layer.cap:g}"
    has_no_number = mask.is_infinite and mask.hides_rows and layer.sinks is None
    rows = ".nan_to_num()  # rows without a visible key" if has_no_number else ""
    unbiased = "capped" if cap else "scaled"
    before = unbiased if layer.position_bias is None else "biased"
    if mask.is_infinite:
        filled, added = f"{before}.masked_fill(~mask, -math.inf)", "mask"
    else:
        is_biased = before == "biased"
        operand, scale = ("scores", " * scale") if mask.fills == "scores" else (before, "")
        filled = f"{operand}.masked_fill(~mask, {mask.value:g}){scale}"
        if cap and scale:
            filled = f"{cap} * torch.tanh({filled} / {cap})"
        if scale and is_biased:
            filled = f"biased.masked_fill(~mask, {mask.hidden_value(layer.scale, layer.cap)!r})"
        added = f"torch.zeros(mask.shape).masked_fill(~mask, {mask.value:g}{scale})"
    named = power_of_ten(mask.hidden_value(layer.scale, layer.cap))
    texts = {"named": named, "filled": filled, "added": added, "rows": rows, "before": before, "cap": cap}
    return texts | {"unbiased": unbiased}


def _computed(layer: LayerTrace) -> Iterator[tuple[str, str]]:
    """Yield the titles and the code of `COMPUTE`, with those of a soft cap, a bias and a sink if the layer has them."""
    for title, code in COMPUTE:
        if title.startswith("masked") and layer.position_bias is not None:
            yield (TERMS_TITLE, BIASED[1]) if layer.position_terms else BIASED
        is_of_weights = title.startswith("weights")
        yield WITH_SINK if is_of_weights and layer.sinks is not None else (title, code)
        if title.startswith("scaled") and layer.cap is not None:
            yield CAPPED


def _theirs(layer: LayerTrace, texts: Mapping[str, str]) -> str:
    """Return the code that computes the head outputs by torch's own attention."""
    operands = "{query}[None], {key}[None], value[None]".format(**texts)
    if layer.cap is None and layer.sinks is None and layer.position_bias is None:
        return SAME_AS_TORCH.format(operands=operands, **texts)
    sink = "" if layer.sinks is None else SINK_AS_KEY
    operands = "exact_query[None], exact_key[None], exact_value[None]"
    return ADDED_AS_MASK.format(sink=sink, operands=operands, **texts)


def _more_computed(walk: Walk, unknown: Collection[str]) -> str:
    """Return the entries of `COMPUTED` for what only some layers have, without unknown matrices."""
    names = (name for name in (*NORMED, *ROTATED, "capped", *OF_BIAS, "biased", "sinks", "sink") if name not in unknown)
    return "".join(f'\n    "{name}": {name}[HEAD],' for name in names if find_matrix(walk, name) is not None)


def script(parts: Iterable[Cell]) -> str:
    """Return cells as one Python file, with prose as comments."""
    blocks = []
    for cell in parts:
        prose = "\n".join(f"# {line.lstrip('# ')}".rstrip() for line in cell.text.splitlines())
        blocks.append(prose if cell.kind == "markdown" else cell.text + "\n")
    return "\n".join(blocks)


def notebook(parts: Iterable[Cell]) -> str:
    """Return cells as a Jupyter notebook, format 4.5."""
    as_json: list[dict[str, Any]] = []
    for number, cell in enumerate(parts):
        fields: dict[str, Any] = {"cell_type": cell.kind, "id": f"cell-{number}", "metadata": {}}
        fields["source"] = cell.text.splitlines(keepends=True)
        as_json.append(fields | ({"execution_count": None, "outputs": []} if cell.kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": as_json, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def literals(values: Iterable[object]) -> str:
    """Return values as a list of ASCII literals, with line breaks between them."""
    joined = ", ".join(ascii(value).replace(" ", "\0") for value in values)  # no break inside a literal
    lines = textwrap.wrap(joined, 100, break_long_words=False, break_on_hyphens=False)
    return "[" + "\n    ".join(lines).replace("\0", " ") + "]"


def _shown(walk: Walk, unknown: Collection[str]) -> str:
    """Return the matrices that the page shows as entries of a dictionary literal, without unknown ones."""
    matrices = {name: find_matrix(walk, name) for name in (*OF_HEAD, "concat", "output") if name not in unknown}
    matrices = {"embeddings": walk.layer.query_input, **matrices}
    return "\n".join(_entry(name, matrix) for name, matrix in matrices.items() if matrix is not None)


def _entry(name: str, matrix: Tensor) -> str:
    rows = [", ".join(map(literal, row)) for row in matrix[:CORNER, :CORNER].tolist()]
    return f'    "{name}": ([\n' + "".join(f"        [{row}],\n" for row in rows) + f"    ], {magnitude(matrix):.9g}),"


def magnitude(matrix: Tensor) -> float:
    """Return the sum of the magnitudes of all finite numbers."""
    return float(matrix[torch.isfinite(matrix)].double().abs().sum())


def literal(number: float) -> str:
    """Return a number as a Python literal with seven digits; −∞ is written -INF."""
    text = f"{number:.7g}".replace("inf", "INF")
    return text if any(sign in text for sign in ".eI") else f"{text}.0"


FIRST_NUMBERS = 4
"""How many numbers of the first row of each matrix the code compares one by one"""
COMPARE_PLACES = """\
# What the page showed: the first numbers of each matrix's first row, and the sum of all its finite magnitudes
INF = math.inf
SHOWN = {{
{shown}
}}
for place, matrices in SHOWN.items():
    for name, (first, total) in matrices.items():
        matrix = COMPUTED[place][name]
        torch.testing.assert_close(matrix[0, :{count}], torch.tensor(first), rtol={tolerance}, atol={tolerance})
        finite = matrix[matrix.isfinite()].double().abs().sum().item()
        assert math.isclose(finite, total, rel_tol={tolerance}, abs_tol={tolerance}), (place, name, finite, total)
print(f"All {{sum(map(len, SHOWN.values()))}} matrices are those that the page showed.")\
"""


def compare_places(matrices: Mapping[str, Mapping[str, Tensor]]) -> Cell:
    """Return code that compares these matrices, (rows, columns), by place in the model and name."""
    shown = "\n".join(f'    "{place}": {{\n{_first_numbers(named)}\n    }},' for place, named in matrices.items())
    return Cell("code", COMPARE_PLACES.format(count=FIRST_NUMBERS, tolerance=TOLERANCE, shown=shown))


def _first_numbers(matrices: Mapping[str, Tensor]) -> str:
    """Return the entries of one place: the first numbers of each matrix, and its magnitude."""
    return "\n".join(
        f'        "{name}": ([{", ".join(map(literal, matrix[0, :FIRST_NUMBERS].tolist()))}], {magnitude(matrix):.9g}),'
        for name, matrix in matrices.items()
    )
