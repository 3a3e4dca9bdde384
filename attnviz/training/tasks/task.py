"""What a task is: sequences drawn from a seed, the answers that count, and the pattern that a head is to show.

Shapes: B sequences, T tokens (S of the encoder's), V tokens of the vocabulary, H heads.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

from attnviz.tokens import NO_ID, Tokens, repair
from attnviz.toy.language.config import AnyConfig, TokenConfig
from attnviz.trace.model import Kind
from attnviz.training.settings import TrainingSettings

if TYPE_CHECKING:
    from attnviz.training.tagged.files import TaggedFiles


Part = tuple[str, int, int]
"""A token's piece, and where it starts and ends in the text; of a token that is added, both are 0"""
IGNORED = -100
"""A target that does not count, as torch's cross-entropy has it"""
HELD_OUT = 512
"""How many sequences are held out of a task that has more than anyone can list"""
PART = 16
"""1 of 16 sequences is held out"""


def parts_of(text: str, pattern: str = r"\S") -> list[Part]:
    """Return what a pattern finds in a text; by default each character that is no white space."""
    return [(match.group(), *match.span()) for match in re.finditer(pattern, repair(text))]


def added(pieces: Iterable[str]) -> list[Part]:
    """Return tokens that the user has not typed."""
    return [(piece, 0, 0) for piece in pieces]


def typed(tokens: Tokens) -> str:
    """Return what the user typed of the tokens, without those that are not in the vocabulary."""
    marks = zip(tokens.pieces, tokens.special, tokens.unknown, strict=True)
    return "".join(piece for piece, special, unknown in marks if not special and not unknown)


def tokens_of(text: str, parts: Sequence[Part], labels: Sequence[str], *, dropped: int = 0) -> Tokens:
    """Return the tokens of a text; a piece that is not in the vocabulary has no id and is marked in `unknown`.

    Args:
        text: as typed.
        parts: the tokens.
        labels: the vocabulary.
        dropped: how many tokens of the text were cut off.
    """
    known = {label: id_ for id_, label in enumerate(labels)}
    ids = tuple(known.get(piece, NO_ID) for piece, _, _ in parts)
    return Tokens(
        text=repair(text),
        pair=None,
        pieces=tuple(piece for piece, _, _ in parts),
        ids=ids,
        offsets=tuple((start, end) for _, start, end in parts),
        segments=(0,) * len(parts),
        special=tuple(start == end for _, start, end in parts),
        unknown=tuple(id_ == NO_ID for id_ in ids),
        dropped=dropped,
        vocab_size=len(labels),
        tokenizer="vocabulary",
    )


class Answering(Protocol):
    """A model that can be asked: in evaluation mode, with the vocabulary of its task."""

    def logits(self, ids: Tensor, source: Tensor | None = None) -> Tensor:
        """Return (B, T, V) for ids (B, T), and a source (B, S) where there is an encoder to read it."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Sequences, and what is to be said at each position."""

    ids: Tensor
    """(B, T): what the model reads, or its decoder; of a linear layer, vectors, (B, C)"""
    targets: Tensor
    """(B, T): the right answer of each position, or `IGNORED`; of vectors, their classes, (B,)"""
    source: Tensor | None = None
    """(B, S): what the encoder reads, if the model has both"""

    def __len__(self) -> int:
        return self.ids.shape[0]


@dataclass(frozen=True, slots=True)
class Result:
    """What a model does on sequences. Both numbers are of the same ones."""

    loss: float
    """The mean cross-entropy over all positions that count, in nats"""
    accuracy: float
    """As the subject counts it, from 0 to 1"""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of weights that solves the task, or a part of it."""

    name: str
    title: str
    """As a curve is named on the page, such as "looks one token back" """
    score: Callable[[Tensor, Batch], Tensor]
    """Of the weights of a layer, (B, H, Tq, Tk): how much each head shows it, (H,), from 0 to 1; most often the mean
    weight on the cells of the pattern"""
    kind: Kind = "decoder"
    """The attention in which to look for it"""


class Subject(ABC):
    """What a model learns from: sequences over a vocabulary (a task, or a text), or vectors with a class each."""

    name: str
    """In links and on the command line"""
    labels: tuple[str, ...]
    """The vocabulary: labels[i] is the token with id i. Of vectors, the classes"""

    @abstractmethod
    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sequences to train on."""

    @abstractmethod
    def held_out(self) -> Batch:
        """Return the same sequences each time, on which no training is done."""

    def trained_on(self) -> Batch | None:
        """Return all sequences on which training is done, if they are few and the same ones again and again."""
        return None

    def accuracy(self, logits: Tensor, batch: Batch) -> float:
        """Return the share of counted positions, of (B, T, V) or (B, classes), at which the likeliest one is right."""
        counts = batch.targets != IGNORED
        right = (logits.argmax(-1) == batch.targets) & counts
        return float(right.sum() / counts.sum())


class Task(Subject):
    """A task that the project generates: `attnviz.training.tasks.TASKS` lists them."""

    title: str
    explanation: str
    """What is to be learned, in two sentences"""
    expected: str
    """Which pattern to expect and where, in a sentence or two"""
    patterns: tuple[Pattern, ...]
    control: str
    """What the control lacks and why it fails, in a sentence"""
    examples: tuple[str, ...]
    """Texts that `read` takes, to begin with"""
    data: TaggedFiles | None = None
    """What it draws sequences from, if that is given to it"""
    writes = False
    """Whether a model writes its answer, token by token, and `solution` says the right one"""
    sign = ""
    """The token of the vocabulary at which answers begin: before it none counts; "" if they begin at once"""
    whole = False
    """Whether a sequence is right only if all its counted positions are, such as all digits of a sum"""

    @property
    @abstractmethod
    def model(self) -> TokenConfig:
        """The model that learns it."""

    @property
    @abstractmethod
    def control_model(self) -> TokenConfig:
        """The model that can't, trained in the same way."""

    @property
    @abstractmethod
    def training(self) -> TrainingSettings:
        """The settings with which a hall can watch it."""

    def is_control(self, model: AnyConfig) -> bool:
        """Whether a model is the control, with any dropout."""
        return isinstance(model, TokenConfig) and replace(model, dropout=0.0) == self.control_model

    @property
    def outputs(self) -> tuple[str, ...]:
        """What each logit stands for: the vocabulary, where the answers are not something else."""
        return self.labels

    @abstractmethod
    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a text that a user types: of the model, or of its encoder and its decoder.

        Symbols that are not in the vocabulary are marked in `Tokens.unknown`, with the id `NO_ID` or that of an unknown
        word, where the task has one.
        """

    @abstractmethod
    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sequences, those that are held out among them."""

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sequences to train on: none of those that are held out."""
        return self._kept(size, generator, held_out=False)

    def held_out(self) -> Batch:
        """Return the same sequences each time, which `batch` never draws."""
        return self._held_out

    @cached_property
    def _held_out(self) -> Batch:
        return self._kept(HELD_OUT, torch.Generator().manual_seed(0), held_out=True)

    def accuracy(self, logits: Tensor, batch: Batch) -> float:
        """Return the share of right answers: of sequences if `whole`, else of counted positions."""
        if not self.whole:
            return super().accuracy(logits, batch)
        right = (logits.argmax(-1) == batch.targets) | (batch.targets == IGNORED)
        return float(right.all(-1).float().mean())

    def answer(self, model: Answering, text: str) -> str:
        """Return what a model says to a text that a user types: here, one output for each token that it knows.

        "" if there is none. What is to be written token by token is the likeliest one each time.
        """
        ids = known(self.read(text)[0])
        return " ".join(self.outputs[one] for one in says(model, ids)) if ids else ""

    def solution(self, text: str) -> str:
        """Return the right answer to a text that a user types, as `answer` writes it; "" if it is not known."""
        del text
        return ""

    def _kept(self, size: int, generator: torch.Generator, *, held_out: bool) -> Batch:
        """Draw until there are enough of the wanted part."""
        ids, targets = [], []
        missing = size
        while missing > 0:
            drawn = self.draw(missing * PART if held_out else missing + missing // 8 + 1, generator)
            wanted = is_held_out(drawn.ids) == held_out
            ids.append(drawn.ids[wanted][:missing])
            targets.append(drawn.targets[wanted][:missing])
            missing -= len(ids[-1])
        return Batch(torch.cat(ids), torch.cat(targets))


def is_held_out(ids: Tensor) -> Tensor:
    """Return which sequences, (B, T), are held out, (B,): one of `PART`, by a polynomial hash of its ids."""
    value = torch.zeros(len(ids), dtype=torch.long)
    for column in ids.unbind(1):
        value = (value * 31 + column + 1) % 1_000_003
    return value % PART == 0


def held_out_of(count: int, number: int) -> Tensor:
    """Return which rows of a table, (count,), are held out: `number` of them, by the order of a hash of their index."""
    order = sorted(range(count), key=lambda row: blake2b(str(row).encode(), digest_size=8).digest())
    found = torch.zeros(count, dtype=torch.bool)
    found[order[:number]] = True
    return found


def known(tokens: Tokens) -> list[int]:
    """Return the ids of the tokens that have one."""
    return [one for one in tokens.ids if one != NO_ID]


def says(model: Answering, ids: Sequence[int], source: Sequence[int] | None = None) -> list[int]:
    """Return the likeliest output at each position of one sequence."""
    with torch.no_grad():
        read = torch.tensor([ids])
        logits = model.logits(read) if source is None else model.logits(read, torch.tensor([source]))
    found: list[int] = logits[0].argmax(-1).tolist()
    return found


def continued(
    model: Answering, ids: Sequence[int], most: int, source: Sequence[int] | None = None, end: int | None = None
) -> list[int]:
    """Return what a model writes after `ids`, the likeliest token each time: `most` tokens, or those before `end`."""
    written: list[int] = []
    while len(written) < most:
        following = says(model, [*ids, *written], source)[-1]
        if following == end:
            break
        written.append(following)
    return written


def mean_weight(weights: Tensor, cells: Tensor) -> Tensor:
    """Return the mean, over all queries that the pattern has a cell for, of the weight on these cells together, (H,).

    Args:
        weights: (B, H, Tq, Tk).
        cells: (B, Tq, Tk), bool; 0 for each head if there are none.
    """
    on_cells = (weights * cells[:, None]).sum(-1)  # (B, H, Tq)
    counts = cells.any(-1)  # (B, Tq)
    return (on_cells * counts[:, None]).sum((0, 2)) / counts.sum().clamp(min=1)
