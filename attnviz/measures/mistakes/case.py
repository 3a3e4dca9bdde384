"""The input and the result of computing a mistake; the result is two pictures and a table of numbers.

Shapes: T tokens, C model width, H heads, D head width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from attnviz.measures.changes import change_row
from attnviz.reprs import ShortRepr
from attnviz.tokens import Tokens
from attnviz.trace.layer import Block, LayerTrace
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace

Value = float | int | str
T = TypeVar("T")


class NotKnownError(ValueError):
    """A mistake can't be shown with this model. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Picture(ShortRepr):
    """A matrix with the names of its axes."""

    name: str
    """The quantity's name in `attnviz.steps.picture.AXES`, which says what its rows and columns are"""
    title: str
    values: Tensor
    """(rows, columns); NaN in hidden cells"""
    tokens: Mapping[str, Sequence[str]]
    """The labels of rows and columns that are tokens, by "query" and "key" """


@dataclass(frozen=True, slots=True)
class Effect:
    """One line of the table: a quantity with the wrong code and with the right one."""

    what: str
    wrong: Value
    right: Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MistakeEffect(ShortRepr):
    """The effect of a mistake on a text."""

    wrong: Picture
    right: Picture
    effects: tuple[Effect, ...]
    signed: bool = True
    """Whether the numbers have a sign; if not, they are weights from 0 to 1"""
    where: str = ""
    """What was computed: "encoder block 0 · head 0" """
    note: str = ""
    """What is special about this text or model, as a sentence"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Case(ShortRepr):
    """The first block of the model's last stack, on a text: of its decoder, or of its only stack."""

    trace: Trace
    seed: int = 0
    """The seed of the numbers that a mistake draws at random"""

    @property
    def kind(self) -> Kind:
        """The kind of the block's self-attention."""
        return "decoder" if "decoder" in self.trace.blocks else self.trace.kinds[0]

    @property
    def block(self) -> Block:
        """The block."""
        return self.trace.block(self.trace.numbers_of(self.kind)[0], self.kind)

    @property
    def attention(self) -> LayerTrace:
        """Its self-attention."""
        return self.block.attention

    @property
    def tokens(self) -> Tokens:
        """Its tokens."""
        return self.trace.query_tokens(self.kind)

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The labels of its tokens, on rows and on columns."""
        return dict.fromkeys(("query", "key"), self.tokens.labels)

    def picture(self, name: str, values: Tensor, title: str = "") -> Picture:
        """Return a matrix whose rows and columns are the block's tokens, where they are tokens."""
        return Picture(name, title or name, values, self.labels)

    @property
    def where(self) -> str:
        """The block in words."""
        return f"{self.kind} block {self.trace.numbers_of(self.kind)[0]}"

    @property
    def inputs(self) -> Tensor:
        """The input of its self-attention, (T, C).

        Raises:
            NotKnownError: it is not known for this model.
        """
        return known(self.attention.query_input, "the input of its attention")

    def map(self, name: str) -> Callable[[Tensor], Tensor]:
        """Return the function that computes "query", "key" or "value" of head 0 from an input: (T, C) -> (T, D).

        Raises:
            NotKnownError: it is not known for this model.
        """
        maps = known(self.attention.projections, "how it makes queries, keys and values")
        return lambda x: maps[name].apply(x)[0]


def known(value: T | None, what: str) -> T:
    """Return a value, which must not be None.

    Raises:
        NotKnownError: it is None; the message says that `what` is not known.
    """
    if value is None:
        raise NotKnownError(f"This can't be shown with this model: {what} is not known.")
    return value


def leak(compute: Callable[[Tensor], Tensor], x: Tensor) -> Value:
    """Return the largest change in the rows before the last one when `change_row` changes the last one.

    Args:
        compute: takes (T, C) and returns (T, ...).
        x: (T, C).
    """
    if len(x) < 2:
        return "no row before it"
    with torch.inference_mode():
        changes = (compute(change_row(x, -1)) - compute(x)).abs()
    return float(changes[:-1].max())
