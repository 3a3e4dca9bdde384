"""How the measures and labels of a corpus are called."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from attnviz.measures.survey import Survey


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
HALF = 0.5
"""The share of the sentences from which on a head is said to have a label"""


@dataclass(frozen=True, slots=True)
class Words:
    """How measures and labels are called for one model: some spell [CLS] as `<s>`."""

    measures: dict[str, Said]
    labels: dict[str, str]

    @property
    def linked(self) -> dict[str, str]:
        """The labels as `attnviz.measures.labels` and links have them."""
        return self.labels | {"broad": "broad"}

    def axis(self, measure: str) -> str:
        """Return the title of an axis with a measure."""
        title, unit = self.measures[measure]
        return f"{title}, {unit}" if unit else f"weight {title}"


def words_for(survey: Survey) -> Words:
    """Return the words for the model of a text, which has its special tokens."""
    own = {one.name: one for one in survey.measures if one.name in ("cls", "sep")}
    return Words(
        MEASURES | {name: Said(one.title, "") for name, one in own.items()},
        LABELS | {name: one.label for name, one in own.items()},
    )


def share(part: float) -> str:
    """Return a share in %, with a decimal where it is near nothing or all; "–" if there is none."""
    if isnan(part):
        return "–"
    percent = 100 * part
    if 0 < percent < 0.05 or 99.95 <= percent < 100:
        return "< 0.1 %" if percent < 50 else "> 99.9 %"
    return f"{percent:.1f} %" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f} %"
