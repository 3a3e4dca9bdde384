"""Snapshots of a model in training: to float16 bytes, back to a model, and one attention over the whole training.

The bytes are all tensors of the model's `state_dict`, concatenated in its order, row-major, little-endian.
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
"""The most bytes of an `AttentionOverTime`"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionOverTime(ShortRepr):
    """The weights of one attention on one text, at S snapshots of a training."""

    steps: tuple[int, ...]
    """(S,): after how many steps of training"""
    weights: NDArray[np.float16]
    """(S, H, Tq, Tk)"""


def to_bytes(model: nn.Module) -> bytes | None:
    """Return a model's weights in float16; None if any is not finite or too large for float16 (above 65,504)."""
    parts = [tensor.detach().flatten().half() for tensor in model.state_dict().values()]
    whole = torch.cat(parts)
    return whole.numpy().tobytes() if bool(torch.isfinite(whole).all()) else None


def model_of(config: AnyConfig, data: bytes) -> nn.Module:
    """Return a model with the weights of a snapshot, in float32 and in evaluation mode.

    Raises:
        ValueError: the weights don't fit a model of this shape.
    """
    with torch.device("meta"):  # only the shapes: no weights are drawn
        model = build(config, 0)
    model.to_empty(device="cpu")
    _fill(model, data)
    return model.requires_grad_(False).eval()


def _fill(model: nn.Module, data: bytes) -> None:
    """Load the weights of a snapshot into a model."""
    state = model.state_dict()
    sizes = [tensor.numel() for tensor in state.values()]
    if len(data) != 2 * sum(sizes):
        raise ValueError(f"{len(data)} bytes are not the {sum(sizes)} weights of this model in float16")
    values = torch.from_numpy(np.frombuffer(data, "<f2").astype(np.float32))
    with torch.no_grad():
        for tensor, part in zip(state.values(), values.split(sizes), strict=True):
            tensor.copy_(part.view(tensor.shape))


def attention_over_time(
    config: AnyConfig, snapshots: Sequence[Snapshot], batch: Batch, place: Place, *, most: int = MOST_BYTES
) -> AttentionOverTime:
    """Run each snapshot of a training on one text, and return the weights of one attention.

    Args:
        config: the model's shape.
        snapshots: S of them; if their weights would take more than `most` bytes, an evenly spaced selection is used,
            always with the first and the last.
        batch: one text, (1, T).
        place: the attention.
        most: limit on the bytes of the result; two snapshots are always kept.

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
    later = [_weights(model, snapshot, batch, place) for snapshot in kept[1:]]
    return AttentionOverTime(tuple(snapshot.step for snapshot in kept), np.stack([first, *later]))


def thinned(snapshots: Sequence[Snapshot], most: int) -> list[Snapshot]:
    """Return at most `most` (2 or more) evenly spaced snapshots, including the first and the last."""
    count = len(snapshots)
    if count <= most:
        return list(snapshots)
    return [snapshots[round(number * (count - 1) / (most - 1))] for number in range(most)]


def _weights(model: TokenModel, snapshot: Snapshot, batch: Batch, place: Place) -> NDArray[np.float16]:
    _fill(model, snapshot.weights)
    array: NDArray[np.float16] = weights_of(model, batch)[place][0].half().numpy()
    return array
