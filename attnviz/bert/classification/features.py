"""What a frozen model makes of texts: one vector a text, which is all that the linear layer sees.

Shapes: N texts, T tokens, C model width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor

from attnviz.bert.encoding import hidden_states
from attnviz.reprs import ShortRepr

if TYPE_CHECKING:
    from attnviz.pretrained.built_in import BuiltInModel

How = Literal["mean", "cls"]
"""mean: over all tokens, [CLS] and [SEP] among them, as all-MiniLM-L6-v2 was trained. cls: the vector of [CLS]"""
WAYS: tuple[How, ...] = get_args(How)
AT_ONCE = 32
"""Texts whose hidden states are in memory together"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pooled(ShortRepr):
    """The vectors of N texts, both ways."""

    cls: Tensor
    """(N, C): the last hidden state of [CLS]"""
    mean: Tensor
    """(N, C): the mean of the last hidden states of all tokens"""
    cut: int = 0
    """How many texts had more tokens than were read, if that was limited"""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.cls.nbytes + self.mean.nbytes)

    def features(self, how: How, *, tanh: bool) -> Tensor:
        """Return the features, (N, C); with the hyperbolic tangent of each number if `tanh`."""
        found = self.cls if how == "cls" else self.mean
        return found.tanh() if tanh else found


def pool(model: BuiltInModel, texts: Sequence[str], progress: Callable[[int], object] | None = None) -> Pooled:
    """Run the frozen model on texts, and keep one vector of each, both ways.

    Args:
        model: the built-in model.
        texts: N of them; those that are longer than the model takes are cut.
        progress: is called with the number of texts that are done.
    """
    for reached in pool_in_steps(model, texts):
        if isinstance(reached, Pooled):
            return reached
        if progress is not None:
            progress(reached)
    raise AssertionError("the last step is the result")


def pool_in_steps(
    model: BuiltInModel, texts: Sequence[str], max_tokens: int | None = None, at_once: int = AT_ONCE
) -> Iterator[int | Pooled]:
    """Do what `pool` does in steps of `at_once` texts: yields after each how many are done, and at the end the vectors.

    Whoever computes it may do other work between two steps, or stop.

    Args:
        model: the built-in model.
        texts: N of them.
        max_tokens: of each are read; as many as the model takes if None.
        at_once: texts of a step.
    """
    cls, mean = (torch.empty(len(texts), model.description.width) for _ in range(2))
    cut = 0
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # texts of about the same length together
    for first in range(0, len(texts), at_once):
        places = order[first : first + at_once]
        found = hidden_states(model, [texts[place] for place in places], max_tokens=max_tokens)
        for place, hidden in zip(places, found, strict=True):
            cls[place], mean[place] = hidden[0], hidden.mean(0)
            cut += len(hidden) == max_tokens and len(model.tokenize(texts[place])) > len(hidden)
        yield first + len(places)
    yield Pooled(cls, mean, cut)
