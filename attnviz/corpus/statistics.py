"""Statistics of every head over sentences, as sums that add up in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.corpus.names import LABELLED, LABELS
from attnviz.corpus.observing import OFFSETS, PARTS, Observed, divergence_sums, marks_of, observe
from attnviz.corpus.results import (
    SCALES,
    SHORTEST,
    CorpusStatistics,
    Counts,
    Place,
    Strongest,
    finished,
    histogram,
    whole,
)
from attnviz.measures.labels import holding
from attnviz.measures.names import NAMES
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace


class OtherHeadsError(ValueError):
    """Two statistics are of different numbers of layers and heads, or of different kinds of attention."""


@dataclass(slots=True, eq=False)
class HeadStatistics:
    """Sums over sentences for each head of one kind of self-attention. `merge` is associative and commutative, exactly.

    All counts are exact. Values are summed as whole numbers (`attnviz.corpus.results`).
    """

    layers: int
    heads: int
    causal: bool = False
    numbers: tuple[int, ...] = ()
    """The model's own numbers of the layers, (L,); 0, 1, ... if none are given"""
    sums: dict[str, npt.NDArray[np.int64]] = field(init=False)
    """By name; see `_shapes`"""
    histograms: list[Counts] = field(init=False)
    """Of each measure, (L · H, bins)"""
    strongest: Strongest = field(init=False)
    """Of (L, H, M)"""

    def __post_init__(self) -> None:
        if self.layers < 1 or self.heads < 1:
            raise ValueError(f"{self.layers} layers of {self.heads} heads: there must be at least one of each")
        self.numbers = self.numbers or tuple(range(self.layers))
        if len(self.numbers) != self.layers:
            raise ValueError(f"{self.layers} layers can't have the numbers {self.numbers}")
        self.sums = {name: np.zeros(shape, np.int64) for name, shape in _shapes(self.layers, self.heads).items()}
        self.histograms = [histogram(measure, self.layers * self.heads) for measure in range(len(NAMES))]
        self.strongest = Strongest.none((self.layers, self.heads, len(NAMES)))

    def add(self, trace: Trace, place: Place | None = None, *, kind: Kind | None = None, pairs: bool = False) -> None:
        """Add one sentence.

        Args:
            trace: of the sentence.
            place: where it stands in the corpus; without one, it is not among the strongest.
            kind: "encoder" or "decoder"; the model's first if None.
            pairs: whether it counts for the divergence between heads too, which takes (L · H)² T² logarithms.

        Raises:
            OtherHeadsError: the model has other layers or heads, or another mask.
            ValueError: the kind is "cross", where queries and keys are of different texts.
        """
        import torch

        kind = trace.kinds[0] if kind is None else kind
        if kind == "cross":
            raise ValueError("statistics are of self-attention: in cross-attention, positions can't be compared")
        layers, tokens = trace.layers[kind], trace.query_tokens(kind)
        self._check(len(layers), layers[0].heads, causal=kind == "decoder")
        with torch.inference_mode():
            weights = [layer.attentions() for layer in layers]
            self.add_observed(
                observe((one[None] for one in weights), marks_of([tokens]), causal=self.causal),
                [len(tokens)],
                None if place is None else ([place], [tokens.text]),
            )
            if pairs:
                self.add_pairs(divergence_sums(torch.cat(weights)).numpy(), len(tokens))

    def add_observed(
        self, of: Observed, lengths: Sequence[int], sentences: tuple[list[Place], list[str]] | None = None
    ) -> None:
        """Add what was observed of N sentences.

        Args:
            of: of all layers and heads.
            lengths: of the sentences in tokens.
            sentences: their places and texts; without them, none is among the strongest.
        """
        exists = ~np.isnan(of.values)  # (N, L, H, M)
        shares = of.values.astype(np.float64) / SCALES
        uniform = of.uniform.astype(np.float64) / SCALES
        labels = self._labels(of)  # (K, N, L, H)
        for name, found in {
            "sentences": len(lengths), "tokens": sum(lengths),
            "count": exists.sum(0), "sum": whole(shares).sum(0), "square": whole(shares**2).sum(0),
            "uniform_count": (~np.isnan(uniform)).sum(0), "uniform": whole(uniform).sum(0),
            "label": labels.sum(1),
            "offset": whole(of.offset_sum), "offset_count": of.offset_count,
            "part": whole(of.part_sum), "part_count": of.part_count,
        }.items():  # fmt: skip
            self.sums[name] += found
        number = np.broadcast_to(np.arange(self.layers * self.heads), (len(lengths), self.layers * self.heads))
        for measure, counts in enumerate(self.histograms):
            column, there = (one[..., measure].reshape(number.shape) for one in (of.values, exists))
            counts.fill(number[there], np.clip(column[there], 0, SCALES[measure] * (1 - 1e-9)))
        if sentences is not None:
            long = np.array(lengths) >= SHORTEST
            values = np.where(long[:, None, None, None], of.values, np.nan)
            self.strongest.merge(Strongest.of(values, *sentences))

    def add_pairs(self, divergence: npt.NDArray[np.float64], queries: int) -> None:
        """Add the sums of the divergence of each two heads, (L · H, L · H), over so many queries."""
        self.sums["pair"] += whole(divergence)
        self.sums["pair_count"] += queries

    def merge(self, other: HeadStatistics) -> None:
        """Add another part of the corpus, or of another corpus.

        Raises:
            OtherHeadsError: it is of other layers or heads.
        """
        self._check(other.layers, other.heads, causal=other.causal)
        for name, found in other.sums.items():
            self.sums[name] += found
        self.histograms = [mine + theirs for mine, theirs in zip(self.histograms, other.histograms, strict=True)]
        self.strongest.merge(other.strongest)

    def finish(self) -> CorpusStatistics:
        """Return means, deviations, quantiles and shares."""
        return finished(self.sums, self.histograms, self.strongest, LABELS, self.numbers)

    def settings(self) -> dict[str, int | bool | tuple[int, ...] | list[tuple[Place, str]]]:
        """Return what `from_arrays` needs beside the arrays, as values for JSON."""
        texts = sorted(self.strongest.texts.items())
        shape = {"layers": self.layers, "heads": self.heads, "causal": self.causal}
        return {**shape, "numbers": self.numbers, "texts": texts}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all sums by name."""
        counts = np.stack([one.view(flow=True) for one in self.histograms])
        return self.sums | {"histograms": counts, "values": self.strongest.values, "places": self.strongest.places}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> HeadStatistics:
        """Return the statistics of `settings` and `arrays`.

        Raises:
            ValueError: an array has another shape or type.
            KeyError: one is missing.
        """
        numbers = tuple(map(int, settings.get("numbers", ())))
        found = cls(int(settings["layers"]), int(settings["heads"]), bool(settings["causal"]), numbers)
        for name, mine in found.arrays().items():
            if arrays[name].shape != mine.shape or arrays[name].dtype != mine.dtype:
                raise ValueError(f"{name} is {arrays[name].dtype} {arrays[name].shape}, not {mine.dtype} {mine.shape}")
        found.sums = {name: arrays[name].copy() for name in found.sums}
        for histogram_of, counts in zip(found.histograms, arrays["histograms"], strict=True):
            histogram_of.view(flow=True)[...] = counts
        texts = {Place(*place): str(text) for place, text in settings["texts"]}
        found.strongest = Strongest(arrays["values"].copy(), arrays["places"].copy(), texts)
        return found

    def _labels(self, of: Observed) -> npt.NDArray[np.bool_]:
        """Return which labels hold, (K, N, L, H)."""
        names = [name for name in NAMES if not (self.causal and name == "next")]
        values = {name: of.values[..., NAMES.index(name)] for name in names}
        uniform = {name: of.uniform[:, None, None, NAMES.index(name)] for name in names}
        found = holding(values, uniform, [name for name in LABELLED if name in names])
        nothing = np.zeros(of.values.shape[:3], bool)
        return np.stack([found.get(name, nothing) for name in LABELS])

    def _check(self, layers: int, heads: int, *, causal: bool) -> None:
        if (layers, heads, causal) != (self.layers, self.heads, self.causal):
            raise OtherHeadsError(
                f"statistics of {self.layers} x {self.heads} heads can't take {layers} x {heads}"
                f"{'' if causal == self.causal else ', of another mask'}"
            )


def _shapes(layers: int, heads: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the sums by name; two numbers each where values are summed (`scales.whole`)."""
    each = (layers, heads)
    return {
        "sentences": (), "tokens": (),
        "count": (*each, len(NAMES)), "sum": (*each, len(NAMES), 2), "square": (*each, len(NAMES), 2),
        "uniform_count": (len(NAMES),), "uniform": (len(NAMES), 2),
        "label": (len(LABELS), *each),
        "offset": (*each, len(OFFSETS), 2), "offset_count": (len(OFFSETS),),
        "part": (*each, len(PARTS), len(PARTS), 2), "part_count": (len(PARTS),),
        "pair": (layers * heads, layers * heads, 2), "pair_count": (),
    }  # fmt: skip
