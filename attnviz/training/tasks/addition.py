"""Addition: two numbers of two digits, and the digits of their sum."""

from __future__ import annotations

import re
import string
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
    Part,
    Pattern,
    Task,
    added,
    continued,
    held_out_of,
    known,
    mean_weight,
    parts_of,
    tokens_of,
)

QUESTION, ANSWER = 6, 3
"""The tokens of "47+85=", and the digits of a sum"""
LENGTH = QUESTION + ANSWER - 1
"""T: nothing reads the last digit"""
PAIRS = 100 * 100
HELD_OUT = 1000
ONES, TENS = (1, 4), (0, 3)
"""Where the digits of a place stand in the question"""


def _place(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on the two digits of the place to be written, ones and tens, (H,)."""
    cells = torch.zeros(LENGTH, LENGTH, dtype=torch.bool)
    cells[QUESTION - 1, list(ONES)] = True
    cells[QUESTION, list(TENS)] = True
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


@cache
def _rows() -> tuple[Tensor, Tensor]:
    """Return the pairs to train on and those that are held out, as 100 · a + b."""
    held_out = held_out_of(PAIRS, HELD_OUT)
    return (~held_out).nonzero().flatten(), held_out.nonzero().flatten()


class Addition(Task):
    """Two digits and two digits; the sum's last digit is written first, as one adds by hand."""

    name, title = "addition", "Addition: two digits each"
    explanation = (
        "Two numbers of up to two digits are to be added. The sum is written from its last digit to its first, as one "
        "adds by hand."
    )
    expected = "Heads look at the two digits of the place that is to be written: the ones first, then the tens."
    labels = (*string.digits, "+", "=")
    patterns = (Pattern("place", "looks at the two digits of its place", _place),)
    control = "With one layer it learns the ones and the hundreds, but not the tens, where two digits and a carry meet."
    examples = ("47+85", "9+1")
    writes = whole = True
    sign = "="

    @property
    def model(self) -> TokenConfig:
        """A decoder of two layers with four heads."""
        return TokenConfig(len(self.labels), LENGTH, layers=2, heads=4, width=64)

    @property
    def control_model(self) -> TokenConfig:
        """The same with one layer."""
        return TokenConfig(len(self.labels), LENGTH, layers=1, heads=4, width=64)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch."""
        return TrainingSettings(steps=800, batch=128, learning_rate=2e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw pairs of numbers that are not held out."""
        rows = _rows()[0]
        return self._batch(rows[torch.randint(len(rows), (size,), generator=generator)])

    batch = draw

    def held_out(self) -> Batch:
        """Return the 1,000 of 10,000 sums on which no training is done."""
        return self._batch(_rows()[1])

    def _batch(self, rows: Tensor) -> Batch:
        a, b = rows // 100, rows % 100
        plus, equals = (torch.full_like(rows, self.labels.index(sign)) for sign in "+=")
        total = a + b
        digits = [total % 10, total // 10 % 10, total // 100]
        whole = torch.stack([a // 10, a % 10, plus, b // 10, b % 10, equals, *digits], dim=1)
        targets = whole[:, 1:].clone()
        targets[:, : QUESTION - 1] = IGNORED
        return Batch(whole[:, :-1], targets)

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a sum; a missing 0 and the equals sign are added, and so is the right answer.

        What is no sum of two numbers of up to two digits is read as it stands.
        """
        text = repair(text)
        sum_ = re.fullmatch(r"\s*([0-9]{1,2})\s*\+\s*([0-9]{1,2})\s*(=.*)?", text, re.DOTALL)
        if sum_ is None:
            parts = parts_of(text)
            return tokens_of(text, parts[:LENGTH], self.labels, dropped=max(len(parts) - LENGTH, 0)), None
        kept: list[Part] = []
        for group in (1, 2):
            number, start = sum_[group], sum_.start(group)
            kept += added("0" * (2 - len(number)))
            kept += [(digit, start + i, start + i + 1) for i, digit in enumerate(number)]
            if group == 1:
                kept.append(("+", text.index("+"), text.index("+") + 1))
        kept.append(("=", text.index("="), text.index("=") + 1) if sum_[3] else ("=", 0, 0))
        total = f"{int(sum_[1]) + int(sum_[2]):03d}"
        return tokens_of(text, kept + added(total[:0:-1]), self.labels), None

    def answer(self, model: Answering, text: str) -> str:
        """Return the sum that the model writes, in the usual order; "" if the text is no sum."""
        ids = known(self.read(text)[0])
        if len(ids) != LENGTH or ids[2] != self.labels.index("+") or ids[QUESTION - 1] != self.labels.index("="):
            return ""
        written = "".join(self.labels[one] for one in continued(model, ids[:QUESTION], ANSWER))[::-1]
        return written.lstrip("0") or "0"

    def solution(self, text: str) -> str:
        """Return the sum; "" if the text is none."""
        found = re.match(r"\s*([0-9]{1,2})\s*\+\s*([0-9]{1,2})\s*(=|$)", repair(text))
        return str(int(found[1]) + int(found[2])) if found else ""
