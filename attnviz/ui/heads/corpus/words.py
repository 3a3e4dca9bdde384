"""How the measures and labels of a corpus are called."""

from __future__ import annotations

from math import isnan
from typing import NamedTuple


class Said(NamedTuple):
    """A measure in words."""

    title: str
    unit: str
    """With it, "" for a share of the weight"""


MEASURES = {
    "entropy": Said("entropy", "bits"),
    "distance": Said("mean distance", "tokens"),
    "previous": Said("to previous token", ""),
    "next": Said("to next token", ""),
    "same": Said("to same token", ""),
    "first": Said("to first token", ""),
    "cls": Said("to [CLS]", ""),
    "sep": Said("to [SEP]", ""),
    "punctuation": Said("to punctuation", ""),
}
LABELS = {
    "previous": "previous-token head",
    "next": "next-token head",
    "same": "same-token head",
    "first": "attends to the first token",
    "cls": "attends to [CLS]",
    "sep": "attends to [SEP]",
    "punctuation": "attends to punctuation",
    "diagonal": "diagonal",
    "broad": "looks everywhere",
}
LINKED = LABELS | {"broad": "broad"}
"""Labels as `attnviz.measures.labels` and links have them"""
HALF = 0.5
"""The share of the sentences from which on a head is said to have a label"""


def axis(measure: str) -> str:
    """Return the title of an axis with a measure."""
    title, unit = MEASURES[measure]
    return f"{title}, {unit}" if unit else f"weight {title}"


def share(part: float) -> str:
    """Return a share in %, with a decimal where it is near nothing or all; "–" if there is none."""
    if isnan(part):
        return "–"
    percent = 100 * part
    if 0 < percent < 0.05 or 99.95 <= percent < 100:
        return "< 0.1 %" if percent < 50 else "> 99.9 %"
    return f"{percent:.1f} %" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f} %"
