"""The ranges of the measures, for sums in whole numbers and for histograms.

Sums of floats depend on their order. Those of whole numbers don't, so parts of a corpus may be added in any order and
give the same result, bit for bit.
"""

from __future__ import annotations

from typing import TypeAlias

import boost_histogram as bh
import numpy as np
import numpy.typing as npt

from attnviz.measures.names import NAMES

Counts: TypeAlias = "bh.Histogram[bh.storage.Int64]"
"""A histogram that counts"""
LARGEST = {"entropy": 10.0, "distance": 1024.0}
"""The largest value of a measure; of the others it is 1. A text of 1,024 tokens, the most that a
model takes here, has log₂ 1024 = 10 bits at most"""
UNIT, LOW = 2**44, 2**22
"""A sum of 1 counts `UNIT`, and is kept as two numbers of 64 bits: multiples of `LOW`, and the rest. They hold the sum
of 3e10 values, each rounded to 6e-14"""
BINS = 512
SCALES = np.array([LARGEST.get(name, 1.0) for name in NAMES])


def whole(values: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Return numbers up to 2^18, (...), as two whole numbers each, (..., 2), which may be summed; NaN counts 0."""
    numbers = np.rint(np.nan_to_num(values, nan=0.0) * UNIT).astype(np.int64)
    return np.stack(np.divmod(numbers, LOW), -1)


def amount(sums: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the sums of what `whole` gave, (..., 2), as numbers, (...)."""
    total: npt.NDArray[np.float64] = sums[..., 0] * (LOW / UNIT) + sums[..., 1] / UNIT
    return total


def histogram(measure: int, heads: int) -> Counts:
    """Return an empty histogram of one measure, of so many heads.

    Bins of equal width, but for the distance: there they are narrower the nearer, since most heads look at most a few
    tokens away.
    """
    largest = SCALES[measure]
    how = bh.axis.transform.sqrt if NAMES[measure] == "distance" else None
    values = bh.axis.Regular(BINS, 0, largest, transform=how)
    return bh.Histogram(bh.axis.Integer(0, heads, overflow=False, underflow=False), values, storage=bh.storage.Int64())
