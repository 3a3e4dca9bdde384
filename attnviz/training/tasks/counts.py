"""Tasks that depend on all earlier tokens: how often a letter occurred, and how many brackets are open."""

from __future__ import annotations

import string
from dataclasses import replace

import torch
from torch import Tensor

from attnviz.tokens import CharVocab, Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import Batch, Pattern, Task, mean_weight, parts_of, tokens_of

COUNTING_LENGTH = 16
"""T"""
FEWEST, MOST = 3, 16
"""The range of the number of different letters in a sequence"""
TOP = 2
"""The largest count that the model distinguishes; it means "twice or more" """


def _same(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on earlier equal letters, over the letters that have any, (H,)."""
    same = batch.ids[:, :, None] == batch.ids[:, None, :]
    return mean_weight(weights, same.tril(-1))


class Counting(Task):
    """A text of letters; the answer at each is how often the same letter occurred before."""

    name, title = "counting", "Counting: how often has this letter come before?"
    explanation = (
        "At each letter of a text, the model predicts how often the same letter has come before: never, once, or "
        "twice and more. The answer depends on all earlier letters, however far away."
    )
    expected = "A head looks at the letters before that are equal to its own, and shares its weight among them."
    labels = (*string.ascii_lowercase, " ")
    patterns = (Pattern("same", "looks at earlier equal letters", _same),)
    control = "Without a layer it sees only the letter itself and its position, and can only guess from its position."
    examples = ("hello world", "banana bandana")
    outputs = ("0", "1", "2+")
    model = TokenConfig(len(labels), COUNTING_LENGTH, layers=1, heads=2, width=32, outputs=TOP + 1)
    control_model = replace(model, layers=0)
    training = TrainingSettings(steps=1000, batch=64, learning_rate=2e-3)
    _vocab = CharVocab(labels)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw a subset of the letters for each sequence, and a random text of them."""
        counts = torch.randint(FEWEST, MOST + 1, (size, 1), generator=generator)
        letters = torch.rand(size, len(self.labels), generator=generator).argsort(dim=1)
        ids = letters.gather(1, (torch.rand(size, COUNTING_LENGTH, generator=generator) * counts).long())
        same = ids[:, :, None] == ids[:, None, :]
        return Batch(ids, same.tril(-1).sum(2).clamp(max=TOP))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the characters of a text."""
        return self._vocab.tokenize(text.strip().lower(), max_tokens=COUNTING_LENGTH), None


DEPTH_LENGTH = 16
"""T"""
DEEPEST = 8
OPEN, CLOSE = 0, 1
"""The ids of the brackets"""
OTHER = "x"
"""Any other character"""


def _even(weights: Tensor, batch: Batch) -> Tensor:
    """Return how evenly each query spreads its weight over all tokens up to it, (H,).

    This is 1 minus the total variation distance from equal weights, averaged over all queries but the first, which has
    only one key.
    """
    length = batch.ids.shape[1]
    even = torch.ones(length, length).tril() / torch.arange(1, length + 1)[:, None]
    return weights.minimum(even).sum(-1)[..., 1:].mean((0, 2))


class Depth(Task):
    """Brackets and other characters; the answer at each is how many brackets are open."""

    name, title = "depth", "Depth: how many brackets are open?"
    explanation = (
        "At each character of a text, the model predicts how many brackets are open. That is the number of opening "
        "brackets so far less that of closing ones."
    )
    expected = (
        "Nothing sharp forms: heads spread their weight over all that came before, as they do untrained. What is "
        "learned is the values: the mean of +1 for ( and -1 for ), times the position, is the depth."
    )
    labels = ("(", ")", OTHER)
    patterns = (Pattern("even", "spreads its weight evenly over all before", _even),)
    control = "Without a layer it sees only the character itself and its position, and can only guess from these."
    examples = ("(())()((()))", "f(x(y)(z))")
    outputs = tuple(map(str, range(DEEPEST + 1)))
    model = TokenConfig(len(labels), DEPTH_LENGTH, layers=1, heads=2, width=32, outputs=DEEPEST + 1)
    control_model = replace(model, layers=0)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw brackets so that the depth stays between 0 and `DEEPEST`."""
        depth = torch.zeros(size, dtype=torch.long)
        ids, depths = [], []
        for _ in range(DEPTH_LENGTH):
            column = torch.randint(5, (size,), generator=generator) // 2  # two of five open, two close
            column = column.where((column != CLOSE) | (depth > 0), OPEN)
            column = column.where((column != OPEN) | (depth < DEEPEST), CLOSE)
            depth = depth + (column == OPEN).long() - (column == CLOSE).long()
            ids.append(column)
            depths.append(depth)
        return Batch(torch.stack(ids, 1), torch.stack(depths, 1))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the brackets of a text; any other visible character is read as x."""
        parts = [(piece if piece in self.labels else OTHER, start, end) for piece, start, end in parts_of(text)]
        return tokens_of(text, parts, self.labels, most=DEPTH_LENGTH), None
