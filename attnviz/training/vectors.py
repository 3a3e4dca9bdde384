"""Labelled vectors as a subject of training: a seeded split, stratified by class, and seeded batches.

Shapes: N vectors, B in a batch, C numbers of a vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnviz.training.settings import VECTORS
from attnviz.training.tasks.task import Batch, Subject

if TYPE_CHECKING:
    from attnviz.training.plan import LabelledVectors

HELD_OUT_PART = 0.25
"""The fraction of each class that is held out"""


class Vectors(Subject):
    """Vectors whose classes a model learns to predict."""

    name = VECTORS

    def __init__(self, data: LabelledVectors, classes: int, seed: int) -> None:
        """Split the vectors.

        Args:
            data: N vectors.
            classes: the number of classes.
            seed: seed of the split.

        Raises:
            ValueError: a class number is out of range, or one part of the split is empty.
        """
        if int(data.classes.max()) >= classes:
            raise ValueError(f"a vector has class {int(data.classes.max())}: there are 0 to {classes - 1}")
        self.labels = tuple(str(number) for number in range(classes))
        self._features = torch.from_numpy(data.features.copy())
        self._classes = torch.from_numpy(data.classes.copy())
        self.train_rows, self.held_out_rows = split(self._classes, seed)
        if not len(self.train_rows) or not len(self.held_out_rows):
            raise ValueError("There are too few vectors to train on some and to hold out others.")

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw `size` training vectors without replacement, or all of them if there are fewer."""
        return self._rows(self.train_rows[torch.randperm(len(self.train_rows), generator=generator)[:size]])

    def held_out(self) -> Batch:
        """Return the held-out vectors, in a seeded order."""
        return self._rows(self.held_out_rows)

    def _rows(self, rows: Tensor) -> Batch:
        return Batch(self._features[rows], self._classes[rows])


def split(classes: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Split rows by class, (N,), stratified: a quarter of each class is held out, but at least one row.

    Returns:
        The training rows and the held-out rows, each in a seeded order.
    """
    order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(seed))
    held_out = torch.zeros(len(classes), dtype=torch.bool)
    for label in classes.unique().tolist():
        rows = order[classes[order] == label]
        held_out[rows[: max(1, round(HELD_OUT_PART * len(rows)))]] = True
    return order[~held_out[order]], order[held_out[order]]
