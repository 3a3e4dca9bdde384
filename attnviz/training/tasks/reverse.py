"""Reverse: letters are written backwards. Where to look depends on the position alone."""

from __future__ import annotations

import string

import torch
from torch import Tensor

from attnviz.tokens import Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import (
    Answering,
    Batch,
    Pattern,
    Task,
    added,
    mean_weight,
    parts_of,
    says,
    tokens_of,
    typed,
)

LENGTH = 16
"""T"""
FILL = "·"
"""Stands after a shorter text, and so before its reverse"""
LETTERS = string.ascii_lowercase


def _opposite(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each query on the key as far from the end as it is from the beginning, (H,)."""
    cells = torch.eye(batch.ids.shape[1], dtype=torch.bool).flip(1)
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


class Reverse(Task):
    """Up to 16 letters, and what is to be said at each position is the letter at the opposite one."""

    name, title = "reverse", "Reverse: write it backwards"
    explanation = (
        "Up to 16 letters are to be written backwards, all of them at once. Which letter is right depends on its "
        "position alone, not on what it is."
    )
    expected = "The only head looks at the opposite position: its weights form the other diagonal, from bottom to top."
    labels = (*LETTERS, FILL)
    patterns = (Pattern("opposite", "looks at the opposite position", _opposite, kind="encoder"),)
    control = (
        "With a causal mask it cannot see what comes later, and that is where the first half of its answer stands."
    )
    examples = ("stressed", "abcdefghijklmnop")
    whole = True

    @property
    def model(self) -> TokenConfig:
        """An encoder of one layer with one head."""
        return TokenConfig(len(self.labels), LENGTH, "encoder", layers=1, heads=1, width=32)

    @property
    def control_model(self) -> TokenConfig:
        """The same with a causal mask."""
        return TokenConfig(len(self.labels), LENGTH, "decoder", layers=1, heads=1, width=32)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch."""
        return TrainingSettings(steps=800, batch=64, learning_rate=5e-4)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw letters; half of the texts are shorter than 16."""
        ids = torch.randint(len(LETTERS), (size, LENGTH), generator=generator)
        lengths = torch.randint(1, 2 * LENGTH, (size, 1), generator=generator)
        ids = ids.masked_fill(torch.arange(LENGTH) >= lengths, self.labels.index(FILL))
        return Batch(ids, ids.flip(1))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the letters of a text, and dots up to 16."""
        parts = parts_of(text.lower(), f"[^\\s{FILL}]")
        kept = parts[:LENGTH]
        fill = added(FILL * (LENGTH - len(kept))) if kept else []
        return tokens_of(text.lower(), kept + fill, self.labels, dropped=len(parts) - len(kept)), None

    def answer(self, model: Answering, text: str) -> str:
        """Return the letters that the model writes, without the dots."""
        ids = self.read(typed(self.read(text)[0]))[0].ids
        return "".join(self.labels[one] for one in says(model, ids)).replace(FILL, "") if ids else ""
