"""Numbers to words: a translation, with an encoder that reads digits and a decoder that writes English words."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr
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
    held_out_of,
    known,
    mean_weight,
    parts_of,
    tokens_of,
)

DIGITS = 3
"""S: the most digits of a number"""
LENGTH = 5
"""T: "seven hundred seventy seven" and its start"""
HELD_OUT = 100
"""Numbers of three digits: those of one or two are so few that each is trained on"""
FILL, START, END = "<fill>", "<start>", "<end>"
SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
HUNDRED = "hundred"


def words_of(number: int) -> list[tuple[str, tuple[int, ...]]]:
    """Return the English words of a number from 0 to 999, each with the places that it stands for: 0 ones, 1 tens, 2
    hundreds.

    A number from 10 to 19 is one word for two digits; "hundred" stands for none, but for how many follow.
    """
    found: list[tuple[str, tuple[int, ...]]] = []
    hundreds, rest = divmod(number, 100)
    if hundreds:
        found += [(SMALL[hundreds], (2,)), (HUNDRED, ())]
    if rest >= 20:
        found.append((TENS[rest // 10 - 2], (1,)))
        rest %= 10
    if rest or not found:
        found.append((SMALL[rest], (0, 1) if rest >= 10 else (0,)))
    return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Table(ShortRepr):
    """All numbers from 0 to 999."""

    ids: Tensor
    """(1000, T)"""
    targets: Tensor
    """(1000, T)"""
    source: Tensor
    """(1000, S)"""
    aligned: Tensor
    """(1000, T, S) bool: which digits each next word stands for"""
    held_out: Tensor
    """(1000,) bool"""
    drawn: Tensor
    """(N,): what training draws from; shorter numbers several times, as there are few of them"""


@cache
def _table() -> _Table:
    labels = {label: id_ for id_, label in enumerate(Numbers.labels)}
    source = torch.full((1000, DIGITS), labels[FILL])
    ids = torch.full((1000, LENGTH), labels[FILL])
    targets = torch.full((1000, LENGTH), IGNORED)
    aligned = torch.zeros(1000, LENGTH, DIGITS, dtype=torch.bool)
    for number in range(1000):
        digits, words = str(number), words_of(number)
        for column, digit in enumerate(digits):
            source[number, column] = labels[digit]
        written = [labels[START], *(labels[word] for word, _ in words), labels[END]]
        ids[number, : len(words) + 1] = torch.tensor(written[:-1])
        targets[number, : len(words) + 1] = torch.tensor(written[1:])
        for row, (_, digit_places) in enumerate(words):
            for place in digit_places:
                aligned[number, row, len(digits) - 1 - place] = True
    held_out = torch.cat([torch.zeros(100, dtype=torch.bool), held_out_of(900, HELD_OUT)])
    times = torch.ones(1000, dtype=torch.long).masked_fill(held_out, 0)
    times[:20], times[20:100] = 10, 2
    return _Table(ids, targets, source, aligned, held_out, torch.arange(1000).repeat_interleave(times))


def alignment(batch: Batch) -> Tensor:
    """Return which digits the word after each position stands for, (B, T, S) bool; none for the end."""
    same = (batch.targets[:, None] == _table().targets).all(2)  # (B, 1000)
    return _table().aligned[same.int().argmax(1)]


def _weight(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each word on the digits that it stands for, (H,)."""
    return mean_weight(weights, alignment(batch))


def _share(weights: Tensor, batch: Batch) -> Tensor:
    """Return the share of words whose largest weight is on a digit that they stand for, (H,)."""
    cells = alignment(batch)  # (B, T, S)
    right = cells[:, None].expand_as(weights).gather(-1, weights.argmax(-1, keepdim=True)).squeeze(-1)  # (B, H, T)
    counts = cells.any(-1)  # (B, T)
    return (right & counts[:, None]).sum((0, 2)) / counts.sum()


class Numbers(Task):
    """0 to 999 in English words."""

    name, title = "numbers", "Numbers to words: a translation"
    explanation = (
        "The digits of a number from 0 to 999 are to be translated into English words. The encoder reads the digits, "
        "and the decoder writes word after word, and looks at the digits each time."
    )
    expected = "In attention from decoder to encoder, a word looks at the digit that it stands for."
    labels = (FILL, START, END, *string.digits, *SMALL, *TENS, HUNDRED)
    patterns = (
        Pattern("aligned", "share of words that look most at their digit", _share, kind="cross"),
        Pattern("weight", "words look at their digit", _weight, kind="cross"),
    )
    control = "Without an encoder it never sees the digits, and writes the words of some number."
    examples = ("342", "17", "800")
    writes = whole = True

    @property
    def model(self) -> TokenConfig:
        """An encoder and a decoder of one layer each with two heads."""
        return TokenConfig(len(self.labels), LENGTH, "both", layers=1, heads=2, width=32, padding=0)

    @property
    def control_model(self) -> TokenConfig:
        """The decoder alone."""
        return TokenConfig(len(self.labels), LENGTH, "decoder", layers=1, heads=2, width=32)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch."""
        return TrainingSettings(steps=800, batch=64, learning_rate=1e-3, weight_decay=0.5)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw numbers that are not held out."""
        rows = _table().drawn
        return self._batch(rows[torch.randint(len(rows), (size,), generator=generator)])

    batch = draw

    def held_out(self) -> Batch:
        """Return the 100 numbers, all of three digits, on which no training is done."""
        return self._batch(_table().held_out.nonzero().flatten())

    def _batch(self, rows: Tensor) -> Batch:
        every = _table()
        return Batch(every.ids[rows], every.targets[rows], every.source[rows])

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the digits of a text, and as added tokens what the decoder reads to write the right words."""
        parts = parts_of(text)
        kept = parts[:DIGITS]
        digits = "".join(piece for piece, _, _ in kept if piece in string.digits)
        words = [START, *(word for word, _ in words_of(int(digits)))] if digits else []
        return (
            tokens_of(text, kept, self.labels, dropped=len(parts) - len(kept)),
            tokens_of("", added(words), self.labels),
        )

    def answer(self, model: Answering, text: str) -> str:
        """Return the words that the model writes; the control is not shown the digits."""
        source = known(self.read(text)[0])
        if not source:
            return ""
        config = getattr(model, "config", self.model)
        reads = isinstance(config, TokenConfig) and config.architecture == "both"
        start, end = self.labels.index(START), self.labels.index(END)
        written = continued(model, [start], LENGTH, source if reads else None, end)
        return " ".join(self.labels[one] for one in written)

    def solution(self, text: str) -> str:
        """Return the words of the number."""
        digits = "".join(piece for piece, _, _ in parts_of(text)[:DIGITS] if piece in string.digits)
        return " ".join(word for word, _ in words_of(int(digits))) if digits else ""
