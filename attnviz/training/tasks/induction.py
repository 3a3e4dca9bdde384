"""Induction: a pattern repeats, and what followed a symbol before follows it again (Olsson et al. 2022)."""

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
    continued,
    known,
    mean_weight,
    parts_of,
    tokens_of,
)

PERIODS = 5, 14
"""The shortest and the longest pattern"""
LENGTH = 32
"""T"""
LETTERS = string.ascii_lowercase


def _previous(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each query on the key before it, (H,)."""
    length = batch.ids.shape[1]
    before = torch.eye(length, dtype=torch.bool).roll(-1, dims=1).tril(-1)
    return mean_weight(weights, before.expand(len(batch), -1, -1))


def _match(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on what followed the query's symbol earlier, all occurrences together, (H,)."""
    ids = batch.ids
    same = ids[:, :, None] == ids[:, None, :]  # [b, i, j]: symbol j equals symbol i
    after = torch.zeros_like(same)
    after[:, :, 1:] = same[:, :, :-1]  # [b, i, j]: symbol j - 1 equals symbol i
    earlier = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
    cells = after & earlier & (batch.targets != IGNORED)[:, :, None]
    return mean_weight(weights, cells)


class Induction(Task):
    """A random pattern of letters, repeated; its length is drawn for each sequence."""

    name, title = "induction", "Induction: what came after this before?"
    explanation = (
        "A random pattern of 5 to 14 letters repeats until the line is full. From its second round on, the next letter "
        "can be known: it is the one that followed this letter before."
    )
    expected = (
        "In the first layer a head looks one token back; in the second, a head finds earlier places where its letter "
        "stood and looks at what came after."
    )
    labels = tuple(LETTERS)
    patterns = (
        Pattern("previous", "looks one token back", _previous),
        Pattern("match", "looks at what came after the same letter", _match),
    )
    control = "One layer cannot do it: to find what came after a letter takes two steps, one after another."
    examples = ("qweasdqweasdqweasd", "theraininspaintherain")

    @property
    def model(self) -> TokenConfig:
        """Two layers of two heads, attention alone: 11 thousand parameters."""
        return TokenConfig(len(self.labels), LENGTH, layers=2, heads=2, width=32, feed_forward=0, norm=False)

    @property
    def control_model(self) -> TokenConfig:
        """The same with one layer."""
        return TokenConfig(len(self.labels), LENGTH, layers=1, heads=2, width=32, feed_forward=0, norm=False)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch: 99 % after some 700 steps."""
        return TrainingSettings(steps=800, batch=64, learning_rate=1e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw patterns of letters that differ."""
        periods = torch.randint(PERIODS[0], PERIODS[1] + 1, (size, 1), generator=generator)
        letters = torch.rand(size, len(self.labels), generator=generator).argsort(dim=1)  # a permutation of each row
        ids = letters.gather(1, torch.arange(LENGTH + 1) % periods)  # (B, T + 1)
        known = torch.arange(LENGTH) >= periods  # the first place where the letter has been seen before
        return Batch(ids[:, :-1], ids[:, 1:].masked_fill(~known, IGNORED))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the letters of a text, without white space."""
        parts = parts_of(text.lower())
        return tokens_of(text.lower(), parts[:LENGTH], self.labels, dropped=max(len(parts) - LENGTH, 0)), None

    def answer(self, model: Answering, text: str) -> str:
        """Return the letters that the model writes after a text until the line is full."""
        ids = known(self.read(text)[0])
        following = continued(model, ids, LENGTH + 1 - len(ids)) if ids else []
        return "".join(self.labels[one] for one in following)
