"""Numbers as text: what Python and the browser both write, as a table.

python -m tests.unit.numbers    # writes it anew
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np

from attnviz.figures.colour_limit import end_text
from attnviz.formatting import exact, number, weight

FILE = Path(__file__).with_suffix(".json")
DECIMALS = (0, 1, 2, 3, 4, 6)
CHOSEN = (
    0.0, 1e-320, 1e-9, 4e-5, 4.9999e-5, 5e-5, 1e-4, 0.00015, 0.0049, 0.005, 0.0625, 0.125, 0.375, 0.5, 0.99994,
    0.99995, 0.999999, 1.0, 1.005, 2.5, 9.995, 99.5, 1234.5678, 999_999.0, 999_999.99996, 1e6, 1_000_050.0, 1_000_150.0,
    1.5e10, 2.0**53, 1e30, 3.4e38, 1e300,
)  # fmt: skip
"""With both signs"""


def values() -> list[float]:
    """Return the numbers: chosen ones, weights of a softmax as float32, and numbers of all sizes."""
    random = np.random.default_rng(0)
    scores = random.normal(0, 4, 60).astype(np.float32)
    weights = np.exp(scores - scores.max())
    drawn = random.normal(size=60) * 10.0 ** random.integers(-12, 8, 60)
    signed = [sign * x for x in CHOSEN for sign in (1, -1)]
    return [*signed, math.nan, math.inf, -math.inf, *(weights / weights.sum()).tolist(), *drawn.tolist()]


def shares() -> list[float]:
    """Return shares of 1: all whole thousandths, those of `values`, and what these lack of 1."""
    small = [value for value in values() if 0 <= value <= 1]
    return [*(n / 1000 for n in range(1001)), *small, *(1 - value for value in small)]


def table() -> list[dict[str, object]]:
    """Return a row for each number: its bits, and how each function writes it."""
    rows: list[dict[str, object]] = []
    for value in values():
        row: dict[str, object] = {"bits": struct.pack(">d", value).hex()}
        row["exact"] = [exact(value, digits) for digits in DECIMALS]
        if not 1e21 <= abs(value) < math.inf:  # toFixed goes up to there
            row["weight"] = weight(value)
            row["number"] = [number(value, digits) for digits in DECIMALS]
        if 0 < value <= 1:
            row["end"] = end_text(value)
        rows.append(row)
    return rows


def written() -> str:
    """Return the file."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in table())
    return f"[\n{rows}\n]\n"


def main() -> None:
    """Write the file."""
    FILE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
