"""From the last hidden state to the vocabulary: a language head, and which tokens of a large vocabulary are shown.

Shapes: T positions, C model width, V tokens of the vocabulary, K tokens that are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attnviz.reprs import ShortRepr
from attnviz.tokens.value import bare
from attnviz.trace.layer import LinearMap, Norm
from attnviz.trace.model import Activation, RowGuesses

ALL = 256
"""The largest vocabulary that is shown whole"""
LIKELY, MOST = 8, 48
"""How many of the likeliest tokens are shown for a row in focus; the most tokens shown in all"""
CELLS = 2**23
"""The most logits in memory at once: 32 MiB"""
GUESSES = 5
"""How many of the likeliest tokens of a row are named as the model's guesses"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Transform(ShortRepr):
    """The part of BERT's language head before its map to the vocabulary: dense layer, activation, LayerNorm."""

    dense: LinearMap
    """W, (C, C)"""
    activate: Callable[[Tensor], Tensor]
    activation: Activation | None
    """Its name; None if `Activation` does not name it"""
    norm: Norm

    def apply(self, x: Tensor) -> Tensor:
        """Transform the rows of (T, C)."""
        return self.norm.apply(self.activate(self.dense.apply(x)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShownLogits(ShortRepr):
    """The logits of some tokens of the vocabulary, and of all others together."""

    tokens: tuple[int, ...]
    """K ids; the likeliest in the rows in focus come first"""
    logits: Tensor
    """(T, K)"""
    rest: Tensor | None
    """(T,): log Σ exp(logit) over all other tokens, so that softmax of both is that of all V; None if there are none"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Vocabulary(ShortRepr):
    """The map from the last hidden state to the logits."""

    projection: LinearMap
    """W, (C, V)"""
    label: Callable[[int], str]
    """Returns the label of a column"""
    transform: Transform | None = None
    """The transform before the map, if there is one"""
    masked: int | None = None
    """The id of the token that marks a place to be guessed, such as BERT's [MASK]"""
    note: str = ""
    """Where the head comes from and how little it knows, as a sentence; "" if it came with the model"""

    def _summary(self) -> Iterator[str]:
        yield f"{self.size:,} tokens"

    @property
    def size(self) -> int:
        """V."""
        return self.projection.weight.shape[1]

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits, (T, V), of the last hidden state, (T, C)."""
        return self.projection.apply(hidden if self.transform is None else self.transform.apply(hidden))

    def guesses(self, hidden: Tensor, rows: Sequence[int]) -> tuple[RowGuesses, ...]:
        """Return the `GUESSES` likeliest tokens of these rows of the last hidden state, (T, C)."""
        guesses: list[RowGuesses] = []
        for some in torch.tensor(list(rows), dtype=torch.long).split(self.rows_at_once):
            shares, ids = self.logits(hidden[some]).softmax(-1).topk(min(GUESSES, self.size), dim=-1)
            guesses += [
                RowGuesses(row, tuple(bare(self.label(token)) for token in row_ids), tuple(row_shares))
                for row, row_ids, row_shares in zip(some.tolist(), ids.tolist(), shares.tolist(), strict=True)
            ]
        return tuple(guesses)

    def columns(self, tokens: Sequence[int]) -> LinearMap:
        """Return the part of the map that computes the logits of these tokens."""
        weight, bias = self.projection.weight, self.projection.bias
        ids = list(tokens)
        return LinearMap(weight[:, ids], None if bias is None else bias[ids])

    def shown(self, x: Tensor, focus: Sequence[int]) -> ShownLogits:
        """Choose which logits of x, (T, C), are shown; x is already transformed.

        A vocabulary of up to `ALL` tokens is shown whole. Of a larger one, the `LIKELY` likeliest tokens of each row in
        focus are shown, then the likeliest one of each other row, up to `MOST` in all. There are never more than
        `CELLS` logits in memory, or one row of them if a row is longer.

        Args:
            x: the input of the map.
            focus: the rows in focus.
        """
        if self.size <= ALL:
            return ShownLogits(tuple(range(self.size)), self.projection.apply(x), None)
        likely: list[int] = []
        for rows in torch.tensor(list(focus)).split(self.rows_at_once):
            likely += self.projection.apply(x[rows]).topk(LIKELY, dim=-1).indices.T.flatten().tolist()
        for rows in x.split(self.rows_at_once):
            likely += self.projection.apply(rows).argmax(-1).tolist()
        tokens = tuple(dict.fromkeys(likely))[:MOST]
        rest = [self._rest(rows, tokens) for rows in x.split(self.rows_at_once)]
        return ShownLogits(tokens, self.columns(tokens).apply(x), torch.cat(rest))

    @property
    def rows_at_once(self) -> int:
        """How many rows' logits are computed at once."""
        return max(1, CELLS // self.size)

    def _rest(self, x: Tensor, tokens: Sequence[int]) -> Tensor:
        logits = self.projection.apply(x)
        logits[:, list(tokens)] = -torch.inf
        return logits.logsumexp(-1)
