"""The sizes of a model's matrix products, as read from its modules. Independent of torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MapSize:
    """A linear map of each token's row: its weight is (inputs, outputs)."""

    inputs: int
    outputs: int

    @property
    def weights(self) -> int:
        """How many numbers its weight has, which is also its multiplications per token."""
        return self.inputs * self.outputs


@dataclass(frozen=True, slots=True)
class AttentionSize:
    """One attention. Query heads may share keys and values, so the maps to these may be narrower than H · D."""

    heads: int
    """H, the number of query heads"""
    head_size: int
    """D, of queries and keys"""
    value_size: int
    """The width of a head's values"""
    projections: tuple[MapSize, ...]
    """The maps to queries, keys and values"""
    output: tuple[MapSize, ...]
    """W_O; empty if there is no output projection"""


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """All matrix products of a forward pass whose number grows with the text."""

    attentions: tuple[AttentionSize, ...]
    """In order of computation"""
    feed_forwards: tuple[tuple[MapSize, ...], ...]
    """The maps of each feed-forward, in order: W_1 and W_2, or three maps with a gate"""
    others: tuple[MapSize, ...] = ()
    """Maps that belong to neither"""
    logits: tuple[MapSize, ...] = ()
    """The map to the logits, if it is counted"""


def feed_forward_widths(sizes: ModelSizes, width: int) -> tuple[int, ...]:
    """Return F of each feed-forward, in order of computation: what its map back to C numbers takes.

    A map from C to F numbers, or to 2F for a gate and a layer in one, must come before that map. Feed-forwards without
    such a pair are left out: MobileBERT's work between two maps that narrow and widen.

    Args:
        sizes: the sizes of the model.
        width: C.
    """
    widths = (_hidden_width(maps, width) for maps in sizes.feed_forwards)
    return tuple(hidden for hidden in widths if hidden is not None)


def _hidden_width(maps: Sequence[MapSize], width: int) -> int | None:
    from_width: set[int] = set()
    for size in maps:
        if size.outputs == width and from_width & {size.inputs, 2 * size.inputs}:
            return size.inputs
        if size.inputs == width:
            from_width.add(size.outputs)
    return None


def weights(maps: Iterable[MapSize]) -> int:
    """Return the multiplications of these maps for one token."""
    return sum(size.weights for size in maps)


def outputs(maps: Iterable[MapSize]) -> int:
    """Return how many numbers these maps compute for one token."""
    return sum(size.outputs for size in maps)
