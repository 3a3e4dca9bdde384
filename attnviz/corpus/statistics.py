"""Statistics of every head over sentences, computed from sums that can be added in any order.

They are means, standard deviations, quantiles, shares, and the strongest sentences of each head. Sums of floats depend
on the order; sums of integers don't, so parts of a corpus can be added in any order and give the same result, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import boost_histogram as bh
import numpy as np
import numpy.typing as npt

from attnviz.corpus import LABELLED, LABELS, QUANTILES
from attnviz.corpus.observing import OFFSETS, PARTS, Observations, divergence_sums, marks_of, observe
from attnviz.measures import NAMES
from attnviz.measures.summary import holding
from attnviz.measures.survey import hidden_cells
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

Counts: TypeAlias = "bh.Histogram[bh.storage.Int64]"
"""A histogram that counts"""
LARGEST = {"entropy": 10.0, "distance": 1024.0}
"""The largest value of a measure; 1 for all others. The entropy of a text of 1,024 tokens, the longest that the app
takes, is at most log₂ 1024 = 10 bits"""
UNIT, LOW = 2**44, 2**22
"""Values are fixed-point integers in units of 1 / `UNIT`, stored as two 64-bit integers: the multiple of `LOW`, and the
remainder. They hold the sum of 3e10 values, each rounded to 6e-14"""
BINS = 512
SCALES = np.array([LARGEST.get(name, 1.0) for name in NAMES])


def whole(values: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Convert numbers up to 2^18, (...), to two integers each, (..., 2), which can be summed; NaN counts as 0."""
    numbers = np.rint(np.nan_to_num(values, nan=0.0) * UNIT).astype(np.int64)
    return np.stack(np.divmod(numbers, LOW), -1)


def amount(sums: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Convert sums of the integers from `whole`, (..., 2), back to numbers, (...)."""
    total: npt.NDArray[np.float64] = sums[..., 0] * (LOW / UNIT) + sums[..., 1] / UNIT
    return total


def histogram(measure: int, heads: int) -> Counts:
    """Return an empty histogram of one measure for each of `heads` heads.

    The bins have equal width, except for the distance: there, bins are narrower at short distances, since most heads
    look at most a few tokens away.
    """
    largest = SCALES[measure]
    transform = bh.axis.transform.sqrt if NAMES[measure] == "distance" else None
    values = bh.axis.Regular(BINS, 0, largest, transform=transform)
    return bh.Histogram(bh.axis.Integer(0, heads, overflow=False, underflow=False), values, storage=bh.storage.Int64())


KEPT = 10
SHORTEST = 8
"""Shorter sentences, in tokens, are never among the strongest: with three tokens every weight is high"""
NOTHING = -1


class Place(NamedTuple):
    """The place of a sentence in the corpus."""

    file: int
    """The number of the file"""
    line: int
    """The line number, from 1"""


@dataclass(slots=True, eq=False)
class Strongest:
    """For each cell of an array, such as (L, H, M): the sentences with the highest values, the highest first."""

    values: npt.NDArray[np.float32]
    """(..., KEPT): −inf if there is no sentence"""
    places: npt.NDArray[np.int64]
    """(..., KEPT, 2): `Place`; `NOTHING` if there is no sentence"""
    texts: dict[Place, str] = field(default_factory=dict)
    """The text of each sentence in `places`"""

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> Strongest:
        """Return an empty selection."""
        return cls(np.full((*shape, KEPT), -np.inf, np.float32), np.full((*shape, KEPT, 2), NOTHING, np.int64))

    @classmethod
    def of(cls, values: npt.NDArray[np.float32], places: list[Place], texts: list[str]) -> Strongest:
        """Return the strongest of N sentences, with values (N, ...); NaN means no value."""
        shape = values.shape[1:]
        each_place = np.broadcast_to(np.array(places, np.int64).reshape(-1, *[1] * len(shape), 2), (*values.shape, 2))
        strongest = cls._highest(np.moveaxis(np.nan_to_num(values, nan=-np.inf), 0, -1), np.moveaxis(each_place, 0, -2))
        strongest._keep(dict(zip(places, texts, strict=True)))
        return strongest

    def merge(self, other: Strongest) -> None:
        """Keep the highest of both. Among equal values, sentences that come first in the corpus are kept."""
        highest = self._highest(
            np.concatenate([self.values, other.values], -1), np.concatenate([self.places, other.places], -2)
        )
        texts = self.texts | other.texts
        self.values, self.places = highest.values, highest.places
        self._keep(texts)

    @classmethod
    def _highest(cls, values: npt.NDArray[np.float32], places: npt.NDArray[np.int64]) -> Strongest:
        """Return the highest of n values, (..., n), with their places, (..., n, 2)."""
        order = np.lexsort((places[..., 1], places[..., 0], -values))[..., :KEPT]
        strongest = cls.none(values.shape[:-1])
        kept = order.shape[-1]
        strongest.values[..., :kept] = np.take_along_axis(values, order, -1)
        strongest.places[..., :kept, :] = np.take_along_axis(places, order[..., None], -2)
        strongest.places[np.isneginf(strongest.values)] = NOTHING
        return strongest

    def _keep(self, texts: dict[Place, str]) -> None:
        """Keep only the texts of sentences in `places`."""
        kept = {Place(*place) for place in np.unique(self.places.reshape(-1, 2), axis=0).tolist()}
        self.texts = {place: text for place, text in texts.items() if place in kept}


KEPT_BINS = 64
"""Bins of a finished histogram: each combines eight of the bins used for counting"""


@dataclass(frozen=True, slots=True, eq=False)
class CorpusStatistics:
    """Statistics of all heads of one kind of attention over a corpus. A mean over nothing is NaN."""

    sentences: int
    """The number of sentences"""
    tokens: int
    """The number of their tokens"""
    measures: tuple[str, ...]
    """M names, as in `attnviz.measures`"""
    count: npt.NDArray[np.int64]
    """(L, H, M): the number of sentences that have a value of the measure"""
    mean: npt.NDArray[np.float64]
    """(L, H, M)"""
    std: npt.NDArray[np.float64]
    """(L, H, M): the standard deviation over the sentences, √(mean of squares − square of mean)"""
    quantiles: npt.NDArray[np.float64]
    """(L, H, M, Q): at `QUANTILES`, each accurate to one bin: 0.002 for a share, 0.02 bits for the entropy"""
    histograms: npt.NDArray[np.int64]
    """(L, H, M, `KEPT_BINS`): the number of sentences in each bin; `edges` returns the bounds"""
    limited: npt.NDArray[np.bool_]
    """(L,): whether on some sentence it depends on the query which keys it sees, as with a causal mask or a window"""
    labels: tuple[str, ...]
    """K names: those of labelled measures, "diagonal" and "broad" """
    label_count: npt.NDArray[np.int64]
    """(K, L, H): the number of sentences on which a label holds"""
    offsets: tuple[int, ...]
    """R relative positions, key minus query, in tokens"""
    offset_count: npt.NDArray[np.int64]
    """(R,): the number of pairs of tokens"""
    offset_mean: npt.NDArray[np.float64]
    """(L, H, R): the mean weight at each, between tokens that are not special"""
    parts: tuple[str, ...]
    """P names"""
    part_count: npt.NDArray[np.int64]
    """(P,): the number of queries in each part"""
    part_mean: npt.NDArray[np.float64]
    """(L, H, P, P): the mean weight that queries of one part give to all keys of another; a row sums to 1,
    or to less with a sink"""
    pair_count: int
    """The number of queries used for `divergence`"""
    divergence: npt.NDArray[np.float64]
    """(L · H, L · H): the mean Jensen-Shannon divergence of each pair of heads, in bits"""
    strongest: Strongest
    """For cells (L, H, M)"""
    numbers: tuple[int, ...]
    """The model's own numbers of the layers, (L,)"""

    def head(self, number: int) -> tuple[int, int]:
        """Return the layer, by the model's own number, and the head of a row of `divergence`."""
        row, head = divmod(number, self.shape[1])
        return self.numbers[row], head

    @property
    def shape(self) -> tuple[int, int]:
        """L and H."""
        return self.mean.shape[0], self.mean.shape[1]

    @property
    def present(self) -> tuple[str, ...]:
        """The measures of which at least one sentence has a value."""
        return tuple(name for index, name in enumerate(self.measures) if self.count[..., index].any())

    @property
    def label_share(self) -> npt.NDArray[np.float64]:
        """The share of all sentences on which a label holds, (K, L, H)."""
        return _ratio(self.label_count, np.array(self.sentences))

    def freeze(self) -> None:
        """Make all arrays read-only, because sessions share them."""
        values = (getattr(self, name) for name in self.__slots__)
        for array in (*values, self.strongest.values, self.strongest.places):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    def edges(self, measure: str) -> npt.NDArray[np.float64]:
        """Return the bounds of the bins of a measure, (`KEPT_BINS` + 1,), in its unit."""
        edges: npt.NDArray[np.float64] = histogram(NAMES.index(measure), 1).axes[1].edges
        return edges[:: BINS // KEPT_BINS]

    def share_below(self, layer: int, head: int, measure: str, value: float) -> float:
        """Return the share of sentences with a value below this; linear within a bin; NaN if there are no sentences."""
        counts = self.histograms[layer, head, self.measures.index(measure)]
        below = np.concatenate([[0], np.cumsum(counts)])
        return float(np.interp(value, self.edges(measure), below) / below[-1]) if below[-1] else float("nan")


def _quantiles(counts: npt.NDArray[np.int64], edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the quantiles of histograms, (L, H, bins), as (L, H, Q); linear within a bin; NaN without values."""
    quantiles = np.full((*counts.shape[:2], len(QUANTILES)), np.nan)
    for at in np.ndindex(counts.shape[:2]):
        below = np.concatenate([[0], np.cumsum(counts[at])])
        if below[-1]:
            # A quantile lies in the first bin at whose end the cumulative count reaches it, so never in an empty bin.
            wanted = np.array(QUANTILES) * below[-1]
            bins = np.searchsorted(below[1:], wanted)
            fraction = (wanted - below[bins]) / counts[at][bins]
            quantiles[at] = edges[bins] + fraction * (edges[bins + 1] - edges[bins])
    return quantiles


def _ratio(over: npt.NDArray[Any], under: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Divide; NaN where the divisor is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(under == 0, np.nan, over / np.where(under == 0, 1, under))


class OtherHeadsError(ValueError):
    """Two statistics have different numbers of layers or heads, or different kinds of attention."""


@dataclass(slots=True, eq=False)
class HeadStatistics:
    """Sums over sentences for each head of one kind of self-attention. `merge` is exactly associative and commutative.

    All counts are exact. Values are summed as fixed-point integers (see `UNIT`).
    """

    layers: int
    """The number of layers, L"""
    heads: int
    """The number of heads of a layer, H"""
    causal: bool = False
    """Whether no query sees a later key"""
    numbers: tuple[int, ...] = ()
    """The model's own numbers of the layers, (L,); 0, 1, ... by default"""
    sums: dict[str, npt.NDArray[np.int64]] = field(init=False)
    """By name, such as "sum" (L, H, M, 2): sums of values are pairs of integers"""
    histograms: list[Counts] = field(init=False)
    """One for each measure, (L · H, bins)"""
    strongest: Strongest = field(init=False)
    """For cells (L, H, M)"""

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
            trace: the trace of the sentence.
            place: its place in the corpus; without it, the sentence can't be among the strongest.
            kind: "encoder" or "decoder"; the model's first if None.
            pairs: whether it also counts for the divergence between heads, which takes (L · H)² T² logarithms.

        Raises:
            OtherHeadsError: the model has a different number of layers or heads, or a different mask.
            ValueError: the kind is "cross", where queries and keys come from different texts.
        """
        import torch

        kind = trace.kinds[0] if kind is None else kind
        if kind == "cross":
            raise ValueError("statistics are of self-attention: in cross-attention, positions can't be compared")
        layers, tokens = trace.layers[kind], trace.query_tokens(kind)
        self._check(len(layers), layers[0].heads, causal=kind == "decoder")
        with torch.inference_mode():
            weights = [layer.attentions() for layer in layers]
            masks = (torch.from_numpy(hidden_cells([layer]))[None] for layer in layers)
            self.add_observed(
                observe((layer[None] for layer in weights), masks, marks_of([tokens]), causal=self.causal),
                [len(tokens)],
                None if place is None else ([place], [tokens.text]),
            )
            if pairs:
                self.add_pairs(divergence_sums(torch.cat(weights)).numpy(), len(tokens))

    def add_observed(
        self, of: Observations, lengths: Sequence[int], sentences: tuple[list[Place], list[str]] | None = None
    ) -> None:
        """Add the observations of N sentences.

        Args:
            of: the observations of all layers and heads.
            lengths: the lengths of the sentences in tokens.
            sentences: their places and texts; without them, they can't be among the strongest.
        """
        exists = ~np.isnan(of.values)  # (N, L, H, M)
        shares = of.values.astype(np.float64) / SCALES
        labels = self._labels(of)  # (K, N, L, H)
        for name, summand in {
            "sentences": len(lengths), "tokens": sum(lengths),
            "count": exists.sum(0), "sum": whole(shares).sum(0), "square": whole(shares**2).sum(0),
            "label": labels.sum(1), "limited": of.limited.sum(0),
            "offset": whole(of.offset_sum), "offset_count": of.offset_count,
            "part": whole(of.part_sum), "part_count": of.part_count,
        }.items():  # fmt: skip
            self.sums[name] += summand
        number = np.broadcast_to(np.arange(self.layers * self.heads), (len(lengths), self.layers * self.heads))
        for measure, counts in enumerate(self.histograms):
            column, has_value = (array[..., measure].reshape(number.shape) for array in (of.values, exists))
            counts.fill(number[has_value], np.clip(column[has_value], 0, SCALES[measure] * (1 - 1e-9)))
        if sentences is not None:
            is_long = np.array(lengths) >= SHORTEST
            values = np.where(is_long[:, None, None, None], of.values, np.nan)
            self.strongest.merge(Strongest.of(values, *sentences))

    def add_pairs(self, divergence: npt.NDArray[np.float64], queries: int) -> None:
        """Add the divergence of each pair of heads, (L · H, L · H), summed over `queries` queries."""
        self.sums["pair"] += whole(divergence)
        self.sums["pair_count"] += queries

    def merge(self, other: HeadStatistics) -> None:
        """Add the statistics of another part of the corpus, or of another corpus.

        Raises:
            OtherHeadsError: they have a different number of layers or heads, or a different mask.
        """
        self._check(other.layers, other.heads, causal=other.causal)
        for name, summand in other.sums.items():
            self.sums[name] += summand
        self.histograms = [mine + theirs for mine, theirs in zip(self.histograms, other.histograms, strict=True)]
        self.strongest.merge(other.strongest)

    def finish(self) -> CorpusStatistics:
        """Return means, standard deviations, quantiles and shares."""
        sums, histograms = self.sums, self.histograms
        shape = sums["count"].shape
        share = _ratio(amount(sums["sum"]), sums["count"])
        squares = _ratio(amount(sums["square"]), sums["count"])
        counts: npt.NDArray[np.int64] = np.stack([counted.view() for counted in histograms], 1).reshape(*shape, BINS)
        return CorpusStatistics(
            sentences=int(sums["sentences"]),
            tokens=int(sums["tokens"]),
            measures=NAMES,
            count=sums["count"].copy(),
            mean=share * SCALES,
            std=np.sqrt(np.maximum(squares - share**2, 0)) * SCALES,
            quantiles=np.stack(
                [_quantiles(counts[:, :, n], counted.axes[1].edges) for n, counted in enumerate(histograms)], 2
            ),
            histograms=counts.reshape(*shape, KEPT_BINS, -1).sum(-1),
            limited=sums["limited"] > 0,
            labels=LABELS,
            label_count=sums["label"].copy(),
            offsets=OFFSETS,
            offset_count=sums["offset_count"].copy(),
            offset_mean=_ratio(amount(sums["offset"]), sums["offset_count"]),
            parts=PARTS,
            part_count=sums["part_count"].copy(),
            part_mean=_ratio(amount(sums["part"]), sums["part_count"][:, None]),
            pair_count=int(sums["pair_count"]),
            divergence=_ratio(amount(sums["pair"]), sums["pair_count"]),
            strongest=self.strongest,
            numbers=self.numbers,
        )

    def settings(self) -> dict[str, int | bool | tuple[int, ...] | list[tuple[Place, str]]]:
        """Return the values that `from_arrays` needs in addition to the arrays, for JSON."""
        texts = sorted(self.strongest.texts.items())
        shape = {"layers": self.layers, "heads": self.heads, "causal": self.causal}
        return {**shape, "numbers": self.numbers, "texts": texts}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all sums by name."""
        counts = np.stack([counted.view(flow=True) for counted in self.histograms])
        return self.sums | {"histograms": counts, "values": self.strongest.values, "places": self.strongest.places}

    @classmethod
    def from_arrays(cls, settings: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> HeadStatistics:
        """Return the statistics from the results of `settings` and `arrays`.

        Raises:
            ValueError: an array has the wrong shape or type.
            KeyError: an array is missing.
        """
        numbers = tuple(map(int, settings.get("numbers", ())))
        statistics = cls(int(settings["layers"]), int(settings["heads"]), bool(settings["causal"]), numbers)
        for name, mine in statistics.arrays().items():
            if arrays[name].shape != mine.shape or arrays[name].dtype != mine.dtype:
                raise ValueError(f"{name} is {arrays[name].dtype} {arrays[name].shape}, not {mine.dtype} {mine.shape}")
        statistics.sums = {name: arrays[name].copy() for name in statistics.sums}
        for histogram_of, counts in zip(statistics.histograms, arrays["histograms"], strict=True):
            histogram_of.view(flow=True)[...] = counts
        texts = {Place(*place): str(text) for place, text in settings["texts"]}
        statistics.strongest = Strongest(arrays["values"].copy(), arrays["places"].copy(), texts)
        return statistics

    def _labels(self, of: Observations) -> npt.NDArray[np.bool_]:
        """Return which labels hold, (K, N, L, H)."""
        names = [name for name in NAMES if not (self.causal and name == "next")]
        values = {name: of.values[..., NAMES.index(name)] for name in names}
        uniform = {name: of.uniform[:, :, None, NAMES.index(name)] for name in names}
        held = holding(values, uniform, [name for name in LABELLED if name in names])
        never = np.zeros(of.values.shape[:3], bool)
        return np.stack([held.get(name, never) for name in LABELS])

    def _check(self, layers: int, heads: int, *, causal: bool) -> None:
        if (layers, heads, causal) != (self.layers, self.heads, self.causal):
            raise OtherHeadsError(
                f"statistics of {self.layers} x {self.heads} heads can't take {layers} x {heads}"
                f"{'' if causal == self.causal else ', of another mask'}"
            )


def _shapes(layers: int, heads: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the sums by name; sums of values have two integers each (see `whole`)."""
    shape = (layers, heads)
    return {
        "sentences": (), "tokens": (),
        "count": (*shape, len(NAMES)), "sum": (*shape, len(NAMES), 2), "square": (*shape, len(NAMES), 2),
        "label": (len(LABELS), *shape), "limited": (layers,),
        "offset": (*shape, len(OFFSETS), 2), "offset_count": (len(OFFSETS),),
        "part": (*shape, len(PARTS), len(PARTS), 2), "part_count": (len(PARTS),),
        "pair": (layers * heads, layers * heads, 2), "pair_count": (),
    }  # fmt: skip
