"""Associative recall: pairs of a letter and a digit, and later which digit stood after this letter (Ba et al. 2016)."""

from __future__ import annotations

import string

import torch
from torch import Tensor

from attnviz.tokens import Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import (
    IGNORED,
    Answering,
    Batch,
    Pattern,
    Task,
    known,
    mean_weight,
    parts_of,
    says,
    tokens_of,
)

PAIRS = 12
"""In a sequence"""
KEYS = 6
"""The most letters that differ in a sequence"""
LETTERS = string.ascii_lowercase


def _key(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each digit on the letter before it, (H,)."""
    length = batch.ids.shape[1]
    cells = torch.zeros(length, length, dtype=torch.bool)
    cells[range(1, length, 2), range(0, length - 1, 2)] = True
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


def _value(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each letter that is asked on the digits that stood after it, (H,)."""
    ids = batch.ids
    length = ids.shape[1]
    after = torch.zeros(len(batch), length, length, dtype=torch.bool)
    after[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]  # [b, i, j]: symbol j - 1 equals symbol i
    cells = after & torch.ones(length, length, dtype=torch.bool).tril() & (batch.targets != IGNORED)[:, :, None]
    return mean_weight(weights, cells)


class Recall(Task):
    """Twelve pairs; a letter that occurs again has the same digit again."""

    name, title = "recall", "Recall: which digit belonged to this letter?"
    explanation = (
        "Each letter of a line has a digit of its own, which is drawn anew for each line. When a letter comes again, "
        "its digit is to be said."
    )
    expected = (
        "In the first layer digits look at the letter before them; in the second, a letter finds the digit whose "
        "letter it was."
    )
    labels = (*LETTERS, *string.digits)
    patterns = (
        Pattern("key", "digits look at their letter", _key),
        Pattern("value", "letters look at their digit", _value),
    )
    control = "One layer cannot do it: a digit has to know its letter before another letter can find it."
    examples = ("a3f7k2a", "t1o4k9e2n8k")

    @property
    def model(self) -> TokenConfig:
        """Two layers of one head."""
        return TokenConfig(len(self.labels), 2 * PAIRS, layers=2, heads=1, width=64)

    @property
    def control_model(self) -> TokenConfig:
        """The same with one layer."""
        return TokenConfig(len(self.labels), 2 * PAIRS, layers=1, heads=1, width=64)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch."""
        return TrainingSettings(steps=400, batch=64, learning_rate=2e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw two to six letters, their digits, and twelve pairs of them: first each once, then any."""
        counts = torch.randint(2, KEYS + 1, (size, 1), generator=generator)
        letters = torch.rand(size, len(LETTERS), generator=generator).argsort(dim=1)[:, :KEYS]
        digits = torch.randint(len(LETTERS), len(self.labels), (size, KEYS), generator=generator)
        again = (torch.rand(size, PAIRS, generator=generator) * counts).long()
        order = torch.arange(PAIRS)
        chosen = torch.where(order < counts, order, again)  # (B, PAIRS), each below KEYS
        ids = torch.stack([letters.gather(1, chosen), digits.gather(1, chosen)], dim=2).flatten(1)
        targets = torch.full_like(ids, IGNORED)
        targets[:, ::2] = ids[:, 1::2].masked_fill(order < counts, IGNORED)
        return Batch(ids, targets)

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the letters and digits of a text."""
        parts = parts_of(text.lower())
        kept = parts[: 2 * PAIRS]
        return tokens_of(text.lower(), kept, self.labels, dropped=len(parts) - len(kept)), None

    def answer(self, model: Answering, text: str) -> str:
        """Return what the model expects after the last letter."""
        ids = known(self.read(text)[0])
        return self.labels[says(model, ids)[-1]] if ids else ""
