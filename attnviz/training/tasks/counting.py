"""Counting: how often has this letter stood before? Never, once, or more often."""

from __future__ import annotations

import string

import torch
from torch import Tensor

from attnviz.tokens import CharVocab, Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import Batch, Pattern, Task, mean_weight

LENGTH = 16
"""T"""
FEWEST, MOST = 3, 16
"""Of the letters of a sequence, how many may differ"""
TOP = 2
"""The largest count that is told from others"""


def _same(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on earlier equal letters, of those that have one, (H,)."""
    same = batch.ids[:, :, None] == batch.ids[:, None, :]
    return mean_weight(weights, same.tril(-1))


class Counting(Task):
    """Letters, and at each one how often it stood before."""

    name, title = "counting", "Counting: how often did this letter stand before?"
    explanation = (
        "At each letter of a text, the model is to say how often the same letter stood before it: never, once, or "
        "twice and more. The answer depends on all earlier letters, however far away."
    )
    expected = "A head looks at the letters before that are equal to its own, and shares its weight among them."
    labels = (*string.ascii_lowercase, " ")
    patterns = (Pattern("same", "looks at earlier equal letters", _same),)
    control = "Without a layer it sees only the letter itself and its position, and can only guess from its position."
    examples = ("hello world", "banana bandana")
    _vocab = CharVocab(labels)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The counts."""
        return "0", "1", "2+"

    @property
    def model(self) -> TokenConfig:
        """A decoder of one layer with two heads."""
        return TokenConfig(len(self.labels), LENGTH, layers=1, heads=2, width=32, outputs=TOP + 1)

    @property
    def control_model(self) -> TokenConfig:
        """Embeddings and the output layer alone."""
        return TokenConfig(len(self.labels), LENGTH, layers=0, heads=2, width=32, outputs=TOP + 1)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch."""
        return TrainingSettings(steps=1000, batch=64, learning_rate=2e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw some letters of the alphabet, and a text of them."""
        counts = torch.randint(FEWEST, MOST + 1, (size, 1), generator=generator)
        letters = torch.rand(size, len(self.labels), generator=generator).argsort(dim=1)
        ids = letters.gather(1, (torch.rand(size, LENGTH, generator=generator) * counts).long())
        same = ids[:, :, None] == ids[:, None, :]
        return Batch(ids, same.tril(-1).sum(2).clamp(max=TOP))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the characters of a text."""
        return self._vocab.tokenize(text.strip().lower(), max_tokens=LENGTH), None
