"""Training settings, and the names of the subjects that are not tasks. Does not import torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Optimiser = Literal["adamw", "sgd", "muon"]
"""adamw: Loshchilov and Hutter 2019. sgd: without momentum. muon: Jordan et al. 2024, for the matrices inside the
blocks, with AdamW for all other parameters"""
Decay = Literal["none", "cosine"]
"""none: the learning rate is constant after warm-up. cosine: it falls along a cosine to `last_rate` times its value"""

TEXT = "text"
"""The subject name for training on a text"""
VECTORS = "vectors"
"""The subject name for training on vectors with classes"""
TAGGED = "tagged"
"""The subject name for training on a user's two files of tagged words"""

MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The settings of a training."""

    steps: int = 500
    """The steps of the training"""
    batch: int = 64
    """Sequences per step"""
    learning_rate: float = 1e-3
    """The highest learning rate"""
    warm_up: int = 20
    """Steps over which the learning rate rises linearly from 0"""
    decay: Decay = "none"
    """How the learning rate falls after the warm-up"""
    last_rate: float = 0.1
    """With cosine decay, the final learning rate as a fraction of the highest"""
    optimiser: Optimiser = "adamw"
    """What changes the weights"""
    beta2: float = 0.999
    """AdamW's decay rate of the mean squared gradient"""
    weight_decay: float = 0.0
    """Applies to the matrices inside the blocks only, not to biases, norms and embeddings"""
    clip: float = 1.0
    """The maximum norm of all gradients together; 0 is no limit"""
    precision: Literal["float32", "bfloat16"] = "float32"
    """The number format of matrix products in the forward pass; weights are always float32"""
    seed: int = 0
    """Of the sequences that are drawn; `attnviz.training.plan.build` has one of the first weights"""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("steps", 1, MOST_STEPS),
            ("batch", 1, 4096),
            ("learning_rate", 0, 100),
            ("warm_up", 0, MOST_STEPS),
            ("last_rate", 0, 1),
            ("beta2", 0, 1),
            ("weight_decay", 0, 10),
            ("clip", 0, math.inf),
        ):
            number = getattr(self, name)
            if not low <= number <= high:
                raise ValueError(f"{name} is {number}; it can be {low} to {high}")

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step; steps count from 0."""
        rate = self.learning_rate * min(1, (step + 1) / self.warm_up if self.warm_up else 1)
        if self.decay == "none":
            return rate
        cosine = 0.5 * (1 + math.cos(math.pi * min(1, step / self.steps)))
        return rate * (self.last_rate + (1 - self.last_rate) * cosine)
