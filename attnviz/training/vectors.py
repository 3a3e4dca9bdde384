"""Labelled vectors as a subject of training: split with a seed, class by class, and drawn in a seeded order.

Shapes: N vectors, B of a batch, C numbers of a vector.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.training.labelled import LabelledVectors
from attnviz.training.settings import VECTORS
from attnviz.training.tasks.task import Batch, Subject

HELD_OUT_PART = 0.25
"""The part of each class on which nothing is trained"""


class Vectors(Subject):
    """Vectors whose classes are to be told."""

    name = VECTORS

    def __init__(self, data: LabelledVectors, classes: int, seed: int) -> None:
        """Split the vectors.

        Args:
            data: N vectors.
            classes: how many classes there are.
            seed: of the split.

        Raises:
            ValueError: a class number is out of range, or one part of the split has no vectors.
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
        """Draw vectors to train on, each at most once; all of them if `size` is not smaller."""
        return self._rows(self.train_rows[torch.randperm(len(self.train_rows), generator=generator)[:size]])

    def held_out(self) -> Batch:
        """Return the vectors on which no training is done, in a seeded order."""
        return self._rows(self.held_out_rows)

    def _rows(self, rows: Tensor) -> Batch:
        return Batch(self._features[rows], self._classes[rows])


def split(classes: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Split rows with these classes, (N,), stratified: of each class, a quarter is held out, and one at least.

    Returns:
        The rows to train on and those that are held out, each in a seeded order.
    """
    order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(seed))
    held_out = torch.zeros(len(classes), dtype=torch.bool)
    for one in classes.unique().tolist():
        rows = order[classes[order] == one]
        held_out[rows[: max(1, round(HELD_OUT_PART * len(rows)))]] = True
    return order[~held_out[order]], order[held_out[order]]
