"""How a model is trained, and the names of the subjects that are no tasks. It imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Optimiser = Literal["adamw", "sgd", "muon"]
"""adamw: Loshchilov and Hutter 2019. sgd: without momentum. muon: Jordan et al. 2024, for the matrices inside the
blocks, with AdamW for all others"""
Decay = Literal["none", "cosine"]
"""none: the learning rate stays as it is after warm-up. cosine: it falls along a cosine to `last_rate` of its value"""

TEXT = "text"
"""The subject that is a text, not a task"""
VECTORS = "vectors"
"""The subject that is vectors with a class each"""
TAGGED = "tagged"
"""The subject that is a user's two files of words and their tags"""

MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The settings of a training."""

    steps: int = 500
    batch: int = 64
    """Sequences a step"""
    learning_rate: float = 1e-3
    warm_up: int = 20
    """Steps over which the learning rate rises from 0, evenly"""
    decay: Decay = "none"
    last_rate: float = 0.1
    """With a cosine, the last learning rate as a part of the highest"""
    optimiser: Optimiser = "adamw"
    beta2: float = 0.999
    """AdamW's memory of squared gradients"""
    weight_decay: float = 0.0
    """Of the matrices; biases, norms and embeddings have none"""
    clip: float = 1.0
    """The most that the norm of all gradients together may be; 0 is no limit"""
    precision: Literal["float32", "bfloat16"] = "float32"
    """The numbers of matrix products in the forward pass; weights are float32 always"""
    seed: int = 0

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
        """Return the learning rate of a step, which counts from 0."""
        rate = self.learning_rate * min(1, (step + 1) / self.warm_up if self.warm_up else 1)
        if self.decay == "none":
            return rate
        fallen = 0.5 * (1 + math.cos(math.pi * min(1, step / self.steps)))
        return rate * (self.last_rate + (1 - self.last_rate) * fallen)
