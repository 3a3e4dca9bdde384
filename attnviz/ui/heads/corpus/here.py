"""What the view of a corpus shows: one head's statistics, and the same head on this text."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from pathlib import Path

import numpy as np

from attnviz.corpus.results import CorpusStatistics
from attnviz.corpus.run import CorpusCard
from attnviz.measures.survey import Survey
from attnviz.ui.heads.corpus.words import HALF, Words, words_for


@dataclass(frozen=True, slots=True, eq=False)
class Here:
    """A head over a corpus, beside a text."""

    file: Path
    statistics: CorpusStatistics
    """What it holds"""
    card: CorpusCard
    survey: Survey
    """Of this text"""
    layer: int
    """The model's own number of the layer"""
    head: int

    @property
    def row(self) -> int:
        """The layer's place in arrays (L, H, ...)."""
        return self.statistics.numbers.index(self.layer)

    @property
    def number(self) -> int:
        """The head's place in arrays (L · H, ...)."""
        return self.row * self.statistics.shape[1] + self.head

    @property
    def words(self) -> Words:
        """How measures and labels are called for this model."""
        return words_for(self.survey)

    @property
    def names(self) -> list[str]:
        """The measures that this head has over the corpus."""
        counts = self.statistics.count[self.row, self.head].tolist()
        return [name for name, count in zip(self.statistics.measures, counts, strict=True) if count]

    def strongest(self) -> str:
        """Return the measure in which this head stands out: its commonest label's, or else the one farthest above all.

        A label counts if it holds on half of the sentences, and if it is the name of a measure ("broad" is entropy).
        Farthest above: the mean of this head less that of all heads, in standard deviations of the heads.
        """
        named = ["entropy" if name == "broad" else name for name, part in self.labels(self.layer, self.head)
                 if part >= HALF]  # fmt: skip
        of_label = next((name for name in named if name in self.names), None)
        if of_label is not None:
            return of_label

        def above_all(measure: str) -> float:
            means = self.statistics.mean[..., self.statistics.measures.index(measure)]  # (L, H)
            return float((means[self.row, self.head] - np.nanmean(means)) / max(np.nanstd(means), 1e-12))

        return max(self.names, key=above_all)

    def value(self, measure: str) -> float | None:
        """Return this text's value; None if it has no such measure."""
        for place, one in enumerate(self.survey.measures):
            if one.name == measure:
                found = float(self.survey.values[self.row, self.head, place])
                return None if isnan(found) else found
        return None

    def at(self, measure: str) -> tuple[int, int, int]:
        """Return where the measure of this head stands in arrays (L, H, M)."""
        return self.row, self.head, self.statistics.measures.index(measure)

    def nearest(self, count: int) -> list[int]:
        """Return the numbers of the heads whose rows are most like this head's, the most alike first."""
        own = self.number
        ranked = np.argsort(self.statistics.divergence[own], kind="stable").tolist()
        return [other for other in ranked if other != own][:count]

    def labels(self, layer: int, head: int) -> list[tuple[str, float]]:
        """Return the labels of a head that ever hold, and on which share of all sentences; the largest first."""
        shares = self.statistics.label_share[:, self.statistics.numbers.index(layer), head].tolist()
        held = [(name, share) for name, share in zip(self.statistics.labels, shares, strict=True) if share > 0]
        return sorted(held, key=lambda one: -one[1])
