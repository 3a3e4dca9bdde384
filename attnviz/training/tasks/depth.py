"""Bracket depth: how many brackets are open here?"""

from __future__ import annotations

import torch
from torch import Tensor

from attnviz.tokens import Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import Batch, Pattern, Task, parts_of, tokens_of

LENGTH = 16
"""T"""
DEEPEST = 8
OPEN, CLOSE = 0, 1
"""Their ids"""
OTHER = "x"
"""Any other character"""


def _even(weights: Tensor, batch: Batch) -> Tensor:
    """Return the share of each query's weight that is evenly spread over all tokens up to it, (H,).

    It is 1 minus the total variation distance from equal weights, over all queries but the first, which has one key.
    """
    length = batch.ids.shape[1]
    even = torch.ones(length, length).tril() / torch.arange(1, length + 1)[:, None]
    return weights.minimum(even).sum(-1)[..., 1:].mean((0, 2))


class Depth(Task):
    """Brackets and other characters, and at each how many brackets are open."""

    name, title = "depth", "Depth: how many brackets are open?"
    explanation = (
        "At each character of a text, the model is to say how many brackets are open. That is the number of opening "
        "brackets so far less that of closing ones."
    )
    expected = (
        "Nothing sharp forms: heads spread their weight over all that stood before, as they do untrained. What is "
        "learned is the values: the mean of +1 for ( and -1 for ), times the position, is the depth."
    )
    labels = ("(", ")", OTHER)
    patterns = (Pattern("even", "spreads its weight evenly over all before", _even),)
    control = "Without a layer it sees only the character itself and its position, and can only guess from these."
    examples = ("(())()((()))", "f(x(y)(z))")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The depths."""
        return tuple(map(str, range(DEEPEST + 1)))

    @property
    def model(self) -> TokenConfig:
        """A decoder of one layer with two heads."""
        return TokenConfig(len(self.labels), LENGTH, layers=1, heads=2, width=32, outputs=DEEPEST + 1)

    @property
    def control_model(self) -> TokenConfig:
        """Embeddings and the output layer alone."""
        return TokenConfig(len(self.labels), LENGTH, layers=0, heads=2, width=32, outputs=DEEPEST + 1)

    @property
    def training(self) -> TrainingSettings:
        """Slow enough to watch."""
        return TrainingSettings(steps=800, batch=64, learning_rate=2e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw brackets such that the depth stays between 0 and the deepest."""
        depth = torch.zeros(size, dtype=torch.long)
        ids, depths = [], []
        for _ in range(LENGTH):
            one = torch.randint(5, (size,), generator=generator) // 2  # two of five open, two close
            one = one.where((one != CLOSE) | (depth > 0), OPEN).where((one != OPEN) | (depth < DEEPEST), CLOSE)
            depth = depth + (one == OPEN).long() - (one == CLOSE).long()
            ids.append(one)
            depths.append(depth)
        return Batch(torch.stack(ids, 1), torch.stack(depths, 1))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the brackets of a text; any other visible character is read as x."""
        parts = [(piece if piece in self.labels else OTHER, start, end) for piece, start, end in parts_of(text)]
        return tokens_of(text, parts[:LENGTH], self.labels, dropped=max(len(parts) - LENGTH, 0)), None
