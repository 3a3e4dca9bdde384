"""The base classes of tasks: seeded random sequences, the answers that count, and the patterns to expect in heads.

Shapes: B sequences, T tokens (S for the encoder), V tokens of the vocabulary, H heads.
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
"""A token's text, and where it starts and ends in the input; for an added token, both are 0"""
IGNORED = -100
"""The target of positions that do not count, the default `ignore_index` of torch's cross-entropy"""
HELD_OUT = 512
"""How many held-out sequences are used for evaluation, in a task with too many sequences to list"""
PART = 16
"""1 of 16 sequences is held out"""


def parts_of(text: str, pattern: str = r"\S") -> list[Part]:
    """Return all matches of a pattern in a text; by default each character that is not white space."""
    return [(match.group(), *match.span()) for match in re.finditer(pattern, repair(text))]


def added(pieces: Iterable[str]) -> list[Part]:
    """Return tokens that were added to what the user typed."""
    return [(piece, 0, 0) for piece in pieces]


def typed(tokens: Tokens) -> str:
    """Return the text of the tokens that the user typed, without those that are not in the vocabulary."""
    marks = zip(tokens.pieces, tokens.special, tokens.unknown, strict=True)
    return "".join(piece for piece, special, unknown in marks if not special and not unknown)


def tokens_of(
    text: str, parts: Sequence[Part], labels: Sequence[str], *, most: int | None = None, then: Sequence[Part] = ()
) -> Tokens:
    """Return the tokens of a text; a token that is not in the vocabulary has no id and is marked in `unknown`.

    Args:
        text: as typed.
        parts: the tokens of the text.
        labels: the vocabulary.
        most: how many of them are kept; the others are counted as dropped. None keeps all.
        then: the tokens that follow them.
    """
    dropped = 0 if most is None else max(0, len(parts) - most)
    parts = [*parts[:most], *then]
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


class AnsweringModel(Protocol):
    """A model that can answer: in evaluation mode, with the vocabulary of its task."""

    def logits(self, ids: Tensor, source: Tensor | None = None) -> Tensor:
        """Return the logits (B, T, V) for ids (B, T), and for a source (B, S) if the model has both stacks."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Sequences, and the right answer at each position."""

    ids: Tensor
    """(B, T): the input of the model, or of its decoder; for a linear layer, vectors, (B, C)"""
    targets: Tensor
    """(B, T): the right answer at each position, or `IGNORED`; for vectors, their classes, (B,)"""
    source: Tensor | None = None
    """(B, S): the encoder's input, for a model with an encoder and a decoder"""

    def __len__(self) -> int:
        return self.ids.shape[0]


@dataclass(frozen=True, slots=True)
class Result:
    """Loss and accuracy of a model on the same sequences."""

    loss: float
    """The mean cross-entropy over all positions that count, in nats"""
    accuracy: float
    """As the subject defines it, from 0 to 1"""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern of weights that solves the task, or a part of it."""

    name: str
    title: str
    """The name of its curve on the page, such as "looks one token back" """
    score: Callable[[Tensor, Batch], Tensor]
    """Returns, from the weights of a layer, (B, H, Tq, Tk), how strongly each head shows the pattern, (H,), from 0 to
    1; usually this is the mean weight on the cells of the pattern"""
    kind: Kind = "decoder"
    """The kind of attention in which to look for it"""


class Subject(ABC):
    """The source of training data: sequences over a vocabulary (a task, or a text), or vectors with classes."""

    name: str
    """Its name in links and on the command line"""
    labels: tuple[str, ...]
    """The vocabulary: labels[i] is the token with id i. For vectors, the classes"""

    @abstractmethod
    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw sequences to train on."""

    @abstractmethod
    def held_out(self) -> Batch:
        """Return the held-out sequences, the same ones each time."""

    def trained_on(self) -> Batch | None:
        """Return all training sequences if there are few of them, else None."""
        return None

    def accuracy(self, logits: Tensor, batch: Batch) -> float:
        """Return the share of counted positions at which the likeliest output is right.

        The logits are (B, T, V), or (B, classes) for vectors.
        """
        counts = batch.targets != IGNORED
        right = (logits.argmax(-1) == batch.targets) & counts
        return float(right.sum() / counts.sum())


class Task(Subject):
    """A task, usually with generated sequences: `attnviz.training.tasks.TASKS` lists the generated tasks."""

    title: str
    """The name in the app"""
    explanation: str
    """What the model has to learn, in two sentences"""
    expected: str
    """Which pattern to expect and where, in a sentence or two"""
    patterns: tuple[Pattern, ...]
    """The patterns that its heads learn"""
    model: TokenConfig
    """The model that learns it"""
    control_model: TokenConfig
    """A model that can't learn it, trained in the same way"""
    training = TrainingSettings(steps=800, batch=64, learning_rate=2e-3)
    """The settings for a live training, slow enough for an audience to watch"""
    control: str
    """What the control model lacks and why it fails, in a sentence"""
    examples: tuple[str, ...]
    """Example inputs for `read`"""
    data: TaggedFiles | None = None
    """The data that it draws sequences from; None if they are generated"""
    writes = False
    """Whether a model writes its answer token by token, and `solution` returns the right one"""
    end = ""
    """The token at which a text ends, for a task whose model writes texts of words; "" for all others"""
    sign = ""
    """The token at which answers begin: no position before it counts; "" if they begin at the first token"""
    held_out_count = HELD_OUT
    """How many held-out sequences are used for evaluation, if its batches are drawn"""
    whole = False
    """Whether a sequence is right only if all its counted positions are, such as all digits of a sum"""

    def is_control(self, model: AnyConfig) -> bool:
        """Whether a model is the control model, regardless of dropout."""
        return isinstance(model, TokenConfig) and replace(model, dropout=0.0) == self.control_model

    @property
    def outputs(self) -> tuple[str, ...]:
        """The label of each logit: by default, the vocabulary."""
        return self.labels

    @abstractmethod
    def read(self, text: str) -> tuple[Tokens, Tokens | None]:
        """Return the tokens of a typed text: those of the model, or those of its encoder and of its decoder.

        Symbols that are not in the vocabulary are marked in `Tokens.unknown`; their id is `NO_ID`, or that of the
        unknown word if the task has one.
        """

    @abstractmethod
    def draw(self, size: int, generator: torch.Generator) -> Batch:
        """Draw any sequences, held-out ones included."""

    def batch(self, size: int, generator: torch.Generator) -> Batch:
        """Draw training sequences, never held-out ones."""
        return self._kept(size, generator, held_out=False)

    def held_out(self) -> Batch:
        """Return the held-out sequences, the same ones each time."""
        return self._held_out

    @cached_property
    def _held_out(self) -> Batch:
        return self._kept(self.held_out_count, torch.Generator().manual_seed(0), held_out=True)

    def accuracy(self, logits: Tensor, batch: Batch) -> float:
        """Return the share of right sequences if `whole`, else of right positions among those that count."""
        if not self.whole:
            return super().accuracy(logits, batch)
        right = (logits.argmax(-1) == batch.targets) | (batch.targets == IGNORED)
        return float(right.all(-1).float().mean())

    def answer(self, model: AnsweringModel, text: str) -> str:
        """Return a model's answer to a typed text; "" if it has none.

        By default this is the likeliest output at each known token. Tasks in which the model writes its answer token by
        token take the likeliest token each time.
        """
        ids = known(self.read(text)[0])
        return " ".join(self.outputs[output] for output in says(model, ids)) if ids else ""

    def solution(self, text: str) -> str:
        """Return the right answer to a typed text, in the format of `answer`; "" if it is not known."""
        del text
        return ""

    def _kept(self, size: int, generator: torch.Generator, *, held_out: bool) -> Batch:
        """Draw until there are enough training sequences, or enough held-out ones."""
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
    """Return which sequences, (B, T), are held out, (B,) bool: one in `PART`, by a polynomial hash of the ids."""
    value = torch.zeros(len(ids), dtype=torch.long)
    for column in ids.unbind(1):
        value = (value * 31 + column + 1) % 1_000_003
    return value % PART == 0


def held_out_of(count: int, number: int) -> Tensor:
    """Choose `number` of `count` rows to hold out, ordered by a hash of their index; returns (count,) bool."""
    order = sorted(range(count), key=lambda row: blake2b(str(row).encode(), digest_size=8).digest())
    held_out = torch.zeros(count, dtype=torch.bool)
    held_out[order[:number]] = True
    return held_out


def known(tokens: Tokens) -> list[int]:
    """Return the ids of the tokens that have one."""
    return [id_ for id_ in tokens.ids if id_ != NO_ID]


def says(model: AnsweringModel, ids: Sequence[int], source: Sequence[int] | None = None) -> list[int]:
    """Return the likeliest output at each position of one sequence."""
    with torch.no_grad():
        inputs = torch.tensor([ids])
        logits = model.logits(inputs) if source is None else model.logits(inputs, torch.tensor([source]))
    likeliest: list[int] = logits[0].argmax(-1).tolist()
    return likeliest


def continued(
    model: AnsweringModel, ids: Sequence[int], most: int, source: Sequence[int] | None = None, end: int | None = None
) -> list[int]:
    """Return the tokens that a model writes after `ids`, each the likeliest: `most` of them, or those before `end`."""
    written: list[int] = []
    while len(written) < most:
        following = says(model, [*ids, *written], source)[-1]
        if following == end:
            break
        written.append(following)
    return written


def mean_weight(weights: Tensor, cells: Tensor) -> Tensor:
    """Return each head's total weight on the pattern's cells, averaged over the queries that have such cells, (H,).

    Args:
        weights: (B, H, Tq, Tk).
        cells: (B, Tq, Tk), bool; if there are none, the result is 0 for each head.
    """
    on_cells = (weights * cells[:, None]).sum(-1)  # (B, H, Tq)
    counts = cells.any(-1)  # (B, Tq)
    return (on_cells * counts[:, None]).sum((0, 2)) / counts.sum().clamp(min=1)
