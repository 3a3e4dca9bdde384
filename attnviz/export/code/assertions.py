"""Compares in exported code what it computed of a transformer, `COMPUTED`, with what the page showed."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from attnviz.export.code.lines import TOLERANCE, Cell, literal, magnitude

FIRST = 4
"""How many numbers of the first row of each matrix the code compares one by one"""
COMPARE = """\
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


def compare(matrices: Mapping[str, Mapping[str, Tensor]]) -> Cell:
    """Return code that compares these matrices, (rows, columns), by place in the model and name."""
    shown = "\n".join(f'    "{place}": {{\n{_entries(found)}\n    }},' for place, found in matrices.items())
    return Cell("code", COMPARE.format(count=FIRST, tolerance=TOLERANCE, shown=shown))


def _entries(matrices: Mapping[str, Tensor]) -> str:
    return "\n".join(
        f'        "{name}": ([{", ".join(map(literal, matrix[0, :FIRST].tolist()))}], {magnitude(matrix):.9g}),'
        for name, matrix in matrices.items()
    )
