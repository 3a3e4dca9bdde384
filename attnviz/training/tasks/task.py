"""What a task is: examples drawn from a seed, the answers that count, and the pattern that a head is to show.

Shapes: B sequences, T tokens (S of the encoder's), V tokens of the vocabulary, H heads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.tokens import Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.trace.model import Kind
from attnviz.training.settings import TrainingSettings

IGNORED = -100
"""A target that does not count, as torch's cross-entropy has it"""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Sequences, and what is to be said at each position."""

    ids: Tensor
    """(B, T): what the model reads, or its decoder"""
    targets: Tensor
    """(B, T): the right answer of each position, or `IGNORED`"""
    source: Tensor | None = None
    """(B, S): what the encoder reads, if the model has both"""

    def __len__(self) -> int:
        return self.ids.shape[0]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of weights that solves the task, or a part of it."""

    name: str
    title: str
    """As a curve is named on the page, such as "looks one token back" """
    score: Callable[[Tensor, Batch], Tensor]
    """Of the weights of a layer, (B, H, Tq, Tk): the mean weight on the cells of the pattern, (H,), from 0 to 1"""
    kind: Kind = "decoder"
    """The attention in which to look for it"""


class Subject(ABC):
    """What a model learns from: sequences over a vocabulary. A task, or a text."""

    name: str
    """In links and on the command line"""
    labels: tuple[str, ...]
    """The vocabulary: labels[i] is the token with id i"""

    @abstractmethod
    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sequences to train on."""

    @abstractmethod
    def held_out(self) -> Batch:
        """Return the same sequences each time, on which no training is done."""

    @abstractmethod
    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a text that a user types: of the model, or of its encoder and its decoder.

        Symbols that are not in the vocabulary are marked in `Tokens.unknown`, with the id `NO_ID`.
        """

    def accuracy(self, logits: Tensor, batch: Batch) -> float:
        """Return the share of counted positions, of (B, T, V), at which the likeliest token is the right one."""
        counts = batch.targets != IGNORED
        right = (logits.argmax(-1) == batch.targets) & counts
        return float(right.sum() / counts.sum())


class Task(Subject):
    """A task that the project generates. Each is a module in this folder, listed in `attnviz.training.tasks.TASKS`."""

    title: str
    explanation: str
    """What is to be learned, in two sentences"""
    expected: str
    """Which pattern to expect and where, in a sentence or two"""
    patterns: tuple[Pattern, ...]
    control: str
    """What the control lacks and why it fails, in a sentence"""
    examples: tuple[str, ...]
    """Texts that `read` takes, to begin with"""

    @property
    @abstractmethod
    def model(self) -> TokenConfig:
        """The model that learns it."""

    @property
    @abstractmethod
    def control_model(self) -> TokenConfig:
        """The model that can't, trained in the same way."""

    @property
    @abstractmethod
    def training(self) -> TrainingSettings:
        """The settings with which a hall can watch it."""


def mean_weight(weights: Tensor, cells: Tensor) -> Tensor:
    """Return the mean, over all queries that the pattern has a cell for, of the weight on these cells together, (H,).

    Args:
        weights: (B, H, Tq, Tk).
        cells: (B, Tq, Tk), bool; 0 for each head if there are none.
    """
    on_cells = (weights * cells[:, None]).sum(-1)  # (B, H, Tq)
    counts = cells.any(-1)  # (B, Tq)
    return (on_cells * counts[:, None]).sum((0, 2)) / counts.sum().clamp(min=1)
