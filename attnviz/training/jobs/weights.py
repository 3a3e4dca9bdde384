"""The weights of a model in training: as float16 bytes, as a model again, and its attention over the whole training.

The bytes are all tensors of the model's `state_dict`, one after another in its order, row by row, little-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from attnviz.reprs import ShortRepr
from attnviz.toy.language.config import AnyConfig
from attnviz.toy.language.model import TokenModel
from attnviz.trace.model import Place
from attnviz.training.evaluation import attentions, weights_of
from attnviz.training.plan import build

if TYPE_CHECKING:
    from attnviz.training.jobs.view import Snapshot
    from attnviz.training.tasks.task import Batch

MOST_BYTES = 8 * 2**20
"""Of the attention over a training"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionOverTime(ShortRepr):
    """The weights of one attention on one text, at S snapshots of a training."""

    steps: tuple[int, ...]
    """(S,): after how many steps of training"""
    weights: NDArray[np.float16]
    """(S, H, Tq, Tk)"""


def to_bytes(model: nn.Module) -> bytes | None:
    """Return a model's weights in float16; None if one is not finite or too large for it (above 65,504)."""
    parts = [one.detach().flatten().half() for one in model.state_dict().values()]
    whole = torch.cat(parts)
    return whole.numpy().tobytes() if bool(torch.isfinite(whole).all()) else None


def model_of(config: AnyConfig, data: bytes) -> nn.Module:
    """Return a model with the weights of a snapshot, in float32, ready to be evaluated.

    Raises:
        ValueError: the weights are not those of a model of this shape.
    """
    with torch.device("meta"):  # the shapes alone: no weights are drawn
        model = build(config, 0)
    model.to_empty(device="cpu")
    _fill(model, data)
    return model.requires_grad_(False).eval()


def _fill(model: nn.Module, data: bytes) -> None:
    """Give a model the weights of a snapshot."""
    state = model.state_dict()
    sizes = [one.numel() for one in state.values()]
    if len(data) != 2 * sum(sizes):
        raise ValueError(f"{len(data)} bytes are not the {sum(sizes)} weights of this model in float16")
    values = torch.from_numpy(np.frombuffer(data, "<f2").astype(np.float32))
    with torch.no_grad():
        for one, part in zip(state.values(), values.split(sizes), strict=True):
            one.copy_(part.view(one.shape))


def attention_over_time(
    config: AnyConfig, snapshots: Sequence[Snapshot], batch: Batch, place: Place, *, most: int = MOST_BYTES
) -> AttentionOverTime:
    """Run each snapshot of a training on one text, and return the weights of one attention.

    Args:
        config: the model's shape.
        snapshots: S of them; if their weights are more than `most` bytes, every second, third ... is left out, but
            never the first or the last.
        batch: one text, (1, T).
        place: the attention.

    Raises:
        ValueError: the batch is not one text, there is no snapshot, or the model has no such attention.
    """
    if len(batch) != 1 or not snapshots:
        raise ValueError(f"a batch of {len(batch)} and {len(snapshots)} snapshots; it takes one text, and a snapshot")
    model = model_of(config, snapshots[0].weights)
    if not isinstance(model, TokenModel) or place not in attentions(model):
        raise ValueError(f"this model has no attention in {place.name}")
    first = _weights(model, snapshots[0], batch, place)
    kept = thinned(snapshots, max(2, most // max(1, first.nbytes)))
    later = [_weights(model, one, batch, place) for one in kept[1:]]
    return AttentionOverTime(tuple(one.step for one in kept), np.stack([first, *later]))


def thinned(snapshots: Sequence[Snapshot], most: int) -> list[Snapshot]:
    """Return at most `most` (2 or more) of them, evenly chosen, the first and the last among them."""
    count = len(snapshots)
    if count <= most:
        return list(snapshots)
    return [snapshots[round(number * (count - 1) / (most - 1))] for number in range(most)]


def _weights(model: TokenModel, snapshot: Snapshot, batch: Batch, place: Place) -> NDArray[np.float16]:
    _fill(model, snapshot.weights)
    array: NDArray[np.float16] = weights_of(model, batch)[place][0].half().numpy()
    return array
