"""Labels such as "previous-token head", derived from the measures of a head. They hold for one text only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from attnviz.measures.summary import Measure

MIN_SHARE = 0.5
"""A label needs at least this share of a head's weight (the threshold of Clark et al. 2019)."""
MIN_TIMES_UNIFORM = 2.0
"""And at least this multiple of the share under uniform attention: among three tokens half is not remarkable."""
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
    expected = dict(zip((measure.name for measure in measures), uniform.tolist(), strict=True))
    labels = {measure.name: measure.label for measure in measures}
    return [[_labels(dict(zip(expected, head, strict=True)), expected, labels) for head in layer]
            for layer in values.tolist()]  # fmt: skip


def possible_labels(measures: Sequence[Measure]) -> list[str]:
    """Return every label that a head can have for this text."""
    return [*(measure.label for measure in measures if measure.label), DIAGONAL, BROAD_HEAD]


def shown(label: str) -> str:
    """Return a label as the page shows it; links have "broad"."""
    return "looks everywhere" if label == BROAD_HEAD else label


def _labels(head: dict[str, float], expected: dict[str, float], labels: dict[str, str]) -> list[str]:
    found = [labels[name] for name in head if labels[name] and _dominates(head[name], expected[name])]
    near = [name for name in _NEIGHBOURS if name in head]
    if not any(labels[name] in found for name in near) and _dominates(
        sum(head[name] for name in near), sum(expected[name] for name in near)
    ):
        found.append(DIAGONAL)
    if expected["entropy"] > 0 and head["entropy"] >= MIN_BROAD_ENTROPY * expected["entropy"]:
        found.append(BROAD_HEAD)
    return found


def _dominates(share: float, expected: float) -> bool:
    """Whether a share is most of the weight and well above uniform attention. False for NaN."""
    return share >= MIN_SHARE and share >= MIN_TIMES_UNIFORM * expected
