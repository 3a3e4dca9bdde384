"""Tasks on numbers: their sum, their sum modulo a prime, and their English words."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr
from attnviz.tokens import Tokens, repair
from attnviz.toy.language.config import TokenConfig
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks.task import (
    IGNORED,
    AnsweringModel,
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
    says,
    tokens_of,
)

QUESTION, ANSWER = 6, 3
"""The number of tokens of "47+85=", and of digits of a sum"""
ADDITION_LENGTH = QUESTION + ANSWER - 1
"""T: the last digit is predicted but never read"""
NUMBER_PAIRS = 100 * 100
ADDITION_HELD_OUT = 1000
ONES_PLACES, TENS_PLACES = (1, 4), (0, 3)
"""The positions of the ones and of the tens digits in the question"""


def _place(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight on the two digits to be added next, for the ones and the tens, (H,)."""
    cells = torch.zeros(ADDITION_LENGTH, ADDITION_LENGTH, dtype=torch.bool)
    cells[QUESTION - 1, list(ONES_PLACES)] = True
    cells[QUESTION, list(TENS_PLACES)] = True
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


@cache
def _addition_rows() -> tuple[Tensor, Tensor]:
    """Return the pairs to train on and the held-out pairs, encoded as 100 · a + b."""
    held_out = held_out_of(NUMBER_PAIRS, ADDITION_HELD_OUT)
    return (~held_out).nonzero().flatten(), held_out.nonzero().flatten()


class Addition(Task):
    """The sum of two two-digit numbers; its last digit is written first, as in addition by hand."""

    name, title = "addition", "Addition: two digits each"
    explanation = (
        "The model adds two numbers of up to two digits. It writes the sum from its last digit to its first, as one "
        "adds by hand."
    )
    expected = "Heads look at the two digits of the place that comes next: the ones first, then the tens."
    labels = (*string.digits, "+", "=")
    patterns = (Pattern("place", "looks at the two digits of its place", _place),)
    control = "With one layer it learns the ones and the hundreds, but not the tens, where two digits and a carry meet."
    examples = ("47+85", "9+1")
    writes = whole = True
    sign = "="
    model = TokenConfig(len(labels), ADDITION_LENGTH, layers=2, heads=4, width=64)
    control_model = replace(model, layers=1)
    training = TrainingSettings(steps=800, batch=128, learning_rate=2e-3)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw training pairs of numbers."""
        rows = _addition_rows()[0]
        return self._batch(rows[torch.randint(len(rows), (size,), generator=generator)])

    batch = draw

    def held_out(self) -> Batch:
        """Return the 1,000 held-out sums of the 10,000."""
        return self._batch(_addition_rows()[1])

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
        """Return the tokens of a sum; leading zeros, a missing equals sign and the right answer are added.

        Anything that is not a sum of two numbers of up to two digits is read as typed.
        """
        text = repair(text)
        sum_ = re.fullmatch(r"\s*([0-9]{1,2})\s*\+\s*([0-9]{1,2})\s*(=.*)?", text, re.DOTALL)
        if sum_ is None:
            return tokens_of(text, parts_of(text), self.labels, most=ADDITION_LENGTH), None
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

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return the sum that the model writes, in the usual order of digits; "" if the text is not a sum."""
        ids = known(self.read(text)[0])
        if (
            len(ids) != ADDITION_LENGTH
            or ids[2] != self.labels.index("+")
            or ids[QUESTION - 1] != self.labels.index("=")
        ):
            return ""
        written = "".join(self.labels[id_] for id_ in continued(model, ids[:QUESTION], ANSWER))[::-1]
        return written.lstrip("0") or "0"

    def solution(self, text: str) -> str:
        """Return the sum; "" if the text is not a sum."""
        sum_ = re.match(r"\s*([0-9]{1,2})\s*\+\s*([0-9]{1,2})\s*(=|$)", repair(text))
        return str(int(sum_[1]) + int(sum_[2])) if sum_ else ""


PRIME = 31
SUMS = PRIME**2
MODULAR_HELD_OUT = 481
"""Half of the 961 sums, rounded up"""
MODULAR_LENGTH = 3
"""T: two numbers and the equals sign, at which the sum is predicted"""


def _both(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of the equals sign on the two numbers, (H,)."""
    cells = torch.zeros(MODULAR_LENGTH, MODULAR_LENGTH, dtype=torch.bool)
    cells[MODULAR_LENGTH - 1, :2] = True
    return mean_weight(weights, cells.expand(len(batch), -1, -1))


@cache
def _modular_rows() -> tuple[Tensor, Tensor]:
    """Return the sums to train on and the held-out sums, encoded as 31 · a + b."""
    held_out = held_out_of(SUMS, MODULAR_HELD_OUT)
    return (~held_out).nonzero().flatten(), held_out.nonzero().flatten()


class Modular(Task):
    """The sum of two numbers below 31, modulo 31.

    The model first memorises its training sums, and only much later learns to add: A. Power, Y. Burda, H. Edwards,
    I. Babuschkin and V. Misra (2022), Grokking: generalization beyond overfitting on small algorithmic datasets,
    arXiv:2201.02177.
    """

    name, title = "modular", "Grokking: addition modulo 31"
    explanation = (
        f"The model adds two numbers below {PRIME}, and {PRIME} is taken off where the sum reaches it: 20 + 15 is 4. "
        "It trains on half of all sums, the same ones at every step."
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
    outputs = labels[:PRIME]
    model = TokenConfig(len(labels), MODULAR_LENGTH, layers=1, heads=4, width=48, feed_forward=96, outputs=PRIME)
    control_model = replace(model, layers=0)
    training = TrainingSettings(
        steps=2500, batch=SUMS - MODULAR_HELD_OUT, learning_rate=1e-3, warm_up=10, optimiser="muon", beta2=0.98,
        weight_decay=1.0,
    )  # fmt: skip
    """All training sums at each step, and strong weight decay"""

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw `size` training sums without replacement, or all of them if there are fewer."""
        rows = _modular_rows()[0]
        return self._batch(rows[torch.randperm(len(rows), generator=generator)[:size]])

    batch = draw

    def held_out(self) -> Batch:
        """Return the 481 held-out sums of the 961."""
        return self._batch(_modular_rows()[1])

    def trained_on(self) -> Batch:
        """Return the 480 training sums."""
        return self._batch(_modular_rows()[0])

    def _batch(self, rows: Tensor) -> Batch:
        a, b = rows // PRIME, rows % PRIME
        ids = torch.stack([a, b, torch.full_like(a, PRIME)], dim=1)
        targets = torch.full_like(ids, IGNORED)
        targets[:, -1] = (a + b) % PRIME
        return Batch(ids, targets)

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a sum, without its plus sign; a missing equals sign is added."""
        parts = parts_of(text, r"[0-9]+|[^\s+0-9]")
        sign = added(["="]) if len(parts) == MODULAR_LENGTH - 1 and parts[-1][0] != "=" else []
        return tokens_of(text, parts, self.labels, most=MODULAR_LENGTH, then=sign), None

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return the model's output at the equals sign; "" if the text is not a sum of two numbers below 31."""
        ids = known(self.read(text)[0])
        is_sum = len(ids) == MODULAR_LENGTH and [id_ == PRIME for id_ in ids] == [False, False, True]
        return self.outputs[says(model, ids)[-1]] if is_sum else ""

    def solution(self, text: str) -> str:
        """Return the sum modulo 31; "" if the text is not a sum of two numbers below 31."""
        sum_ = re.fullmatch(r"\s*([0-9]{1,2})\s*\+\s*([0-9]{1,2})\s*(=.*)?", repair(text), re.DOTALL)
        numbers = [int(number) for number in sum_.groups()[:2]] if sum_ else []
        return str(sum(numbers) % PRIME) if numbers and max(numbers) < PRIME else ""


DIGITS = 3
"""S: the most digits of a number"""
WORDS_LENGTH = 5
"""T: the start token and four words, such as "seven hundred seventy seven" """
WORDS_HELD_OUT = 100
"""Only three-digit numbers are held out: there are so few shorter ones that all of them are trained on"""
FILL, START, END = "<fill>", "<start>", "<end>"
SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
HUNDRED = "hundred"


def words_of(number: int) -> list[tuple[str, tuple[int, ...]]]:
    """Return the English words of a number from 0 to 999, each with the decimal places of the digits that it names.

    The places are 0 for ones, 1 for tens and 2 for hundreds. A number from 10 to 19 is one word for two digits;
    "hundred" names no digit.
    """
    words: list[tuple[str, tuple[int, ...]]] = []
    hundreds, rest = divmod(number, 100)
    if hundreds:
        words += [(SMALL[hundreds], (2,)), (HUNDRED, ())]
    if rest >= 20:
        words.append((TENS[rest // 10 - 2], (1,)))
        rest %= 10
    if rest or not words:
        words.append((SMALL[rest], (0, 1) if rest >= 10 else (0,)))
    return words


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
    """(1000, T, S) bool: which digits the next word at each position names"""
    held_out: Tensor
    """(1000,) bool"""
    drawn: Tensor
    """(N,): the numbers that training draws from; shorter ones are repeated because there are few of them"""


@cache
def _table() -> _Table:
    labels = {label: id_ for id_, label in enumerate(Numbers.labels)}
    source = torch.full((1000, DIGITS), labels[FILL])
    ids = torch.full((1000, WORDS_LENGTH), labels[FILL])
    targets = torch.full((1000, WORDS_LENGTH), IGNORED)
    aligned = torch.zeros(1000, WORDS_LENGTH, DIGITS, dtype=torch.bool)
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
    held_out = torch.cat([torch.zeros(100, dtype=torch.bool), held_out_of(900, WORDS_HELD_OUT)])
    times = torch.ones(1000, dtype=torch.long).masked_fill(held_out, 0)
    times[:20], times[20:100] = 10, 2
    return _Table(ids, targets, source, aligned, held_out, torch.arange(1000).repeat_interleave(times))


def alignment(batch: Batch) -> Tensor:
    """Return which digits the word after each position names, (B, T, S) bool; none for the end."""
    same = (batch.targets[:, None] == _table().targets).all(2)  # (B, 1000)
    return _table().aligned[same.int().argmax(1)]


def _weight(weights: Tensor, batch: Batch) -> Tensor:
    """Return the mean weight of each word on the digits that it names, (H,)."""
    return mean_weight(weights, alignment(batch))


def _share(weights: Tensor, batch: Batch) -> Tensor:
    """Return the share of words whose largest weight is on a digit that they name, (H,)."""
    cells = alignment(batch)  # (B, T, S)
    right = cells[:, None].expand_as(weights).gather(-1, weights.argmax(-1, keepdim=True)).squeeze(-1)  # (B, H, T)
    counts = cells.any(-1)  # (B, T)
    return (right & counts[:, None]).sum((0, 2)) / counts.sum()


class Numbers(Task):
    """Translation of numbers from 0 to 999 into English: an encoder reads the digits, a decoder writes the words."""

    name, title = "numbers", "Numbers to words: a translation"
    explanation = (
        "The model translates the digits of a number from 0 to 999 into English words. The encoder reads the digits, "
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
    model = TokenConfig(len(labels), WORDS_LENGTH, "both", layers=1, heads=2, width=32, padding=0)
    control_model = replace(model, architecture="decoder", padding=None)
    training = TrainingSettings(steps=800, batch=64, learning_rate=1e-3, weight_decay=0.5)

    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw training numbers."""
        rows = _table().drawn
        return self._batch(rows[torch.randint(len(rows), (size,), generator=generator)])

    batch = draw

    def held_out(self) -> Batch:
        """Return the 100 held-out numbers, all of three digits."""
        return self._batch(_table().held_out.nonzero().flatten())

    def _batch(self, rows: Tensor) -> Batch:
        table = _table()
        return Batch(table.ids[rows], table.targets[rows], table.source[rows])

    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the digits of a text, and the decoder's input for the right words, as added tokens."""
        solution = self.solution(text)
        words = [START, *solution.split()] if solution else []
        return tokens_of(text, parts_of(text), self.labels, most=DIGITS), tokens_of("", added(words), self.labels)

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return the words that the model writes; the control model does not get the digits."""
        source = known(self.read(text)[0])
        if not source:
            return ""
        config = getattr(model, "config", self.model)
        reads = isinstance(config, TokenConfig) and config.architecture == "both"
        start, end = self.labels.index(START), self.labels.index(END)
        written = continued(model, [start], WORDS_LENGTH, source if reads else None, end)
        return " ".join(self.labels[id_] for id_ in written)

    def solution(self, text: str) -> str:
        """Return the words of the number."""
        digits = "".join(piece for piece, _, _ in parts_of(text)[:DIGITS] if piece in string.digits)
        return " ".join(word for word, _ in words_of(int(digits))) if digits else ""
