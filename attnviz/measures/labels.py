"""Labels such as "previous-token head", derived from the measures of a head. They hold for one text only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.measures.summary import Measure

MIN_SHARE = 0.5
"""A label needs at least this share of a head's weight (the threshold of Clark et al. 2019)."""
MIN_TIMES_UNIFORM = 2.0
"""And at least this multiple of the share under uniform attention: with three tokens, half is not remarkable."""
MIN_BROAD_ENTROPY = 0.85
"""A broad head has at least this fraction of the entropy of uniform attention."""

DIAGONAL, BROAD_HEAD = "diagonal", "broad"
_NEIGHBOURS = ("previous", "same", "next")


def label_heads(
    values: npt.NDArray[np.float32], uniform: npt.NDArray[np.float32], measures: Sequence[Measure]
) -> list[list[list[str]]]:
    """Return the labels of each head, as L lists of H lists.

    Args:
        values: the M measures of each head, (L, H, M).
        uniform: the measures of a head with uniform attention, (M,).
        measures: the M measures.
    """
    names = [measure.name for measure in measures]
    labels = {measure.name: measure.label for measure in measures}
    holds_by_name = holding(
        dict(zip(names, np.moveaxis(values, -1, 0), strict=True)),
        dict(zip(names, uniform, strict=True)),
        [name for name in names if labels[name]],
    )
    layers, heads = values.shape[:2]
    return [[[labels.get(name, name) for name, holds in holds_by_name.items() if holds[layer, head]]
             for head in range(heads)] for layer in range(layers)]  # fmt: skip


def holding(
    values: Mapping[str, npt.NDArray[Any]], uniform: Mapping[str, npt.NDArray[Any]], labelled: Sequence[str]
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return for each label where it holds, in the shape of the values.

    Args:
        values: measures by name, arrays of one shape, NaN where a text has no such measure; "entropy" must be there.
        uniform: the same measures of uniform attention; they broadcast to the values.
        labelled: the measures that give a label; in the result, the label has the measure's name.

    Returns:
        The labels of `labelled` in this order, then `DIAGONAL`, if one of its measures is there, and `BROAD_HEAD`.
    """
    labels = {name: _dominates(values[name], uniform[name]) for name in labelled}
    near = [name for name in _NEIGHBOURS if name in values]
    if near:
        together = (sum(shares[name] for name in near) for shares in (values, uniform))
        has_one = np.any([labels[name] for name in near if name in labels], axis=0)
        labels[DIAGONAL] = _dominates(*together) & ~has_one
    expected = uniform["entropy"]
    labels[BROAD_HEAD] = (expected > 0) & (values["entropy"] >= MIN_BROAD_ENTROPY * expected)
    return labels


def possible_labels(measures: Sequence[Measure]) -> list[str]:
    """Return every label that a head can have for this text."""
    return [*(measure.label for measure in measures if measure.label), DIAGONAL, BROAD_HEAD]


def shown(label: str) -> str:
    """Return a label as the page shows it; links use the label itself, such as "broad"."""
    return "looks everywhere" if label == BROAD_HEAD else label


def _dominates(share: Any, expected: Any) -> npt.NDArray[np.bool_]:
    """Whether a share is most of the weight and well above uniform attention. False for NaN."""
    dominates: npt.NDArray[np.bool_] = (share >= MIN_SHARE) & (share >= MIN_TIMES_UNIFORM * expected)
    return dominates
