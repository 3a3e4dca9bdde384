"""Names for heads that are easily described. They follow from the measures and hold on this text, no further."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from attnviz.measures.summary import Measure

MOST = 0.5
"""A head is called after what gets at least half of its weight (the bar of Clark et al. 2019)."""
TIMES_CHANCE = 2.0
"""And at least so many times what uniform attention would give it: in a text of three tokens half is nothing."""
BROAD = 0.85
"""A broad head's entropy is at least this part of the entropy of uniform attention."""

DIAGONAL, BROAD_HEAD = "diagonal", "broad"
_NEIGHBOURS = ("previous", "same", "next")


def label_heads(
    values: npt.NDArray[np.float32], by_chance: npt.NDArray[np.float32], measures: Sequence[Measure]
) -> list[list[list[str]]]:
    """Return each head's labels, L lists of H lists, from values (L, H, M) and those of uniform attention, (M,)."""
    expected = dict(zip((measure.name for measure in measures), by_chance.tolist(), strict=True))
    labels = {measure.name: measure.label for measure in measures}
    return [[_labels(dict(zip(expected, head, strict=True)), expected, labels) for head in layer]
            for layer in values.tolist()]  # fmt: skip


def possible_labels(measures: Sequence[Measure]) -> list[str]:
    """Return all labels that a head can have on this text."""
    return [*(measure.label for measure in measures if measure.label), DIAGONAL, BROAD_HEAD]


def _labels(head: dict[str, float], expected: dict[str, float], labels: dict[str, str]) -> list[str]:
    found = [labels[name] for name in head if labels[name] and _much(head[name], expected[name])]
    near = [name for name in _NEIGHBOURS if name in head and not np.isnan(head[name])]
    if not any(labels[name] in found for name in near) and _much(
        sum(head[name] for name in near), sum(expected[name] for name in near)
    ):
        found.append(DIAGONAL)
    if expected["entropy"] > 0 and head["entropy"] >= BROAD * expected["entropy"]:
        found.append(BROAD_HEAD)
    return found


def _much(share: float, expected: float) -> bool:
    """Say whether a share is most of the weight, and not by chance. False for NaN."""
    return share >= MOST and share >= TIMES_CHANCE * expected
