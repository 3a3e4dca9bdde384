"""Sort: digits are written in order, one after another, as in the demonstration of minGPT (Karpathy 2020)."""

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
    added,
    continued,
    mean_weight,
    parts_of,
    tokens_of,
    typed,
)

MOST = 8
"""The most digits that are sorted"""
LENGTH = 2 * MOST
"""T: the digits, the sign after them, and the sorted digits but the last, which nothing reads"""
FILL, SIGN = "·", ">"
"""The first stands where there are fewer digits, so that the sign is always at the same place"""


def _next(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on the unsorted digits that equal the one to be written next, (H,)."""
    unsorted = torch.arange(batch.ids.shape[1]) < MOST
    cells = (batch.ids[:, None, :] == batch.targets[:, :, None]) & unsorted
    return mean_weight(weights, cells)


class Sort(Task):
    """Up to eight digits, a sign, and the digits in order."""

    name, title = "sort", "Sort: which digit comes next?"
    explanation = (
        "Up to eight digits are to be written again, from the smallest to the largest. After each digit that it has "
        "written, the model finds the next one among those that it has read."
    )
    expected = "A head looks back at the unsorted digits: most at the one that is to be written next."
    labels = (*string.digits, FILL, SIGN)
    patterns = (Pattern("next", "looks at the digit to be written next", _next),)
    control = "Without a layer it sees only the digit that it wrote last, and has to guess what comes after it."
    examples = ("31415926", "90210")
    writes = whole = True
    sign = SIGN

    @property
    def model(self) -> TokenConfig:
        """A decoder of two layers with two heads."""
        return TokenConfig(len(self.labels), LENGTH, layers=2, heads=2, width=32)

    @property
    def control_model(self) -> TokenConfig:
        """Embeddings and the output layer alone."""
        return TokenConfig(len(self.labels), LENGTH, layers=0, heads=2, width=32)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch."""
        return TrainingSettings(steps=800, batch=64, learning_rate=2e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw digits; half of the texts are shorter than eight."""
        fill, sign = len(self.labels) - 2, len(self.labels) - 1
        lengths = torch.randint(1, 2 * MOST, (size, 1), generator=generator)
        digits = torch.randint(fill, (size, MOST), generator=generator)
        digits = digits.masked_fill(torch.arange(MOST) >= lengths, fill)
        in_order = digits.sort(dim=1).values  # what fills up comes last
        sequence = torch.cat([digits, torch.full((size, 1), sign), in_order], dim=1)
        targets = sequence[:, 1:].masked_fill(torch.arange(LENGTH) < MOST, IGNORED)
        return Batch(sequence[:, :-1], targets.masked_fill(targets == fill, IGNORED))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the digits of a text up to a sign; dots up to eight, the sign and the right answer are added."""
        parts = parts_of(text.partition(SIGN)[0], f"[^\\s{FILL}]")
        kept = parts[:MOST]
        digits = sorted(piece for piece, _, _ in kept if piece in string.digits)
        rest = added([*FILL * (MOST - len(kept)), SIGN, *digits[:-1]]) if digits else []
        return tokens_of(text, kept + rest, self.labels, dropped=len(parts) - len(kept)), None

    def answer(self, model: Answering, text: str) -> str:
        """Return as many digits as were read, as the model writes them."""
        digits = typed(self.read(text)[0])
        if not digits:
            return ""
        question = self.read(digits)[0].ids[: MOST + 1]
        return "".join(self.labels[one] for one in continued(model, question, len(digits)))

    def solution(self, text: str) -> str:
        """Return the digits in order."""
        return "".join(sorted(typed(self.read(text)[0])))
