"""The sizes of a model's matrix products, as they are read off its parts. Independent of torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MapSize:
    """A linear map of each token's row: its weight is (inputs, outputs)."""

    inputs: int
    outputs: int

    @property
    def weights(self) -> int:
        """The numbers of its weight: as many multiplications a token."""
        return self.inputs * self.outputs


@dataclass(frozen=True, slots=True)
class AttentionSize:
    """One attention. Query heads may share keys and values, so the maps to these may be narrower than H · D."""

    heads: int
    """H, of queries"""
    head_size: int
    """D, of queries and keys"""
    value_size: int
    """The width of a head's values"""
    projections: tuple[MapSize, ...]
    """The maps to queries, keys and values"""
    output: tuple[MapSize, ...]
    """W_O; empty if there is none"""


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """All matrix products of a forward pass whose number grows with the text."""

    attentions: tuple[AttentionSize, ...]
    """In order of computation"""
    feed_forwards: tuple[tuple[MapSize, ...], ...]
    """The maps of each feed-forward, in order: W_1 and W_2, or with a gate three"""
    others: tuple[MapSize, ...] = ()
    """Maps that belong to neither"""
    logits: tuple[MapSize, ...] = ()
    """The map to the logits, if it counts"""


def weights(maps: Iterable[MapSize]) -> int:
    """Return the multiplications of these maps for one token."""
    return sum(one.weights for one in maps)


def outputs(maps: Iterable[MapSize]) -> int:
    """Return how many numbers these maps give for one token."""
    return sum(one.outputs for one in maps)
