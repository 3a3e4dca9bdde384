"""Tasks on letters and digits: the answer is a symbol in the input, which a head has to find."""

from __future__ import annotations

import string
from dataclasses import replace

import torch
from torch import Tensor

from attnviz.tokens import Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import (
    IGNORED,
    AnsweringModel,
    Batch,
    Pattern,
    Task,
    added,
    continued,
    known,
    mean_weight,
    parts_of,
    says,
    tokens_of,
    typed,
)

PERIODS = 5, 14
"""The shortest and the longest pattern"""
INDUCTION_LENGTH = 32
"""T"""
LETTERS = string.ascii_lowercase


def _previous(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each query on the key before it, (H,)."""
    length = batch.ids.shape[1]
    before = torch.eye(length, dtype=torch.bool).roll(-1, dims=1).tril(-1)
    return mean_weight(weights, before.expand(len(batch), -1, -1))


def _after_the_same(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean total weight on the symbols that followed earlier occurrences of the query's symbol, (H,).

    Only the queries whose next symbol is a target count.
    """
    ids = batch.ids
    length = ids.shape[1]
    after = torch.zeros(len(batch), length, length, dtype=torch.bool)
    after[:, :, 1:] = ids[:, :, None] == ids[:, None, :-1]  # [b, i, j]: symbol j - 1 equals symbol i
    earlier = torch.ones(length, length, dtype=torch.bool).tril()
    return mean_weight(weights, after & earlier & (batch.targets != IGNORED)[:, :, None])


class Induction(Task):
    """A random pattern of letters, repeated; its length is drawn for each sequence (Olsson et al. 2022)."""

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
        Pattern("match", "looks at what came after the same letter", _after_the_same),
    )
    control = "One layer cannot do it: to find what came after a letter takes two steps, one after another."
    examples = ("qweasdqweasdqweasd", "theraininspaintherain")
    model = TokenConfig(len(labels), INDUCTION_LENGTH, layers=2, heads=2, width=32, feed_forward=0, norm=False)
    """With attention only: 11 thousand parameters"""
    control_model = replace(model, layers=1)
    training = TrainingSettings(steps=800, batch=64, learning_rate=1e-3)
    """99 % after some 700 steps"""

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw patterns in which all letters are different."""
        periods = torch.randint(PERIODS[0], PERIODS[1] + 1, (size, 1), generator=generator)
        letters = torch.rand(size, len(self.labels), generator=generator).argsort(dim=1)  # a permutation of each row
        ids = letters.gather(1, torch.arange(INDUCTION_LENGTH + 1) % periods)  # (B, T + 1)
        known = torch.arange(INDUCTION_LENGTH) >= periods  # from the second round on
        return Batch(ids[:, :-1], ids[:, 1:].masked_fill(~known, IGNORED))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the letters of a text, without white space."""
        return tokens_of(text.lower(), parts_of(text.lower()), self.labels, most=INDUCTION_LENGTH), None

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return the letters that the model writes after a text until the line is full."""
        ids = known(self.read(text)[0])
        following = continued(model, ids, INDUCTION_LENGTH + 1 - len(ids)) if ids else []
        return "".join(self.labels[id_] for id_ in following)


PAIRS = 12
"""Pairs in a sequence"""
KEYS = 6
"""The most different letters in a sequence"""


def _letter(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each digit on the letter before it, (H,)."""
    length = batch.ids.shape[1]
    cells = torch.zeros(length, length, dtype=torch.bool)
    cells[range(1, length, 2), range(0, length - 1, 2)] = True
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


class Recall(Task):
    """Twelve pairs of a letter and a digit; a letter has the same digit each time it occurs (Ba et al. 2016)."""

    name, title = "recall", "Recall: which digit belonged to this letter?"
    explanation = (
        "Each letter of a line has a digit of its own, drawn at random for each line. When a letter comes again, the "
        "model predicts its digit."
    )
    expected = (
        "In the first layer digits look at the letter before them; in the second, a letter finds the digit whose "
        "letter it was."
    )
    labels = (*LETTERS, *string.digits)
    patterns = (
        Pattern("key", "digits look at their letter", _letter),
        Pattern("value", "letters look at their digit", _after_the_same),
    )
    control = "One layer cannot do it: a digit has to know its letter before another letter can find it."
    examples = ("a3f7k2a", "t1o4k9e2n8k")
    model = TokenConfig(len(labels), 2 * PAIRS, layers=2, heads=1, width=64)
    control_model = replace(model, layers=1)
    training = TrainingSettings(steps=400, batch=64, learning_rate=2e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw two to six letters, their digits, and twelve pairs: first each letter once, then any of them."""
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
        return tokens_of(text.lower(), parts_of(text.lower()), self.labels, most=2 * PAIRS), None

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return the model's prediction after the last token."""
        ids = known(self.read(text)[0])
        return self.labels[says(model, ids)[-1]] if ids else ""


REVERSE_LENGTH = 16
"""T"""
FILL = "·"
"""Padding: after a shorter text, hence before its reverse, and after fewer digits to sort"""


def _opposite(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each query on the key at the mirrored position, (H,)."""
    cells = torch.eye(batch.ids.shape[1], dtype=torch.bool).flip(1)
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


class Reverse(Task):
    """Up to 16 letters; the answer at each position is the letter at the opposite position."""

    name, title = "reverse", "Reverse: write it backwards"
    explanation = (
        "The model writes up to 16 letters backwards, all of them at once. Which letter is right depends on its "
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
    model = TokenConfig(len(labels), REVERSE_LENGTH, "encoder", layers=1, heads=1, width=32)
    control_model = replace(model, architecture="decoder")
    training = TrainingSettings(steps=800, batch=64, learning_rate=5e-4)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw letters; half of the texts are shorter than 16."""
        ids = torch.randint(len(LETTERS), (size, REVERSE_LENGTH), generator=generator)
        lengths = torch.randint(1, 2 * REVERSE_LENGTH, (size, 1), generator=generator)
        ids = ids.masked_fill(torch.arange(REVERSE_LENGTH) >= lengths, self.labels.index(FILL))
        return Batch(ids, ids.flip(1))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the letters of a text, padded with dots to 16."""
        parts = parts_of(text.lower(), f"[^\\s{FILL}]")
        fill = added(FILL * (REVERSE_LENGTH - len(parts))) if parts else []
        return tokens_of(text.lower(), parts, self.labels, most=REVERSE_LENGTH, then=fill), None

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return the letters that the model writes, without the dots."""
        ids = self.read(typed(self.read(text)[0]))[0].ids
        return "".join(self.labels[id_] for id_ in says(model, ids)).replace(FILL, "") if ids else ""


MOST_DIGITS = 8
"""The most digits to sort"""
SORT_LENGTH = 2 * MOST_DIGITS
"""T: the digits, the sign after them, and the sorted digits except the last, which is predicted but never read"""
SIGN = ">"
"""Separates the digits from the answer, always at the same position"""


def _next(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on the unsorted digits that equal the next digit to write, (H,)."""
    unsorted = torch.arange(batch.ids.shape[1]) < MOST_DIGITS
    cells = (batch.ids[:, None, :] == batch.targets[:, :, None]) & unsorted
    return mean_weight(weights, cells)


class Sort(Task):
    """Up to eight digits, a sign, and the digits in order, as in minGPT's demo (Karpathy 2020)."""

    name, title = "sort", "Sort: which digit comes next?"
    explanation = (
        "The model writes up to eight digits again, from the smallest to the largest. After each digit that it has "
        "written, it finds the next one among those that it has read."
    )
    expected = "A head looks back at the unsorted digits: most at the one that comes next."
    labels = (*string.digits, FILL, SIGN)
    patterns = (Pattern("next", "looks at the digit to be written next", _next),)
    control = "Without a layer it sees only the digit that it wrote last, and has to guess what comes after it."
    examples = ("31415926", "90210")
    writes = whole = True
    sign = SIGN
    model = TokenConfig(len(labels), SORT_LENGTH, layers=2, heads=2, width=32)
    control_model = replace(model, layers=0)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw digits; half of the texts are shorter than eight."""
        fill, sign = len(self.labels) - 2, len(self.labels) - 1
        lengths = torch.randint(1, 2 * MOST_DIGITS, (size, 1), generator=generator)
        digits = torch.randint(fill, (size, MOST_DIGITS), generator=generator)
        digits = digits.masked_fill(torch.arange(MOST_DIGITS) >= lengths, fill)
        in_order = digits.sort(dim=1).values  # padding comes last
        sequence = torch.cat([digits, torch.full((size, 1), sign), in_order], dim=1)
        targets = sequence[:, 1:].masked_fill(torch.arange(SORT_LENGTH) < MOST_DIGITS, IGNORED)
        return Batch(sequence[:, :-1], targets.masked_fill(targets == fill, IGNORED))

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the digits of a text up to the sign, padded to eight; the sign and the right answer are added."""
        parts = parts_of(text.partition(SIGN)[0], f"[^\\s{FILL}]")
        digits = sorted(piece for piece, _, _ in parts[:MOST_DIGITS] if piece in string.digits)
        rest = added([*FILL * (MOST_DIGITS - len(parts)), SIGN, *digits[:-1]]) if digits else []
        return tokens_of(text, parts, self.labels, most=MOST_DIGITS, then=rest), None

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return the digits that the model writes, as many as it has read."""
        digits = typed(self.read(text)[0])
        if not digits:
            return ""
        question = self.read(digits)[0].ids[: MOST_DIGITS + 1]
        return "".join(self.labels[id_] for id_ in continued(model, question, len(digits)))

    def solution(self, text: str) -> str:
        """Return the digits in order."""
        return "".join(sorted(typed(self.read(text)[0])))
