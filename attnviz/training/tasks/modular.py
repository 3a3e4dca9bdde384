"""Addition modulo a prime: a model that first learns its sums by heart, and only much later how to add.

A. Power, Y. Burda, H. Edwards, I. Babuschkin and V. Misra (2022), Grokking: generalization beyond overfitting on small
algorithmic datasets, arXiv:2201.02177.
"""

from __future__ import annotations

import re
from functools import cache

import torch
from torch import Tensor

from attnviz.tokens import Tokens, repair
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import (
    IGNORED,
    Answering,
    Batch,
    Pattern,
    Task,
    added,
    held_out_of,
    known,
    mean_weight,
    parts_of,
    says,
    tokens_of,
)

PRIME = 31
SUMS = PRIME**2
HELD_OUT = 481
"""Half of the sums, and one more"""
LENGTH = 3
"""T: two numbers, and the equals sign, after which the sum is said"""


def _both(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of the equals sign on the two numbers, (H,)."""
    cells = torch.zeros(LENGTH, LENGTH, dtype=torch.bool)
    cells[LENGTH - 1, :2] = True
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


@cache
def _rows() -> tuple[Tensor, Tensor]:
    """Return the sums to train on and those that are held out, as 31 · a + b."""
    held_out = held_out_of(SUMS, HELD_OUT)
    return (~held_out).nonzero().flatten(), held_out.nonzero().flatten()


class Modular(Task):
    """Two numbers below 31, and what remains of their sum when it is divided by 31."""

    name, title = "modular", "Grokking: addition modulo 31"
    explanation = (
        f"Two numbers below {PRIME} are to be added, and {PRIME} is taken off where the sum reaches it: 20 + 15 is 4. "
        "The model trains on half of all sums, the same ones at every step."
    )
    expected = (
        "First it learns the sums of the training by heart: those are right, and hardly any other is. Much later the "
        "held-out sums become right too. From step to step, weight decay makes the weights smaller."
    )
    labels = (*map(str, range(PRIME)), "=")
    patterns = (Pattern("both", "the equals sign looks at the two numbers", _both),)
    control = "Without a layer, the equals sign sees neither number, and one answer of 31 is right by chance."
    examples = ("20 + 15", "7 + 8")
    sign = "="

    @property
    def outputs(self) -> tuple[str, ...]:
        """The numbers."""
        return self.labels[:PRIME]

    @property
    def model(self) -> TokenConfig:
        """A decoder of one layer with four heads."""
        return TokenConfig(len(self.labels), LENGTH, layers=1, heads=4, width=48, feed_forward=96, outputs=PRIME)

    @property
    def control_model(self) -> TokenConfig:
        """Embeddings and the output layer alone."""
        return TokenConfig(len(self.labels), LENGTH, layers=0, heads=4, width=48, feed_forward=96, outputs=PRIME)

    @property
    def training(self) -> TrainingSettings:
        """All sums of the training at each step, and a strong weight decay."""
        return TrainingSettings(
            steps=2500, batch=SUMS - HELD_OUT, learning_rate=1e-3, warm_up=10, optimiser="muon", beta2=0.98,
            weight_decay=1.0,
        )  # fmt: skip

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sums that are not held out, each at most once; all of them if `size` is not smaller."""
        rows = _rows()[0]
        return self._batch(rows[torch.randperm(len(rows), generator=generator)[:size]])

    batch = draw

    def held_out(self) -> Batch:
        """Return the 481 of 961 sums on which no training is done."""
        return self._batch(_rows()[1])

    def trained_on(self) -> Batch:
        """Return the other 480."""
        return self._batch(_rows()[0])

    def _batch(self, rows: Tensor) -> Batch:
        a, b = rows // PRIME, rows % PRIME
        ids = torch.stack([a, b, torch.full_like(a, PRIME)], dim=1)
        targets = torch.full_like(ids, IGNORED)
        targets[:, -1] = (a + b) % PRIME
        return Batch(ids, targets)

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a sum, without its plus sign; a missing equals sign is added."""
        parts = parts_of(text, r"[0-9]+|[^\s+0-9]")
        kept = parts[:LENGTH]
        sign = added(["="]) if len(kept) == LENGTH - 1 and kept[-1][0] != "=" else []
        return tokens_of(text, kept + sign, self.labels, dropped=len(parts) - len(kept)), None

    def answer(self, model: Answering, text: str) -> str:
        """Return what the model says after the equals sign; "" if the text is no sum of two numbers below 31."""
        ids = known(self.read(text)[0])
        is_sum = len(ids) == LENGTH and [one == PRIME for one in ids] == [False, False, True]
        return self.outputs[says(model, ids)[-1]] if is_sum else ""

    def solution(self, text: str) -> str:
        """Return the sum modulo 31; "" if the text is none of two numbers below 31."""
        found = re.fullmatch(r"\s*([0-9]{1,2})\s*\+\s*([0-9]{1,2})\s*(=.*)?", repair(text), re.DOTALL)
        numbers = [int(one) for one in found.groups()[:2]] if found else []
        return str(sum(numbers) % PRIME) if numbers and max(numbers) < PRIME else ""
